//! Targets, waves and batches: each target once, in exactly one batch. It must not know steps.

use std::collections::BTreeSet;

use super::{Found, Violation};
use crate::ids::TargetIx;
use crate::model::{Custom, Plan};

/// First parts of step ids that mean something already.
const TAKEN: [&str; 13] = [
    "config",
    "preflight",
    "drain",
    "drain-wait",
    "deploy",
    "post-test",
    "custom",
    "restore",
    "restore-wait",
    "activate",
    "bake",
    "approve",
    "undo",
];

pub(super) fn check(plan: &Plan, found: &mut Found) {
    if plan.targets.is_empty() {
        found.push(Violation::NoTargets);
    }
    release(plan, found);
    each_target(plan, found);
    batches(plan, found);
    let names = |list: &[Custom]| list.iter().map(|custom| custom.name.clone()).collect::<Vec<_>>();
    let waves = plan.rollout.waves.iter().map(|wave| wave.name.clone()).collect::<Vec<_>>();
    unique_names("wave", &waves, found);
    unique_names("step", &names(&plan.procedures.steps), found);
    unique_names("activation", &names(&plan.procedures.activate), found);
}

/// A release is part of paths and arguments everywhere; the compiler makes no plan with another one.
fn release(plan: &Plan, found: &mut Found) {
    let Some(release) = &plan.release else { return };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte);
    let plain = !release.is_empty() && release.len() <= 128 && release.bytes().all(allowed);
    if !plain || release.starts_with(['-', '.']) {
        let why = "letters, digits and `._-+` are allowed, at most 128, not beginning with `-` or `.`".into();
        found.push(Violation::Name { what: "release", name: release.clone(), why });
    }
}

fn each_target(plan: &Plan, found: &mut Found) {
    let mut names = BTreeSet::new();
    let mut members = BTreeSet::new();
    for target in &plan.targets {
        // The host becomes an argument of ssh: one with a leading dash would be an option.
        if let Err(error) = manent_grammar::host(&target.host) {
            found.push(Violation::Name { what: "host", name: target.host.clone(), why: error.to_string() });
        }
        if plan.connections.get(target.connection as usize).is_none() {
            found.push(Violation::ConnectionMissing { target: target.name() });
        }
        if !names.insert((target.host.as_str(), target.port)) {
            found.push(Violation::Twice { what: "name", name: target.name() });
        }
        // Without a pool the member is the host, and several ports of one host are usual.
        if plan.pool.is_some() && !members.insert(target.member.as_str()) {
            found.push(Violation::Twice { what: "member", name: target.member.clone() });
        }
    }
}

fn batches(plan: &Plan, found: &mut Found) {
    let mut times = vec![0_u32; plan.targets.len()];
    for wave in &plan.rollout.waves {
        if wave.batches.is_empty() {
            found.push(Violation::Name {
                what: "wave",
                name: wave.name.clone(),
                why: "it has no batch".into(),
            });
        }
        for (at, batch) in wave.batches.iter().enumerate() {
            if batch.is_empty() || u32::try_from(batch.len()).is_ok_and(|size| size > wave.max_unavailable) {
                let (wave, most) = (wave.name.clone(), wave.max_unavailable);
                found.push(Violation::BatchSize { wave, batch: at, size: batch.len(), most });
            }
            for target in batch {
                match times.get_mut(target.at()) {
                    Some(times) => *times = times.saturating_add(1),
                    None => found.push(Violation::UnknownTarget {
                        wave: wave.name.clone(),
                        batch: at,
                        target: target.0,
                    }),
                }
            }
        }
    }
    for (at, times) in (0_u32..).zip(times).filter(|(_, times)| *times != 1) {
        found.push(Violation::Batched { target: plan.target_name(TargetIx(at)), batches: times });
    }
}

/// Names are parts of step ids, and ids are unique.
fn unique_names(what: &'static str, names: &[String], found: &mut Found) {
    let mut seen = BTreeSet::new();
    for name in names {
        let why = if manent_grammar::name(name).is_err() {
            "a name has letters, digits, `-`, `_` and `.`"
        } else if TAKEN.contains(&name.as_str()) || name.starts_with("undo-") {
            "it means something already"
        } else if !seen.insert(name.as_str()) {
            "it is used twice"
        } else {
            continue;
        };
        found.push(Violation::Name { what, name: name.clone(), why: why.into() });
    }
}
