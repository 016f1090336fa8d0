//! Faults planted on purpose: the judge has to object to each of them in a scenario in which it is silent without the fault.
//! A judge that objects to nothing proves nothing.

use manent_engine::{Change, Procedure};
use manent_plan::OnFailure;
use manent_plan::fixtures::Quantity;
use manent_plan::fixtures::base;
use manent_simulator::facts::Happened;
use manent_simulator::sabotage::Sabotage;
use manent_simulator::scenario::{Scenario, matrix};
use manent_simulator::setup::{BEGINNING, FOR_EVER, Quality, Setup, What};

/// Invariants that the judge sees broken.
fn objections(scenario: &Scenario) -> Vec<&'static str> {
    let done = scenario.run();
    let mut broken: Vec<&str> = scenario.judge(&done).iter().map(|one| one.invariant).collect();
    broken.sort_unstable();
    broken.dedup();
    broken
}

/// Silent without the fault, and one of these invariants is named with it.
fn caught(scenario: &Scenario, fault: Sabotage, wanted: &[&str]) {
    assert_eq!(objections(scenario), Vec::<&str>::new(), "{} without a fault", scenario.name);
    let mut broken = scenario.clone();
    broken.options.sabotage = fault;
    let said = objections(&broken);
    assert!(said.iter().any(|one| wanted.contains(one)), "{fault:?} in {}: {said:?}", scenario.name);
}

/// The application needs longer to start than load balancers need to notice it.
fn slow_start() -> Setup {
    Setup { startup_ms: (12_000, 12_000), ..Setup::default() }
}

#[test]
fn repeating_a_call_without_asking_is_seen() {
    let mut scenario = matrix().into_iter().find(|scenario| scenario.name == "clean").unwrap();
    // The process dies while the first update runs.
    let done = scenario.run();
    let begun = done
        .world
        .facts()
        .iter()
        .find(|fact| matches!(fact.what, Happened::Executed { procedure: Procedure::Apply, .. }));
    scenario.options.kills = vec![begun.unwrap().at - BEGINNING + 100];
    caught(&scenario, Sabotage::BlindRepeat, &["I3b", "I3c"]);
}

#[test]
fn putting_a_member_back_before_it_is_healthy_is_seen() {
    let scenario = Scenario::new("slow start", base().without_post_test().build(), slow_start());
    caught(&scenario, Sabotage::RestoreBeforeHealthy, &["I2a"]);
}

#[test]
fn going_on_before_the_batch_is_healthy_is_seen() {
    let plan = base().with_pool(|pool| pool.capabilities.checks_while_out = false).build();
    let scenario = Scenario::new("back before it is checked", plan, slow_start());
    caught(&scenario, Sabotage::NextBeforeHealthy, &["I2b"]);
}

#[test]
fn draining_on_one_load_balancer_alone_is_seen() {
    let scenario = Scenario::new("two load balancers", base().build(), Setup::default());
    caught(&scenario, Sabotage::OneInstance, &["gate"]);
}

#[test]
fn not_waiting_for_connections_is_seen() {
    let setup = Setup { sessions: 20, longest_ms: 20_000, ..Setup::default() };
    let scenario = Scenario::new("long connections", base().build(), setup);
    caught(&scenario, Sabotage::NoWaiting, &["drain"]);
}

#[test]
fn limits_that_begin_anew_after_a_crash_are_seen() {
    let mut setup = Setup::default();
    setup.sticky.insert(0, FOR_EVER);
    let mut scenario = Scenario::new("endless connections", base().build(), setup);
    scenario.options.kills = vec![40_000, 55_000];
    caught(&scenario, Sabotage::TimersRestart, &["I9"]);
}

#[test]
fn a_way_back_without_a_floor_is_seen() {
    let plan = base()
        .on_failure(OnFailure::Rollback)
        .floor(Quantity::Count(3))
        .clocks(120_000, 60_000, 5_000)
        .build();
    // The post-test is tried for 60 s; w4 goes down shortly before it gives up.
    let down = What::AppDown { member: 3, ms: 97_000 };
    let setup = Setup::default().with_quality(2, "r2", Quality::FailsTest);
    let scenario = Scenario::new("way back", plan, setup.on_run(Procedure::PostTest, 2, 53_000, down));
    assert_eq!(objections(&scenario), Vec::<&str>::new());
    let drains = |scenario: &Scenario| {
        let done = scenario.run();
        let effects = done
            .world
            .facts()
            .iter()
            .filter(|fact| matches!(fact.what, Happened::Effect { change: Change::Drain, .. }));
        effects.count()
    };
    assert!(drains(&scenario) > 6, "the way back drains");
    let _skipped = manent_engine::fault::skip_floor_on_the_way_back();
    let said = objections(&scenario);
    assert!(said.contains(&"I1a"), "{said:?}");
}
