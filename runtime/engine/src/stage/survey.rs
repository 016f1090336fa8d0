//! Reads before anything is touched: every instance answers, every target has its member, every host says which release
//! it runs. It changes nothing, and refuses rather than guesses.

use manent_plan::Pool;

use super::{Ctx, Move};
use crate::call::Procedure;
use crate::event::{Cause, Effect};
use crate::view::PoolView;

/// Tries for an instance that does not answer, before preflight refuses.
const TRIES: u32 = 3;

pub(super) fn next(ctx: Ctx<'_>) -> Move {
    let can_read = |pool: &&Pool| pool.capabilities.sees_members || pool.capabilities.sees_health;
    if ctx.pool().filter(can_read).is_some() {
        if ctx.pool_busy() {
            return Move::Wait(None);
        }
        let Some((read, view)) = ctx.fresh() else { return ctx.read_pool() };
        let permanent = view.refused().is_some();
        if !view.complete() && !permanent && ctx.active.memory.misses < TRIES {
            let due = read.plus(ctx.active.memory.gap);
            return if ctx.now >= due { ctx.read_pool() } else { Move::Wait(Some(due)) };
        }
        if let Some(problem) = problems(ctx, view) {
            return Move::Fail { cause: Cause::new(problem), effect: Effect::None };
        }
    }
    match super::nodes::next(ctx, Procedure::Current) {
        Move::Fail { mut cause, .. } => {
            cause.message = format!("the release on every target has to be known first: {}", cause.message);
            Move::Fail { cause, effect: Effect::None }
        }
        other => other,
    }
}

/// Everything that speaks against a start, in one message.
fn problems(ctx: Ctx<'_>, view: &PoolView) -> Option<String> {
    let pool = ctx.pool()?;
    let mut found: Vec<String> = ctx.unreachable();
    if view.complete() && pool.capabilities.sees_members {
        found.extend(view.problems.iter().cloned());
        found.extend(count(ctx, view));
    }
    (!found.is_empty()).then(|| found.join("; "))
}

/// The pool as it is against the pool that the plan counted.
fn count(ctx: Ctx<'_>, view: &PoolView) -> Option<String> {
    let pool = ctx.pool()?;
    let floor = &pool.floor;
    if !view.problems.is_empty() {
        return None;
    }
    if view.total != floor.members {
        let written = if floor.members_declared { "`members` says" } else { "the plan counted" };
        return Some(format!(
            "the pool has {} members, {written} {}: write `members: \"{}\"` under traffic.pool and plan again",
            view.total, floor.members, view.total
        ));
    }
    None
}
