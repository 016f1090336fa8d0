//! Every exit code of the program, in one place. Scripts rely on the numbers.
//! It must not know which verb ends how; the verbs say that.

use manent_engine::Outcome;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, or nothing to do.
    Done,
    /// An error that is none of the others.
    Error,
    /// The input is wrong; diagnostics were printed. With `plan --detailed-exitcode` it says "there are changes".
    Input,
    /// The run failed and was rolled back, or nothing was touched: the service is whole.
    RolledBack,
    /// The run stopped: members are out, or the releases are mixed.
    Stopped,
    /// The plan is stale or was applied already.
    Stale,
    /// `preflight` refused; nothing was touched.
    Refused,
    /// Somebody else holds the environment.
    Locked,
    /// Interrupted; `manent resume` goes on.
    Interrupted,
}

impl Exit {
    /// Its number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Error => 1,
            Exit::Input => 2,
            Exit::RolledBack => 3,
            Exit::Stopped => 4,
            Exit::Stale => 5,
            Exit::Refused => 6,
            Exit::Locked => 7,
            Exit::Interrupted => 130,
        }
    }

    /// What the end of a run means for the program.
    pub(crate) fn of(outcome: &Outcome) -> Exit {
        match outcome {
            Outcome::Succeeded | Outcome::NothingToDo => Exit::Done,
            Outcome::Refused { .. } => Exit::Refused,
            // A run that failed before it touched anything leaves the same behind as one that was rolled back.
            Outcome::RolledBack { .. } | Outcome::Failed { .. } => Exit::RolledBack,
            Outcome::Stopped { .. } => Exit::Stopped,
        }
    }
}
