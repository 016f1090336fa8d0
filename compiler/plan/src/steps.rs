//! The steps and edges of a plan, laid out from its waves: the one place that knows their order (design: a batch goes
//! drain, drain-wait, deploy, post-test, custom steps, restore, restore-wait, activate). It must not know where waves
//! and procedures came from.

use crate::ids::StepIx;
use crate::model::{Edge, EdgeKind, Place, Procedures, Reversal, Step, StepKind, Wave};

/// Lays out all steps: forward in order, then the compensations in the order in which the way back runs them; and the
/// three kinds of edges. Linear in the number of batches.
#[must_use]
pub fn lay_out(waves: &[Wave], procedures: &Procedures, has_pool: bool) -> (Vec<Step>, Vec<Edge>) {
    let mut steps = vec![step(StepKind::Config, None), step(StepKind::Preflight, None)];
    let kinds = batch_kinds(procedures, has_pool);
    for (at, wave) in (0_u32..).zip(waves) {
        for (batch, _) in (0_u32..).zip(&wave.batches) {
            let place = Place { wave: at, batch: Some(batch) };
            steps.extend(kinds.iter().map(|kind| step(kind.clone(), Some(place))));
        }
        let gate = Place { wave: at, batch: None };
        let bake = wave.bake_ms.map(|_| StepKind::Bake);
        let approve = wave.approval.then_some(StepKind::Approve);
        steps.extend(bake.into_iter().chain(approve).map(|kind| step(kind, Some(gate))));
    }
    let forward = steps.len();
    let mut edges: Vec<Edge> = chain(0, forward, EdgeKind::Needs);
    for at in (0..forward).rev() {
        let Some(done) = steps.get(at) else { continue };
        let place = done.place;
        let Some(kind) = compensation(&done.kind, procedures) else { continue };
        let back = StepIx(index(steps.len()));
        let reversal = match kind {
            Some(kind) => {
                steps.push(step(kind, place));
                edges.push(Edge { kind: EdgeKind::Compensates, from: back, to: StepIx(index(at)) });
                Reversal::By(back)
            }
            None => Reversal::Pivot,
        };
        if let Some(done) = steps.get_mut(at) {
            done.reversal = reversal;
        }
    }
    edges.extend(chain(forward, steps.len(), EdgeKind::UndoOrder));
    (steps, edges)
}

fn step(kind: StepKind, place: Option<Place>) -> Step {
    Step { kind, place, reversal: Reversal::Nothing }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// One edge between each two neighbours: the later one points at the earlier one.
fn chain(from: usize, to: usize, kind: EdgeKind) -> Vec<Edge> {
    let pairs = (from.saturating_add(1)..to).map(|at| Edge {
        kind,
        from: StepIx(index(at)),
        to: StepIx(index(at - 1)),
    });
    pairs.collect()
}

/// The steps of one batch, in order.
fn batch_kinds(procedures: &Procedures, has_pool: bool) -> Vec<StepKind> {
    let pool = |kinds: [StepKind; 2]| if has_pool { kinds.to_vec() } else { Vec::new() };
    let mut kinds = pool([StepKind::Drain, StepKind::DrainWait]);
    kinds.push(StepKind::Deploy);
    if !procedures.post_test.is_empty() {
        kinds.push(StepKind::PostTest);
    }
    kinds.extend((0_u32..).zip(&procedures.steps).map(|(at, _)| StepKind::Custom(at)));
    kinds.extend(pool([StepKind::Restore, StepKind::RestoreWait]));
    kinds.extend((0_u32..).zip(&procedures.activate).map(|(at, _)| StepKind::Activate(at)));
    kinds
}

/// The compensation of a kind of step: `None` when it has no effect, `Some(None)` when it cannot be undone.
fn compensation(kind: &StepKind, procedures: &Procedures) -> Option<Option<StepKind>> {
    let undo = |list: &[crate::model::Custom], at: u32, kind: StepKind| {
        list.get(at as usize).and_then(|custom| custom.undo.as_ref()).map(|_| kind)
    };
    match kind {
        StepKind::Drain => Some(Some(StepKind::UndoDrain)),
        StepKind::Deploy => Some(Some(StepKind::UndoDeploy)),
        StepKind::Restore => Some(Some(StepKind::UndoRestore)),
        StepKind::Custom(at) => Some(undo(&procedures.steps, *at, StepKind::UndoCustom(*at))),
        StepKind::Activate(at) => Some(undo(&procedures.activate, *at, StepKind::UndoActivate(*at))),
        StepKind::Config
        | StepKind::Preflight
        | StepKind::DrainWait
        | StepKind::PostTest
        | StepKind::RestoreWait
        | StepKind::Bake
        | StepKind::Approve
        | StepKind::UndoDrain
        | StepKind::UndoDeploy
        | StepKind::UndoCustom(_)
        | StepKind::UndoRestore
        | StepKind::UndoActivate(_) => None,
    }
}
