//! Drain the members of an admitted batch on every instance, and see it confirmed by a later read. A drain that cannot
//! be completed is taken back. It never touches a member's node.

use super::{Ctx, Move, Stage};
use crate::call::Change;
use crate::event::{Cause, Detour};
use crate::view::Admin;

pub(super) fn next(ctx: Ctx<'_>) -> Move {
    let Some(pool) = ctx.pool() else { return Move::next() };
    if ctx.pool_busy() {
        return Move::Wait(None);
    }
    let memory = &ctx.active.memory;
    let limit = ctx.active.began.plus(pool.drain_timeout_ms);
    if let Some(trouble) = memory.trouble.as_ref().filter(|trouble| trouble.permanent) {
        return Move::Detour(
            Detour::PutBackAndFail,
            Cause::new(format!("the drain was refused: {}", trouble.reason)),
        );
    }
    if !pool.capabilities.sees_members {
        return blind(ctx, limit);
    }
    if memory.sent.is_none() && memory.read.is_none() {
        // A process took the run up here: whether the members went out is not known, and the pool may have changed. What
        // still has to go out is admitted anew.
        return Move::To(Stage::Admit);
    }
    let Some((read, view)) = ctx.fresh() else { return first_read(ctx) };
    if view.complete() && ctx.active.targets.iter().all(|target| view.out(*target)) {
        return confirmed(ctx, view.healthy());
    }
    if view.complete() && memory.sent.is_none() {
        return drain(ctx);
    }
    if read >= limit {
        return Move::Detour(Detour::PutBackAndFail, Cause::new(unconfirmed(ctx, view.complete())));
    }
    // Sent again at most once a poll, and sooner only when the answer itself was a failure.
    let again = match (&memory.trouble, memory.sent) {
        (Some(_), Some(sent)) => sent.plus(memory.gap),
        (None, Some(sent)) => sent.plus(pool.poll_interval_ms),
        (_, None) => ctx.now,
    };
    if view.complete() && ctx.now >= again {
        // Members that still serve would be taken away only now: the floor is asked again.
        let serves = ctx.active.targets.iter().any(|target| !view.surely_lost(*target));
        return if serves { Move::To(Stage::Admit) } else { drain(ctx) };
    }
    let due = ctx.next_read(limit);
    if ctx.now >= due {
        ctx.read_pool()
    } else {
        Move::Wait(Some(if view.complete() { due.min(again) } else { due }))
    }
}

/// The read that comes at once after a change.
fn first_read(ctx: Ctx<'_>) -> Move {
    match (&ctx.active.memory.trouble, ctx.active.memory.sent) {
        // A change that just failed is not followed by a read without any distance.
        (Some(_), Some(sent)) if ctx.now < sent.plus(ctx.active.memory.gap) => {
            Move::Wait(Some(sent.plus(ctx.active.memory.gap)))
        }
        _ => ctx.read_pool(),
    }
}

fn drain(ctx: Ctx<'_>) -> Move {
    let on = ctx.pairs(&ctx.active.targets, true, |_, seen| seen.admin != Admin::Out);
    ctx.change(Change::Drain, on, None)
}

/// Out everywhere. Somebody else may have drained too since the admission; then this drain is the one too many.
fn confirmed(ctx: Ctx<'_>, healthy: u32) -> Move {
    let need = ctx.state.floor(ctx.plan);
    if ctx.active.taken > 0 && healthy < need {
        let message = format!("after the drain {healthy} were healthy in service, the floor is {need}");
        return Move::Detour(Detour::PutBackAndPostpone, Cause::new(message));
    }
    Move::next()
}

fn unconfirmed(ctx: Ctx<'_>, complete: bool) -> String {
    if !complete {
        return format!(
            "the drain of {} could not be completed: {}",
            ctx.members(&ctx.active.targets),
            ctx.unreachable().join("; ")
        );
    }
    let shown = ctx.describe(&ctx.active.targets, |seen| seen.admin == Admin::Out);
    match &ctx.active.memory.trouble {
        Some(trouble) => format!("the drain failed: {}; {shown}", trouble.reason),
        None => format!("the load balancer accepted the drain but still shows members enabled: {shown}"),
    }
}

/// Providers that show no members: their own word is all there is.
fn blind(ctx: Ctx<'_>, limit: crate::time::Timestamp) -> Move {
    let memory = &ctx.active.memory;
    match (memory.sent, &memory.trouble) {
        (Some(_), None) => Move::next(),
        (Some(sent), Some(trouble)) => {
            if sent >= limit {
                let message = format!("the drain failed: {}", trouble.reason);
                return Move::Detour(Detour::PutBackAndFail, Cause::new(message));
            }
            let again = sent.plus(memory.gap).min(limit);
            if ctx.now >= again { drain_all(ctx) } else { Move::Wait(Some(again)) }
        }
        (None, _) => drain_all(ctx),
    }
}

fn drain_all(ctx: Ctx<'_>) -> Move {
    let on = ctx.pairs(&ctx.active.targets, true, |_, _| true);
    ctx.change(Change::Drain, on, None)
}
