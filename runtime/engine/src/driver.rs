//! Decide until rest: the small loop that the runtime and the simulator share. It performs nothing.

use manent_plan::Plan;

use crate::call::{Call, CallNo};
use crate::decide::{Command, decide};
use crate::event::{Event, Outcome};
use crate::state::RunState;
use crate::time::Timestamp;

/// Decisions in one turn before something must be wrong with the plan or the engine; a turn of a sane run has a few per
/// target of a batch.
const TURN_LIMIT: usize = 1_000_000;

/// A plan with the state of its run.
#[derive(Debug, Clone)]
pub struct Engine<'p> {
    plan: &'p Plan,
    state: RunState,
}

/// What one event or wake-up led to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// To append in one commit, in order; the event that was taken comes first.
    pub records: Vec<Event>,
    /// To perform after that commit; their intents are among the records.
    pub perform: Vec<(CallNo, Call)>,
    /// When to call [`Engine::advance`], if nothing comes earlier.
    pub wake: Option<Timestamp>,
    /// The run has ended.
    pub outcome: Option<Outcome>,
}

impl<'p> Engine<'p> {
    /// A run in which nothing has happened.
    #[must_use]
    pub fn new(plan: &'p Plan) -> Engine<'p> {
        Engine { plan, state: RunState::new(plan) }
    }

    /// A run as its journal tells it. Decides nothing.
    pub fn fold<'e>(plan: &'p Plan, events: impl IntoIterator<Item = (Timestamp, &'e Event)>) -> Engine<'p> {
        Engine { plan, state: RunState::fold(plan, events) }
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &'p Plan {
        self.plan
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// Applies an event that came from outside, then decides until rest.
    pub fn take(&mut self, now: Timestamp, event: Event) -> Turn {
        self.state.apply(self.plan, now, &event);
        self.decide_until_rest(now, vec![event])
    }

    /// Applies events that came at the same time, then decides until rest: one commit for all of them.
    pub fn take_all(&mut self, now: Timestamp, events: Vec<Event>) -> Turn {
        for event in &events {
            self.state.apply(self.plan, now, event);
        }
        self.decide_until_rest(now, events)
    }

    /// A wake-up: decides until rest.
    pub fn advance(&mut self, now: Timestamp) -> Turn {
        self.decide_until_rest(now, Vec::new())
    }

    fn decide_until_rest(&mut self, now: Timestamp, records: Vec<Event>) -> Turn {
        let mut turn = Turn { records, ..Turn::default() };
        for _ in 0..TURN_LIMIT {
            let event = match decide(self.plan, &self.state, now) {
                Command::Record(event) => event,
                Command::Perform(no, call) => {
                    turn.perform.push((no, call.clone()));
                    Event::Intended { no, call }
                }
                Command::Rest(wake) => {
                    turn.wake = wake;
                    break;
                }
            };
            self.state.apply(self.plan, now, &event);
            turn.records.push(event);
        }
        turn.outcome = self.state.outcome().cloned();
        turn
    }
}
