//! Which targets a step works on, and which compensations the way back consists of. It reads the state and changes
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use manent_plan::{Place, Plan, Reversal, StepIx, StepKind, TargetIx};

use crate::event::Effect;
use crate::state::{RunState, StepState};

impl RunState {
    /// The targets that a step works on now: those of its batch without the ones that need nothing.
    #[must_use]
    pub fn working(&self, plan: &Plan, step: StepIx) -> Vec<TargetIx> {
        let Some(kind) = plan.steps.get(step.at()).map(|step| &step.kind) else { return Vec::new() };
        let batch = plan.targets_of(step);
        let keep =
            |wanted: &dyn Fn(TargetIx) -> bool| batch.iter().copied().filter(|at| wanted(*at)).collect();
        match kind {
            StepKind::Config | StepKind::Bake | StepKind::Approve => Vec::new(),
            StepKind::Preflight => batch,
            StepKind::Drain
            | StepKind::DrainWait
            | StepKind::PostTest
            | StepKind::Custom(_)
            | StepKind::Activate(_) => keep(&|at| !self.current(plan, at)),
            StepKind::Deploy => keep(&|at| !self.current(plan, at) && !self.has_release(plan, at)),
            StepKind::Restore | StepKind::RestoreWait => {
                keep(&|at| !self.current(plan, at) && !self.stays_out(at))
            }
            StepKind::UndoDrain => keep(&|at| {
                self.target(at).is_some_and(|target| target.out.is_some() && !target.abandoned)
                    && !self.stays_out(at)
            }),
            StepKind::UndoDeploy => {
                let begun = self.begun_of_compensated(step);
                keep(&|at| begun.contains(&at) && self.target(at).is_some_and(|target| !target.abandoned))
            }
            StepKind::UndoRestore => {
                let begun = self.begun_of_compensated(step);
                keep(&|at| begun.contains(&at) && !self.stays_out(at))
            }
            StepKind::UndoCustom(_) | StepKind::UndoActivate(_) => {
                let begun = self.begun_of_compensated(step);
                keep(&|at| begun.contains(&at))
            }
        }
    }

    /// The plan's release was found on the target, and nobody asked to bring it again.
    fn has_release(&self, plan: &Plan, at: TargetIx) -> bool {
        let found = self.target(at).and_then(|target| target.before.as_ref());
        plan.release.is_some() && found == Some(&plan.release) && !self.force
    }

    /// Somebody else had it out on every instance: it is updated and left out.
    fn stays_out(&self, at: TargetIx) -> bool {
        let instances = self.view.as_ref().map_or(0, |(_, view)| view.instances.len());
        self.target(at).is_some_and(|target| instances > 0 && target.left_out.len() >= instances)
    }

    /// Targets on which the step undone by this compensation had begun something.
    pub(crate) fn begun_of_compensated(&self, compensation: StepIx) -> BTreeSet<TargetIx> {
        let undone = self.undoes.get(&compensation).and_then(|step| self.steps.get(step.at()));
        match undone {
            Some(StepState::Done(ended) | StepState::Retried(ended) | StepState::Failed { ended, .. }) => {
                ended.begun.clone()
            }
            Some(StepState::Waiting | StepState::Active | StepState::Skipped { .. } | StepState::Undone)
            | None => BTreeSet::new(),
        }
    }

    /// Compensations of exactly the steps that were begun and left an effect, the first one to run last in the list; and
    /// the pivot, if one stands in the way. A batch with a pivot behind it is not entered: undoing half of it would only
    /// take its members out of service.
    pub(crate) fn way_back(&self, plan: &Plan) -> (Vec<StepIx>, Option<String>) {
        let mut begun: BTreeMap<Place, Vec<StepIx>> = BTreeMap::new();
        let mut pivots: BTreeMap<Place, StepIx> = BTreeMap::new();
        for (at, (step, state)) in (0_u32..).zip(plan.steps.iter().zip(&self.steps)) {
            let left = match state {
                StepState::Done(_) | StepState::Retried(_) => true,
                StepState::Failed { effect, .. } => *effect != Effect::None,
                StepState::Waiting | StepState::Active | StepState::Skipped { .. } | StepState::Undone => {
                    false
                }
            };
            let (true, Some(place)) = (left, step.place) else { continue };
            match step.reversal {
                Reversal::By(_) => begun.entry(place).or_default().push(StepIx(at)),
                Reversal::Pivot => {
                    pivots.entry(place).or_insert(StepIx(at));
                }
                Reversal::Nothing => {}
            }
        }
        let last = pivots.last_key_value();
        let barrier = last.map(|(_, step)| format!("`{}` cannot be undone", plan.step_id(*step)));
        let reachable = begun.into_iter().filter(|(place, _)| last.is_none_or(|(pivot, _)| place > pivot));
        let left = reachable.flat_map(|(_, steps)| steps).filter_map(|step| {
            plan.steps.get(step.at()).and_then(|step| match step.reversal {
                Reversal::By(compensation) => Some(compensation),
                Reversal::Nothing | Reversal::Pivot => None,
            })
        });
        (left.collect(), barrier)
    }
}
