//! The state of a run: what is done, what is in hand, what is known of each target. It is folded from events (`apply`)
//! and read by decisions (`decide`, `stage`). It must not decide anything itself.

use std::collections::{BTreeMap, BTreeSet};

use manent_plan::{Plan, Reversal, StepIx, TargetIx};

use crate::call::{Call, CallNo};
use crate::event::{Blocked, Cause, Detour, Effect, Outcome};
use crate::time::Timestamp;
use crate::view::PoolView;
use crate::work::Work;

/// A run as its events tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunState {
    /// When it began; `None` before `Started`.
    pub started: Option<Timestamp>,
    /// Time of the newest event.
    pub newest: Timestamp,
    /// Update targets that are current already, too.
    pub force: bool,
    /// Members that an earlier run left out and this one may put back.
    pub adopted: BTreeSet<TargetIx>,
    /// One a target of the plan.
    pub targets: Vec<TargetState>,
    /// One a step of the plan.
    pub steps: Vec<StepState>,
    /// For each compensation, the step that it undoes.
    pub undoes: BTreeMap<StepIx, StepIx>,
    /// The step in hand.
    pub active: Option<Active>,
    /// Where the run is going.
    pub way: Way,
    /// Number of the next call.
    pub next_call: u64,
    /// The newest read of the pool, with its time.
    pub view: Option<(Timestamp, PoolView)>,
    /// The floor from the pool's real number of members, once `preflight` has read it.
    pub need: Option<u32>,
    /// Who paused the run.
    pub paused: Option<String>,
    /// Who cancelled it, and whether to turn back. Cleared when it is carried out.
    pub cancelled: Option<(String, bool)>,
    /// A signal stopped the process.
    pub interrupted: bool,
    /// Open gates, with who opened them.
    pub approvals: BTreeMap<StepIx, String>,
    /// Things worth telling, with the step in hand then.
    pub notes: Vec<Note>,
    /// Connections that a drain's end left to be cut.
    pub connections_cut: u64,
}

/// Where a run is going.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// Forward; the cursor is the first step that has not ended.
    Forward {
        /// Position of the next forward step.
        next: u32,
    },
    /// Back: the compensations that are left, the next one last.
    Back {
        /// Why.
        cause: Cause,
        /// What is left, the next one last.
        left: Vec<StepIx>,
        /// Why the way back cannot go to the very beginning (a pivot), in words.
        barrier: Option<String>,
    },
    /// Ended.
    Ended {
        /// How.
        outcome: Outcome,
        /// Where it was going, for a resumption.
        was: Box<Way>,
    },
}

/// A remark with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// When.
    pub at: Timestamp,
    /// The step in hand then.
    pub step: Option<StepIx>,
    /// In words.
    pub text: String,
}

/// What is known of one target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetState {
    /// The release that `preflight` found: `None` before, `Some(None)` when none was there.
    pub before: Option<Option<String>>,
    /// The release that is there now.
    pub release: Release,
    /// Out of the load balancer by manent's hand, since then.
    pub out: Option<Timestamp>,
    /// Instances on which somebody else had it out when its batch was drained; it stays out there.
    pub left_out: BTreeSet<u32>,
    /// It was healthy in service when its batch was drained.
    pub healthy_before: bool,
    /// A step of the run began to change it.
    pub touched: bool,
    /// It cannot be returned to a previous release, since there was none; it stays out.
    pub abandoned: bool,
    /// Since when nobody knows what happened on it.
    pub unknown_since: Option<Timestamp>,
}

/// Which release is on a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Release {
    /// Not asked yet, or in doubt.
    #[default]
    Unknown,
    /// This one, or none at all.
    Known(Option<String>),
}

/// Where a step stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepState {
    /// Not begun.
    Waiting,
    /// In hand.
    Active,
    /// Done.
    Done(Ended),
    /// Nothing to do.
    Skipped {
        /// Why.
        reason: String,
    },
    /// Failed.
    Failed {
        /// Why.
        cause: Cause,
        /// What it left behind.
        effect: Effect,
        /// When, and on which targets it had begun.
        ended: Ended,
    },
    /// It failed, and is tried again.
    Retried(Ended),
    /// Done or failed once, and undone by its compensation.
    Undone,
}

/// Facts of a step that ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ended {
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// Attempts (reads of its waits) it took.
    pub attempts: u32,
    /// Targets on which it began something.
    pub begun: BTreeSet<TargetIx>,
    /// How the work on its targets stood: what is done is not done again when the step is tried again.
    pub nodes: BTreeMap<u32, Work>,
}

/// The step in hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Active {
    /// Which.
    pub step: StepIx,
    /// When it began; limits of admission count from here, across crashes.
    pub began: Timestamp,
    /// The targets it works on (those of its batch without the ones that need nothing).
    pub targets: Vec<TargetIx>,
    /// Position in its list of stages.
    pub stage: u32,
    /// When the stage (or the detour) was entered; its limit counts from here, across crashes.
    pub entered: Timestamp,
    /// Taking back what was done.
    pub detour: Option<(Detour, Cause)>,
    /// What the stage remembers.
    pub memory: Memory,
    /// Work on the targets, a map a stage that has any.
    pub nodes: BTreeMap<u32, Work>,
    /// When the newest read was made that showed all targets out at the gate.
    pub gated: Option<Timestamp>,
    /// Calls that are not answered.
    pub flying: BTreeMap<CallNo, Call>,
    /// Polls so far: `drain@canary#0.3`.
    pub attempt: u32,
    /// Of the members of the batch, how many were healthy in service when they were admitted.
    pub taken: u32,
    /// Targets on which something was begun.
    pub begun: BTreeSet<TargetIx>,
}

/// What a stage remembers of its reads and changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// Newest read of this stage that is newer than its newest change.
    pub read: Option<Timestamp>,
    /// Reads in a row that showed what the stage waits for.
    pub good: u32,
    /// Since when.
    pub good_since: Option<Timestamp>,
    /// Distance to the next read, in ms.
    pub gap: u64,
    /// Reads that an instance did not answer, in a row.
    pub misses: u32,
    /// When the newest change was answered.
    pub sent: Option<Timestamp>,
    /// What that answer complained of.
    pub trouble: Option<Trouble>,
    /// Identities of the instances' processes.
    pub identities: Vec<Option<String>>,
    /// The state was forced down and accepted everywhere.
    pub forced: bool,
    /// The drain was hardened.
    pub hardened: bool,
    /// Connections that were cut at the end of the wait are counted.
    pub cut: bool,
    /// A drain was lost in this stage: connections have to be seen at zero again.
    pub strict: bool,
    /// A postponed drain: why and until when.
    pub postponed: Option<(Blocked, Timestamp)>,
}

/// What an instance said against a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// No repetition can help.
    pub permanent: bool,
    /// In words.
    pub reason: String,
}

/// Work on one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A call is running.
    Running {
        /// Its number.
        no: CallNo,
        /// When it is given up.
        until: Timestamp,
    },
    /// Intended, outcome unknown; the target is asked.
    Doubt {
        /// The call in doubt.
        no: CallNo,
        /// When asking is given up.
        until: Timestamp,
        /// When to ask next.
        next: Timestamp,
        /// Why it is in doubt.
        reason: String,
    },
    /// The target said that the call may be performed again under its number.
    Again {
        /// Its number.
        no: CallNo,
    },
    /// Done.
    Done {
        /// What it printed, where that matters.
        output: Option<String>,
    },
    /// Failed.
    Failed {
        /// In words.
        reason: String,
        /// Something was begun.
        begun: bool,
        /// Nobody knows how it ended.
        unknown: Option<CallNo>,
    },
}

impl RunState {
    /// The state before anything happened.
    #[must_use]
    pub fn new(plan: &Plan) -> RunState {
        RunState {
            started: None,
            newest: Timestamp(0),
            force: false,
            adopted: BTreeSet::new(),
            targets: vec![TargetState::default(); plan.targets.len()],
            steps: vec![StepState::Waiting; plan.steps.len()],
            undoes: (0_u32..)
                .zip(&plan.steps)
                .filter_map(|(at, step)| match step.reversal {
                    Reversal::By(compensation) => Some((compensation, StepIx(at))),
                    Reversal::Nothing | Reversal::Pivot => None,
                })
                .collect(),
            active: None,
            way: Way::Forward { next: 0 },
            next_call: 1,
            view: None,
            need: None,
            paused: None,
            cancelled: None,
            interrupted: false,
            approvals: BTreeMap::new(),
            notes: Vec::new(),
            connections_cut: 0,
        }
    }

    /// What is known of a target.
    #[must_use]
    pub fn target(&self, at: TargetIx) -> Option<&TargetState> {
        self.targets.get(at.at())
    }

    /// The floor that holds now.
    #[must_use]
    pub fn floor(&self, plan: &Plan) -> u32 {
        self.need.unwrap_or_else(|| plan.pool.as_ref().map_or(0, |pool| pool.floor.need))
    }

    /// Whether the target runs the plan's release already and needs nothing.
    #[must_use]
    pub fn current(&self, plan: &Plan, at: TargetIx) -> bool {
        let Some(target) = self.target(at) else { return false };
        let same = plan.release.is_some() && target.before == Some(plan.release.clone());
        same && !self.force && !self.adopted.contains(&at)
    }

    /// How the run ended.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.way {
            Way::Ended { outcome, .. } => Some(outcome),
            Way::Forward { .. } | Way::Back { .. } => None,
        }
    }

    /// The forward step that failed last, if any.
    #[must_use]
    pub fn failed(&self) -> Option<(StepIx, &Cause)> {
        let failed = self.steps.iter().enumerate().rev().find_map(|(at, step)| match step {
            StepState::Failed { cause, .. } => Some((at, cause)),
            StepState::Waiting
            | StepState::Active
            | StepState::Done(_)
            | StepState::Skipped { .. }
            | StepState::Retried(_)
            | StepState::Undone => None,
        });
        failed.and_then(|(at, cause)| u32::try_from(at).ok().map(|at| (StepIx(at), cause)))
    }

    /// Whether anything of the run is visible from outside: members out by its hand, or releases that are not the ones
    /// it found.
    #[must_use]
    pub fn left_traces(&self) -> bool {
        self.targets.iter().any(|target| {
            let changed = match (&target.before, &target.release) {
                (Some(before), Release::Known(now)) => before != now,
                (Some(_), Release::Unknown) => true,
                (None, _) => false,
            };
            target.out.is_some() || changed
        })
    }
}
