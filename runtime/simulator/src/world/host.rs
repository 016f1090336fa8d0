//! One target: the release on its disk, the application that runs, and the ledger of commands by number. A number that
//! was executed is never executed again. It must not know balancers.

use std::collections::{BTreeMap, VecDeque};

use manent_engine::{Procedure, Ran};

use crate::setup::Stage;

/// A run and a call's number in it.
pub(crate) type Key = (u32, u64);

/// A target, or a member that is none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Host {
    /// The release on disk.
    pub disk: Option<String>,
    /// The application answers: it runs, and nothing from outside keeps it down.
    pub able: bool,
    /// The application has started.
    pub running: bool,
    /// Counts starts and stops, so that a start that was overtaken does nothing.
    pub generation: u32,
    /// Counts restarts of the machine.
    pub boot: u32,
    /// It is told to fail its health check.
    pub flagged: bool,
    /// manent reaches it.
    pub reachable: bool,
    /// Reasons from outside why the application does not answer.
    pub down: u32,
    /// Commands that were asked for.
    pub ledger: BTreeMap<Key, Entry>,
    /// Failures that are due.
    pub failures: Vec<(Procedure, Stage)>,
    /// Executions that were begun, by procedure.
    pub executions: BTreeMap<Procedure, u32>,
    /// Executions that ended well, by procedure.
    pub done: BTreeMap<Procedure, u32>,
}

/// A command in the ledger.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub procedure: Procedure,
    pub standing: Standing,
    /// What is left to do, with the time each takes.
    pub left: VecDeque<(u64, Act)>,
    /// The process that waits for its end.
    pub waiter: Option<u32>,
    /// When the waiter gives up.
    pub until: u64,
}

/// Where a command stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    Running,
    /// Part of it is done, nothing runs.
    Partial,
    Ended(Ran),
    Died,
}

/// One act of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// Another release on disk.
    Switch(Option<String>),
    /// An action of several is over: without the process that asks for the next one it stops here.
    Boundary,
    /// The application restarts.
    Restart,
    /// It ends.
    Finish(Ran),
}

fn failed(begun: bool, reason: &str) -> Act {
    Act::Finish(Ran::Failed { begun, reason: reason.to_owned() })
}

/// What a procedure does on a target, one after another.
pub(crate) fn script(
    procedure: Procedure,
    release: &Option<String>,
    takes: u64,
    failure: Option<Stage>,
) -> VecDeque<(u64, Act)> {
    let part = takes / 3;
    let done = Act::Finish(Ran::Done { output: None });
    let early = match failure {
        Some(Stage::NotStarted) => Some(vec![(part, failed(false, "could not be started"))]),
        Some(Stage::Early) => Some(vec![(part, failed(true, "exit code 1"))]),
        Some(Stage::Hangs) => Some(Vec::new()),
        Some(Stage::Switched | Stage::Restarted) | None => None,
    };
    let acts = early.unwrap_or_else(|| match procedure {
        Procedure::Apply | Procedure::Undo => {
            let mut acts = vec![(part, Act::Switch(release.clone())), (0, Act::Boundary)];
            if failure == Some(Stage::Switched) {
                acts.push((part, failed(true, "exit code 1 of the restart")));
            } else {
                let end =
                    if failure.is_some() { failed(true, "exit code 1 after the restart") } else { done };
                acts.extend([(part, Act::Restart), (part, end)]);
            }
            acts
        }
        Procedure::Custom(_)
        | Procedure::UndoCustom(_)
        | Procedure::Activate(_)
        | Procedure::UndoActivate(_)
        | Procedure::Current
        | Procedure::PostTest => {
            let end = if failure.is_some() { failed(true, "exit code 1") } else { done };
            vec![(takes, end)]
        }
    });
    acts.into()
}
