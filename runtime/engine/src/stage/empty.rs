//! Until no connection is left on any instance in two reads in a row; and the gate right before a node is touched. An
//! instance that forgot the drain (a reload, a changed process) is told again. It never touches a node.

use manent_plan::OnTimeout;

use super::{Ctx, Move};
use crate::call::Change;
use crate::event::{Cause, Detour, Effect};
use crate::time::Timestamp;
use crate::view::{Admin, PoolView};

pub(super) fn next(ctx: Ctx<'_>) -> Move {
    let Some(pool) = ctx.pool() else { return Move::next() };
    if let Some(delay) = pool.capabilities.drain_delay_ms {
        let until = ctx.active.entered.plus(delay);
        return if ctx.now >= until { Move::next() } else { Move::Wait(Some(until)) };
    }
    wait(ctx)
}

/// Out everywhere as the newest read shows it. Connections count again only when a drain was lost here.
pub(super) fn gate(ctx: Ctx<'_>) -> Move {
    if ctx.pool_busy() {
        return Move::Wait(None);
    }
    if !ctx.active.memory.strict
        && let Some((_, view)) = ctx.fresh()
        && ctx.active.targets.iter().all(|target| view.out(*target))
    {
        return Move::next();
    }
    match wait(ctx) {
        // Nothing is put back from here: what is out stays out until the way back decides.
        Move::Detour(_, cause) => Move::Fail { cause, effect: Effect::None },
        other => other,
    }
}

fn wait(ctx: Ctx<'_>) -> Move {
    if ctx.pool_busy() {
        return Move::Wait(None);
    }
    let memory = &ctx.active.memory;
    if memory.good >= 2 {
        return Move::next();
    }
    if let Some(trouble) = memory.trouble.as_ref().filter(|trouble| trouble.permanent) {
        return Move::Detour(
            Detour::PutBackAndFail,
            Cause::new(format!("the drain was refused: {}", trouble.reason)),
        );
    }
    let Some((read, view)) = ctx.fresh() else { return ctx.read_when_due(limit(ctx)) };
    let lost = ctx.pairs(&ctx.active.targets, true, |_, seen| matches!(seen.admin, Admin::In | Admin::Idle));
    if read >= limit(ctx) {
        return over(ctx, view, lost.is_empty());
    }
    if !lost.is_empty() && view.complete() {
        return drain_again(ctx, view, lost);
    }
    ctx.read_when_due(limit(ctx))
}

fn limit(ctx: Ctx<'_>) -> Timestamp {
    ctx.active.entered.plus(ctx.pool().map_or(0, |pool| pool.drain_timeout_ms))
}

fn drain_again(ctx: Ctx<'_>, view: &PoolView, on: Vec<crate::call::InstanceChange>) -> Move {
    let said: Vec<String> = on
        .iter()
        .map(|change| {
            let name =
                view.instances.get(change.instance as usize).map_or("?", |instance| instance.name.as_str());
            format!("`{name}` lost the drain of {}, drained again", ctx.members(&change.targets))
        })
        .collect();
    ctx.change(Change::Drain, on, Some(said.join("; ")))
}

/// The time is over, and the newest read is from after that.
fn over(ctx: Ctx<'_>, view: &PoolView, none_lost: bool) -> Move {
    let memory = &ctx.active.memory;
    let waited = crate::words::duration(ctx.pool().map_or(0, |pool| pool.drain_timeout_ms));
    if !view.complete() || !none_lost || !ctx.active.targets.iter().all(|target| view.out(*target)) {
        let shown = if view.complete() {
            ctx.describe(&ctx.active.targets, |seen| seen.admin == Admin::Out)
        } else {
            ctx.unreachable().join("; ")
        };
        let message = format!(
            "after {waited} it is not certain that {} are out: {shown}",
            ctx.members(&ctx.active.targets)
        );
        return Move::Detour(Detour::PutBackAndFail, Cause::new(message));
    }
    if memory.good == 1 {
        // Empty once: the second look is due, whatever the clock says.
        return ctx.read_when_due(limit(ctx));
    }
    let (left, who) = connections(ctx, view);
    let count = left.map_or_else(|| String::from("an unknown number of"), |left| left.to_string());
    match ctx.pool().map(|pool| pool.on_timeout) {
        Some(OnTimeout::Fail) => {
            let message =
                format!("{count} connections are left after {waited} ({who}), and on_timeout is `fail`");
            Move::Detour(Detour::PutBackAndFail, Cause::new(message))
        }
        Some(OnTimeout::Proceed) | None if can_harden(ctx) && !memory.hardened => {
            // Persistent clients still reach a drained member: cut them off before going on. One try; the members are
            // out either way.
            let on = ctx.pairs(&ctx.active.targets, false, |_, seen| seen.connections != Some(0));
            ctx.change(Change::Harden, on, None)
        }
        Some(OnTimeout::Proceed) | None => {
            let note = format!("{count} connections left after {waited} ({who}); on_timeout is `proceed`");
            Move::Next { note: Some(note), cut: Some(left.unwrap_or(0)) }
        }
    }
}

fn can_harden(ctx: Ctx<'_>) -> bool {
    ctx.pool().is_some_and(|pool| pool.capabilities.can_harden)
}

/// Connections left on all instances, `None` when one cannot be counted; and who has them.
fn connections(ctx: Ctx<'_>, view: &PoolView) -> (Option<u64>, String) {
    let mut sum = Some(0_u64);
    let mut who = Vec::new();
    for target in &ctx.active.targets {
        for (at, instance) in view.instances.iter().enumerate() {
            let seen = view.seen(*target, at).connections;
            sum = match (sum, seen) {
                (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
                _ => None,
            };
            if seen != Some(0) {
                let many = seen.map_or_else(|| String::from("unknown"), |seen| seen.to_string());
                who.push(format!("{many} on `{}` at {}", ctx.plan.member(*target), instance.name));
            }
        }
    }
    (sum, who.join(", "))
}
