//! A run without any fault, with a world that does what it is told at once: the shortest tale the engine can tell.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use manent_engine::{
    Admin, Answer, Call, Change, Engine, Event, Health, InstanceAnswer, InstanceView, Outcome, PoolView,
    Procedure, Ran, Seen, Timestamp, Turn,
};
use manent_plan::fixtures::base;
use manent_plan::{OnFailure, Plan, TargetIx};

fn plan(on_failure: OnFailure) -> Plan {
    base().on_failure(on_failure).without_post_test().build()
}

/// Obeys at once, and is always well.
struct World {
    out: BTreeSet<TargetIx>,
    release: BTreeMap<TargetIx, String>,
    broken: Option<TargetIx>,
    calls: Vec<String>,
}

impl World {
    fn perform(&mut self, call: &Call) -> Answer {
        match call {
            Call::ReadPool { .. } => {
                let seen = Seen {
                    admin: Admin::Out,
                    health: Health::Up,
                    connections: Some(0),
                    words: "drain/up".into(),
                };
                Answer::Pool(PoolView {
                    total: 4,
                    instances: vec![InstanceView { name: "lb1".into(), identity: None, failure: None }],
                    targets: self.out.iter().map(|target| (*target, vec![seen.clone()])).collect(),
                    others: BTreeMap::new(),
                    problems: vec![],
                })
            }
            Call::Change { change, on } => {
                for target in on.iter().flat_map(|on| &on.targets) {
                    match change {
                        Change::Restore => self.out.remove(target),
                        Change::Drain | Change::Harden | Change::ForceDown => self.out.insert(*target),
                    };
                    self.calls.push(format!("{change:?} w{}", target.0 + 1));
                }
                Answer::Changed(on.iter().map(|_| InstanceAnswer::Accepted).collect())
            }
            Call::Run { procedure, target, release, .. } => {
                let now = self.release.entry(*target).or_insert_with(|| "r1".into());
                if *procedure == Procedure::Current {
                    return Answer::Ran(Ran::Done { output: Some(now.clone()) });
                }
                self.calls.push(format!(
                    "{procedure:?} w{} {}",
                    target.0 + 1,
                    release.clone().unwrap_or_default()
                ));
                if *procedure == Procedure::Apply && self.broken == Some(*target) {
                    return Answer::Ran(Ran::Failed { begun: true, reason: "exit code 1".into() });
                }
                *now = release.clone().unwrap();
                Answer::Ran(Ran::Done { output: None })
            }
            Call::Probe { .. } => panic!("nothing is in doubt here"),
        }
    }
}

fn run(plan: &Plan, broken: Option<TargetIx>) -> (Outcome, World) {
    run_from(plan, broken, Event::Started { adopted: BTreeSet::new(), force: false })
}

fn run_from(plan: &Plan, broken: Option<TargetIx>, first: Event) -> (Outcome, World) {
    let mut world = World { out: BTreeSet::new(), release: BTreeMap::new(), broken, calls: vec![] };
    let mut engine = Engine::new(plan);
    let mut now = Timestamp(1_000);
    let mut turn = engine.take(now, first);
    for _ in 0..10_000 {
        if let Some(outcome) = turn.outcome {
            return (outcome, world);
        }
        turn = next(&mut engine, &mut world, &mut now, &turn);
    }
    panic!("the run does not end: {:?}", engine.state().active);
}

fn next(engine: &mut Engine<'_>, world: &mut World, now: &mut Timestamp, turn: &Turn) -> Turn {
    *now = now.plus(1);
    let answers: Vec<Event> = turn
        .perform
        .iter()
        .map(|(no, call)| Event::Answered { no: *no, answer: world.perform(call) })
        .collect();
    if answers.is_empty() {
        *now = (*now).max(turn.wake.expect("something to wait for"));
        return engine.advance(*now);
    }
    engine.take_all(*now, answers)
}

#[test]
fn every_target_goes_through_the_whole_cycle() {
    let plan = plan(OnFailure::Rollback);
    let (outcome, world) = run(&plan, None);
    assert_eq!(outcome, Outcome::Succeeded);
    assert!(world.out.is_empty());
    assert!(world.release.values().all(|release| release == "r2"));
    let cycle = |n: u32| {
        vec![
            format!("Drain w{n}"),
            format!("Apply w{n} r2"),
            format!("ForceDown w{n}"),
            format!("Restore w{n}"),
        ]
    };
    let expected: Vec<String> = (1..=4).flat_map(cycle).collect();
    assert_eq!(world.calls, expected);
}

#[test]
fn the_way_back_is_the_exact_reverse() {
    let plan = plan(OnFailure::Rollback);
    let (outcome, world) = run(&plan, Some(TargetIx(1)));
    assert!(matches!(outcome, Outcome::RolledBack { .. }), "{outcome:?}");
    assert!(world.out.is_empty());
    assert!(world.release.values().all(|release| release == "r1"), "{:?}", world.release);
    let forward: Vec<String> = vec!["Drain w2".into(), "Apply w2 r2".into()];
    let back: Vec<String> =
        ["Undo w2 r1", "ForceDown w2", "Restore w2", "Drain w1", "Undo w1 r1", "ForceDown w1", "Restore w1"]
            .map(String::from)
            .to_vec();
    assert_eq!(world.calls[4..], [forward, back].concat());
}

#[test]
fn a_stop_leaves_the_member_out_and_touches_nothing_else() {
    let plan = plan(OnFailure::Stop);
    let (outcome, world) = run(&plan, Some(TargetIx(1)));
    assert!(matches!(outcome, Outcome::Stopped { .. }), "{outcome:?}");
    assert_eq!(world.out, BTreeSet::from([TargetIx(1)]));
    assert_eq!(world.calls[4..], ["Drain w2".to_owned(), "Apply w2 r2".to_owned()]);
}

/// The journal learns of a run in one commit and of its first event in the next; a kill can come between them.
#[test]
fn a_run_killed_before_its_first_event_is_taken_up() {
    let plan = plan(OnFailure::Rollback);
    let (outcome, resumed) = run_from(&plan, None, Event::Resumed { retry_failed: false });
    assert_eq!(outcome, Outcome::Succeeded);
    assert_eq!(resumed.calls, run(&plan, None).1.calls);
}
