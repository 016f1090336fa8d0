//! What became of a call in doubt: the target's ledger is asked for each of its commands, and the recipe for the release
//! that is there. A read; it changes nothing.

use manent_engine::{CallNo, Ledger, Probed, Procedure, Ran};
use manent_plan::{Action, TargetIx};

use super::actions::{Acted, acted};
use super::{Performer, Scope};
use crate::transport::LedgerEntry;

impl Performer {
    /// Probes a call.
    pub(super) async fn probe(&self, of: CallNo, procedure: Procedure, target: TargetIx) -> Probed {
        let Some(wanted) = self.wanted.get(target.at()) else {
            return Probed {
                ledger: Ledger::Unreachable { reason: String::from("no such target") },
                release: None,
            };
        };
        let ledger = self.ledger(of, procedure, target).await;
        let recipe = matches!(procedure, Procedure::Apply | Procedure::Undo);
        let reachable = !matches!(ledger, Ledger::Unreachable { .. });
        let release = if recipe && reachable {
            let scope = Scope { target, wanted, release: None, from: None };
            match self.current(&scope).await {
                Ran::Done { output } => Some(output),
                Ran::Failed { .. } | Ran::Unknown { .. } => None,
            }
        } else {
            None
        };
        Probed { ledger, release }
    }

    async fn ledger(&self, of: CallNo, procedure: Procedure, target: TargetIx) -> Ledger {
        let transport = match self.transports.of(target).await {
            Ok(transport) => transport,
            Err(reason) => return Ledger::Unreachable { reason },
        };
        let actions = self.actions_of(procedure);
        let mut done = 0;
        let mut absent = 0;
        for (at, action) in actions.iter().enumerate() {
            match action {
                Action::Run { .. } | Action::Sh { .. } => {}
                // Not written into the ledger; repeating them is safe.
                Action::Upload { .. } | Action::Http { .. } | Action::Wait { .. } => continue,
            }
            match transport.probe(&self.key(of, at)).await {
                LedgerEntry::Absent => absent += 1,
                LedgerEntry::Ended(executed) => match acted(executed, action.timeout_ms()) {
                    Acted::Done(_) => done += 1,
                    Acted::Failed { reason, .. } => {
                        return Ledger::Ended(Ran::Failed { begun: true, reason });
                    }
                    Acted::Unknown { reason } => return Ledger::Ended(Ran::Unknown { reason }),
                },
                LedgerEntry::Running => return Ledger::Running,
                LedgerEntry::Died => return Ledger::Died,
                LedgerEntry::Unreachable { reason } => return Ledger::Unreachable { reason },
            }
        }
        let last_is_written = matches!(actions.last(), Some(Action::Run { .. } | Action::Sh { .. }));
        match (done, absent) {
            (0, _) => Ledger::Absent,
            (_, 0) if last_is_written => Ledger::Ended(Ran::Done { output: None }),
            (_, _) => Ledger::Partial,
        }
    }
}
