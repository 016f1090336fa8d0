//! Back in service on every instance, going on over all of them whatever one says. The wait that follows proves it.

use manent_plan::TargetIx;

use super::judge::proven;
use super::{Ctx, Move, Stage};
use crate::call::Change;
use crate::event::{Cause, Detour, Effect};
use crate::time::Timestamp;
use crate::view::{Admin, Seen};

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
        (None, _) if sees => after_a_look(ctx, limit),
        (None, _) => restore(ctx),
    }
}

/// The newest read decides, also after a crash: what was sent then is not known, and a member that was healthy may have
/// gone down since.
fn after_a_look(ctx: Ctx<'_>, limit: Timestamp) -> Move {
    let Some((read, view)) = ctx.fresh() else { return ctx.read_when_due(limit) };
    if !view.complete() {
        if read < limit {
            return ctx.read_when_due(limit);
        }
        let message =
            format!("not put back, since not every load balancer answers: {}", ctx.unreachable().join("; "));
        return Move::Fail { cause: Cause::new(message), effect: Effect::None };
    }
    let fine = |target: TargetIx, seen: &Seen| seen.admin == Admin::In || ctx.exempt(target) || proven(seen);
    let doubtful = ctx.pairs(&ctx.active.targets, false, |target, seen| !fine(target, seen));
    let proves = ctx.pool().is_some_and(|pool| pool.capabilities.checks_while_out);
    if proves && !doubtful.is_empty() { Move::To(Stage::Prove) } else { restore(ctx) }
}

fn restore(ctx: Ctx<'_>) -> Move {
    let sees = ctx.sees_members();
    let on = ctx.pairs(&ctx.active.targets, false, |_, seen| !sees || seen.admin != Admin::In);
    if on.is_empty() { Move::next() } else { ctx.change(Change::Restore, on, None) }
}
