//! Steps and edges: what the runtime walks is exactly what belongs to the waves and procedures that a reviewer reads. It
//! must not know limits.

use std::collections::BTreeSet;

use super::{Found, Violation};
use crate::graph::Graph;
use crate::ids::StepIx;
use crate::model::{EdgeKind, Plan, Reversal, Step, StepKind};
use crate::steps::lay_out;

/// A plan whose steps and edges are as laid out is acyclic and compensated by construction. For any other one the
/// findings say what is wrong with it as a graph first, and where it leaves the order at last.
pub(super) fn check(plan: &Plan, found: &mut Found) {
    // Before anything is laid out: a small file must not ask for a billion steps.
    if fewest_steps(plan) > plan.steps.len() {
        found.push(Violation::StepsMissing { steps: plan.steps.len(), fewest: fewest_steps(plan) });
        return;
    }
    let (steps, edges) = lay_out(&plan.rollout.waves, &plan.procedures, plan.pool.is_some());
    if plan.steps == steps && plan.edges == edges {
        return;
    }
    each_step(plan, found);
    each_edge(plan, found);
    each_compensation(plan, found);
    for kind in [EdgeKind::Needs, EdgeKind::UndoOrder] {
        if let Err(cycle) = Graph::of(plan, &[kind]).order() {
            let path = cycle.into_iter().map(|step| plan.step_id(step)).collect();
            found.push(Violation::Cycle { kind, path });
        }
    }
    out_of_order(plan, &steps, found);
    if plan.steps == steps {
        let differs = plan.edges.iter().zip(&edges).position(|(one, other)| one != other);
        found.push(Violation::Edges { at: differs.unwrap_or(plan.edges.len().min(edges.len())) });
    }
}

/// Every batch has a deploy and all own steps.
fn fewest_steps(plan: &Plan) -> usize {
    let batches: usize = plan.rollout.waves.iter().map(|wave| wave.batches.len()).sum();
    let own = plan.procedures.steps.len().saturating_add(plan.procedures.activate.len());
    batches.saturating_mul(own.saturating_add(1))
}

fn each_step(plan: &Plan, found: &mut Found) {
    let mut seen = BTreeSet::new();
    for (at, step) in plan.steps.iter().enumerate() {
        let mut wrong = |why| found.push(Violation::Step { at, id: plan.id_of(step), why });
        if !seen.insert((&step.kind, step.place)) {
            wrong("is there twice");
        }
        if let Some(why) = misplaced(plan, step) {
            wrong(why);
        }
        match (step.kind.has_effect(), step.reversal) {
            (true, Reversal::Nothing) => wrong("has an effect, and neither a compensation nor a pivot mark"),
            (false, Reversal::By(_) | Reversal::Pivot) => wrong("has nothing to undo, and says how to"),
            (true, Reversal::By(by)) if !undoes(plan, by, step) => {
                wrong("is not undone by the step that it names")
            }
            (true, Reversal::By(_) | Reversal::Pivot) | (false, Reversal::Nothing) => {}
        }
    }
}

/// Why a step cannot stand where it stands.
fn misplaced(plan: &Plan, step: &Step) -> Option<&'static str> {
    let wave = step.place.map(|place| plan.rollout.waves.get(place.wave as usize));
    let batch = step.place.and_then(|place| place.batch);
    let in_batch = match (&wave, batch) {
        (Some(Some(wave)), Some(batch)) => wave.batches.get(batch as usize).is_some(),
        (Some(Some(_)), None) => true,
        (Some(None), Some(_) | None) => false,
        (None, Some(_) | None) => true,
    };
    if !in_batch {
        return Some("stands in a wave or a batch that is not there");
    }
    let known = match step.kind {
        StepKind::Custom(at) | StepKind::UndoCustom(at) => plan.procedures.steps.get(at as usize).is_some(),
        StepKind::Activate(at) | StepKind::UndoActivate(at) => {
            plan.procedures.activate.get(at as usize).is_some()
        }
        StepKind::Config
        | StepKind::Preflight
        | StepKind::Drain
        | StepKind::DrainWait
        | StepKind::Deploy
        | StepKind::PostTest
        | StepKind::Restore
        | StepKind::RestoreWait
        | StepKind::Bake
        | StepKind::Approve
        | StepKind::UndoDrain
        | StepKind::UndoDeploy
        | StepKind::UndoRestore => true,
    };
    if !known {
        return Some("runs a procedure that is not there");
    }
    let fits = match step.kind {
        StepKind::Config | StepKind::Preflight => wave.is_none(),
        StepKind::Bake | StepKind::Approve => wave.is_some() && batch.is_none(),
        StepKind::Drain
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
        | StepKind::UndoActivate(_) => batch.is_some(),
    };
    (!fits).then_some("cannot stand there")
}

/// The kind of step that undoes another one.
fn undo_of(kind: &StepKind) -> Option<StepKind> {
    match kind {
        StepKind::Drain => Some(StepKind::UndoDrain),
        StepKind::Deploy => Some(StepKind::UndoDeploy),
        StepKind::Custom(at) => Some(StepKind::UndoCustom(*at)),
        StepKind::Restore => Some(StepKind::UndoRestore),
        StepKind::Activate(at) => Some(StepKind::UndoActivate(*at)),
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

fn undoes(plan: &Plan, by: StepIx, step: &Step) -> bool {
    let by = plan.steps.get(by.at());
    by.is_some_and(|by| by.place == step.place && Some(&by.kind) == undo_of(&step.kind).as_ref())
}

fn each_edge(plan: &Plan, found: &mut Found) {
    let mut seen = BTreeSet::new();
    for (at, edge) in plan.edges.iter().enumerate() {
        let back = |step: StepIx| plan.steps.get(step.at()).map(|step| step.kind.is_compensation());
        let joins = match (edge.kind, back(edge.from), back(edge.to)) {
            (_, None, _) | (_, _, None) => Err("leads to a step that is not there"),
            (EdgeKind::Needs, Some(from), Some(to)) if from || to => Err("joins a compensation"),
            (EdgeKind::UndoOrder, Some(from), Some(to)) if !from || !to => {
                Err("joins a step that is no compensation")
            }
            (EdgeKind::Compensates, Some(from), Some(to)) if !from || to => {
                Err("does not join a compensation to what it undoes")
            }
            (EdgeKind::Needs | EdgeKind::UndoOrder | EdgeKind::Compensates, Some(_), Some(_)) => Ok(()),
        };
        let joins = joins.and_then(|()| if seen.insert(edge) { Ok(()) } else { Err("is there twice") });
        if let Err(why) = joins {
            found.push(Violation::Edge { at, kind: edge.kind, from: edge.from.0, to: edge.to.0, why });
        }
    }
}

/// Each compensation compensates exactly one step, and both say so.
fn each_compensation(plan: &Plan, found: &mut Found) {
    let mut compensates = vec![0_u32; plan.steps.len()];
    for edge in plan.edges.iter().filter(|edge| edge.kind == EdgeKind::Compensates) {
        let Some(times) = compensates.get_mut(edge.from.at()) else { continue };
        *times = times.saturating_add(1);
        if let Some(undone) = plan.steps.get(edge.to.at())
            && undone.reversal != Reversal::By(edge.from)
        {
            let why = "is undone by a step that it does not name";
            found.push(Violation::Step { at: edge.to.at(), id: plan.id_of(undone), why });
        }
    }
    for (at, (step, times)) in plan.steps.iter().zip(compensates).enumerate() {
        if step.kind.is_compensation() && times != 1 {
            let why = if times == 0 { "compensates nothing" } else { "compensates several steps" };
            found.push(Violation::Step { at, id: plan.id_of(step), why });
        }
    }
}

/// The first step that is not the one that belongs there.
fn out_of_order(plan: &Plan, steps: &[Step], found: &mut Found) {
    let longest = plan.steps.len().max(steps.len());
    let Some(at) = (0..longest).find(|at| plan.steps.get(*at) != steps.get(*at)) else { return };
    let name = |step: Option<&Step>| match step {
        Some(step) if step.reversal == Reversal::Pivot => format!("{} (pivot)", plan.id_of(step)),
        Some(step) => plan.id_of(step),
        None => "nothing".to_owned(),
    };
    let (found_id, expected) = (name(plan.steps.get(at)), name(steps.get(at)));
    found.push(Violation::Order { at, found: found_id, expected });
}
