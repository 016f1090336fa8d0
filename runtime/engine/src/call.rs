//! Calls: everything the engine can ask the world to do, and every answer it can get. A call says all that is needed to
//! perform it. It must not know how a provider or a transport does it.

use manent_plan::TargetIx;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::view::PoolView;

/// Number of a call, unique in its run and the same again when the journal is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallNo(pub u64);

/// Something to perform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Read the pool on every instance. A read; may be repeated at will.
    ReadPool {
        /// The targets of interest, for providers that have to ask for each; empty means all.
        targets: Vec<TargetIx>,
    },
    /// Change members. Idempotent; the answer proves nothing, the next read does.
    Change {
        /// To what.
        change: Change,
        /// Which members on which instances. An instance that is not named is not touched.
        on: Vec<InstanceChange>,
    },
    /// Run a procedure on one target, exactly once under its number: asked again with the same number, the target's
    /// ledger answers with the recorded result or waits for the running one.
    Run {
        /// What to run.
        procedure: Procedure,
        /// Where.
        target: TargetIx,
        /// `{release}`: the release that is on the target when it is done.
        release: Option<String>,
        /// `{from}`: the release being left, on the way back.
        from: Option<String>,
        /// When to give up.
        until: Timestamp,
    },
    /// Ask the target's ledger what became of an earlier `Run`, and which release is on it. A read.
    Probe {
        /// The call in doubt.
        of: CallNo,
        /// What it ran.
        procedure: Procedure,
        /// Where.
        target: TargetIx,
        /// When to give up.
        until: Timestamp,
    },
}

/// How members change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// No new traffic; what is in flight goes on.
    Drain,
    /// Also cut persistent clients off (HAProxy `maint`).
    Harden,
    /// Still out, and forget what the last check said: healthy again only after a check from now on.
    ForceDown,
    /// Traffic again.
    Restore,
}

/// Members to change on one instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceChange {
    /// Position in [`PoolView::instances`].
    pub instance: u32,
    /// The members' targets.
    pub targets: Vec<TargetIx>,
}

/// What runs on a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Procedure {
    /// Print the release that is there. A read.
    Current,
    /// The recipe's `apply` (then `retain`, whose failure fails nothing).
    Apply,
    /// The recipe's `undo`.
    Undo,
    /// All post-tests, each polled until it passes or its time is over. A read.
    PostTest,
    /// A custom step.
    Custom(u32),
    /// Its undo.
    UndoCustom(u32),
    /// An activation.
    Activate(u32),
    /// Its undo.
    UndoActivate(u32),
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// To `ReadPool`.
    Pool(PoolView),
    /// To `Change`: one an entry of `on`, in its order.
    Changed(Vec<InstanceAnswer>),
    /// To `Run`.
    Ran(Ran),
    /// To `Probe`.
    Probed(Probed),
}

/// What one instance said to a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstanceAnswer {
    /// It accepted. That proves nothing yet.
    Accepted,
    /// It refused for good; nothing was changed by the refused request.
    Refused {
        /// In words.
        reason: String,
    },
    /// It could not be reached, or failed, or its answer was lost: the change may have happened.
    Unsure {
        /// In words.
        reason: String,
    },
}

/// How a procedure ended on a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ran {
    /// It succeeded.
    Done {
        /// For `Current`: the release it printed, `None` when it printed nothing. For others: a note for people.
        output: Option<String>,
    },
    /// It failed.
    Failed {
        /// Whether it began to change anything.
        begun: bool,
        /// In words, with the exit code where there is one.
        reason: String,
    },
    /// Its outcome is unknown: the connection was lost, the deadline passed while it ran.
    Unknown {
        /// In words.
        reason: String,
    },
}

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probed {
    /// What the target's ledger says of the call.
    pub ledger: Ledger,
    /// The release on the target: `Some(None)` when none is there, `None` when it could not be told or was not asked
    /// (procedures other than `Apply` and `Undo`).
    pub release: Option<Option<String>>,
}

/// What the ledger of a target says of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ledger {
    /// It was never begun there.
    Absent,
    /// Part of it is done and nothing of it is running: asked again, it goes on where it stopped.
    Partial,
    /// It is running.
    Running,
    /// It ended.
    Ended(Ran),
    /// It was begun and is gone without a result (the target restarted, or somebody killed it).
    Died,
    /// The target could not be asked.
    Unreachable {
        /// In words.
        reason: String,
    },
}
