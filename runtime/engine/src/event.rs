//! Events: what a journal holds and a run's state is folded from. Each says something that has happened.
//! It must not know how events are stored.

use std::collections::BTreeSet;

use manent_plan::{StepIx, TargetIx};
use serde::{Deserialize, Serialize};

use crate::call::{Answer, Call, CallNo};
use crate::time::Timestamp;

/// Something that happened in a run. Its time is stored beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The run began.
    Started {
        /// Members that an earlier run of manent left out and that this run may put back.
        adopted: BTreeSet<TargetIx>,
        /// Update targets that are current already, too.
        force: bool,
    },
    /// A process took the run up again: whatever was in flight is in doubt.
    Resumed {
        /// A failed step is tried again.
        retry_failed: bool,
    },
    /// A step began.
    Began {
        /// Which.
        step: StepIx,
    },
    /// A stage of the step in hand began (see the engine's `stage`).
    Entered {
        /// Position in the step's list of stages.
        stage: u32,
    },
    /// A detour of the step in hand began: what was done is taken back because of `cause`.
    Detoured {
        /// Where to.
        to: Detour,
        /// Why.
        cause: Cause,
    },
    /// A call is about to be performed.
    Intended {
        /// Its number.
        no: CallNo,
        /// What.
        call: Call,
    },
    /// It was answered.
    Answered {
        /// Its number.
        no: CallNo,
        /// With what.
        answer: Answer,
    },
    /// A drain was postponed.
    Postponed {
        /// Number of the attempt, from 1: `drain@canary#0.1`.
        attempt: u32,
        /// Why.
        blocked: Blocked,
        /// When it is tried again.
        next: Timestamp,
    },
    /// Something worth telling that changes no decision.
    Noted {
        /// In words.
        note: String,
    },
    /// A drain's time was over and connections were left; they are cut.
    Cut {
        /// How many, as far as they could be counted.
        connections: u64,
    },
    /// The step in hand ended.
    Ended {
        /// How.
        end: End,
    },
    /// The run turned back: compensations of what was begun, in reverse order.
    TurnedBack {
        /// Why.
        cause: Cause,
    },
    /// Somebody asked for a pause; no new call is begun.
    Paused {
        /// Who.
        by: String,
    },
    /// Somebody ended the pause.
    Continued {
        /// Who.
        by: String,
    },
    /// Somebody asked to stop.
    Cancelled {
        /// Who.
        by: String,
        /// Turn back instead of leaving everything as it is.
        rollback: bool,
    },
    /// Somebody opened a gate.
    Approved {
        /// The `approve` step.
        step: StepIx,
        /// Who.
        by: String,
    },
    /// A signal stopped the process; the run can be resumed.
    Interrupted,
    /// The run ended.
    Finished {
        /// How.
        outcome: Outcome,
    },
}

/// Ways to take back what a step did before it fails or is postponed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detour {
    /// Untouched members go back into service; then the drain is postponed.
    PutBackAndPostpone,
    /// Untouched members go back into service; then the step fails.
    PutBackAndFail,
    /// Members that never became healthy are taken out again; then the step fails.
    TakeOutAndFail,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Its work is done.
    Done,
    /// There was nothing to do, for this reason.
    Skipped {
        /// In words.
        reason: String,
    },
    /// It failed.
    Failed {
        /// Why.
        cause: Cause,
        /// Whether an effect is left that has to be compensated.
        effect: Effect,
    },
}

/// Whether a failed step left an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// None: nothing was done, or it was taken back.
    None,
    /// Perhaps.
    Possible,
    /// Certainly.
    Certain,
}

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// In words, for people.
    pub message: String,
    /// The targets that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetIx>,
    /// Targets of which it is not known what happened on them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<TargetIx>,
}

impl Cause {
    /// A cause in words alone.
    pub fn new(message: impl Into<String>) -> Cause {
        Cause { message: message.into(), targets: Vec::new(), unknown: Vec::new() }
    }
}

/// What a run is waiting for. `status` prints this value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Blocked {
    /// Too few healthy members would stay in service.
    Floor {
        /// Healthy in service now.
        have: u32,
        /// Members of the batch among them.
        taken: u32,
        /// The floor.
        need: u32,
        /// Member names that count (at most 50, then cut).
        healthy: Vec<String>,
        /// Member names that do not, with their state in words (at most 50, then cut).
        out: Vec<String>,
        /// Member names of the batch.
        batch: Vec<String>,
    },
    /// Too many members would be out by manent's hand.
    Limit {
        /// Out already.
        out: u32,
        /// In the batch.
        batch: u32,
        /// The limit.
        limit: u32,
    },
    /// Instances that do not answer.
    Unreachable {
        /// `name: reason`, one an instance.
        instances: Vec<String>,
    },
    /// The floor broke after the drain, since somebody else took members out; the batch was put back.
    Raced {
        /// Healthy in service then.
        have: u32,
        /// The floor.
        need: u32,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything is on the new release and in service.
    Succeeded,
    /// Every target ran the release already.
    NothingToDo,
    /// `preflight` refused; nothing was touched.
    Refused {
        /// Why.
        cause: Cause,
    },
    /// It failed and nothing is left of it: previous releases, everything in service.
    RolledBack {
        /// Why.
        cause: Cause,
    },
    /// It failed before anything was touched, or what was touched was put back at once; nothing to roll back.
    Failed {
        /// Why.
        cause: Cause,
    },
    /// It stopped with members out or on mixed releases.
    Stopped {
        /// Why.
        cause: Cause,
    },
}
