//! The plan as a value: what will happen, to which targets, in which order, and how each step is undone.
//! It must not know how it was compiled or how it is executed.

use std::collections::BTreeMap;
use std::fmt;

use manent_grammar::{Quantity, Template};
use serde::{Deserialize, Serialize};

use crate::ids::{StepIx, TargetIx};

/// Version of the plan file. A reader refuses every other one.
pub const FORMAT: u32 = 1;

/// What will happen. The same bytes for the same inputs on every machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// `org/app/env`, as the envconfig's path says it.
    pub environment: String,
    /// The application, from the descriptor.
    pub app: String,
    /// The release to bring; `None` in a plan that is only read (made without `--release`).
    pub release: Option<String>,
    /// The documents that the plan was made from, with their digests.
    pub inputs: Vec<Input>,
    /// The file that is uploaded, when the recipe uploads one.
    pub artifact: Option<Artifact>,
    /// Ways to reach targets; targets point into it.
    pub connections: Vec<Connection>,
    /// All targets, in the order in which they are written.
    pub targets: Vec<Target>,
    /// The pool they serve from; `None` when nothing is drained.
    pub pool: Option<Pool>,
    /// Waves with their batches, and how the rollout behaves.
    pub rollout: Rollout,
    /// What runs on a target.
    pub procedures: Procedures,
    /// Declared secrets: name to reference. Never a value.
    pub secrets: BTreeMap<String, String>,
    /// Forward steps in order, then compensations in the order in which they would run.
    pub steps: Vec<Step>,
    /// Order, compensation and order among compensations.
    pub edges: Vec<Edge>,
    /// Warnings that a reviewer should see.
    pub warnings: Vec<Warning>,
    /// What the plan was based on.
    pub basis: Basis,
}

/// One document that went into the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Path relative to the root, with `/`.
    pub path: String,
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
}

/// The file that a recipe uploads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Path relative to the root (or absolute), with `{release}` filled in where a release is named.
    pub path: String,
    /// SHA-256 of its bytes, in hex; `None` without a release.
    pub sha256: Option<String>,
    /// Its size in bytes; `None` without a release.
    pub bytes: Option<u64>,
}

/// A host (and port) that the release changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Name or address.
    pub host: String,
    /// Port of the application, where one is given.
    pub port: Option<u16>,
    /// Its entry in the pool; its host in plans without a pool.
    pub member: String,
    /// Labels, as the text that stands in the file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Position in [`Plan::connections`].
    pub connection: u32,
}

impl Target {
    /// `host:port`, or the host alone: the name that people see.
    #[must_use]
    pub fn name(&self) -> String {
        match self.port {
            Some(port) if self.host.contains(':') => format!("[{}]:{port}", self.host),
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.clone(),
        }
    }
}

/// How a target is reached.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connection {
    /// The system's OpenSSH.
    Ssh(Ssh),
    /// Commands run on this machine.
    Local,
}

/// Settings of an SSH connection; secrets by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ssh {
    /// User on the target; the ssh configuration's when absent.
    pub user: Option<String>,
    /// Port of sshd.
    pub port: Option<u16>,
    /// Name of the secret that holds a private key.
    pub key_secret: Option<String>,
    /// Name of the secret that holds a password.
    pub password_secret: Option<String>,
    /// Path of the known-hosts file (relative to the root, or absolute).
    pub known_hosts: Option<String>,
    /// Jump host, as `ssh -J` takes it.
    pub jump: Option<String>,
}

/// The load-balancer group that the targets serve from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// Name of the provider.
    pub provider: String,
    /// All its settings, defaults filled in; secrets by name.
    pub settings: BTreeMap<String, String>,
    /// What the provider can see and do.
    pub capabilities: Capabilities,
    /// Two clocks of this length: for capacity, and for remaining connections.
    pub drain_timeout_ms: u64,
    /// Until a restored member is healthy.
    pub restore_timeout_ms: u64,
    /// Between attempts of a postponed drain; the ceiling between reads of a wait.
    pub poll_interval_ms: u64,
    /// What happens to connections left at the end of a drain.
    pub on_timeout: OnTimeout,
    /// Healthy members that stay in service.
    pub floor: Floor,
    /// What this provider can promise, in sentences for people.
    pub promises: Vec<String>,
}

/// What a provider can see and do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// It lists the members of the pool and whether they are in service.
    pub sees_members: bool,
    /// It knows whether a member is healthy.
    pub sees_health: bool,
    /// It counts a member's connections.
    pub sees_connections: bool,
    /// It goes on checking members that are out, so health is awaited before they go back.
    pub checks_while_out: bool,
    /// A drain can be hardened against persistent clients.
    pub can_harden: bool,
    /// Where connections cannot be seen: how long to wait after the drain.
    pub drain_delay_ms: Option<u64>,
    /// First distance between two reads of a wait (50 where nothing limits it).
    pub first_poll_ms: u64,
}

/// `min_healthy` resolved to a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Floor {
    /// As written.
    pub wanted: Quantity,
    /// Members that it was computed from: the targets, or `members`.
    pub members: u32,
    /// Whether `members` was written (others than the targets serve from the pool).
    pub members_declared: bool,
    /// Healthy members to keep in service; percents are rounded up.
    pub need: u32,
}

/// What happens to connections left when a drain's time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// Go on; the connections are cut and counted.
    Proceed,
    /// Put the member back untouched; the pass fails.
    Fail,
}

/// What a failure leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Compensate what was begun, in reverse order.
    Rollback,
    /// Leave everything as it is and say so.
    Stop,
}

/// How targets are cut into waves and batches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollout {
    /// `maxUnavailable` as written.
    pub max_unavailable: Quantity,
    /// The same resolved for all targets.
    pub max_unavailable_count: u32,
    /// `order` as written.
    pub order: Option<String>,
    /// What a failure leads to.
    pub on_failure: OnFailure,
    /// A restored member stays healthy that long before it counts.
    pub min_ready_ms: u64,
    /// Tasks at once inside a batch.
    pub parallelism: u32,
    /// Waves in order; the pass over a wave has its name.
    pub waves: Vec<Wave>,
}

/// An ordered slice of the targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wave {
    /// Its name, and that of its pass.
    pub name: String,
    /// Its selector as written; `None` for the one wave of a plan without waves.
    pub select: Option<String>,
    /// Batch size of this wave, and the limit of members out while it runs.
    pub max_unavailable: u32,
    /// Wait after the wave.
    pub bake_ms: Option<u64>,
    /// Somebody has to approve before the next wave.
    pub approval: bool,
    /// Targets that are out at the same time, batch by batch.
    pub batches: Vec<Vec<TargetIx>>,
}

/// What runs on a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Procedures {
    /// The recipe with its parameters filled in.
    pub deploy: Recipe,
    /// All of them have to pass.
    pub post_test: Vec<Test>,
    /// Custom steps of a batch.
    pub steps: Vec<Custom>,
    /// After the batch is back in service.
    pub activate: Vec<Custom>,
}

/// How one target is updated, and how that is undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// Its name.
    pub name: String,
    /// Bring `{release}`.
    pub apply: Vec<Action>,
    /// Return to `{release}` from `{from}`.
    pub undo: Vec<Action>,
    /// Print the release that is on the target; nothing when there is none.
    pub current: Vec<Action>,
    /// Tidy up after a success; its failure fails nothing.
    pub retain: Vec<Action>,
}

/// A step of the user's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Custom {
    /// Its name, unique among all steps.
    pub name: String,
    /// What it does.
    pub run: Vec<Action>,
    /// How that is undone; `None` makes it a pivot.
    pub undo: Option<Vec<Action>>,
}

/// A primitive action on one target. Templates hold `{host}`, `{port}`, `{label.x}`, `{release}`, `{from}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A command as an argument list.
    Run {
        /// The command and its arguments.
        argv: Vec<Template>,
        /// Its deadline.
        timeout_ms: u64,
    },
    /// A script for `sh`, to which values are passed as environment variables only.
    Sh {
        /// The text, never changed.
        script: String,
        /// Its environment.
        env: BTreeMap<String, Template>,
        /// Its deadline.
        timeout_ms: u64,
    },
    /// A local file to the target, through a temporary name.
    Upload {
        /// Local path, relative to the root or absolute.
        from: Template,
        /// Path on the target.
        to: Template,
        /// Expected SHA-256 in hex; checked before and after.
        sha256: Option<String>,
        /// Its deadline.
        timeout_ms: u64,
    },
    /// A request from this machine.
    Http {
        /// Method, upper case.
        method: String,
        /// Address; values are encoded for their place.
        url: Template,
        /// Expected status.
        expect: u16,
        /// Its deadline.
        timeout_ms: u64,
    },
    /// A pause.
    Wait {
        /// Its length.
        ms: u64,
    },
}

impl Action {
    /// The most it may take, in ms.
    #[must_use]
    pub fn timeout_ms(&self) -> u64 {
        match self {
            Action::Run { timeout_ms, .. }
            | Action::Sh { timeout_ms, .. }
            | Action::Upload { timeout_ms, .. }
            | Action::Http { timeout_ms, .. } => *timeout_ms,
            Action::Wait { ms } => *ms,
        }
    }
}

/// One post-test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Test {
    /// What is asked: an `http` action, or a command that exits with 0.
    pub action: Action,
    /// Until it has to pass.
    pub within_ms: u64,
    /// Passes needed in a row.
    pub consecutive: u32,
    /// Between two tries.
    pub every_ms: u64,
}

/// A node of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// Where it stands; `None` for `config` and `preflight`.
    pub place: Option<Place>,
    /// How it is undone.
    pub reversal: Reversal,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Position in [`Rollout::waves`].
    pub wave: u32,
    /// Position in [`Wave::batches`]; `None` for `bake` and `approve`.
    pub batch: Option<u32>,
}

/// How a step is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reversal {
    /// It has no effect, or is itself a compensation.
    Nothing,
    /// By the compensation at this position.
    By(StepIx),
    /// It cannot be undone; the way back stops here.
    Pivot,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// The checks of the compiler, recorded.
    Config,
    /// Reads of every instance and target before anything is touched.
    Preflight,
    /// Members out of the load balancer, when the floor admits it.
    Drain,
    /// Until their connections have ended.
    DrainWait,
    /// The recipe.
    Deploy,
    /// The post-tests.
    PostTest,
    /// A custom step: position in [`Procedures::steps`].
    Custom(u32),
    /// Members back into the load balancer.
    Restore,
    /// Until they are healthy in service.
    RestoreWait,
    /// After that: position in [`Procedures::activate`].
    Activate(u32),
    /// A wait after a wave.
    Bake,
    /// A gate after a wave.
    Approve,
    /// Back in service, until healthy.
    UndoDrain,
    /// The previous release, tested.
    UndoDeploy,
    /// The undo of a custom step.
    UndoCustom(u32),
    /// Drain again and wait.
    UndoRestore,
    /// The undo of an activation.
    UndoActivate(u32),
}

impl StepKind {
    /// Whether it belongs to the way back.
    #[must_use]
    pub fn is_compensation(&self) -> bool {
        match self {
            StepKind::UndoDrain
            | StepKind::UndoDeploy
            | StepKind::UndoCustom(_)
            | StepKind::UndoRestore
            | StepKind::UndoActivate(_) => true,
            StepKind::Config
            | StepKind::Preflight
            | StepKind::Drain
            | StepKind::DrainWait
            | StepKind::Deploy
            | StepKind::PostTest
            | StepKind::Custom(_)
            | StepKind::Restore
            | StepKind::RestoreWait
            | StepKind::Activate(_)
            | StepKind::Bake
            | StepKind::Approve => false,
        }
    }

    /// Whether it has an effect that has to be compensated (or to be a pivot).
    #[must_use]
    pub fn has_effect(&self) -> bool {
        match self {
            StepKind::Drain
            | StepKind::Deploy
            | StepKind::Custom(_)
            | StepKind::Restore
            | StepKind::Activate(_) => true,
            StepKind::Config
            | StepKind::Preflight
            | StepKind::DrainWait
            | StepKind::PostTest
            | StepKind::RestoreWait
            | StepKind::Bake
            | StepKind::Approve
            | StepKind::UndoDrain
            | StepKind::UndoDeploy
            | StepKind::UndoCustom(_)
            | StepKind::UndoRestore
            | StepKind::UndoActivate(_) => false,
        }
    }
}

/// One line between two steps: `from` points at what it depends on (`needs`, `undo-order`) or undoes (`compensates`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Its meaning.
    pub kind: EdgeKind,
    /// The step that depends or compensates.
    pub from: StepIx,
    /// The step that comes first, or is compensated.
    pub to: StepIx,
}

/// Meaning of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// `from` starts after `to` is done.
    Needs,
    /// `from` undoes `to`.
    Compensates,
    /// On the way back `from` runs after `to`.
    UndoOrder,
}

/// A finding that does not stop a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Its code.
    pub code: String,
    /// What it says.
    pub message: String,
}

/// What a saved plan was based on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// The environment's last run when the plan was saved; `None` when there was none, or the plan was not saved.
    pub last_run: Option<String>,
    /// Whether the last run was looked up at all (only a saved plan does).
    pub recorded: bool,
}

impl Plan {
    /// The printable id of a step, for example `drain@canary#0`. Stable across compilations.
    #[must_use]
    pub fn step_id(&self, step: StepIx) -> String {
        match self.steps.get(step.at()) {
            Some(found) => self.id_of(found),
            None => format!("unknown-step-{}", step.0),
        }
    }

    /// The printable id of a step of this plan.
    #[must_use]
    pub fn id_of(&self, step: &Step) -> String {
        let verb = self.verb(&step.kind);
        let Some(place) = step.place else { return verb };
        let wave = self.rollout.waves.get(place.wave as usize).map_or("?", |wave| wave.name.as_str());
        match place.batch {
            Some(batch) => format!("{verb}@{wave}#{batch}"),
            None => format!("{verb}@{wave}"),
        }
    }

    /// The part of a step's id before `@`.
    #[must_use]
    pub fn verb(&self, kind: &StepKind) -> String {
        let custom = |list: &[Custom], at: u32| {
            list.get(at as usize).map_or_else(|| format!("?{at}"), |custom| custom.name.clone())
        };
        match kind {
            StepKind::Config => "config".into(),
            StepKind::Preflight => "preflight".into(),
            StepKind::Drain => "drain".into(),
            StepKind::DrainWait => "drain-wait".into(),
            StepKind::Deploy => "deploy".into(),
            StepKind::PostTest => "post-test".into(),
            StepKind::Custom(at) => custom(&self.procedures.steps, *at),
            StepKind::Restore => "restore".into(),
            StepKind::RestoreWait => "restore-wait".into(),
            StepKind::Activate(at) => format!("activate:{}", custom(&self.procedures.activate, *at)),
            StepKind::Bake => "bake".into(),
            StepKind::Approve => "approve".into(),
            StepKind::UndoDrain => "undo-drain".into(),
            StepKind::UndoDeploy => "undo-deploy".into(),
            StepKind::UndoCustom(at) => format!("undo-{}", custom(&self.procedures.steps, *at)),
            StepKind::UndoRestore => "undo-restore".into(),
            StepKind::UndoActivate(at) => format!("undo-activate:{}", custom(&self.procedures.activate, *at)),
        }
    }

    /// The targets of a step: those of its batch; all targets for `config` and `preflight`; none for gates.
    #[must_use]
    pub fn targets_of(&self, step: StepIx) -> Vec<TargetIx> {
        let Some(step) = self.steps.get(step.at()) else { return Vec::new() };
        let Some(place) = step.place else {
            return (0..u32::try_from(self.targets.len()).unwrap_or(u32::MAX)).map(TargetIx).collect();
        };
        self.batch(place).to_vec()
    }

    /// The targets of a batch; none for a place between waves.
    #[must_use]
    pub fn batch(&self, place: Place) -> &[TargetIx] {
        let wave = self.rollout.waves.get(place.wave as usize);
        let batch = place.batch.and_then(|batch| wave?.batches.get(batch as usize));
        batch.map_or(&[], Vec::as_slice)
    }

    /// Finds a step by its printable id.
    #[must_use]
    pub fn find_step(&self, id: &str) -> Option<StepIx> {
        let at = self.steps.iter().position(|step| self.id_of(step) == id)?;
        u32::try_from(at).ok().map(StepIx)
    }

    /// The target at a position.
    #[must_use]
    pub fn target(&self, at: TargetIx) -> Option<&Target> {
        self.targets.get(at.at())
    }

    /// The name of a target for people; never fails.
    #[must_use]
    pub fn target_name(&self, at: TargetIx) -> String {
        self.target(at).map_or_else(|| format!("target {}", at.0), Target::name)
    }

    /// The member name of a target; never fails.
    #[must_use]
    pub fn member(&self, at: TargetIx) -> &str {
        self.target(at).map_or("?", |target| target.member.as_str())
    }
}

impl fmt::Display for OnFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OnFailure::Rollback => "rollback",
            OnFailure::Stop => "stop",
        })
    }
}

impl fmt::Display for OnTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OnTimeout::Proceed => "proceed",
            OnTimeout::Fail => "fail",
        })
    }
}

impl fmt::Display for EdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EdgeKind::Needs => "needs",
            EdgeKind::Compensates => "compensates",
            EdgeKind::UndoOrder => "undo-order",
        })
    }
}
