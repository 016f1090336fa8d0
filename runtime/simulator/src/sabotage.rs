//! Faults planted on purpose, between engine and world: a judge that objects to none of them proves nothing. It must not
//! be used outside tests; without a fault it passes everything on as it is.

use std::collections::BTreeMap;

use manent_engine::view::Seen;
use manent_engine::{Admin, Answer, Call, Change, Event, Health, Ledger, PoolView, Probed, Timestamp};
use manent_plan::Plan;

/// What is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// Nothing.
    None,
    /// A call in doubt is repeated under another number without asking the target.
    BlindRepeat,
    /// Members that are out are shown as healthy at once.
    RestoreBeforeHealthy,
    /// Members that were put back are shown as healthy at once.
    NextBeforeHealthy,
    /// Only the first instance is told to drain.
    OneInstance,
    /// Members are shown without connections.
    NoWaiting,
    /// After a restart every limit begins anew.
    TimersRestart,
}

/// Stands between engine and world.
#[derive(Debug, Clone)]
pub(crate) struct Saboteur {
    fault: Sabotage,
    /// How often each number was performed.
    times: BTreeMap<u64, u64>,
}

/// Numbers that the world sees for blind repeats begin here.
const REPEATED: u64 = 1 << 40;

impl Saboteur {
    pub(crate) fn new(fault: Sabotage) -> Saboteur {
        Saboteur { fault, times: BTreeMap::new() }
    }

    /// The engine's number of a call that the world answered.
    pub(crate) fn own(&self, no: u64) -> u64 {
        no % REPEATED
    }

    /// A call on its way to the world, or an answer that is made up without asking.
    pub(crate) fn call(&mut self, no: u64, call: Call, _: &Plan) -> Result<(u64, Call), Answer> {
        match (self.fault, call) {
            (Sabotage::BlindRepeat, Call::Probe { .. }) => {
                Err(Answer::Probed(Probed { ledger: Ledger::Absent, release: None }))
            }
            (Sabotage::BlindRepeat, call @ Call::Run { .. }) => {
                let times = self.times.entry(no).or_insert(0);
                *times += 1;
                Ok((no + (*times - 1) * REPEATED, call))
            }
            (Sabotage::OneInstance, Call::Change { change: Change::Drain, on }) => {
                let on = on.into_iter().filter(|one| one.instance == 0).collect();
                Ok((no, Call::Change { change: Change::Drain, on }))
            }
            (_, call) => Ok((no, call)),
        }
    }

    /// An answer on its way to the engine.
    pub(crate) fn answer(&self, _: u64, answer: &Answer, _: &Plan) -> Answer {
        match (self.fault, answer) {
            (Sabotage::None | Sabotage::BlindRepeat | Sabotage::TimersRestart, answer) => answer.clone(),
            (_, Answer::Pool(view)) => Answer::Pool(self.view(view)),
            (_, answer) => answer.clone(),
        }
    }

    fn view(&self, view: &PoolView) -> PoolView {
        let mut view = view.clone();
        for seen in view.targets.values_mut() {
            match self.fault {
                Sabotage::RestoreBeforeHealthy => seen.iter_mut().for_each(|seen| lie(seen, Admin::Out)),
                Sabotage::NextBeforeHealthy => seen.iter_mut().for_each(|seen| lie(seen, Admin::In)),
                Sabotage::NoWaiting => seen.iter_mut().for_each(|seen| seen.connections = Some(0)),
                Sabotage::OneInstance => {
                    if let Some(first) = seen.first().cloned() {
                        seen.iter_mut().for_each(|seen| *seen = first.clone());
                    }
                }
                Sabotage::None | Sabotage::BlindRepeat | Sabotage::TimersRestart => {}
            }
        }
        view
    }

    /// The journal as another process reads it.
    pub(crate) fn fold(&self, journal: &[(Timestamp, Event)], now: Timestamp) -> Vec<(Timestamp, Event)> {
        let mut journal = journal.to_vec();
        if self.fault == Sabotage::TimersRestart {
            journal.iter_mut().for_each(|(time, _)| *time = now);
        }
        journal
    }
}

fn lie(seen: &mut Seen, about: Admin) {
    if seen.admin == about {
        seen.health = Health::Up;
    }
}
