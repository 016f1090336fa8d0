//! Back in service on every instance, going on over all of them whatever one says. The wait that follows proves it.

use super::{Ctx, Move};
use crate::call::Change;
use crate::event::{Cause, Detour};
use crate::view::Admin;

pub(super) fn next(ctx: Ctx<'_>) -> Move {
    if ctx.pool_busy() {
        return Move::Wait(None);
    }
    let memory = &ctx.active.memory;
    let limit = ctx.active.entered.plus(ctx.pool().map_or(0, |pool| pool.restore_timeout_ms));
    let sees = ctx.sees_members();
    match (memory.sent, &memory.trouble) {
        (Some(_), None) => Move::next(),
        (Some(_), Some(trouble)) if trouble.permanent => Move::Detour(
            Detour::TakeOutAndFail,
            Cause::new(format!("the restore was refused: {}", trouble.reason)),
        ),
        (Some(sent), Some(trouble)) => {
            if sent >= limit {
                let message = format!("the restore failed: {}", trouble.reason);
                return Move::Detour(Detour::TakeOutAndFail, Cause::new(message));
            }
            let again = sent.plus(memory.gap).min(limit);
            if ctx.now >= again { restore(ctx) } else { Move::Wait(Some(again)) }
        }
        // Taken up again after a crash: what was sent is not known, a read shows what is still needed.
        (None, _) if sees && memory.read.is_none() => ctx.read_pool(),
        (None, _) => restore(ctx),
    }
}

fn restore(ctx: Ctx<'_>) -> Move {
    let sees = ctx.sees_members();
    let on = ctx.pairs(&ctx.active.targets, false, |_, seen| !sees || seen.admin != Admin::In);
    if on.is_empty() { Move::next() } else { ctx.change(Change::Restore, on, None) }
}
