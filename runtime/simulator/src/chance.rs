//! Scenarios from a seed: a random fleet, a random valid plan, and a random subset of faults, so that rare mixes get
//! their turn (swarm testing). The same seed gives the same scenario on every machine. It must not judge.
//!
//! Faults whose right answer depends on what a load balancer could know (a reload, a path that only one instance lost,
//! members without checks, somebody who drains by hand) are tried in named cases, where that answer is written down.

use manent_engine::{Change, Procedure};
use manent_plan::fixtures::Quantity;
use manent_plan::{OnFailure, OnTimeout, Plan, fixtures::PlanBuilder};

use crate::random::Random;
use crate::scenario::Scenario;
use crate::setup::{Checks, Quality, Reach, Setup, Stage, What};

/// The scenario of a seed.
#[must_use]
pub fn scenario(seed: u64) -> Scenario {
    let mut chance = Random::new(seed);
    // Most fleets are small, since small ones meet more in less time; some are large.
    let targets = if chance.once_in(20) { chance.small(8, 60) } else { chance.small(1, 7) };
    let others = if chance.once_in(4) { chance.small(1, 3) } else { 0 };
    let plan = plan(&mut chance, targets, others);
    let setup = world(&mut chance, seed, targets, others, &plan);
    let mut scenario = Scenario::new(&format!("seed {seed}"), plan, setup);
    disturb(&mut chance, &mut scenario, targets);
    scenario
}

fn plan(chance: &mut Random, targets: u32, others: u32) -> Plan {
    let members = targets + others;
    let canary = chance.small(0, targets.min(2));
    let batch = chance.small(1, targets.div_ceil(3).max(1));
    let mut builder = PlanBuilder::new();
    if canary > 0 && canary < targets {
        builder = builder.wave("canary", canary, 1).wave("rest", targets - canary, batch);
    } else {
        builder = builder.targets(targets).batches(batch);
    }
    // The compiler refuses a floor that no batch can ever keep; so does this.
    let floor = chance.small(0, members.saturating_sub(batch));
    let drain = u64::from(chance.small(10, 90)) * 1_000;
    let restore = u64::from(chance.small(20, 90)) * 1_000;
    let poll = u64::from(chance.small(1, 5)) * 1_000;
    builder = builder
        .members(members)
        .floor(Quantity::Count(floor))
        .max_unavailable(Quantity::Count(batch))
        .clocks(drain, restore, poll)
        .on_failure(chance.pick(&[OnFailure::Rollback, OnFailure::Stop], OnFailure::Stop))
        .on_timeout(chance.pick(&[OnTimeout::Proceed, OnTimeout::Fail], OnTimeout::Fail))
        .parallelism(32);
    if chance.once_in(3) {
        builder = builder.min_ready(u64::from(chance.small(1, 8)) * 1_000);
    }
    if chance.once_in(3) {
        builder = builder.custom("warm", !chance.once_in(5));
    }
    if canary > 0 && canary < targets && chance.once_in(4) {
        builder = if chance.once_in(2) { builder.bake("canary", 20_000) } else { builder.approval("canary") };
    }
    builder.build()
}

fn world(chance: &mut Random, seed: u64, targets: u32, others: u32, plan: &Plan) -> Setup {
    let release = plan.release.clone().unwrap_or_default();
    let mut setup = Setup {
        seed,
        instances: chance.small(1, 3),
        targets,
        others,
        checks: Checks {
            every_ms: u64::from(chance.small(1, 3)) * 1_000,
            rise: chance.small(1, 3),
            fall: chance.small(2, 4),
        },
        latency: (1, u64::from(chance.small(2, 200))),
        sessions: chance.small(0, 6),
        longest_ms: u64::from(chance.small(1, 40)) * 1_000,
        command_ms: (100, u64::from(chance.small(2, 60)) * 100),
        startup_ms: (100, u64::from(chance.small(2, 60)) * 100),
        ..Setup::default()
    };
    if chance.once_in(6) {
        setup.sticky.insert(chance.small(0, targets - 1), u64::from(chance.small(1, 400)) * 1_000);
    }
    if chance.once_in(4) {
        let before = chance.pick(&[Some(release.clone()), None, Some(String::from("r0"))], None);
        setup.before.insert(chance.small(0, targets - 1), before);
    }
    if chance.once_in(3) {
        let quality =
            chance.pick(&[Quality::NeverUp, Quality::FailsTest, Quality::RedAfter(20_000)], Quality::NeverUp);
        setup = setup.with_quality(chance.small(0, targets - 1), &release, quality);
    }
    setup
}

/// Each kind of fault is on in a part of the seeds only.
fn disturb(chance: &mut Random, scenario: &mut Scenario, targets: u32) {
    let members = scenario.setup.members();
    let instances = scenario.setup.instances;
    for _ in 0..chance.small(0, 3) {
        let what = fault(chance, targets, members, instances);
        let setup = std::mem::take(&mut scenario.setup);
        let target = chance.small(0, targets - 1);
        let after = chance.between(0, 8_000);
        scenario.setup = match chance.small(0, 3) {
            0 | 1 => setup.at(chance.between(0, 120_000), what),
            2 => setup.on_run(
                chance.pick(&[Procedure::Apply, Procedure::PostTest], Procedure::Apply),
                target,
                after,
                what,
            ),
            _ => setup.on_change(
                chance.pick(&[Change::Drain, Change::Restore], Change::Drain),
                target,
                after,
                what,
            ),
        };
    }
    let options = &mut scenario.options;
    if chance.once_in(3) {
        options.crashes = points(chance, 400);
    }
    if chance.once_in(4) {
        options.kills = points(chance, 200_000);
    }
    options.downtime_ms = chance.between(50, 40_000);
}

/// One to four points, ascending.
fn points(chance: &mut Random, up_to: u64) -> Vec<u64> {
    let mut points: Vec<u64> = (0..chance.small(1, 4)).map(|_| chance.between(0, up_to)).collect();
    points.sort_unstable();
    points.dedup();
    points
}

fn fault(chance: &mut Random, targets: u32, members: u32, instances: u32) -> What {
    let member = chance.small(0, members - 1);
    let target = chance.small(0, targets - 1);
    let instance = chance.small(0, instances - 1);
    let ms = chance.between(1_000, 150_000);
    match chance.small(0, 4) {
        0 => What::AppDown { member, ms },
        1 => What::Api { instance, reach: Reach::LosesAnswers, ms },
        2 => What::HostGone { target, ms },
        3 => What::CutConnection { target },
        _ => What::Fail {
            procedure: chance
                .pick(&[Procedure::Apply, Procedure::Custom(0), Procedure::Undo], Procedure::Apply),
            target,
            stage: chance
                .pick(&[Stage::NotStarted, Stage::Early, Stage::Switched, Stage::Restarted], Stage::Early),
        },
    }
}
