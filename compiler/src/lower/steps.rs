//! Steps and edges from the batches. The order of steps and the way back belong to the contract with the runtime, so
//! they are laid out in `manent-plan`, once for everybody. It must not know that order.

use manent_plan::steps::lay_out;

use super::Draft;

pub(super) fn steps(mut draft: Draft) -> Draft {
    let plan = &mut draft.plan;
    let (steps, edges) = lay_out(&plan.rollout.waves, &plan.procedures, plan.pool.is_some());
    plan.steps = steps;
    plan.edges = edges;
    draft
}
