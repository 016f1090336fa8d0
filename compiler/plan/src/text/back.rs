//! The way back: when it is taken, in which order, under which rules, and where it ends. It must not know how batches are
//! shown on the way forward.

use super::Detail;
use super::page::Page;
use super::pool::is_checked;
use super::steps::does;
use super::words::{count, grouped, targets, time};
use crate::model::{OnFailure, Place, Plan, Reversal, Step};

/// So many batches are named one a line after the first; of more, the ends.
const LISTED: usize = 12;

pub(super) fn back(page: &mut Page, plan: &Plan, detail: Detail) {
    page.section("THE WAY BACK");
    page.paragraph(2, match plan.rollout.on_failure {
        OnFailure::Rollback => {
            "After a failure, or on `manent cancel RUN --rollback`: exactly the steps that were begun are undone, the last batch first."
        }
        OnFailure::Stop => {
            "A failure stops (onFailure: stop). On `manent cancel RUN --rollback` exactly the steps that were begun are undone, the last batch first."
        }
    });
    rules(page, plan);
    pivots(page, plan);
    let undo: Vec<&Step> = plan.steps.iter().filter(|step| step.kind.is_compensation()).collect();
    let batches: Vec<&[&Step]> = undo.chunk_by(|one, other| one.place == other.place).collect();
    let Some((first, others)) = batches.split_first() else {
        page.line(2, "Nothing can be undone.");
        return;
    };
    page.blank();
    if let Some(place) = first.first().and_then(|step| step.place) {
        page.line(4, &format!("{}: {}", name(plan, place), targets(plan, plan.batch(place).iter(), detail)));
    }
    let longest = first.iter().map(|step| plan.id_of(step).chars().count()).max().unwrap_or(0).max(22);
    for step in *first {
        page.line(6, &format!("{:<longest$}  {}", plan.id_of(step), does(plan, step)));
    }
    likewise(page, plan, others, detail);
}

/// The batches that follow in the same manner.
fn likewise(page: &mut Page, plan: &Plan, others: &[&[&Step]], detail: Detail) {
    let places: Vec<Place> =
        others.iter().filter_map(|steps| steps.first().and_then(|step| step.place)).collect();
    if places.is_empty() {
        return;
    }
    page.line(4, "then likewise, in this order");
    if places.len() <= LISTED || detail == Detail::Wide {
        for place in places {
            page.line(
                6,
                &format!("{}: {}", name(plan, place), targets(plan, plan.batch(place).iter(), detail)),
            );
        }
        return;
    }
    for wave in places.chunk_by(|one, other| one.wave == other.wave) {
        let (Some(first), Some(last)) = (wave.first(), wave.last()) else { continue };
        match wave.len() {
            1 => page.line(6, &name(plan, *first)),
            long => page.line(
                6,
                &format!("{} down to {}, {}", name(plan, *first), name(plan, *last), count(long, "batch")),
            ),
        }
    }
}

fn name(plan: &Plan, place: Place) -> String {
    let wave = plan.rollout.waves.get(place.wave as usize).map_or("?", |wave| wave.name.as_str());
    format!("{wave}#{}", place.batch.unwrap_or(0))
}

fn rules(page: &mut Page, plan: &Plan) {
    if let Some(pool) = &plan.pool {
        let floor = if is_checked(pool) {
            format!("The same floor ({}) and limits hold.", grouped(pool.floor.need))
        } else {
            "The same limits hold; the floor is not checked.".to_owned()
        };
        let wait = time(pool.drain_timeout_ms);
        page.paragraph(
            2,
            &format!("{floor} A batch that is back in service is drained again first. A compensation that is not admitted waits at most {wait} and then fails; it is never forced."),
        );
    }
    page.paragraph(
        2,
        "The first compensation that fails stops the way back with a list of what is left, and `manent resume` takes it up again. Bakes and approvals do not apply.",
    );
}

/// Steps without an undo, and what that means for those before them.
fn pivots(page: &mut Page, plan: &Plan) {
    let own = plan.procedures.steps.iter().chain(&plan.procedures.activate);
    let names: Vec<String> =
        own.filter(|custom| custom.undo.is_none()).map(|custom| format!("`{}`", custom.name)).collect();
    let first = plan.steps.iter().find(|step| step.reversal == Reversal::Pivot);
    if let Some(first) = first {
        page.paragraph(
            2,
            &format!("! {} cannot be undone. Once it was begun in a batch, that batch and all before it stay on the new release; only batches after it are undone. The first is `{}`.", names.join(", "), plan.id_of(first)),
        );
    }
}
