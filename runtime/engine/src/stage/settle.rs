//! Until every instance shows the members healthy in service, in two reads in a row, and for `minReady`. A member that
//! does not get there is taken out again: it never stays in service unless it is healthy.

use super::judge::proven;
use super::{Ctx, Move};
use crate::call::Change;
use crate::event::{Cause, Detour};
use crate::view::Admin;

pub(super) fn next(ctx: Ctx<'_>) -> Move {
    let Some(pool) = ctx.pool() else { return Move::next() };
    if ctx.pool_busy() {
        return Move::Wait(None);
    }
    let memory = &ctx.active.memory;
    let ready = ctx.plan.rollout.min_ready_ms;
    if !pool.capabilities.sees_members && !pool.capabilities.sees_health {
        let until = ctx.active.entered.plus(ready);
        return if ctx.now >= until { Move::next() } else { Move::Wait(Some(until)) };
    }
    let limit = ctx.active.entered.plus(pool.restore_timeout_ms);
    let Some((read, view)) = ctx.fresh() else { return ctx.read_when_due(limit) };
    if let Some(since) = memory.good_since {
        let until = since.plus(ready);
        if memory.good >= 2 && read >= until {
            return Move::next();
        }
        let due = ctx.next_read(limit);
        let due = if memory.good >= 2 { due.max(until.min(read.plus(pool.poll_interval_ms))) } else { due };
        return if ctx.now >= due { ctx.read_pool() } else { Move::Wait(Some(due)) };
    }
    if read >= limit {
        return Move::Detour(Detour::TakeOutAndFail, Cause::new(over(ctx, view.complete())));
    }
    // Some load balancers accept a restore and skip it; it is asked for again, at most once a poll.
    let out = ctx.pairs(&ctx.active.targets, false, |target, seen| {
        seen.admin == Admin::Out && (ctx.exempt(target) || proven(seen))
    });
    let again = memory.sent.map_or(ctx.active.entered, |sent| sent).plus(pool.poll_interval_ms);
    if pool.capabilities.sees_members && view.complete() && !out.is_empty() && ctx.now >= again {
        return ctx.change(Change::Restore, out, None);
    }
    ctx.read_when_due(limit)
}

fn over(ctx: Ctx<'_>, complete: bool) -> String {
    let waited = crate::words::duration(ctx.pool().map_or(0, |pool| pool.restore_timeout_ms));
    if !complete {
        return format!("not seen healthy within {waited}: {}", ctx.unreachable().join("; "));
    }
    format!(
        "not healthy in service within {waited}: {}",
        ctx.describe(&ctx.active.targets, crate::view::Seen::serves)
    )
}
