//! Decisions: from the plan, the state and the time to the next command. It changes nothing and asks nothing; the same
//! values in, the same command out.

use manent_plan::{OnFailure, Plan, StepIx, StepKind};

use crate::call::{Call, CallNo};
use crate::event::{Cause, Detour, Effect, End, Event, Outcome};
use crate::stage::{self, Ctx, Move, stages};
use crate::state::{Active, RunState, StepState, Way};
use crate::time::Timestamp;

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Something is decided: append and apply it.
    Record(Event),
    /// Append the intent, commit, perform.
    Perform(CallNo, Call),
    /// Nothing until an answer or a request comes, or until this time.
    Rest(Option<Timestamp>),
}

/// Decides the next command.
#[must_use]
pub fn decide(plan: &Plan, state: &RunState, now: Timestamp) -> Command {
    if state.started.is_none() {
        return Command::Rest(None);
    }
    match &state.way {
        Way::Ended { .. } => Command::Rest(None),
        Way::Forward { .. } | Way::Back { .. } => match &state.active {
            Some(active) => in_hand(plan, state, active, now),
            None => between(plan, state),
        },
    }
}

/// A step is in hand.
fn in_hand(plan: &Plan, state: &RunState, active: &Active, now: Timestamp) -> Command {
    let flying = !active.flying.is_empty();
    let called_off = state.cancelled.is_some() || state.paused.is_some() || state.interrupted;
    if called_off && flying {
        return Command::Rest(None);
    }
    if let Some((by, rollback)) = &state.cancelled {
        return cancelled(state, active, by, *rollback);
    }
    if called_off {
        return Command::Rest(None);
    }
    let Some(step) = plan.steps.get(active.step.at()) else { return Command::Rest(None) };
    let list = stages(plan, &step.kind);
    if works_on_targets(&step.kind) && active.targets.is_empty() {
        return ended(End::Skipped { reason: nothing_to_do(&step.kind).to_owned() });
    }
    let Some(stage) = list.get(active.stage as usize).copied() else { return ended(End::Done) };
    match stage::next(Ctx { plan, state, active, now }, stage) {
        Move::Call { note: Some(note), .. } | Move::Next { note: Some(note), .. }
            if state.notes.last().is_none_or(|last| last.text != note) =>
        {
            Command::Record(Event::Noted { note })
        }
        Move::Call { call, again, .. } => Command::Perform(again.unwrap_or(CallNo(state.next_call)), call),
        Move::Wait(until) => Command::Rest(until),
        Move::Next { cut: Some(connections), .. } if !has_cut(state) => {
            Command::Record(Event::Cut { connections })
        }
        Move::Next { .. } => match list.get(active.stage as usize + 1) {
            Some(_) => Command::Record(Event::Entered { stage: active.stage.saturating_add(1) }),
            None => ended(End::Done),
        },
        Move::To(other) => match (0_u32..).zip(&list).find(|(_, stage)| **stage == other) {
            Some((at, _)) => Command::Record(Event::Entered { stage: at }),
            None => ended(End::Done),
        },
        Move::Postpone { blocked, next } => {
            Command::Record(Event::Postponed { attempt: active.attempt.max(1), blocked, next })
        }
        Move::Detour(to, cause) => Command::Record(Event::Detoured { to, cause }),
        Move::Fail { cause, effect } => ended(End::Failed { cause, effect: left_behind(active, effect) }),
    }
}

/// The cut of this stage is recorded: its note is the last one, and it is written right after the cut.
fn has_cut(state: &RunState) -> bool {
    state.active.as_ref().is_some_and(|active| active.memory.cut)
}

/// A step that failed without an effect of its last stage may have had one in an earlier stage.
fn left_behind(active: &Active, effect: Effect) -> Effect {
    let put_back = matches!(active.detour, Some((Detour::PutBackAndFail | Detour::PutBackAndPostpone, _)));
    if effect == Effect::None && !put_back && !active.begun.is_empty() { Effect::Possible } else { effect }
}

fn ended(end: End) -> Command {
    Command::Record(Event::Ended { end })
}

fn works_on_targets(kind: &StepKind) -> bool {
    match kind {
        StepKind::Config | StepKind::Bake | StepKind::Approve => false,
        StepKind::Preflight
        | StepKind::Drain
        | StepKind::DrainWait
        | StepKind::Deploy
        | StepKind::PostTest
        | StepKind::Custom(_)
        | StepKind::Restore
        | StepKind::RestoreWait
        | StepKind::Activate(_)
        | StepKind::UndoDrain
        | StepKind::UndoDeploy
        | StepKind::UndoCustom(_)
        | StepKind::UndoRestore
        | StepKind::UndoActivate(_) => true,
    }
}

fn nothing_to_do(kind: &StepKind) -> &'static str {
    match kind {
        StepKind::Restore | StepKind::RestoreWait => {
            "its members are current, or somebody else had taken them out"
        }
        StepKind::UndoDrain => "no member of the batch is out by manent's hand and can go back",
        StepKind::UndoDeploy
        | StepKind::UndoCustom(_)
        | StepKind::UndoRestore
        | StepKind::UndoActivate(_) => "nothing of it was begun that can be undone",
        StepKind::Config
        | StepKind::Preflight
        | StepKind::Drain
        | StepKind::DrainWait
        | StepKind::Deploy
        | StepKind::PostTest
        | StepKind::Custom(_)
        | StepKind::Activate(_)
        | StepKind::Bake
        | StepKind::Approve => "its targets run the release already",
    }
}

fn cancelled(state: &RunState, active: &Active, by: &str, rollback: bool) -> Command {
    let cause = Cause::new(format!("cancelled by {by}"));
    let forward = matches!(state.way, Way::Forward { .. });
    if rollback && forward {
        let effect = if active.begun.is_empty() { Effect::None } else { Effect::Possible };
        return ended(End::Failed { cause, effect });
    }
    stop(state, cause)
}

/// No step is in hand.
fn between(plan: &Plan, state: &RunState) -> Command {
    if let Some((by, rollback)) = &state.cancelled {
        let cause = Cause::new(format!("cancelled by {by}"));
        let forward = matches!(state.way, Way::Forward { .. });
        return if *rollback && forward {
            Command::Record(Event::TurnedBack { cause })
        } else {
            stop(state, cause)
        };
    }
    let failed = match next_step(plan, state) {
        Some(step) => match state.steps.get(step.at()) {
            Some(StepState::Failed { cause, .. }) => Some((step, cause.clone())),
            _ => None,
        },
        None => return finish(plan, state),
    };
    if let Some((step, cause)) = failed {
        return after_failure(plan, state, step, cause);
    }
    if state.paused.is_some() || state.interrupted {
        return Command::Rest(None);
    }
    match next_step(plan, state) {
        Some(step) => Command::Record(Event::Began { step }),
        None => Command::Rest(None),
    }
}

/// The step that is next on the way, whether it waits or has failed.
fn next_step(plan: &Plan, state: &RunState) -> Option<StepIx> {
    match &state.way {
        Way::Forward { next } => {
            let step = plan.steps.get(*next as usize)?;
            (!step.kind.is_compensation()).then_some(StepIx(*next))
        }
        Way::Back { left, .. } => left.last().copied(),
        Way::Ended { .. } => None,
    }
}

fn after_failure(plan: &Plan, state: &RunState, step: StepIx, cause: Cause) -> Command {
    let preflight = plan.steps.get(step.at()).is_some_and(|step| step.kind == StepKind::Preflight);
    if preflight {
        return Command::Record(Event::Finished { outcome: Outcome::Refused { cause } });
    }
    let cause = Cause { message: format!("{}: {}", plan.step_id(step), cause.message), ..cause };
    match (&state.way, plan.rollout.on_failure) {
        (Way::Back { .. }, _) => {
            let message = format!("the way back stopped at {}", cause.message);
            stop(state, Cause { message, ..cause })
        }
        (Way::Forward { .. } | Way::Ended { .. }, OnFailure::Rollback) => {
            Command::Record(Event::TurnedBack { cause })
        }
        (Way::Forward { .. } | Way::Ended { .. }, OnFailure::Stop) => stop(state, cause),
    }
}

/// Everything stays as it is. When nothing of the run can be seen from outside, it simply failed.
fn stop(state: &RunState, cause: Cause) -> Command {
    let outcome = if state.left_traces() || matches!(state.way, Way::Back { .. }) {
        Outcome::Stopped { cause }
    } else {
        Outcome::Failed { cause }
    };
    Command::Record(Event::Finished { outcome })
}

/// Nothing is left to do on the way.
fn finish(plan: &Plan, state: &RunState) -> Command {
    let outcome = match &state.way {
        Way::Forward { .. } => {
            let worked = plan.steps.iter().zip(&state.steps).any(|(step, state)| {
                step.place.is_some_and(|place| place.batch.is_some()) && matches!(state, StepState::Done(_))
            });
            if worked { Outcome::Succeeded } else { Outcome::NothingToDo }
        }
        Way::Back { cause, barrier, .. } => {
            let cause = match barrier {
                Some(barrier) => Cause {
                    message: format!("{}; the way back ends there: {barrier}", cause.message),
                    ..cause.clone()
                },
                None => cause.clone(),
            };
            let undone = state.steps.iter().any(|step| matches!(step, StepState::Undone));
            match (state.left_traces(), undone) {
                (true, _) => Outcome::Stopped { cause },
                (false, true) => Outcome::RolledBack { cause },
                (false, false) => Outcome::Failed { cause },
            }
        }
        Way::Ended { outcome, .. } => outcome.clone(),
    };
    Command::Record(Event::Finished { outcome })
}
