//! A step is a short list of stages; each stage is a file with one pure question: what is the next move?
//! Stages only read the state. What they remember is written by `apply`, from events alone.

mod admit;
mod detour;
mod empty;
mod hold;
mod judge;
mod nodes;
mod prove;
mod put_in;
mod settle;
mod survey;
mod take_out;

use manent_plan::{Plan, Pool, StepKind, TargetIx};

use crate::call::{Call, CallNo, Change, InstanceChange, Procedure};
use crate::event::{Blocked, Cause, Detour, Effect};
use crate::state::{Active, RunState};
use crate::time::Timestamp;
use crate::view::{PoolView, Seen};

pub(crate) use judge::good;
pub(crate) use nodes::settle_probe;

/// One part of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Read every instance and ask every target for its release.
    Survey,
    /// May the batch go out?
    Admit,
    /// Drain its members and see it confirmed.
    TakeOut,
    /// Until their connections have ended.
    Empty,
    /// They are still out, right before a node is touched.
    Gate,
    /// Run a procedure on the targets.
    Nodes(Procedure),
    /// Healthy while still out.
    Prove,
    /// Back in service.
    PutIn,
    /// Until seen healthy in service.
    Settle,
    /// Until a time or an approval.
    Hold,
}

/// The stages of a step, in order.
pub(crate) fn stages(plan: &Plan, kind: &StepKind) -> Vec<Stage> {
    let sees = plan.pool.as_ref().is_some_and(|pool| pool.capabilities.sees_members);
    let proves = plan.pool.as_ref().is_some_and(|pool| pool.capabilities.checks_while_out);
    let gate = sees.then_some(Stage::Gate);
    let prove = proves.then_some(Stage::Prove);
    match kind {
        StepKind::Config => Vec::new(),
        StepKind::Preflight => vec![Stage::Survey],
        StepKind::Drain => vec![Stage::Admit, Stage::TakeOut],
        StepKind::DrainWait => vec![Stage::Empty],
        StepKind::Deploy => gate.into_iter().chain([Stage::Nodes(Procedure::Apply)]).collect(),
        StepKind::PostTest => vec![Stage::Nodes(Procedure::PostTest)],
        StepKind::Custom(at) => vec![Stage::Nodes(Procedure::Custom(*at))],
        StepKind::Restore => prove.into_iter().chain([Stage::PutIn]).collect(),
        StepKind::RestoreWait => vec![Stage::Settle],
        StepKind::Activate(at) => vec![Stage::Nodes(Procedure::Activate(*at))],
        StepKind::Bake | StepKind::Approve => vec![Stage::Hold],
        StepKind::UndoRestore => vec![Stage::Admit, Stage::TakeOut, Stage::Empty],
        StepKind::UndoDeploy => {
            let tested = !plan.procedures.post_test.is_empty();
            let test = tested.then_some(Stage::Nodes(Procedure::PostTest));
            gate.into_iter().chain([Stage::Nodes(Procedure::Undo)]).chain(test).collect()
        }
        StepKind::UndoCustom(at) => vec![Stage::Nodes(Procedure::UndoCustom(*at))],
        StepKind::UndoActivate(at) => vec![Stage::Nodes(Procedure::UndoActivate(*at))],
        StepKind::UndoDrain => prove.into_iter().chain([Stage::PutIn, Stage::Settle]).collect(),
    }
}

/// What to do next inside a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Move {
    /// Perform a call, under a new number or (`again`) under an old one.
    Call { call: Call, again: Option<CallNo>, note: Option<String> },
    /// Nothing until an answer comes, or until this time.
    Wait(Option<Timestamp>),
    /// The stage is done.
    Next { note: Option<String>, cut: Option<u64> },
    /// Go on with another stage of the step.
    To(Stage),
    /// The drain is not admitted now.
    Postpone { blocked: Blocked, next: Timestamp },
    /// Take back what was done.
    Detour(Detour, Cause),
    /// The step failed.
    Fail { cause: Cause, effect: Effect },
}

impl Move {
    pub(crate) fn call(call: Call) -> Move {
        Move::Call { call, again: None, note: None }
    }

    pub(crate) fn next() -> Move {
        Move::Next { note: None, cut: None }
    }
}

/// What a stage may look at.
#[derive(Clone, Copy)]
pub(crate) struct Ctx<'a> {
    pub plan: &'a Plan,
    pub state: &'a RunState,
    pub active: &'a Active,
    pub now: Timestamp,
}

/// The next move of the step in hand.
pub(crate) fn next(ctx: Ctx<'_>, stage: Stage) -> Move {
    if let Some((to, cause)) = &ctx.active.detour {
        return detour::next(ctx, *to, cause);
    }
    match stage {
        Stage::Survey => survey::next(ctx),
        Stage::Admit => admit::next(ctx),
        Stage::TakeOut => take_out::next(ctx),
        Stage::Empty => empty::next(ctx),
        Stage::Gate => empty::gate(ctx),
        Stage::Nodes(procedure) => nodes::next(ctx, procedure),
        Stage::Prove => prove::next(ctx),
        Stage::PutIn => put_in::next(ctx),
        Stage::Settle => settle::next(ctx),
        Stage::Hold => hold::next(ctx),
    }
}

impl<'a> Ctx<'a> {
    pub(crate) fn pool(self) -> Option<&'a Pool> {
        self.plan.pool.as_ref()
    }

    pub(crate) fn sees_members(self) -> bool {
        self.pool().is_some_and(|pool| pool.capabilities.sees_members)
    }

    /// A call to the load balancer is under way.
    pub(crate) fn pool_busy(self) -> bool {
        self.active.flying.values().any(|call| match call {
            Call::ReadPool { .. } | Call::Change { .. } => true,
            Call::Run { .. } | Call::Probe { .. } => false,
        })
    }

    /// The newest read, when this stage has one that is newer than its newest change.
    pub(crate) fn fresh(self) -> Option<(Timestamp, &'a PoolView)> {
        let read = self.active.memory.read?;
        let (_, view) = self.state.view.as_ref()?;
        Some((read, view))
    }

    pub(crate) fn read_pool(self) -> Move {
        Move::call(Call::ReadPool { targets: self.active.targets.clone() })
    }

    /// When the next read of a wait is due: at growing distances, never after `limit`.
    pub(crate) fn next_read(self, limit: Timestamp) -> Timestamp {
        let last = self.active.memory.read.or(self.active.memory.sent).unwrap_or(self.active.entered);
        let due = last.plus(self.active.memory.gap);
        // A limit that has passed must not hurry reads without end: then the distance alone counts.
        if last < limit { due.min(limit) } else { due }
    }

    /// Reads when it is due, waits otherwise.
    pub(crate) fn read_when_due(self, limit: Timestamp) -> Move {
        let due = self.next_read(limit);
        if self.now >= due { self.read_pool() } else { Move::Wait(Some(due)) }
    }

    /// Positions of the instances, from the newest read; one for providers that cannot be read.
    pub(crate) fn instances(self) -> u32 {
        let seen = self.state.view.as_ref().map_or(0, |(_, view)| view.instances.len());
        u32::try_from(seen).unwrap_or(u32::MAX).max(1)
    }

    /// Instances on which the target is manent's to change: not those where somebody else had it out.
    pub(crate) fn ours(self, target: TargetIx) -> impl Iterator<Item = u32> {
        let left_out = self.state.target(target).map(|target| target.left_out.clone()).unwrap_or_default();
        (0..self.instances()).filter(move |instance| !left_out.contains(instance))
    }

    /// Pairs of targets and instances that fulfil a condition in the newest read, as a change.
    pub(crate) fn pairs(
        self,
        targets: &[TargetIx],
        all_instances: bool,
        wanted: impl Fn(TargetIx, &Seen) -> bool,
    ) -> Vec<InstanceChange> {
        let mut on = Vec::new();
        for instance in 0..self.instances() {
            let chosen: Vec<TargetIx> = targets
                .iter()
                .copied()
                .filter(|target| all_instances || self.ours(*target).any(|ours| ours == instance))
                .filter(|target| match &self.state.view {
                    Some((_, view)) => wanted(*target, &view.seen(*target, instance as usize)),
                    None => true,
                })
                .collect();
            if !chosen.is_empty() {
                on.push(InstanceChange { instance, targets: chosen });
            }
        }
        on
    }

    /// Whether nothing else can be asked of the members' health before they go back: they were never touched and were
    /// not healthy when they were drained.
    pub(crate) fn exempt(self, target: TargetIx) -> bool {
        self.state.target(target).is_some_and(|target| !target.touched && !target.healthy_before)
    }

    /// `w2 is up on lb1 and down on lb2`, for each target that is not as wanted.
    pub(crate) fn describe(self, targets: &[TargetIx], wanted: impl Fn(&Seen) -> bool) -> String {
        let Some((_, view)) = &self.state.view else {
            return String::from("the load balancer was never read");
        };
        let mut said = Vec::new();
        for target in targets {
            let seen: Vec<(String, Seen)> = view
                .instances
                .iter()
                .enumerate()
                .map(|(at, instance)| (instance.name.clone(), view.seen(*target, at)))
                .collect();
            if seen.iter().all(|(_, seen)| wanted(seen)) {
                continue;
            }
            let each: Vec<String> =
                seen.iter().map(|(name, seen)| format!("{} on {name}", seen.words)).collect();
            said.push(format!("`{}` is {}", self.plan.member(*target), each.join(" and ")));
        }
        said.join("; ")
    }

    /// Instances that did not answer the newest read: `lb2: connection refused`.
    pub(crate) fn unreachable(self) -> Vec<String> {
        let Some((_, view)) = &self.state.view else { return Vec::new() };
        let failed = |instance: &crate::view::InstanceView| {
            instance.failure.as_ref().map(|failure| format!("{}: {}", instance.name, failure.reason))
        };
        view.instances.iter().filter_map(failed).collect()
    }

    pub(crate) fn change(self, change: Change, on: Vec<InstanceChange>, note: Option<String>) -> Move {
        Move::Call { call: Call::Change { change, on }, again: None, note }
    }

    /// Names of members, for messages.
    pub(crate) fn members(self, targets: &[TargetIx]) -> String {
        let names: Vec<String> =
            targets.iter().map(|target| format!("`{}`", self.plan.member(*target))).collect();
        names.join(", ")
    }
}

/// The first distance between two reads of a wait, and the next ones: 1.5 times the last, up to the ceiling.
pub(crate) fn grow(pool: Option<&Pool>, gap: u64) -> u64 {
    let (first, ceiling) =
        pool.map_or((50, 5_000), |pool| (pool.capabilities.first_poll_ms, pool.poll_interval_ms));
    if gap == 0 { first.min(ceiling) } else { gap.saturating_add(gap / 2).max(gap + 1).min(ceiling) }
}
