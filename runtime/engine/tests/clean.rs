//! A run without any fault, with a world that does what it is told at once: the shortest tale the engine can tell.

use std::collections::{BTreeMap, BTreeSet};

use manent_engine::{
    Admin, Answer, Call, Change, Engine, Event, Health, InstanceAnswer, InstanceView, Outcome, PoolView,
    Procedure, Ran, Seen, Timestamp, Turn,
};
use manent_plan::{
    Basis, Capabilities, Connection, Floor, OnFailure, OnTimeout, Plan, Pool, Procedures, Recipe, Rollout,
    Target, TargetIx, Wave, steps,
};

fn plan(on_failure: OnFailure) -> Plan {
    let wave = |name: &str, batches: Vec<Vec<TargetIx>>| Wave {
        name: name.into(),
        select: None,
        max_unavailable: 1,
        bake_ms: None,
        approval: false,
        batches,
    };
    let waves = vec![
        wave("canary", vec![vec![TargetIx(0)]]),
        wave("rest", vec![vec![TargetIx(1)], vec![TargetIx(2)], vec![TargetIx(3)]]),
    ];
    let recipe = Recipe { name: "x".into(), apply: vec![], undo: vec![], current: vec![], retain: vec![] };
    let procedures = Procedures { deploy: recipe, post_test: vec![], steps: vec![], activate: vec![] };
    let (steps, edges) = steps::lay_out(&waves, &procedures, true);
    Plan {
        environment: "shop/shop/prod".into(),
        app: "shop".into(),
        release: Some("r2".into()),
        inputs: vec![],
        artifact: None,
        connections: vec![Connection::Local],
        targets: (1..=4)
            .map(|n| Target {
                host: format!("w{n}"),
                port: None,
                member: format!("w{n}"),
                labels: BTreeMap::new(),
                connection: 0,
            })
            .collect(),
        pool: Some(Pool {
            provider: "haproxy".into(),
            settings: BTreeMap::new(),
            capabilities: Capabilities {
                sees_members: true,
                sees_health: true,
                sees_connections: true,
                checks_while_out: true,
                can_harden: true,
                drain_delay_ms: None,
                first_poll_ms: 50,
            },
            drain_timeout_ms: 60_000,
            restore_timeout_ms: 60_000,
            poll_interval_ms: 5_000,
            on_timeout: OnTimeout::Fail,
            floor: Floor { wanted: "2".parse().unwrap(), members: 4, members_declared: false, need: 2 },
            promises: vec![],
        }),
        rollout: Rollout {
            max_unavailable: "1".parse().unwrap(),
            max_unavailable_count: 1,
            order: None,
            on_failure,
            min_ready_ms: 0,
            parallelism: 32,
            waves,
        },
        procedures,
        secrets: BTreeMap::new(),
        steps,
        edges,
        warnings: vec![],
        basis: Basis::default(),
    }
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
    let mut world = World { out: BTreeSet::new(), release: BTreeMap::new(), broken, calls: vec![] };
    let mut engine = Engine::new(plan);
    let mut now = Timestamp(1_000);
    let mut turn = engine.take(now, Event::Started { adopted: BTreeSet::new(), force: false });
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
