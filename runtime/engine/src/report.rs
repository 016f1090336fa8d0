//! What is true of a run, for people and for `status --json`: derived from plan and state alone. It decides nothing and
//! never guesses: what is not known is said to be unknown.

use jiff::Timestamp as Civil;
use manent_plan::{Plan, StepIx, StepKind, TargetIx};
use serde::{Serialize, Serializer};

use crate::event::{Blocked, Outcome};
use crate::stage::{Stage, stages};
use crate::state::{Active, Node, Release, RunState, StepState, Way};
use crate::time::Timestamp;

/// Facts that the state does not hold.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// The run's id.
    pub run: &'a str,
    /// A process is at work on it.
    pub alive: bool,
    /// The time of the report.
    pub now: Timestamp,
}

/// A run as it stands.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The run's id.
    pub run: String,
    /// `org/app/env`.
    pub environment: String,
    /// The release it brings.
    pub release: Option<String>,
    /// Where it stands as a whole.
    pub state: RunStanding,
    /// Why it turned back, stopped or was refused.
    pub cause: Option<String>,
    /// When it began.
    pub started_at: Option<Rfc3339>,
    /// Time of its newest record.
    pub recorded_at: Rfc3339,
    /// A pass a wave.
    pub passes: Vec<Pass>,
    /// Steps outside the waves.
    pub steps: Vec<StepLine>,
    /// Compensations that are left, the next one first.
    pub way_back: Vec<String>,
    /// What is waited for now.
    pub waiting: Option<Waiting>,
    /// Why a drain is postponed.
    pub blocked: Option<BlockedLine>,
    /// Every target.
    pub targets: Vec<TargetLine>,
    /// Connections cut at the end of drains.
    pub connections_cut: u64,
    /// Remarks, the newest last.
    pub notes: Vec<NoteLine>,
    /// What a person can do now: commands.
    pub next: Vec<String>,
}

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStanding {
    /// At work.
    Running,
    /// At work, waiting for capacity, connections, health, time or an approval.
    Waiting,
    /// Paused by a person.
    Paused,
    /// On the way back.
    RollingBack,
    /// Done, or there was nothing to do.
    Succeeded,
    /// Failed, and everything is as it was before.
    RolledBack,
    /// Stopped with members out or on mixed releases.
    Stopped,
    /// Failed or refused with nothing touched, or nothing left of it.
    Failed,
    /// No process is at work on it; it can be resumed.
    Interrupted,
}

/// One walk over one wave.
#[derive(Debug, Clone, Serialize)]
pub struct Pass {
    /// The wave's name.
    pub name: String,
    /// Where it stands.
    pub state: Standing,
    /// Members out by manent's hand.
    pub drained: Vec<String>,
    /// Its batches.
    pub batches: Vec<Batch>,
    /// `bake` and `approve`.
    pub gates: Vec<StepLine>,
}

/// Targets that are out at the same time.
#[derive(Debug, Clone, Serialize)]
pub struct Batch {
    /// From 0.
    pub index: u32,
    /// Where it stands.
    pub state: Standing,
    /// Its targets.
    pub targets: Vec<String>,
    /// Its steps, compensations last.
    pub steps: Vec<StepLine>,
}

/// One step.
#[derive(Debug, Clone, Serialize)]
pub struct StepLine {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub state: Standing,
    /// Polls so far.
    pub attempt: u32,
    /// Why it failed or was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// State of a step, a batch or a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Not begun.
    Waiting,
    /// In hand.
    Active,
    /// Done.
    Done,
    /// Nothing to do.
    Skipped,
    /// Failed.
    Failed,
    /// Undone by its compensation.
    Undone,
}

/// What the step in hand waits for.
#[derive(Debug, Clone, Serialize)]
pub struct Waiting {
    /// The step with its attempt: `drain-wait@canary#0.3`.
    pub step: String,
    /// In words.
    pub what: String,
    /// Since when.
    pub since: Rfc3339,
    /// Until when at most; `None` for an approval.
    pub until: Option<Rfc3339>,
}

/// A postponed drain.
#[derive(Debug, Clone, Serialize)]
pub struct BlockedLine {
    /// `floor`, `limit`, `unreachable` or `raced`.
    pub by: &'static str,
    /// Healthy members in service, where they were counted.
    pub have: Option<u32>,
    /// The floor.
    pub need: Option<u32>,
    /// Members that count.
    pub healthy: Vec<String>,
    /// Members that do not, with their state in words.
    pub out: Vec<String>,
    /// Members that would go out.
    pub batch: Vec<String>,
    /// The whole reason as a sentence.
    pub reason: String,
    /// The number of the attempt.
    pub attempt: u32,
    /// When it is tried again.
    pub next_attempt_at: Rfc3339,
}

/// One target.
#[derive(Debug, Clone, Serialize)]
pub struct TargetLine {
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: Option<u16>,
    /// Its entry in the pool.
    pub member: String,
    /// The release on it; `None` when there is none or it is not known (then `release_known` is false).
    pub release: Option<String>,
    /// Whether the release is known.
    pub release_known: bool,
    /// Receives traffic on every instance, as the newest read showed it; `None` when it was never read.
    pub in_service: Option<bool>,
    /// Out by manent's hand since then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_since: Option<Rfc3339>,
    /// Remarks: left out by somebody else, unreachable since …
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// A remark.
#[derive(Debug, Clone, Serialize)]
pub struct NoteLine {
    /// When.
    pub at: Rfc3339,
    /// The step in hand then.
    pub step: Option<String>,
    /// In words.
    pub text: String,
}

/// A time that prints as RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rfc3339(pub Timestamp);

impl std::fmt::Display for Rfc3339 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = i64::try_from(self.0.0).unwrap_or(i64::MAX);
        match Civil::from_millisecond(ms) {
            Ok(civil) => write!(f, "{civil:.3}"),
            Err(_) => write!(f, "{}ms", self.0.0),
        }
    }
}

impl Serialize for Rfc3339 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Reports a run.
#[must_use]
pub fn report(facts: &Facts<'_>, plan: &Plan, state: &RunState) -> Report {
    let waiting = state.active.as_ref().and_then(|active| waiting(plan, active));
    let blocked = state.active.as_ref().and_then(blocked);
    let standing = standing(facts, state, waiting.is_some());
    Report {
        run: facts.run.to_owned(),
        environment: plan.environment.clone(),
        release: plan.release.clone(),
        state: standing,
        cause: cause(state),
        started_at: state.started.map(Rfc3339),
        recorded_at: Rfc3339(state.newest),
        passes: passes(plan, state),
        steps: lines(plan, state, |step| step.place.is_none()),
        way_back: way_back(plan, state),
        waiting,
        blocked,
        targets: (0_u32..).zip(&plan.targets).map(|(at, _)| target(plan, state, TargetIx(at))).collect(),
        connections_cut: state.connections_cut,
        notes: state
            .notes
            .iter()
            .map(|note| NoteLine {
                at: Rfc3339(note.at),
                step: note.step.map(|step| plan.step_id(step)),
                text: note.text.clone(),
            })
            .collect(),
        next: next(facts.run, standing, plan, state),
    }
}

fn standing(facts: &Facts<'_>, state: &RunState, waits: bool) -> RunStanding {
    match &state.way {
        Way::Ended { outcome, .. } => match outcome {
            Outcome::Succeeded | Outcome::NothingToDo => RunStanding::Succeeded,
            Outcome::RolledBack { .. } => RunStanding::RolledBack,
            Outcome::Stopped { .. } => RunStanding::Stopped,
            Outcome::Refused { .. } | Outcome::Failed { .. } => RunStanding::Failed,
        },
        Way::Forward { .. } | Way::Back { .. } if state.interrupted || !facts.alive => {
            RunStanding::Interrupted
        }
        Way::Forward { .. } | Way::Back { .. } if state.paused.is_some() => RunStanding::Paused,
        Way::Back { .. } => RunStanding::RollingBack,
        Way::Forward { .. } if waits => RunStanding::Waiting,
        Way::Forward { .. } => RunStanding::Running,
    }
}

fn cause(state: &RunState) -> Option<String> {
    match &state.way {
        Way::Forward { .. } => None,
        Way::Back { cause, .. } => Some(cause.message.clone()),
        Way::Ended { outcome, .. } => match outcome {
            Outcome::Succeeded | Outcome::NothingToDo => None,
            Outcome::Refused { cause }
            | Outcome::RolledBack { cause }
            | Outcome::Failed { cause }
            | Outcome::Stopped { cause } => Some(cause.message.clone()),
        },
    }
}

fn way_back(plan: &Plan, state: &RunState) -> Vec<String> {
    let left = match &state.way {
        Way::Back { left, .. } => left,
        Way::Ended { was, .. } => match &**was {
            Way::Back { left, .. } => left,
            Way::Forward { .. } | Way::Ended { .. } => return Vec::new(),
        },
        Way::Forward { .. } => return Vec::new(),
    };
    left.iter().rev().map(|step| plan.step_id(*step)).collect()
}

fn step_line(plan: &Plan, state: &RunState, at: StepIx) -> StepLine {
    let (standing, attempt, why) = match state.steps.get(at.at()) {
        Some(StepState::Waiting) | None => (Standing::Waiting, 0, None),
        Some(StepState::Retried(ended)) => (Standing::Waiting, ended.attempts, None),
        Some(StepState::Active) => {
            (Standing::Active, state.active.as_ref().map_or(0, |active| active.attempt), None)
        }
        Some(StepState::Done(ended)) => (Standing::Done, ended.attempts, None),
        Some(StepState::Skipped { reason }) => (Standing::Skipped, 0, Some(reason.clone())),
        Some(StepState::Failed { cause, ended, .. }) => {
            (Standing::Failed, ended.attempts, Some(cause.message.clone()))
        }
        Some(StepState::Undone) => (Standing::Undone, 0, None),
    };
    StepLine { id: plan.step_id(at), state: standing, attempt, why }
}

fn lines(plan: &Plan, state: &RunState, wanted: impl Fn(&manent_plan::Step) -> bool) -> Vec<StepLine> {
    let all = (0_u32..).zip(&plan.steps);
    all.filter(|(_, step)| wanted(step)).map(|(at, _)| step_line(plan, state, StepIx(at))).collect()
}

/// One walk over the steps, so that a run of many batches is reported in linear time.
fn passes(plan: &Plan, state: &RunState) -> Vec<Pass> {
    let batches = |wave: &manent_plan::Wave| {
        let each = (0_u32..).zip(&wave.batches).map(|(index, targets)| Batch {
            index,
            state: Standing::Waiting,
            targets: targets.iter().map(|target| plan.target_name(*target)).collect(),
            steps: Vec::new(),
        });
        each.collect()
    };
    let mut passes: Vec<Pass> = plan
        .rollout
        .waves
        .iter()
        .map(|wave| Pass {
            name: wave.name.clone(),
            state: Standing::Waiting,
            drained: wave
                .batches
                .iter()
                .flatten()
                .filter(|at| state.target(**at).is_some_and(|target| target.out.is_some()))
                .map(|at| plan.member(*at).to_owned())
                .collect(),
            batches: batches(wave),
            gates: Vec::new(),
        })
        .collect();
    for (at, step) in (0_u32..).zip(&plan.steps) {
        let Some(place) = step.place else { continue };
        let Some(pass) = passes.get_mut(place.wave as usize) else { continue };
        let line = step_line(plan, state, StepIx(at));
        // A compensation is worth a line only when the way back came to it.
        if step.kind.is_compensation() && line.state == Standing::Waiting {
            continue;
        }
        match place.batch {
            None => pass.gates.push(line),
            Some(batch) => {
                if let Some(batch) = pass.batches.get_mut(batch as usize) {
                    batch.steps.push(line);
                }
            }
        }
    }
    for pass in &mut passes {
        for batch in &mut pass.batches {
            batch.state = together(batch.steps.iter().map(|step| step.state));
        }
        let gates = pass.gates.iter().map(|gate| gate.state);
        pass.state = together(pass.batches.iter().map(|batch| batch.state).chain(gates));
    }
    passes
}

/// The standing of a whole from its parts.
fn together(parts: impl Iterator<Item = Standing>) -> Standing {
    let parts: Vec<Standing> = parts.collect();
    let any = |standing| parts.contains(&standing);
    let all = |standing| parts.iter().all(|part| *part == standing);
    if any(Standing::Failed) {
        Standing::Failed
    } else if any(Standing::Active) {
        Standing::Active
    } else if any(Standing::Undone) {
        Standing::Undone
    } else if all(Standing::Skipped) && !parts.is_empty() {
        Standing::Skipped
    } else if !parts.is_empty() && !any(Standing::Waiting) {
        Standing::Done
    } else if any(Standing::Done) {
        Standing::Active
    } else {
        Standing::Waiting
    }
}

fn waiting(plan: &Plan, active: &Active) -> Option<Waiting> {
    let step = plan.steps.get(active.step.at())?;
    let list = stages(plan, &step.kind);
    let stage = list.get(active.stage as usize)?;
    let pool = plan.pool.as_ref();
    let drain = pool.map_or(0, |pool| pool.drain_timeout_ms);
    let restore = pool.map_or(0, |pool| pool.restore_timeout_ms);
    let members: Vec<String> =
        active.targets.iter().map(|target| format!("`{}`", plan.member(*target))).collect();
    let members = members.join(", ");
    let (what, since, until) = match stage {
        Stage::Admit => {
            (format!("capacity, to take {members} out"), active.began, Some(active.began.plus(drain)))
        }
        Stage::TakeOut => (
            format!("every load balancer to show {members} out"),
            active.began,
            Some(active.began.plus(drain)),
        ),
        Stage::Empty => match pool.and_then(|pool| pool.capabilities.drain_delay_ms) {
            Some(delay) => (
                format!("the drain delay of {members} to pass"),
                active.entered,
                Some(active.entered.plus(delay)),
            ),
            None => {
                (format!("connections of {members} to end"), active.entered, Some(active.entered.plus(drain)))
            }
        },
        Stage::Gate => {
            (format!("a read that shows {members} out"), active.entered, Some(active.entered.plus(drain)))
        }
        Stage::Prove => (
            format!("{members} to be seen healthy while still out"),
            active.entered,
            Some(active.entered.plus(restore)),
        ),
        Stage::PutIn | Stage::Settle => (
            format!("{members} to be healthy in service"),
            active.entered,
            Some(active.entered.plus(restore)),
        ),
        Stage::Hold if step.kind == StepKind::Approve => (String::from("an approval"), active.entered, None),
        Stage::Hold => {
            let wave = step.place.and_then(|place| plan.rollout.waves.get(place.wave as usize));
            let bake = wave.and_then(|wave| wave.bake_ms).unwrap_or(0);
            (String::from("the bake to end"), active.entered, Some(active.entered.plus(bake)))
        }
        Stage::Nodes(_) => return doubt(plan, active),
        Stage::Survey => return None,
    };
    let what = match &active.detour {
        Some((_, cause)) => format!("{members} to be put back as they were, since {}", cause.message),
        None => what,
    };
    Some(Waiting {
        step: format!("{}.{}", plan.step_id(active.step), active.attempt),
        what,
        since: Rfc3339(since),
        until: until.map(Rfc3339),
    })
}

/// Targets that are asked what became of a command: somebody who looks has to see why nothing goes on.
fn doubt(plan: &Plan, active: &Active) -> Option<Waiting> {
    let work = active.nodes.get(&active.stage)?;
    let mut said = Vec::new();
    let mut latest = None;
    for target in work.doubts() {
        if let Some(Node::Doubt { until, reason, .. }) = work.get(target) {
            said.push(format!("`{}` ({reason})", plan.target_name(target)));
            latest = latest.max(Some(*until));
        }
    }
    let until = latest?;
    Some(Waiting {
        step: plan.step_id(active.step),
        what: format!("word of what became of a command on {}", said.join(", ")),
        since: Rfc3339(active.entered),
        until: Some(Rfc3339(until)),
    })
}

fn blocked(active: &Active) -> Option<BlockedLine> {
    let (blocked, next) = active.memory.postponed.as_ref()?;
    let mut line = BlockedLine {
        by: "floor",
        have: None,
        need: None,
        healthy: Vec::new(),
        out: Vec::new(),
        batch: Vec::new(),
        reason: blocked.words(),
        attempt: active.attempt,
        next_attempt_at: Rfc3339(*next),
    };
    match blocked {
        Blocked::Floor { have, need, healthy, out, batch, .. } => {
            line.have = Some(*have);
            line.need = Some(*need);
            line.healthy.clone_from(healthy);
            line.out.clone_from(out);
            line.batch.clone_from(batch);
        }
        Blocked::Limit { .. } => line.by = "limit",
        Blocked::Unreachable { .. } => line.by = "unreachable",
        Blocked::Raced { have, need } => {
            line.by = "raced";
            line.have = Some(*have);
            line.need = Some(*need);
        }
    }
    Some(line)
}

fn target(plan: &Plan, state: &RunState, at: TargetIx) -> TargetLine {
    let empty = crate::state::TargetState::default();
    let known = state.target(at).unwrap_or(&empty);
    let written = plan.target(at);
    let (release, release_known) = match &known.release {
        Release::Known(release) => (release.clone(), true),
        Release::Unknown => (None, false),
    };
    let view = state.view.as_ref().map(|(_, view)| view).filter(|view| view.complete());
    let read = view.map(|view| view.serves(at));
    let mut remarks = Vec::new();
    if let (Some(view), Some(false), None) = (view, read, known.out) {
        let seen = view.instances.iter().zip(view.seen_everywhere(at)).filter(|(_, seen)| !seen.serves());
        let words: Vec<String> =
            seen.map(|(instance, seen)| format!("{} on {}", seen.words, instance.name)).collect();
        remarks.push(words.join(", "));
    }
    if !known.left_out.is_empty() {
        remarks
            .push(String::from("somebody else had it out when its batch was drained; it is left out there"));
    }
    if known.abandoned {
        remarks.push(String::from("there was no release to return to; it is left out"));
    }
    if let Some(since) = known.unknown_since {
        remarks.push(format!("not known what runs on it, unreachable since {}", Rfc3339(since)));
    }
    TargetLine {
        host: written.map(|target| target.host.clone()).unwrap_or_default(),
        port: written.and_then(|target| target.port),
        member: plan.member(at).to_owned(),
        release,
        release_known,
        in_service: if known.out.is_some() { Some(false) } else { read },
        out_since: known.out.map(Rfc3339),
        remarks,
    }
}

fn next(run: &str, standing: RunStanding, plan: &Plan, state: &RunState) -> Vec<String> {
    let history = format!("manent history {}", plan.environment);
    let rollback = returnable(plan, state).then(|| format!("manent rollback {}", plan.environment));
    match standing {
        RunStanding::Running | RunStanding::RollingBack => {
            vec![
                format!("manent status {run} --watch"),
                format!("manent pause {run}"),
                format!("manent cancel {run}"),
            ]
        }
        RunStanding::Waiting => match state.active.as_ref() {
            Some(active)
                if plan.steps.get(active.step.at()).is_some_and(|step| step.kind == StepKind::Approve) =>
            {
                vec![
                    format!("manent approve {run} {}", plan.step_id(active.step)),
                    format!("manent cancel {run} --rollback"),
                ]
            }
            Some(_) | None => {
                vec![format!("manent status {run} --watch"), format!("manent cancel {run} --rollback")]
            }
        },
        RunStanding::Paused => {
            vec![format!("manent continue {run}"), format!("manent cancel {run} --rollback")]
        }
        RunStanding::Interrupted => {
            vec![format!("manent resume {run}"), format!("manent cancel {run} --rollback")]
        }
        RunStanding::Stopped => {
            let resume = if matches!(&state.way, Way::Ended { was, .. } if matches!(**was, Way::Forward { .. }))
            {
                format!("manent resume {run} --retry-failed")
            } else {
                format!("manent resume {run}")
            };
            let back = format!("manent cancel {run} --rollback");
            let doctor = format!("manent doctor {}", plan.environment);
            [resume, back, doctor].into_iter().chain(rollback).collect()
        }
        RunStanding::Succeeded => vec![rollback.unwrap_or(history)],
        RunStanding::RolledBack | RunStanding::Failed => vec![history],
    }
}

/// Another release was there before the run, so that a rollback has something to return to.
fn returnable(plan: &Plan, state: &RunState) -> bool {
    let before = state.targets.iter().filter_map(|target| target.before.as_ref());
    before.flatten().any(|before| Some(before) != plan.release.as_ref())
}
