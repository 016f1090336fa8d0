//! What the plan is about: environment, release, documents, targets; and what a reviewer is warned of. It must not know
//! steps.

use super::Detail;
use super::page::Page;
use super::words::{connection, count, grouped, targets, time};
use crate::estimate::worst_case_ms;
use crate::ids::TargetIx;
use crate::model::Plan;

pub(super) fn header(page: &mut Page, plan: &Plan, detail: Detail) {
    page.section(&format!("PLAN {}", plan.environment));
    page.row("app", &plan.app);
    match &plan.release {
        Some(release) => page.row("release", release),
        None => page.row("release", "{release}, not named: this plan can be read, not applied"),
    }
    if let Some(artifact) = &plan.artifact {
        let size = artifact.bytes.map(|bytes| format!(", {} bytes", grouped(bytes))).unwrap_or_default();
        page.row("artifact", &format!("{}{size}", artifact.path));
        match &artifact.sha256 {
            Some(digest) => page.row("", &format!("sha256 {digest}")),
            None => page.row("", "read when a release is named"),
        }
    }
    let longest = plan.inputs.iter().map(|input| input.path.chars().count()).max().unwrap_or(0);
    let mut key = "inputs";
    for input in &plan.inputs {
        let digest: String = input.sha256.chars().take(12).collect();
        page.row(key, &format!("{:<longest$}  sha256 {digest}", input.path));
        key = "";
    }
    for (name, reference) in &plan.secrets {
        page.row(
            if plan.secrets.keys().next() == Some(name) { "secrets" } else { "" },
            &format!("{name} from {reference}"),
        );
    }
    of_targets(page, plan, detail);
    if plan.basis.recorded {
        page.row("based on", plan.basis.last_run.as_deref().unwrap_or("an environment without any run"));
    }
    let gates = if plan.rollout.waves.iter().any(|wave| wave.approval) { ", approvals apart" } else { "" };
    page.row("at most", &format!("{} when every clock runs to its end{gates}", time(worst_case_ms(plan))));
}

/// All targets, by the way in which they are reached.
fn of_targets(page: &mut Page, plan: &Plan, detail: Detail) {
    let mut key = "targets";
    for (number, way) in (0_u32..).zip(&plan.connections) {
        let reached = (0_u32..).zip(&plan.targets).filter(|(_, target)| target.connection == number);
        let reached: Vec<TargetIx> = reached.map(|(at, _)| TargetIx(at)).collect();
        if !reached.is_empty() {
            page.row(key, &format!("{}, {}", count(reached.len(), "target"), connection(way)));
            page.prose("", &targets(plan, reached.iter(), detail));
            key = "";
        }
    }
}

pub(super) fn warnings(page: &mut Page, plan: &Plan) {
    if plan.warnings.is_empty() {
        return;
    }
    page.section("WARNINGS");
    for warning in &plan.warnings {
        page.paragraph(2, &format!("! {} ({})", warning.message, warning.code));
    }
}
