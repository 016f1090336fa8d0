//! Until a time (a bake) or an approval has come. It asks nothing of the world.

use manent_plan::StepKind;

use super::{Ctx, Move};

pub(super) fn next(ctx: Ctx<'_>) -> Move {
    let Some(step) = ctx.plan.steps.get(ctx.active.step.at()) else { return Move::next() };
    if step.kind == StepKind::Approve {
        return if ctx.state.approvals.contains_key(&ctx.active.step) {
            Move::next()
        } else {
            Move::Wait(None)
        };
    }
    let wave = step.place.and_then(|place| ctx.plan.rollout.waves.get(place.wave as usize));
    let until = ctx.active.entered.plus(wave.and_then(|wave| wave.bake_ms).unwrap_or(0));
    if ctx.now >= until { Move::next() } else { Move::Wait(Some(until)) }
}
