//! What happened in a world, in order: every call with the true state at its time, every answer, every effect, every
//! fault. It is all that the judge gets to see; nothing of the engine is in it.

use manent_engine::{Answer, Call, Change, Procedure};
use manent_engine::{Outcome, Report};

use crate::setup::What;

/// Something that happened.
#[derive(Debug, Clone)]
pub struct Fact {
    /// When, in virtual ms.
    pub at: u64,
    /// What.
    pub what: Happened,
}

/// What happened.
#[derive(Debug, Clone)]
pub enum Happened {
    /// A process sent a call.
    Sent {
        /// Of which run.
        run: u32,
        /// The number that the world sees.
        no: u64,
        /// The call.
        call: Call,
    },
    /// An answer reached the process that had asked.
    Answered {
        /// Of which run.
        run: u32,
        /// To which call.
        no: u64,
        /// With what.
        answer: Answer,
    },
    /// A change took effect on an instance.
    Effect {
        /// Of which run.
        run: u32,
        /// Of which call.
        no: u64,
        /// Where.
        instance: u32,
        /// What.
        change: Change,
        /// On which targets.
        targets: Vec<u32>,
        /// Members healthy and in service on all instances just before.
        before: u32,
        /// And just after.
        after: u32,
    },
    /// A procedure began on a target, for the first time under its number.
    Executed {
        /// Of which run.
        run: u32,
        /// Of which call.
        no: u64,
        /// Which.
        procedure: Procedure,
        /// Where.
        target: u32,
    },
    /// A command went on under its number where it had stopped.
    WentOn {
        /// Of which run.
        run: u32,
        /// Of which call.
        no: u64,
        /// Where.
        target: u32,
    },
    /// A command made the application of a target stop.
    Stopped {
        /// Of which run.
        run: u32,
        /// Of which call.
        no: u64,
        /// Where.
        target: u32,
        /// Instances that still sent it traffic.
        routed: Vec<u32>,
        /// Sessions in flight that an instance still showed.
        sessions: u32,
        /// Members healthy and in service on all instances just before.
        before: u32,
        /// And just after.
        after: u32,
    },
    /// Client requests went to a member that could not answer, since `from`.
    Lost {
        /// Which member.
        member: u32,
        /// Through which instance.
        instance: u32,
        /// Since when.
        from: u64,
        /// How many.
        requests: u64,
        /// Through whom.
        blame: Blame,
    },
    /// Something befell the world.
    Befell(What),
    /// Something that befell the world passed.
    Passed(What),
    /// A process died.
    Crashed {
        /// Of which run.
        run: u32,
        /// What status says from the journal alone, where it was asked.
        report: Option<Box<Report>>,
        /// What is true of the targets then.
        truth: Vec<Truth>,
    },
    /// A process took a run up again.
    Resumed {
        /// Which run.
        run: u32,
    },
    /// A run ended.
    Ended {
        /// Which run.
        run: u32,
        /// How.
        outcome: Outcome,
        /// What status says.
        report: Box<Report>,
        /// What is true of the targets then.
        truth: Vec<Truth>,
    },
}

/// What is true of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truth {
    /// Out on some instance by the hand of the run.
    pub out: bool,
    /// In the rotation of every instance, as far as administrative states go.
    pub in_service: bool,
    /// The release on its disk.
    pub release: Option<String>,
}

/// Who made requests go to a member that could not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// A run stopped the application while it had traffic.
    Stop {
        /// The run.
        run: u32,
        /// The call.
        no: u64,
    },
    /// A run put the member back although it could not answer.
    Restore {
        /// The run.
        run: u32,
        /// The call.
        no: u64,
    },
    /// The world.
    Outside,
}

/// A target at the end: out or not, its release, and what ran on it how often.
pub type TargetEnd = (bool, Option<String>, Vec<(String, u32)>);

/// The final state of a world, for comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// How each run ended: the name of the outcome.
    pub outcomes: Vec<String>,
    /// Each target: in service on every instance, release on disk, executions of every procedure that ended.
    pub targets: Vec<TargetEnd>,
}
