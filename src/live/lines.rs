//! A run as lines of a log: one line an event that a person may care about, stable, without colour or redrawing.
//! It must not know where the lines go.

use std::collections::BTreeMap;

use manent_engine::{Answer, Call, CallNo, Detour, End, Event, Ran, RunState, Timestamp};
use manent_plan::{Plan, StepIx, StepKind};

use crate::{clean, clock, words};

/// Remembers what is under way, so that an answer can be told with its call.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    step: Option<StepIx>,
    flying: BTreeMap<CallNo, Call>,
}

impl Lines {
    /// The line of an event, where it has one.
    pub(crate) fn line(
        &mut self,
        plan: &Plan,
        state: &RunState,
        at: Timestamp,
        event: &Event,
    ) -> Option<String> {
        let text = self.text(plan, state, event);
        let place = self.step.map(|step| plan.step_id(step)).unwrap_or_default();
        // The compiler's checks are recorded as a step, but nobody waits for them.
        let told = self
            .step
            .is_none_or(|step| plan.steps.get(step.at()).is_none_or(|step| step.kind != StepKind::Config));
        let line = text.filter(|_| told).map(|text| format!("{}  {place:<24} {text}", clock::of_day(at)));
        if matches!(event, Event::Ended { .. }) {
            self.step = None;
        }
        line.map(|line| clean::line(line.trim_end()))
    }

    fn text(&mut self, plan: &Plan, state: &RunState, event: &Event) -> Option<String> {
        match event {
            Event::Started { .. } => Some(format!(
                "run of {} to {} begins",
                plan.environment,
                plan.release.as_deref().unwrap_or("?")
            )),
            Event::Resumed { retry_failed: false } => Some(String::from("run taken up again")),
            Event::Resumed { retry_failed: true } => {
                Some(String::from("run taken up again, failed work is tried again"))
            }
            Event::Began { step } => {
                self.step = Some(*step);
                let targets = plan.targets_of(*step);
                let whole = targets.is_empty() || targets.len() == plan.targets.len() && targets.len() > 1;
                Some(if whole {
                    String::from("begins")
                } else {
                    format!("begins: {}", words::targets(plan, &targets))
                })
            }
            Event::Entered { .. } => None,
            Event::Detoured { to, cause } => Some(format!("{}: {}", detour(*to), words::cause(plan, cause))),
            Event::Intended { no, call } => {
                self.flying.insert(*no, call.clone());
                words::call(plan, call)
            }
            Event::Answered { no, answer } => self.answered(plan, *no, answer),
            Event::Postponed { attempt, blocked, next } => Some(format!(
                "attempt {attempt} postponed: {}; again at {}",
                words::blocked(blocked),
                clock::of_day(*next)
            )),
            Event::Noted { note } => Some(clean::line(note)),
            Event::Cut { connections } => Some(format!("time is over, connections cut: {connections}")),
            Event::Ended { end } => Some(match end {
                End::Done => String::from("done"),
                End::Skipped { reason } => format!("skipped: {}", clean::line(reason)),
                End::Failed { cause, .. } => format!("FAILED: {}", words::cause(plan, cause)),
            }),
            Event::TurnedBack { cause } => {
                Some(format!("the way back begins: {}", words::cause(plan, cause)))
            }
            Event::Paused { by } => Some(format!("paused by {}", clean::line(by))),
            Event::Continued { by } => Some(format!("continued by {}", clean::line(by))),
            Event::Cancelled { by, rollback } => {
                let how = if *rollback { "turn back" } else { "stop" };
                Some(format!("cancelled by {}: {how}", clean::line(by)))
            }
            Event::Approved { step, by } => {
                Some(format!("{} approved by {}", plan.step_id(*step), clean::line(by)))
            }
            Event::Interrupted => Some(String::from("interrupted, the run can be resumed")),
            Event::Finished { outcome } => {
                let took =
                    state.started.map(|began| clock::span(state.newest.since(began))).unwrap_or_default();
                Some(format!("{} ({took})", words::outcome(plan, outcome)))
            }
        }
    }

    fn answered(&mut self, plan: &Plan, no: CallNo, answer: &Answer) -> Option<String> {
        let call = self.flying.remove(&no)?;
        let told = words::answer(answer)?;
        match (&call, answer) {
            (
                Call::Run { target, procedure, .. } | Call::Probe { target, procedure, .. },
                Answer::Ran(Ran::Failed { .. } | Ran::Unknown { .. }),
            ) => Some(format!(
                "{} on {}: {told}",
                words::procedure(plan, *procedure),
                plan.target_name(*target)
            )),
            (Call::Change { change, .. }, _) => Some(format!("{}: {told}", words::change(*change))),
            (Call::ReadPool { .. } | Call::Run { .. } | Call::Probe { .. }, _) => Some(told),
        }
    }
}

fn detour(to: Detour) -> &'static str {
    match to {
        Detour::PutBackAndPostpone => "putting the batch back, to try again later",
        Detour::PutBackAndFail => "putting the batch back untouched",
        Detour::TakeOutAndFail => "taking out again what did not become healthy",
    }
}
