//! The plan in a few lines, for the moment before somebody says yes. It must not know how the whole is shown.

use super::page::Page;
use super::pool::{is_checked, weaker};
use super::words::{count, grouped, time};
use crate::estimate::worst_case_ms;
use crate::model::{Floor, OnFailure, Plan, Reversal, Wave};

/// What is about to happen, what limits it, and what a person should know before it begins.
#[must_use]
pub fn summary(plan: &Plan) -> String {
    let mut page = Page::default();
    let release = plan.release.as_deref().unwrap_or("{release}");
    let rollout = &plan.rollout;
    let batches: usize = rollout.waves.iter().map(|wave| wave.batches.len()).sum();
    page.line(
        0,
        &format!(
            "{}: {} {release} to {} in {}, {}",
            plan.environment,
            plan.app,
            count(plan.targets.len(), "target"),
            count(rollout.waves.len(), "pass"),
            count(batches, "batch"),
        ),
    );
    page.prose("passes", &rollout.waves.iter().map(pass).collect::<Vec<_>>().join(", then "));
    page.prose("capacity", &capacity(plan));
    page.prose(
        "on failure",
        match rollout.on_failure {
            OnFailure::Rollback => "rollback",
            OnFailure::Stop => "stop",
        },
    );
    page.row("at most", &time(worst_case_ms(plan)));
    if let Some(pivot) = plan.steps.iter().find(|step| step.reversal == Reversal::Pivot) {
        page.paragraph(2, &format!("! from `{}` on there is no way back to the start", plan.id_of(pivot)));
    }
    if plan.pool.is_none() {
        page.paragraph(2, "! nothing is drained, requests may be cut");
    }
    for sentence in plan.pool.iter().flat_map(weaker) {
        page.paragraph(2, &format!("! {sentence}"));
    }
    for warning in &plan.warnings {
        page.paragraph(2, &format!("! {} ({})", warning.message, warning.code));
    }
    page.done()
}

fn pass(wave: &Wave) -> String {
    let targets: usize = wave.batches.iter().map(Vec::len).sum();
    let bake = wave.bake_ms.map(|ms| format!(", bake {}", time(ms))).unwrap_or_default();
    let approval = if wave.approval { ", approval" } else { "" };
    format!("{} ({}{bake}{approval})", wave.name, count(targets, "target"))
}

fn capacity(plan: &Plan) -> String {
    let rollout = &plan.rollout;
    let limit = format!(
        "at most {} out at a time (maxUnavailable {})",
        grouped(rollout.max_unavailable_count),
        rollout.max_unavailable
    );
    let Some(pool) = &plan.pool else { return limit };
    let Floor { need, members, wanted, .. } = &pool.floor;
    let checked = if is_checked(pool) { "healthy in service" } else { "NOT CHECKED" };
    format!("{} of {} stay {checked} (min_healthy {wanted}), {limit}", grouped(need), grouped(members))
}
