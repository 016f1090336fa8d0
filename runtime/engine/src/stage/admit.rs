//! May the batch go out now? Everything is read on all instances; what is not seen does not count. The same stage admits
//! a batch forwards and on the way back. It changes nothing.

use manent_plan::Pool;
use manent_plan::capacity::{Heads, Limits, Shortfall, admit};

use super::{Ctx, Move};
use crate::event::{Blocked, Cause, Effect};
use crate::view::{PoolView, Seen};

/// Names in a reason, before the rest is only counted.
const NAMES: usize = 50;

pub(super) fn next(ctx: Ctx<'_>) -> Move {
    let Some(pool) = ctx.pool() else { return Move::next() };
    if ctx.pool_busy() {
        return Move::Wait(None);
    }
    if let Some((_, until)) = &ctx.active.memory.postponed
        && ctx.now < *until
    {
        return Move::Wait(Some(*until));
    }
    if !pool.capabilities.sees_members {
        return match limits_alone(ctx) {
            Ok(()) => Move::next(),
            Err(shortfall) => blocked(ctx, pool, in_words(ctx, shortfall, None)),
        };
    }
    let Some((_, view)) = ctx.fresh() else { return ctx.read_pool() };
    if let Some((instance, failure)) = view.refused() {
        return refuse(format!("`{}` refuses: {}", instance.name, failure.reason));
    }
    if !view.complete() {
        return blocked(ctx, pool, Blocked::Unreachable { instances: ctx.unreachable() });
    }
    if let Some(problem) = view.problems.first() {
        return refuse(problem.clone());
    }
    let limits = Limits { floor: floor(ctx), unavailable: limit(ctx) };
    let heads = heads(ctx, view);
    match admit(heads, limits) {
        Ok(()) if heads.healthy < limits.floor && by_others(ctx, view) => {
            let Heads { healthy, taken, .. } = heads;
            let shortfall = Shortfall::Floor { healthy, taken, need: limits.floor };
            blocked(ctx, pool, in_words(ctx, shortfall, Some(view)))
        }
        Ok(()) => Move::next(),
        Err(shortfall) => blocked(ctx, pool, in_words(ctx, shortfall, Some(view))),
    }
}

/// Whether a member of the batch is shown out by somebody else's hand. In a pool under its floor that may not be so: there
/// are APIs that call every member out while all of them serve. A member that is down lowers nothing, whatever the rest.
fn by_others(ctx: Ctx<'_>, view: &PoolView) -> bool {
    let ours = |target| ctx.state.target(target).is_some_and(|target| target.out.is_some());
    ctx.active.targets.iter().any(|target| view.out_somewhere(*target) && !ours(*target))
}

fn refuse(message: String) -> Move {
    Move::Fail { cause: Cause::new(message), effect: Effect::None }
}

/// Postponed until the time is over; the last read comes at the limit itself.
fn blocked(ctx: Ctx<'_>, pool: &Pool, why: Blocked) -> Move {
    let limit = ctx.active.began.plus(pool.drain_timeout_ms);
    let read = ctx.active.memory.read.unwrap_or(ctx.now);
    if read >= limit {
        let waited = crate::words::duration(pool.drain_timeout_ms);
        let message =
            format!("{} did not go out within {waited}: {}", ctx.members(&ctx.active.targets), why.words());
        return Move::Fail { cause: Cause::new(message), effect: Effect::None };
    }
    Move::Postpone { blocked: why, next: read.plus(pool.poll_interval_ms).min(limit) }
}

/// The floor, forwards and on the way back alike.
fn floor(ctx: Ctx<'_>) -> u32 {
    #[cfg(feature = "fault-injection")]
    if matches!(ctx.state.way, crate::state::Way::Back { .. }) && crate::fault::floor_is_skipped() {
        return 0;
    }
    ctx.state.floor(ctx.plan)
}

/// The limit of members out by manent's hand: the wave's own, while it runs.
fn limit(ctx: Ctx<'_>) -> u32 {
    let step = ctx.plan.steps.get(ctx.active.step.at());
    let wave = step.and_then(|step| step.place).map(|place| place.wave as usize);
    let wave = wave.and_then(|wave| ctx.plan.rollout.waves.get(wave));
    wave.map_or(ctx.plan.rollout.max_unavailable_count, |wave| wave.max_unavailable)
}

fn counted(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn heads(ctx: Ctx<'_>, view: &PoolView) -> Heads {
    let batch = &ctx.active.targets;
    // What is unknown may be serving, and counts as taken away.
    let taken = batch.iter().filter(|target| !view.surely_lost(**target)).count();
    Heads { healthy: view.healthy(), taken: counted(taken), ..out_and_batch(ctx) }
}

/// Heads without a read: what manent itself did is known.
fn out_and_batch(ctx: Ctx<'_>) -> Heads {
    let batch = &ctx.active.targets;
    let others = ctx
        .state
        .targets
        .iter()
        .enumerate()
        .filter(|(at, target)| target.out.is_some() && !batch.iter().any(|member| member.at() == *at));
    Heads { healthy: 0, taken: 0, out: counted(others.count()), batch: counted(batch.len()) }
}

fn limits_alone(ctx: Ctx<'_>) -> Result<(), Shortfall> {
    admit(out_and_batch(ctx), Limits { floor: 0, unavailable: limit(ctx) })
}

fn in_words(ctx: Ctx<'_>, shortfall: Shortfall, view: Option<&PoolView>) -> Blocked {
    match shortfall {
        Shortfall::Limit { out, batch, limit } => Blocked::Limit { out, batch, limit },
        Shortfall::Floor { healthy, taken, need } => {
            let (serving, out) = view.map(|view| names(ctx, view)).unwrap_or_default();
            let batch = ctx.active.targets.iter().map(|target| ctx.plan.member(*target).to_owned()).collect();
            Blocked::Floor { have: healthy, taken, need, healthy: serving, out, batch }
        }
    }
}

/// Members that count, and those that do not with what each instance shows.
fn names(ctx: Ctx<'_>, view: &PoolView) -> (Vec<String>, Vec<String>) {
    let words = |seen: &[Seen]| {
        let each = view
            .instances
            .iter()
            .zip(seen)
            .map(|(instance, seen)| format!("{} on {}", seen.words, instance.name));
        each.collect::<Vec<_>>().join(", ")
    };
    let mut serving = Vec::new();
    let mut out = Vec::new();
    for (at, target) in (0_u32..).zip(&ctx.plan.targets) {
        let at = manent_plan::TargetIx(at);
        if view.serves(at) {
            serving.push(target.member.clone());
        } else {
            let seen: Vec<Seen> = view.seen_everywhere(at).collect();
            out.push(format!("{}: {}", target.member, words(&seen)));
        }
    }
    for (name, seen) in &view.others {
        if !seen.iter().all(Seen::serves) {
            out.push(format!("{name}: {}", words(seen)));
        }
    }
    (cut(serving), cut(out))
}

fn cut(mut names: Vec<String>) -> Vec<String> {
    let all = names.len();
    if all > NAMES {
        names.truncate(NAMES);
        names.push(format!("and {} more", all - NAMES));
    }
    names
}

impl Blocked {
    /// The reason as a sentence.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Blocked::Floor { have, taken, need, out, .. } => {
                let stay = have.saturating_sub(*taken);
                let why = if out.is_empty() { String::new() } else { format!(" ({})", out.join("; ")) };
                format!(
                    "{have} healthy in service, {taken} of them in the batch: {stay} would stay, the floor is {need}{why}"
                )
            }
            Blocked::Limit { out, batch, limit } => {
                format!("{out} out already and {batch} in the batch, at most {limit} may be out")
            }
            Blocked::Unreachable { instances } => {
                format!("not every load balancer answers ({})", instances.join("; "))
            }
            Blocked::Raced { have, need } => {
                format!(
                    "after the drain only {have} were healthy in service, the floor is {need}; somebody else took members out, so the batch was put back"
                )
            }
        }
    }
}
