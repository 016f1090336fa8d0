//! Run a procedure on the targets, some at once. A call whose outcome is unknown is settled by asking the target, never
//! by a blind repetition. It must not know what the procedure does.

use manent_plan::{Action, TargetIx};

use super::{Ctx, Move, Stage};
use crate::call::{Call, CallNo, Ledger, Probed, Procedure, Ran};
use crate::event::{Cause, Effect};
use crate::state::Node;
use crate::time::Timestamp;
use crate::work::Work;

/// Beyond a procedure's own timeouts: connecting, and hearing of the end.
const MARGIN_MS: u64 = 30_000;
/// Distance between two probes of a call in doubt.
const PROBE_MS: u64 = 1_000;

pub(super) fn next(ctx: Ctx<'_>, procedure: Procedure) -> Move {
    let none = Work::default();
    let work = ctx.active.nodes.get(&ctx.active.stage);
    let (work, begun) = (work.unwrap_or(&none), work.is_some());
    if let Some(target) = work.next_again()
        && let Some(Node::Again { no }) = work.get(target)
    {
        // It may run on where it stopped: the target has to be out as for a first time.
        let fresh = gate_is_fresh(ctx, procedure);
        return if fresh { perform(ctx, procedure, target, Some(*no)) } else { Move::To(Stage::Gate) };
    }
    if let Some(probe) = due_probe(ctx, procedure, work) {
        return probe;
    }
    let busy = ctx.active.flying.len();
    // A doubt whose probe is under way is heard of by its answer, not by the clock.
    let wake = work.doubts().filter_map(|target| match work.get(target) {
        Some(Node::Doubt { no, next, .. }) if !asked(ctx, *no) => Some(*next),
        _ => None,
    });
    let wake = wake.min();
    if work.has_failed() {
        // Nothing new is begun; what runs is heard first.
        return if busy > 0 || wake.is_some() { Move::Wait(wake) } else { failed(ctx, procedure, work) };
    }
    // Before the first call nothing is known of any target, and the first one waits.
    let waiting = if begun { work.next_waiting() } else { Some(0) };
    match waiting.and_then(|at| ctx.active.targets.get(at)) {
        Some(_) if busy >= ctx.plan.rollout.parallelism.max(1) as usize => Move::Wait(wake),
        Some(_) if !gate_is_fresh(ctx, procedure) => Move::To(Stage::Gate),
        Some(target) => perform(ctx, procedure, *target, None),
        None if busy > 0 || wake.is_some() => Move::Wait(wake),
        None => Move::next(),
    }
}

/// Right before a node is touched, the newest read must show it out; a read of long ago does not.
fn gate_is_fresh(ctx: Ctx<'_>, procedure: Procedure) -> bool {
    let gated = match procedure {
        Procedure::Apply | Procedure::Undo => ctx.sees_members(),
        Procedure::Current
        | Procedure::PostTest
        | Procedure::Custom(_)
        | Procedure::UndoCustom(_)
        | Procedure::Activate(_)
        | Procedure::UndoActivate(_) => false,
    };
    let Some(pool) = ctx.pool().filter(|_| gated) else { return true };
    ctx.active.gated.is_some_and(|read| ctx.now.since(read) <= pool.poll_interval_ms)
}

fn due_probe(ctx: Ctx<'_>, procedure: Procedure, work: &Work) -> Option<Move> {
    work.doubts().find_map(|target| {
        let Some(Node::Doubt { no, until, next, .. }) = work.get(target) else { return None };
        let due = !asked(ctx, *no) && ctx.now >= *next;
        let until = (*until).max(ctx.now.plus(PROBE_MS));
        due.then(|| Move::call(Call::Probe { of: *no, procedure, target, until }))
    })
}

fn asked(ctx: Ctx<'_>, no: CallNo) -> bool {
    ctx.active.flying.values().any(|call| matches!(call, Call::Probe { of, .. } if *of == no))
}

fn perform(ctx: Ctx<'_>, procedure: Procedure, target: TargetIx, again: Option<CallNo>) -> Move {
    let new = ctx.plan.release.clone();
    let before = ctx.state.target(target).and_then(|target| target.before.clone()).flatten();
    let back = ctx.plan.steps.get(ctx.active.step.at()).is_some_and(|step| step.kind.is_compensation());
    // Forward, `from` is for tidying up alone: what was there before is kept for the way back.
    let (release, from) = if back { (before, new) } else { (new, before) };
    let until = ctx.now.plus(timeout(ctx, procedure)).plus(MARGIN_MS);
    Move::Call { call: Call::Run { procedure, target, release, from, until }, again, note: None }
}

/// What a procedure may take at most, in ms.
fn timeout(ctx: Ctx<'_>, procedure: Procedure) -> u64 {
    let procedures = &ctx.plan.procedures;
    let custom = |list: &[manent_plan::Custom], at: u32, undo: bool| {
        list.get(at as usize).map_or(0, |custom| {
            actions(if undo { custom.undo.as_deref().unwrap_or_default() } else { &custom.run })
        })
    };
    match procedure {
        Procedure::Current => actions(&procedures.deploy.current),
        Procedure::Apply => {
            actions(&procedures.deploy.apply).saturating_add(actions(&procedures.deploy.retain))
        }
        Procedure::Undo => actions(&procedures.deploy.undo),
        Procedure::PostTest => {
            procedures.post_test.iter().map(|test| test.within_ms).fold(0, u64::saturating_add)
        }
        Procedure::Custom(at) => custom(&procedures.steps, at, false),
        Procedure::UndoCustom(at) => custom(&procedures.steps, at, true),
        Procedure::Activate(at) => custom(&procedures.activate, at, false),
        Procedure::UndoActivate(at) => custom(&procedures.activate, at, true),
    }
}

fn actions(list: &[Action]) -> u64 {
    list.iter().map(Action::timeout_ms).fold(0, u64::saturating_add)
}

fn failed(ctx: Ctx<'_>, procedure: Procedure, work: &Work) -> Move {
    let mut cause = Cause::new("");
    let mut said = Vec::new();
    let mut effect = Effect::None;
    for (target, node) in work.iter() {
        match node {
            Node::Failed { reason, begun, unknown } => {
                said.push(format!("`{}`: {reason}", ctx.plan.target_name(target)));
                cause.targets.push(target);
                if unknown.is_some() {
                    cause.unknown.push(target);
                }
                effect = if *begun { Effect::Certain } else { effect };
            }
            Node::Done { .. } => effect = Effect::Certain,
            Node::Running { .. } | Node::Doubt { .. } | Node::Again { .. } => {}
        }
    }
    if !cause.unknown.is_empty() {
        effect = Effect::Possible;
    }
    let what = match procedure {
        Procedure::PostTest => "the post-test failed on ",
        _ => "failed on ",
    };
    cause.message = format!("{what}{}", said.join("; "));
    Move::Fail { cause, effect }
}

/// What a node becomes by the answer of its probe.
pub(crate) fn settle_probe(
    procedure: Procedure,
    no: CallNo,
    until: Timestamp,
    wanted: Option<&Option<String>>,
    answer: Probed,
    at: Timestamp,
) -> Option<Node> {
    let there = wanted.is_some_and(|wanted| answer.release.as_ref() == Some(wanted));
    let doubt = |reason: String| {
        if at >= until {
            Node::Failed { reason, begun: true, unknown: Some(no) }
        } else {
            Node::Doubt { no, until, next: at.plus(PROBE_MS), reason }
        }
    };
    let recipe = match procedure {
        Procedure::Apply | Procedure::Undo => true,
        Procedure::Current
        | Procedure::PostTest
        | Procedure::Custom(_)
        | Procedure::UndoCustom(_)
        | Procedure::Activate(_)
        | Procedure::UndoActivate(_) => false,
    };
    Some(match answer.ledger {
        Ledger::Ended(Ran::Done { output }) => Node::Done { output },
        Ledger::Ended(Ran::Failed { begun, reason }) => Node::Failed { reason, begun, unknown: None },
        Ledger::Ended(Ran::Unknown { reason }) => Node::Failed { reason, begun: true, unknown: Some(no) },
        Ledger::Running => doubt(String::from("it is still running")),
        Ledger::Unreachable { reason } => doubt(format!("it cannot be asked: {reason}")),
        // Somebody else brought the release, or the ledger is gone with the work done: a repetition is not needed.
        Ledger::Absent if recipe && there => Node::Done { output: None },
        Ledger::Absent | Ledger::Partial => Node::Again { no },
        Ledger::Died if recipe && there => Node::Done { output: None },
        // Recipes may be repeated; the read has shown that it is still needed. A new number, since the old one is spent.
        Ledger::Died if recipe && answer.release.is_some() => return None,
        Ledger::Died if recipe => {
            doubt(String::from("it was cut off, and the release on the target cannot be told"))
        }
        Ledger::Died => Node::Failed {
            reason: String::from(
                "it was cut off on the target before it ended, and cannot be repeated safely",
            ),
            begun: true,
            unknown: None,
        },
    })
}
