//! Requests of an operator to the process that drives a run: left in the journal by one process, taken by the other.
//! It must not know what the engine makes of them.

use manent_engine::{Event, Timestamp};
use manent_plan::StepIx;
use serde::{Deserialize, Serialize};

/// What can be asked of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Begin nothing new after the calls in hand.
    Pause,
    /// Go on after a pause.
    Continue,
    /// Stop.
    Cancel {
        /// Turn back instead of leaving everything as it is.
        rollback: bool,
    },
    /// Open a gate.
    Approve {
        /// The `approve` step.
        step: StepIx,
    },
}

/// Something that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its number in the journal.
    pub id: u64,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: String,
    /// What.
    pub ask: Ask,
}

impl Request {
    /// As the event that the engine is told.
    #[must_use]
    pub fn event(&self) -> Event {
        let by = self.by.clone();
        match self.ask {
            Ask::Pause => Event::Paused { by },
            Ask::Continue => Event::Continued { by },
            Ask::Cancel { rollback } => Event::Cancelled { by, rollback },
            Ask::Approve { step } => Event::Approved { step, by },
        }
    }
}
