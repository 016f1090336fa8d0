//! Names of step kinds in the plan file, both ways. It must not know what the kinds do.

use crate::model::{Custom, Plan, StepKind};

/// The kind as the file writes it, and the own step that it runs.
pub(super) fn name<'p>(plan: &'p Plan, kind: &StepKind) -> (&'static str, Option<&'p str>) {
    let own = |list: &'p [Custom], at: u32| list.get(at as usize).map(|custom| custom.name.as_str());
    let step = |at: u32| own(&plan.procedures.steps, at);
    let activation = |at: u32| own(&plan.procedures.activate, at);
    match kind {
        StepKind::Config => ("config", None),
        StepKind::Preflight => ("preflight", None),
        StepKind::Drain => ("drain", None),
        StepKind::DrainWait => ("drain-wait", None),
        StepKind::Deploy => ("deploy", None),
        StepKind::PostTest => ("post-test", None),
        StepKind::Custom(at) => ("custom", step(*at)),
        StepKind::Restore => ("restore", None),
        StepKind::RestoreWait => ("restore-wait", None),
        StepKind::Activate(at) => ("activate", activation(*at)),
        StepKind::Bake => ("bake", None),
        StepKind::Approve => ("approve", None),
        StepKind::UndoDrain => ("undo-drain", None),
        StepKind::UndoDeploy => ("undo-deploy", None),
        StepKind::UndoCustom(at) => ("undo-custom", step(*at)),
        StepKind::UndoRestore => ("undo-restore", None),
        StepKind::UndoActivate(at) => ("undo-activate", activation(*at)),
    }
}

/// The kind of a name; `own` finds the position of an own step in a list.
pub(super) fn kind(
    name: &str,
    step: impl Fn() -> Option<u32>,
    activation: impl Fn() -> Option<u32>,
) -> Option<StepKind> {
    Some(match name {
        "config" => StepKind::Config,
        "preflight" => StepKind::Preflight,
        "drain" => StepKind::Drain,
        "drain-wait" => StepKind::DrainWait,
        "deploy" => StepKind::Deploy,
        "post-test" => StepKind::PostTest,
        "custom" => StepKind::Custom(step()?),
        "restore" => StepKind::Restore,
        "restore-wait" => StepKind::RestoreWait,
        "activate" => StepKind::Activate(activation()?),
        "bake" => StepKind::Bake,
        "approve" => StepKind::Approve,
        "undo-drain" => StepKind::UndoDrain,
        "undo-deploy" => StepKind::UndoDeploy,
        "undo-custom" => StepKind::UndoCustom(step()?),
        "undo-restore" => StepKind::UndoRestore,
        "undo-activate" => StepKind::UndoActivate(activation()?),
        _ => return None,
    })
}
