//! Values of a run in words: why it is blocked, what a call does, how it ended. Everything that may come from a load
//! balancer or a target is cleaned here. It must not decide what is shown where.

use manent_engine::{Answer, Blocked, Call, Cause, Change, Outcome, Procedure, Ran};
use manent_plan::{Plan, TargetIx};

use crate::clean;

/// Names that are listed before the rest is counted.
const LISTED: usize = 8;

/// `a, b and 3 more`, cleaned.
pub(crate) fn list<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| clean::line(name.as_ref())).collect();
    let shown = names.get(..LISTED.min(names.len())).unwrap_or_default().join(", ");
    match names.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Member names of targets.
pub(crate) fn members(plan: &Plan, targets: &[TargetIx]) -> String {
    list(targets.iter().map(|at| plan.member(*at)))
}

/// Names of targets (`host:port`).
pub(crate) fn targets(plan: &Plan, targets: &[TargetIx]) -> String {
    list(targets.iter().map(|at| plan.target_name(*at)))
}

/// `1 member`, `3 members`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// Why a run is blocked, with the arithmetic.
pub(crate) fn blocked(blocked: &Blocked) -> String {
    clean::line(&blocked.words())
}

/// Why something failed, with the targets.
pub(crate) fn cause(plan: &Plan, cause: &Cause) -> String {
    let mut text = clean::line(&cause.message);
    if !cause.targets.is_empty()
        && !text.contains(&plan.target_name(cause.targets.first().copied().unwrap_or(TargetIx(0))))
    {
        text.push_str(&format!(" ({})", targets(plan, &cause.targets)));
    }
    if !cause.unknown.is_empty() {
        text.push_str(&format!("; nobody knows what happened on {}", targets(plan, &cause.unknown)));
    }
    text
}

/// How a run ended, in one sentence.
pub(crate) fn outcome(plan: &Plan, outcome: &Outcome) -> String {
    let release = plan.release.as_deref().unwrap_or("the release");
    match outcome {
        Outcome::Succeeded if plan.pool.is_some() => {
            format!("succeeded: every target runs {release} and is in service")
        }
        Outcome::Succeeded => format!("succeeded: every target runs {release}"),
        Outcome::NothingToDo => format!("nothing to do: every target runs {release} already"),
        Outcome::Refused { cause: why } => {
            format!("preflight refused, nothing was touched: {}", cause(plan, why))
        }
        Outcome::RolledBack { cause: why } => {
            format!("failed and rolled back, the service is whole: {}", cause(plan, why))
        }
        Outcome::Failed { cause: why } => {
            format!("failed; nothing was deployed, nothing to roll back: {}", cause(plan, why))
        }
        Outcome::Stopped { cause: why } => format!("stopped: {}", cause(plan, why)),
    }
}

/// A procedure on a target.
pub(crate) fn procedure(plan: &Plan, procedure: Procedure) -> String {
    let custom = |list: &[manent_plan::Custom], at: u32| {
        list.get(at as usize).map_or_else(|| String::from("?"), |custom| custom.name.clone())
    };
    match procedure {
        Procedure::Current => String::from("ask for the release"),
        Procedure::Apply => format!("deploy by {}", plan.procedures.deploy.name),
        Procedure::Undo => format!("return by {}", plan.procedures.deploy.name),
        Procedure::PostTest => String::from("test"),
        Procedure::Custom(at) => format!("run {}", custom(&plan.procedures.steps, at)),
        Procedure::UndoCustom(at) => format!("undo {}", custom(&plan.procedures.steps, at)),
        Procedure::Activate(at) => format!("run {}", custom(&plan.procedures.activate, at)),
        Procedure::UndoActivate(at) => format!("undo {}", custom(&plan.procedures.activate, at)),
    }
}

/// A change of members.
pub(crate) fn change(change: Change) -> &'static str {
    match change {
        Change::Drain => "drain",
        Change::Harden => "harden the drain of",
        Change::ForceDown => "await a new check of",
        Change::Restore => "restore",
    }
}

/// A call, in the words of a log. Reads of the pool are `None`: they say nothing that a person waits for.
pub(crate) fn call(plan: &Plan, call: &Call) -> Option<String> {
    match call {
        Call::ReadPool { .. } => None,
        Call::Change { change: to, on } => {
            let mut all: Vec<TargetIx> = on.iter().flat_map(|one| one.targets.iter().copied()).collect();
            all.sort_unstable();
            all.dedup();
            Some(format!("{} {} on {}", change(*to), members(plan, &all), count(on.len(), "instance")))
        }
        Call::Run { procedure: what, target, release, .. } => {
            let release = match (what, release) {
                (Procedure::Apply | Procedure::Undo, Some(release)) => {
                    format!(" to {}", clean::line(release))
                }
                _ => String::new(),
            };
            Some(format!("{}{release} on {}", procedure(plan, *what), plan.target_name(*target)))
        }
        Call::Probe { procedure: what, target, .. } => Some(format!(
            "find out what became of `{}` on {}",
            procedure(plan, *what),
            plan.target_name(*target)
        )),
    }
}

/// An answer that a person should see; most only matter to the engine.
pub(crate) fn answer(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Ran(Ran::Failed { reason, .. }) => Some(format!("failed: {}", clean::line(reason))),
        Answer::Ran(Ran::Unknown { reason }) => Some(format!("outcome unknown: {}", clean::line(reason))),
        Answer::Changed(answers) => {
            let troubles: Vec<&str> = answers
                .iter()
                .filter_map(|answer| match answer {
                    manent_engine::InstanceAnswer::Accepted => None,
                    manent_engine::InstanceAnswer::Refused { reason }
                    | manent_engine::InstanceAnswer::Unsure { reason } => Some(reason.as_str()),
                })
                .collect();
            (!troubles.is_empty()).then(|| format!("trouble: {}", list(troubles)))
        }
        Answer::Pool(view) => {
            let silent: Vec<String> = view
                .instances
                .iter()
                .filter_map(|one| one.failure.as_ref().map(|why| format!("{}: {}", one.name, why.reason)))
                .collect();
            (!silent.is_empty()).then(|| format!("no answer: {}", list(silent)))
        }
        Answer::Ran(Ran::Done { .. }) | Answer::Probed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_floor_shows_its_arithmetic_and_no_control_character() {
        let floor = Blocked::Floor {
            have: 3,
            taken: 1,
            need: 3,
            healthy: vec!["w1".into(), "w2".into(), "w3".into()],
            out: vec!["w4 is drain/up on \u{1b}lb1".into()],
            batch: vec!["w1".into()],
        };
        let text = blocked(&floor);
        assert!(text.contains("2 would stay, the floor is 3"), "{text}");
        assert!(text.contains("\\u{1b}lb1"), "{text}");
    }

    #[test]
    fn long_lists_are_counted() {
        let names: Vec<String> = (0..10).map(|at| format!("w{at}")).collect();
        assert_eq!(list(&names), "w0, w1, w2, w3, w4, w5, w6, w7 and 2 more");
    }
}
