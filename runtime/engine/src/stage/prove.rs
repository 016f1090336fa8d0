//! Healthy while still out: forget what the last check said, and wait until every instance has checked the updated
//! member anew. Only then may it go back. It puts nothing back itself.
//!
//! A balancer such as HAProxy trusts its last check when a member becomes ready again: a restart shorter than its check
//! interval would go unnoticed, and the member would receive traffic before it answers.

use manent_plan::TargetIx;

use super::{Ctx, Move};
use crate::call::Change;
use crate::event::{Cause, Effect};
use crate::time::Timestamp;
use crate::view::{Admin, Health};

pub(super) fn next(ctx: Ctx<'_>) -> Move {
    if ctx.pool_busy() {
        return Move::Wait(None);
    }
    let memory = &ctx.active.memory;
    let limit = limit(ctx);
    if let Some(trouble) = memory.trouble.as_ref().filter(|trouble| trouble.permanent) {
        return fail(format!("the load balancer refused: {}", trouble.reason));
    }
    let Some((read, view)) = ctx.fresh() else { return ctx.read_when_due(limit) };
    if memory.good >= 1 && (memory.forced || to_force(ctx).is_empty()) {
        return Move::Next { note: unchecked(ctx), cut: None };
    }
    if read >= limit {
        return fail(over(ctx, view.complete()));
    }
    if !view.complete() {
        return ctx.read_when_due(limit);
    }
    let lost = ctx.pairs(&ctx.active.targets, false, |_, seen| matches!(seen.admin, Admin::In | Admin::Idle));
    if !lost.is_empty() {
        let note = format!("the drain of {} was lost, drained again", ctx.members(&ctx.active.targets));
        return ctx.change(Change::Drain, lost, Some(note));
    }
    if !memory.forced {
        let waiting =
            memory.trouble.is_some() && memory.sent.is_some_and(|sent| ctx.now < sent.plus(memory.gap));
        let on = to_force(ctx);
        if !on.is_empty() && !waiting {
            return ctx.change(Change::ForceDown, on, None);
        }
    }
    ctx.read_when_due(limit)
}

fn limit(ctx: Ctx<'_>) -> Timestamp {
    ctx.active.entered.plus(ctx.pool().map_or(0, |pool| pool.restore_timeout_ms))
}

/// Members that were changed and that the balancer checks. Forcing an unchecked one down would keep it down for ever.
fn to_force(ctx: Ctx<'_>) -> Vec<crate::call::InstanceChange> {
    let touched = |target: TargetIx| ctx.state.target(target).is_some_and(|target| target.touched);
    ctx.pairs(&ctx.active.targets, false, |target, seen| touched(target) && seen.health != Health::Unchecked)
}

/// Members without checks are told apart and said so.
fn unchecked(ctx: Ctx<'_>) -> Option<String> {
    let (_, view) = ctx.state.view.as_ref()?;
    let blind: Vec<TargetIx> = ctx
        .active
        .targets
        .iter()
        .copied()
        .filter(|target| view.seen_everywhere(*target).any(|seen| seen.health == Health::Unchecked))
        .collect();
    (!blind.is_empty()).then(|| {
        format!(
            "the load balancer does not check {}: only the post-test stands before the traffic",
            ctx.members(&blind)
        )
    })
}

fn over(ctx: Ctx<'_>, complete: bool) -> String {
    let waited = crate::words::duration(ctx.pool().map_or(0, |pool| pool.restore_timeout_ms));
    if !complete {
        return format!("after {waited} not every load balancer answers: {}", ctx.unreachable().join("; "));
    }
    let shown = ctx.describe(&ctx.active.targets, super::judge::proven);
    format!("not healthy within {waited} while still out: {shown}")
}

fn fail(message: String) -> Move {
    Move::Fail { cause: Cause::new(message), effect: Effect::None }
}
