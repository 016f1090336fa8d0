//! What pictures of a plan have in common: which boxes there are, what stands in them, which way arrows point. It must not
//! know any picture format.

use crate::ids::StepIx;
use crate::model::{Edge, EdgeKind, Place, Plan, Reversal, Step};
use crate::text::harmless;

/// Names in a box; of more, the first ones and the count.
const NAMES: usize = 4;

/// A group of steps that is drawn in a frame.
pub(crate) struct Group<'p> {
    pub(crate) title: String,
    pub(crate) steps: Vec<(StepIx, &'p Step)>,
}

/// Steps before all passes have no title; then each batch and each gate, forwards and back.
pub(crate) fn groups(plan: &Plan) -> Vec<Group<'_>> {
    let numbered: Vec<(StepIx, &Step)> = (0_u32..).map(StepIx).zip(&plan.steps).collect();
    let same = |one: &(StepIx, &Step), other: &(StepIx, &Step)| {
        one.1.place == other.1.place && one.1.kind.is_compensation() == other.1.kind.is_compensation()
    };
    let title = |step: &Step| {
        let Some(Place { wave, batch }) = step.place else { return String::new() };
        let wave = plan.rollout.waves.get(wave as usize).map_or("?", |wave| wave.name.as_str());
        let back = if step.kind.is_compensation() { "back: " } else { "" };
        match batch {
            Some(batch) => format!("{back}{wave}, batch {batch}"),
            None => format!("after {wave}"),
        }
    };
    let group = |steps: &[(StepIx, &'_ Step)]| {
        steps.first().map_or_else(String::new, |(_, step)| harmless(&title(step)).into_owned())
    };
    numbered.chunk_by(same).map(|steps| Group { title: group(steps), steps: steps.to_vec() }).collect()
}

/// The lines of a box: the id, then the targets of a step that has some of its own.
pub(crate) fn lines(plan: &Plan, step: &Step) -> Vec<String> {
    let mut lines = vec![plan.id_of(step)];
    if let Some(place) = step.place {
        let targets = plan.batch(place);
        let mut names: Vec<String> = targets.iter().take(NAMES).map(|at| plan.target_name(*at)).collect();
        if targets.len() > NAMES {
            names.push(format!("and {} more", targets.len() - NAMES));
        }
        if !names.is_empty() {
            lines.push(names.join(", "));
        }
    }
    if step.reversal == Reversal::Pivot {
        lines.push("cannot be undone".into());
    }
    lines.iter().map(|line| harmless(line).into_owned()).collect()
}

/// The ends of an arrow. Order is drawn from what comes first to what comes after, compensation from the step that is
/// undone to the step that undoes it; so all arrows follow time.
pub(crate) fn ends(edge: &Edge) -> (StepIx, StepIx) {
    match edge.kind {
        EdgeKind::Needs | EdgeKind::UndoOrder | EdgeKind::Compensates => (edge.to, edge.from),
    }
}
