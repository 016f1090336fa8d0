//! Waves: every target in exactly one, every wave with at least one, and how many of them go at a time.
//! It must not know the floor.

use std::collections::BTreeSet;

use manent_grammar::{Quantity, Requirement};
use manent_plan::TargetIx;

use super::names::names;
use super::templates::others;
use crate::decode::{RawEnv, RawTarget, RawWave, Spanned, listed};
use crate::diagnostic::{Code, Diagnostic, Findings};

/// Label values that a message lists at most.
const VALUES_LISTED: usize = 10;

/// The targets of every wave, in the order of the file; one wave of all targets where none are written.
pub(crate) fn waves(env: &RawEnv, findings: &mut Findings) -> Vec<Vec<TargetIx>> {
    let everything = || vec![(0..env.targets.len()).filter_map(position).collect()];
    let Some(waves) = &env.rollout.waves else {
        if env.pool_written {
            without_waves(env, findings);
        }
        return everything();
    };
    if waves.is_empty() && env.rollout.waves_complete {
        without_waves(env, findings);
        return everything();
    }
    names("wave", waves.iter().map(|wave| &wave.name), findings);
    let mut selected: Vec<Vec<TargetIx>> = waves.iter().map(|_| Vec::new()).collect();
    let mut lost = Vec::new();
    for (at, target) in env.targets.iter().enumerate() {
        let mut first: Option<&RawWave> = None;
        for (wave, members) in waves.iter().zip(&mut selected) {
            if !wave.select.value.matches(&target.labels) {
                continue;
            }
            members.extend(position(at));
            match first {
                None => first = Some(wave),
                Some(first) => in_two(target, first, wave, findings),
            }
        }
        // With a wave missing, the target may well be in that one.
        if first.is_none() && env.rollout.waves_complete {
            lost.push(target);
        }
    }
    in_none(env, &lost, waves, findings);
    for (wave, members) in waves.iter().zip(&selected) {
        if members.is_empty() && env.targets_complete {
            selects_nothing(env, wave, findings);
        }
    }
    if let Some(last) = waves.last()
        && let Some(approval) = &last.approval
    {
        findings.push(
            Diagnostic::error(
                Code::ApprovalOnLastWave,
                format!("nothing comes after wave `{}`", last.name.value),
            )
            .at(approval.clone(), "an approval opens the way to the next wave")
            .help("move `approval` to the wave before, or remove it"),
        );
    }
    selected
}

fn position(at: usize) -> Option<TargetIx> {
    u32::try_from(at).ok().map(TargetIx)
}

fn without_waves(env: &RawEnv, findings: &mut Findings) {
    let finding = Diagnostic::error(
        Code::PoolWithoutWaves,
        "the pool has no waves, so it is not said which members may be out together",
    )
    .help("add `rollout: {waves: [{name: canary, select: \"…\"}, {name: rest, select: \"…\"}]}`");
    let place = env.pool.as_ref().map_or(&env.place, |pool| &pool.place);
    let finding = finding.at(place.clone(), "this pool is drained wave by wave");
    let rollout = env.rollout.place.clone();
    findings.push(rollout.into_iter().fold(finding, |finding, place| finding.at(place, "no `waves` here")));
}

fn in_two(target: &RawTarget, first: &RawWave, second: &RawWave, findings: &mut Findings) {
    let (one, two) = (&first.name.value, &second.name.value);
    findings.push(
        Diagnostic::error(
            Code::TargetInTwoWaves,
            format!("target `{}` is in wave `{one}` and in wave `{two}`", target.name()),
        )
        .at(target.host.place.clone(), "this target")
        .at(first.select.place.clone(), "selected here")
        .at(second.select.place.clone(), "and here")
        .help(format!("narrow the selector of `{two}`, for example by what `{one}` asks for")),
    );
}

/// Targets that lack the same are one finding: a forgotten wave is one mistake, however many it would have had.
fn in_none(env: &RawEnv, lost: &[&RawTarget], waves: &[RawWave], findings: &mut Findings) {
    let asked: BTreeSet<&str> = waves.iter().flat_map(|wave| wave.select.value.labels()).collect();
    let mut alike: Vec<(String, Vec<&RawTarget>)> = Vec::new();
    for target in lost {
        let has = asked.iter().map(|label| match target.labels.get(*label) {
            Some(value) => format!("{label}={value}"),
            None => format!("no `{label}`"),
        });
        let has = has.collect::<Vec<_>>().join(", ");
        match alike.iter_mut().find(|(known, _)| *known == has) {
            Some((_, group)) => group.push(target),
            None => alike.push((has, vec![target])),
        }
    }
    for (has, group) in alike {
        let Some(first) = group.first() else { continue };
        let message = format!("target `{}` is in no wave{}", first.name(), others(group.len()));
        let finding = Diagnostic::error(Code::TargetInNoWave, message)
            .at(first.host.place.clone(), format!("it has {has}"))
            .help("widen a selector, add a wave, or remove the target");
        let place = env.rollout.place.clone();
        findings.push(place.into_iter().fold(finding, |finding, place| finding.at(place, "by these waves")));
    }
}

fn selects_nothing(env: &RawEnv, wave: &RawWave, findings: &mut Findings) {
    let mut found = Vec::new();
    for label in wave.select.value.labels() {
        let values: BTreeSet<&str> =
            env.targets.iter().filter_map(|target| target.labels.get(label)).map(String::as_str).collect();
        let more = values.len().saturating_sub(VALUES_LISTED);
        let shown = listed(values.iter().copied().take(VALUES_LISTED));
        found.push(match (values.is_empty(), more) {
            (true, _) => format!("no target has the label `{label}`"),
            (false, 0) => format!("the values of `{label}` are {shown}"),
            (false, more) => format!("the values of `{label}` are {shown} and {more} more"),
        });
    }
    let near = wave.select.value.requirements().iter().find_map(|requirement| nearest(env, requirement));
    let help =
        near.map_or_else(|| found.join("; "), |near| format!("{}; did you mean `{near}`?", found.join("; ")));
    findings.push(
        Diagnostic::error(Code::WaveSelectsNothing, format!("wave `{}` selects no target", wave.name.value))
            .at(wave.select.place.clone(), "no target matches this")
            .help(help),
    );
}

/// What an equality that matches nothing was most likely meant to be.
fn nearest(env: &RawEnv, requirement: &Requirement) -> Option<String> {
    let Requirement::Equals { label, value } = requirement else { return None };
    let values = env.targets.iter().filter_map(|target| target.labels.get(label)).map(String::as_str);
    let near = manent_grammar::suggest(value, values).filter(|near| near != value)?;
    Some(format!("{label}={near}"))
}

/// How many targets are out at a time.
pub(crate) struct Batching {
    /// For the whole rollout.
    pub(crate) count: u32,
    /// For each wave.
    pub(crate) of_waves: Vec<u32>,
}

/// `maxUnavailable` in numbers: percentages are of all targets and round down.
pub(crate) fn batching(env: &RawEnv, findings: &mut Findings) -> Batching {
    let count = match &env.rollout.max_unavailable {
        Some(found) => resolve(env, found, findings),
        None => 1,
    };
    let waves = env.rollout.waves.as_deref().unwrap_or(&[]);
    let mut of_waves: Vec<u32> = waves
        .iter()
        .map(|wave| wave.max_unavailable.as_ref().map_or(count, |found| resolve(env, found, findings)))
        .collect();
    if of_waves.is_empty() {
        of_waves.push(count);
    }
    Batching { count, of_waves }
}

fn resolve(env: &RawEnv, found: &Spanned<Quantity>, findings: &mut Findings) -> u32 {
    let total = u32::try_from(env.targets.len()).unwrap_or(u32::MAX);
    match found.value.round_down(total) {
        0 if env.targets_complete => {
            let message = format!(
                "`maxUnavailable` {} of {total} targets is less than one and rounds to 0; 1 is used",
                found.value
            );
            findings.push(
                Diagnostic::warning(Code::MaxUnavailableRounded, message)
                    .at(found.place.clone(), "rounds to 0")
                    .help("write `\"1\"` to say so"),
            );
            1
        }
        0 => 1,
        count => count,
    }
}
