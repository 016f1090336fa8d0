//! Take back what the step did, then fail it or postpone it: untouched members go back into service, members that never
//! became healthy go out again. It never touches a node.

use manent_plan::TargetIx;

use super::{Ctx, Move};
use crate::call::Change;
use crate::event::{Blocked, Cause, Detour, Effect};
use crate::time::Timestamp;
use crate::view::Admin;

pub(super) fn next(ctx: Ctx<'_>, to: Detour, cause: &Cause) -> Move {
    if ctx.pool_busy() {
        return Move::Wait(None);
    }
    if !ctx.sees_members() {
        return blind(ctx, to, cause);
    }
    let limit = limit(ctx, to);
    let Some((read, view)) = ctx.fresh() else { return ctx.read_when_due(limit) };
    if ctx.active.memory.good >= 1 {
        return done(ctx, to, cause);
    }
    if read >= limit {
        return given_up(ctx, to, cause);
    }
    let memory = &ctx.active.memory;
    let again = match (&memory.trouble, memory.sent, ctx.pool()) {
        (Some(_), Some(sent), _) => sent.plus(memory.gap),
        (None, Some(sent), Some(pool)) => sent.plus(pool.poll_interval_ms),
        (_, None, _) | (None, Some(_), None) => ctx.now,
    };
    let on = match to {
        Detour::PutBackAndPostpone | Detour::PutBackAndFail => {
            ctx.pairs(&ctx.active.targets, false, |_, seen| seen.admin == Admin::Out)
        }
        Detour::TakeOutAndFail => {
            // While an instance does not answer, a member that the others show well is left where it is: taking it out
            // could cost capacity for nothing.
            let complete = view.complete();
            let sick = |at: &TargetIx| if complete { !view.serves(*at) } else { view.surely_lost(*at) };
            let sick: Vec<TargetIx> = ctx.active.targets.iter().copied().filter(sick).collect();
            ctx.pairs(&sick, false, |_, seen| seen.admin != Admin::Out)
        }
    };
    // An instance that does not answer is told when it does.
    if ctx.now >= again && !on.is_empty() {
        return ctx.change(change(to), on, None);
    }
    let due = ctx.next_read(limit);
    let wake = if on.is_empty() { due } else { due.min(again) };
    if ctx.now >= due { ctx.read_pool() } else { Move::Wait(Some(wake)) }
}

fn change(to: Detour) -> Change {
    match to {
        Detour::PutBackAndPostpone | Detour::PutBackAndFail => Change::Restore,
        Detour::TakeOutAndFail => Change::Drain,
    }
}

fn limit(ctx: Ctx<'_>, to: Detour) -> Timestamp {
    let timeout = ctx.pool().map_or(0, |pool| match to {
        Detour::PutBackAndPostpone | Detour::PutBackAndFail => pool.restore_timeout_ms,
        Detour::TakeOutAndFail => pool.drain_timeout_ms,
    });
    ctx.active.entered.plus(timeout)
}

fn done(ctx: Ctx<'_>, to: Detour, cause: &Cause) -> Move {
    match to {
        Detour::PutBackAndPostpone => {
            let have = ctx.state.view.as_ref().map_or(0, |(_, view)| view.healthy());
            let blocked = Blocked::Raced { have, need: ctx.state.floor(ctx.plan) };
            let pool = ctx.pool();
            let next = ctx.now.plus(pool.map_or(0, |pool| pool.poll_interval_ms));
            let limit = ctx.active.began.plus(pool.map_or(0, |pool| pool.drain_timeout_ms));
            if ctx.now >= limit {
                return Move::Fail { cause: cause.clone(), effect: Effect::None };
            }
            Move::Postpone { blocked, next: next.min(limit) }
        }
        Detour::PutBackAndFail => Move::Fail { cause: cause.clone(), effect: Effect::None },
        Detour::TakeOutAndFail => {
            let mut cause = cause.clone();
            cause.message = format!("{}; taken out again", cause.message);
            Move::Fail { cause, effect: Effect::Certain }
        }
    }
}

fn given_up(ctx: Ctx<'_>, to: Detour, cause: &Cause) -> Move {
    let what = match to {
        Detour::PutBackAndPostpone | Detour::PutBackAndFail => "could not be put back",
        Detour::TakeOutAndFail => "could not be taken out again",
    };
    let shown = if ctx.unreachable().is_empty() {
        ctx.describe(&ctx.active.targets, |_| false)
    } else {
        ctx.unreachable().join("; ")
    };
    let mut cause = cause.clone();
    cause.message = format!("{}; {} {what}: {shown}", cause.message, ctx.members(&ctx.active.targets));
    Move::Fail { cause, effect: Effect::Possible }
}

/// Providers that show no members: their own word is all there is.
fn blind(ctx: Ctx<'_>, to: Detour, cause: &Cause) -> Move {
    let memory = &ctx.active.memory;
    match (memory.sent, &memory.trouble) {
        (Some(_), None) => done(ctx, to, cause),
        (Some(sent), Some(trouble)) => {
            if trouble.permanent || sent >= limit(ctx, to) {
                return given_up(ctx, to, cause);
            }
            let again = sent.plus(memory.gap);
            if ctx.now >= again { ctx.change(change(to), all(ctx), None) } else { Move::Wait(Some(again)) }
        }
        (None, _) => ctx.change(change(to), all(ctx), None),
    }
}

fn all(ctx: Ctx<'_>) -> Vec<crate::call::InstanceChange> {
    ctx.pairs(&ctx.active.targets, false, |_, _| true)
}
