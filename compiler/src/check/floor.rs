//! The floor: can every batch go out with all members healthy? The same arithmetic decides again while it runs.
//! It must not know how members are read.

use std::collections::BTreeSet;

use manent_grammar::Quantity;
use manent_plan::capacity::{Heads, Limits, Shortfall, admit};
use manent_plan::{Floor, TargetIx};

use super::waves::Batching;
use crate::decode::{RawEnv, RawPool};
use crate::diagnostic::{Code, Diagnostic, Findings};

/// `min_healthy` in numbers, and a finding where it cannot be kept. `sees_capacity` says whether anybody will look.
pub(crate) fn floor(
    env: &RawEnv,
    pool: &RawPool,
    sees_capacity: bool,
    waves: &[Vec<TargetIx>],
    batching: &Batching,
    findings: &mut Findings,
) -> Floor {
    let targets = count(env.targets.len());
    let members = pool.members.as_ref().map_or(targets, |members| members.value);
    let wanted = pool.min_healthy.as_ref().map_or(Quantity::Count(1), |wanted| wanted.value);
    let floor =
        Floor { wanted, members, members_declared: pool.members.is_some(), need: wanted.round_up(members) };
    if let Some(declared) = pool.members.as_ref().filter(|declared| declared.value < targets) {
        findings.push(
            Diagnostic::error(
                Code::BadValue,
                format!("the pool has {} members and serves from {targets} targets", declared.value),
            )
            .at(declared.place.clone(), "fewer than there are targets")
            .help(format!("write {targets} or more, or leave `members` out")),
        );
        return floor;
    }
    if !sees_capacity {
        if let Some(written) = &pool.min_healthy {
            findings.push(
                Diagnostic::warning(
                    Code::MinHealthyUnchecked,
                    format!("`min_healthy` is not checked: `{}` does not show the pool", pool.provider.value),
                )
                .at(written.place.clone(), "has no effect")
                .at(pool.provider.place.clone(), "this provider does not see members and their health")
                .help("leave it out; `maxUnavailable` alone limits what is out"),
            );
        }
        return floor;
    }
    if env.targets_complete && env.rollout.waves_complete {
        let mut said = BTreeSet::new();
        for (at, (members, limit)) in waves.iter().zip(&batching.of_waves).enumerate() {
            let batch = count(members.len()).min(*limit);
            let wave = env.rollout.waves.as_ref().and_then(|waves| waves.get(at));
            // Waves under the limit of the rollout say the same of the same batch: once is enough.
            if wave.is_some_and(|wave| wave.max_unavailable.is_some()) || said.insert(batch) {
                check_wave(env, pool, &floor, at, batch, findings);
            }
        }
    }
    floor
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Batch 0 is the largest of a wave, so what it shows holds for all of them.
fn check_wave(env: &RawEnv, pool: &RawPool, floor: &Floor, at: usize, batch: u32, findings: &mut Findings) {
    let heads = Heads { healthy: floor.members, taken: batch, out: 0, batch };
    let limits = Limits { floor: floor.need, unavailable: batch };
    let Err(Shortfall::Floor { healthy, taken, need }) = admit(heads, limits) else { return };
    let wave = env.rollout.waves.as_ref().and_then(|waves| waves.get(at));
    let name = wave.map_or("all", |wave| wave.name.value.as_str());
    let stay = healthy.saturating_sub(taken);
    let message = format!(
        "batch 0 of wave {name} takes {taken} of {healthy} members out, {stay} would stay, the floor is {need}"
    );
    let fits = healthy.saturating_sub(need);
    let help = if fits > 0 { format!("maxUnavailable {fits} fits") } else { lower_floor(floor) };
    let mut finding = Diagnostic::error(Code::FloorUnreachable, message).help(help);
    let size = wave.and_then(|wave| wave.max_unavailable.as_ref()).or(env.rollout.max_unavailable.as_ref());
    let (size_text, floor_text) = (format!("{taken} at a time"), format!("{need} have to stay"));
    // The place to edit first: the batch size where a smaller one fits, else the floor.
    let floor_place = pool.min_healthy.as_ref().map_or(&pool.place, |found| &found.place);
    if fits > 0
        && let Some(size) = size
    {
        finding = finding.at(size.place.clone(), size_text).at(floor_place.clone(), floor_text);
    } else {
        finding = finding.at(floor_place.clone(), floor_text);
        if let Some(size) = size {
            finding = finding.at(size.place.clone(), size_text);
        }
    }
    findings.push(finding);
}

/// No batch fits at all: the highest floor under which one member at a time can go.
fn lower_floor(floor: &Floor) -> String {
    let most = floor.members.saturating_sub(1);
    let written = match floor.wanted {
        Quantity::Count(_) => format!("\"{most}\""),
        Quantity::Percent(_) => {
            let percent = u64::from(most) * 100 / u64::from(floor.members.max(1));
            format!("\"{percent}%\"")
        }
    };
    format!("no batch fits under this floor: min_healthy {written} lets one member at a time out")
}
