//! Whether a read shows what a stage waits for. Reads are judged when they are applied, so that a count of good reads
//! in a row is part of the folded state. It must not decide what follows.

use manent_plan::TargetIx;

use super::{Ctx, Stage};
use crate::event::Detour;
use crate::view::{Admin, PoolView, Seen};

/// Judges a read for the stage (or the detour) in hand.
pub(crate) fn good(ctx: Ctx<'_>, stage: Stage, view: &PoolView) -> bool {
    if !view.complete() {
        return false;
    }
    if let Some((detour, _)) = &ctx.active.detour {
        return match detour {
            Detour::PutBackAndPostpone | Detour::PutBackAndFail => {
                all(ctx, view, |_, seen| seen.admin == Admin::In || seen.admin == Admin::Idle)
            }
            Detour::TakeOutAndFail => all(ctx, view, |_, seen| seen.admin == Admin::Out || seen.serves()),
        };
    }
    match stage {
        Stage::Empty | Stage::Gate => every_instance(ctx, view, empty),
        Stage::Prove => {
            all(ctx, view, |target, seen| seen.admin == Admin::Out && (ctx.exempt(target) || proven(seen)))
        }
        Stage::Settle => settled(ctx, view),
        Stage::Survey | Stage::Admit | Stage::TakeOut | Stage::Nodes(_) | Stage::PutIn | Stage::Hold => false,
    }
}

/// Out, and no connection is left. What cannot be counted is not zero.
fn empty(_: TargetIx, seen: &Seen) -> bool {
    seen.admin == Admin::Out && seen.connections == Some(0)
}

/// Nothing speaks against putting it back: a check says so, or there is none.
pub(super) fn proven(seen: &Seen) -> bool {
    use crate::view::Health;
    match seen.health {
        Health::Up | Health::Unchecked => true,
        Health::Down | Health::Unknown => false,
    }
}

/// Healthy in service, as far as the provider can see.
fn settled(ctx: Ctx<'_>, view: &PoolView) -> bool {
    let sees = ctx.sees_members();
    all(ctx, view, |target, seen| {
        let inside = !sees || seen.admin == Admin::In;
        inside && (ctx.exempt(target) || proven(seen))
    })
}

/// On the instances where the targets are manent's.
fn all(ctx: Ctx<'_>, view: &PoolView, check: impl Fn(TargetIx, &Seen) -> bool) -> bool {
    ctx.active.targets.iter().all(|target| {
        ctx.ours(*target).all(|instance| check(*target, &view.seen(*target, instance as usize)))
    })
}

/// On every instance, whoever took the targets out.
fn every_instance(ctx: Ctx<'_>, view: &PoolView, check: impl Fn(TargetIx, &Seen) -> bool) -> bool {
    ctx.active.targets.iter().all(|target| view.seen_everywhere(*target).all(|seen| check(*target, &seen)))
}
