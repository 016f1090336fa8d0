//! Field cases told again in the simulated world: what operators reported of other tools, and what has to happen here. Each
//! test looks at recorded facts, the end and what is said, and the judge must be silent. It must not look into the engine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use manent_engine::{Answer, Call, Change, Event, Outcome, PoolView, Procedure, Ran, Report};
use manent_plan::fixtures::Quantity;
use manent_plan::fixtures::{PlanBuilder, base};
use manent_plan::{Action, OnFailure, TargetIx};
use manent_simulator::facts::Happened;
use manent_simulator::scenario::Scenario;
use manent_simulator::setup::{BEGINNING, Checks, FOR_EVER, Kind, Quality, Reach, Setup, Stage, What};
use manent_simulator::trial::{Done, Options};

const W1: u32 = 0;
const W2: u32 = 1;
const W3: u32 = 2;
const W4: u32 = 3;
const LB1: u32 = 0;
const LB2: u32 = 1;
const ALL_UPDATED: [(bool, &str); 4] = [(true, "r2"), (true, "r2"), (true, "r2"), (true, "r2")];
const UNCHANGED: [(bool, &str); 4] = [(true, "r1"), (true, "r1"), (true, "r1"), (true, "r1")];

/// Runs a scenario; the judge must be silent.
fn play(scenario: &Scenario) -> Done {
    let done = scenario.run();
    let said: Vec<String> = scenario.judge(&done).iter().map(ToString::to_string).collect();
    assert_eq!(said, Vec::<String>::new(), "{}", scenario.name);
    done
}

/// The start from which every case departs.
fn case(plan: PlanBuilder, setup: Setup) -> Scenario {
    let options = Options { check_fold: true, ..Options::default() };
    Scenario { options, ..Scenario::new("case", plan.build(), setup) }
}

fn facts(done: &Done) -> impl Iterator<Item = (u64, &Happened)> {
    done.world.facts().iter().map(|fact| (fact.at - BEGINNING, &fact.what))
}

fn calls(done: &Done) -> impl Iterator<Item = (u64, &Call)> {
    facts(done).filter_map(|(at, what)| match what {
        Happened::Sent { call, .. } => Some((at, call)),
        _ => None,
    })
}

/// When a change of a target was asked for, and on which instances.
fn asked(done: &Done, wanted: Change, target: u32) -> Vec<(u64, Vec<u32>)> {
    let each = calls(done).filter_map(|(at, call)| match call {
        Call::Change { change, on } if *change == wanted => {
            let on = on.iter().filter(|one| one.targets.contains(&TargetIx(target)));
            Some((at, on.map(|one| one.instance).collect::<Vec<_>>()))
        }
        _ => None,
    });
    each.filter(|(_, on)| !on.is_empty()).collect()
}

/// When a procedure was asked for on a target.
fn runs(done: &Done, wanted: Procedure, target: u32) -> Vec<u64> {
    let each = calls(done).filter_map(|(at, call)| match call {
        Call::Run { procedure, target: on, .. } if *procedure == wanted && on.0 == target => Some(at),
        _ => None,
    });
    each.collect()
}

/// When a procedure that was asked for on a target was answered.
fn answered(done: &Done, wanted: Procedure, target: u32) -> Vec<(u64, Ran)> {
    let asked: Vec<u64> = facts(done)
        .filter_map(|(_, what)| match what {
            Happened::Sent { no, call: Call::Run { procedure, target: on, .. }, .. }
                if *procedure == wanted && on.0 == target =>
            {
                Some(*no)
            }
            _ => None,
        })
        .collect();
    let each = facts(done).filter_map(|(at, what)| match what {
        Happened::Answered { no, answer: Answer::Ran(ran), .. } if asked.contains(no) => {
            Some((at, ran.clone()))
        }
        _ => None,
    });
    each.collect()
}

/// What reads showed, with the time at which they were heard.
fn reads(done: &Done) -> Vec<(u64, &PoolView)> {
    let each = facts(done).filter_map(|(at, what)| match what {
        Happened::Answered { answer: Answer::Pool(view), .. } => Some((at, view)),
        _ => None,
    });
    each.collect()
}

/// Everything with an effect that was asked for, on whichever target, in order.
fn touches(done: &Done) -> Vec<(u64, u32)> {
    let mut touched = Vec::new();
    for (at, call) in calls(done) {
        match call {
            Call::Change { on, .. } => {
                touched.extend(on.iter().flat_map(|one| &one.targets).map(|target| (at, target.0)));
            }
            Call::Run { procedure, target, .. } if *procedure != Procedure::Current => {
                touched.push((at, target.0));
            }
            Call::ReadPool { .. } | Call::Run { .. } | Call::Probe { .. } => {}
        }
    }
    touched
}

/// In or out of service, and the release on disk, of each target.
fn pool(done: &Done) -> Vec<(bool, String)> {
    let targets = 0..done.world.setup().targets;
    targets.map(|at| (done.world.in_service(at), done.world.release(at).unwrap_or_default())).collect()
}

fn expect_pool(done: &Done, wanted: &[(bool, &str)]) {
    let wanted: Vec<(bool, String)> =
        wanted.iter().map(|(inside, release)| (*inside, (*release).to_owned())).collect();
    assert_eq!(pool(done), wanted, "outcome {:?}", done.outcomes);
}

fn outcome(done: &Done) -> &Outcome {
    done.outcomes.first().unwrap().as_ref().unwrap()
}

fn ended(done: &Done) -> (u64, &Report) {
    let end = facts(done).filter_map(|(at, what)| match what {
        Happened::Ended { report, .. } => Some((at, report.as_ref())),
        _ => None,
    });
    end.last().unwrap()
}

fn cause(done: &Done) -> &str {
    ended(done).1.cause.as_deref().unwrap_or_default()
}

fn events(done: &Done) -> impl Iterator<Item = (u64, &Event)> {
    done.journals.first().unwrap().iter().map(|(at, event)| (at.0 - BEGINNING, event))
}

fn postponed(done: &Done) -> Vec<(u64, u32)> {
    let each = events(done).filter_map(|(at, event)| match event {
        Event::Postponed { attempt, .. } => Some((at, *attempt)),
        _ => None,
    });
    each.collect()
}

/// All that was said: notes, reasons, and why the run ended.
fn said(done: &Done) -> String {
    let (_, report) = ended(done);
    let notes = report.notes.iter().map(|note| note.text.as_str());
    let marks = report.targets.iter().flat_map(|target| target.remarks.iter().map(String::as_str));
    notes.chain(marks).chain([cause(done)]).collect::<Vec<_>>().join("\n")
}

/// Never more than so many members out by the hand of the run at the same time.
fn expect_at_most_out(done: &Done, limit: usize) {
    let mut out = std::collections::BTreeSet::new();
    for (at, what) in facts(done) {
        let Happened::Effect { instance, change, targets, .. } = what else { continue };
        for target in targets {
            match change {
                Change::Drain | Change::Harden | Change::ForceDown => out.insert((*target, *instance)),
                Change::Restore => out.remove(&(*target, *instance)),
            };
        }
        let members: std::collections::BTreeSet<u32> = out.iter().map(|(target, _)| *target).collect();
        assert!(members.len() <= limit, "{members:?} out at {at}ms");
    }
}

/// Every effect of the run that takes a healthy member away leaves so many.
fn expect_floor(done: &Done, floor: u32) {
    for (at, what) in facts(done) {
        if let Happened::Effect { before, after, .. } | Happened::Stopped { before, after, .. } = what {
            assert!(after >= before || *after >= floor, "{after} of {before} healthy stay at {at}ms");
        }
    }
}

/// O-01: a member that is down has no connections, and its drain ends at once.
#[test]
fn draining_a_member_that_is_down_waits_for_nothing() {
    let world = |ms| Setup::default().at(0, What::AppDown { member: W3, ms });
    // When its update is done is known from a run in which it never comes back.
    let probe = case(base(), world(FOR_EVER)).run();
    let updated = answered(&probe, Procedure::Apply, W3).first().unwrap().0;
    let done = play(&case(base(), world(updated + 10_000)));
    assert_eq!(*outcome(&done), Outcome::Succeeded);
    expect_pool(&done, &ALL_UPDATED);
    assert_eq!(postponed(&done), []);
    let drained = asked(&done, Change::Drain, W3).first().unwrap().0;
    let begun = *runs(&done, Procedure::Apply, W3).first().unwrap();
    assert!(begun - drained < 2_000, "{drained}ms to {begun}ms");
    let restored = asked(&done, Change::Restore, W3).first().unwrap().0;
    assert!(restored >= updated + 10_000);
    let next = asked(&done, Change::Drain, W4).first().unwrap().0;
    let well = |(at, view): &(u64, &PoolView)| *at >= restored && view.serves(TargetIx(W3));
    assert!(reads(&done).iter().filter(|(at, _)| *at <= next).any(well));
}

/// O-02: with a flag of the application the delay is waited from the answer on, across a crash neither again nor less.
#[test]
fn a_drain_delay_is_waited_in_full_and_once_across_a_crash() {
    let plan = base()
        .health_flag()
        .clocks(60_000, 60_000, 5_000)
        .on_timeout(manent_plan::OnTimeout::Fail)
        .with_pool(|pool| pool.capabilities.drain_delay_ms = Some(10_000));
    // The balancer notices within 7 s.
    let checks = Checks { every_ms: 2_300, rise: 2, fall: 3 };
    let mut scenario = case(plan, Setup { kind: Kind::Flag, checks, ..Setup::default() });
    let calm = play(&scenario);
    let drained = asked(&calm, Change::Drain, W2).first().unwrap().0;
    scenario.options.kills = vec![drained + 4_000];
    scenario.options.downtime_ms = 1_000;
    let done = play(&scenario);
    assert_eq!(*outcome(&done), Outcome::Succeeded);
    expect_pool(&done, &ALL_UPDATED);
    assert!(facts(&done).any(|(_, what)| matches!(what, Happened::Resumed { .. })));
    for target in [W1, W2, W3, W4] {
        let confirmed = facts(&done)
            .find_map(|(at, what)| match what {
                Happened::Effect { change: Change::Drain, targets, .. } if targets.contains(&target) => {
                    Some(at)
                }
                _ => None,
            })
            .unwrap();
        let begun = *runs(&done, Procedure::Apply, target).first().unwrap();
        assert!((10_000..10_500).contains(&(begun - confirmed)), "{confirmed}ms to {begun}ms");
    }
    assert_eq!(done.world.requests_lost(), 0);
}

/// O-03: a load balancer that calls everything `maint` shows nobody in service, so nothing is taken out.
#[test]
fn a_state_that_makes_no_sense_counts_for_nobody_in_service() {
    let lie = |instance| What::Api { instance, reach: Reach::SaysMaint, ms: FOR_EVER };
    let done = play(&case(base(), Setup::default().at(0, lie(LB1)).at(0, lie(LB2))));
    assert!(
        matches!(outcome(&done), Outcome::Failed { .. } | Outcome::Refused { .. }),
        "{:?}",
        outcome(&done)
    );
    expect_pool(&done, &UNCHANGED);
    assert_eq!(touches(&done), []);
    let attempts = postponed(&done);
    let numbers: Vec<u32> = attempts.iter().map(|(_, attempt)| *attempt).collect();
    assert_eq!(numbers, (1..=u32::try_from(numbers.len()).unwrap()).collect::<Vec<_>>());
    assert!(numbers.len() >= 12, "{numbers:?}");
    for pair in attempts.windows(2) {
        let [(one, _), (other, _)] = pair else { panic!("pairs") };
        assert!((4_900..=5_100).contains(&(other - one)), "{attempts:?}");
    }
    let end = ended(&done).0;
    assert!((60_000..66_000).contains(&end), "{end}ms");
    assert!(cause(&done).contains("w1: maint/up on lb1, maint/up on lb2"), "{}", cause(&done));
}

/// O-04: a reload forgets a drain; it is sent again there, and only there, within the same time.
#[test]
fn a_drain_that_a_reload_forgot_is_sent_again_there() {
    let setup = Setup { sessions: 30, longest_ms: 20_000, ..Setup::default() };
    let setup = setup.on_change(Change::Drain, W2, 2_000, What::Reload { instance: LB1 });
    let done = play(&case(base(), setup));
    assert_eq!(*outcome(&done), Outcome::Succeeded);
    expect_pool(&done, &ALL_UPDATED);
    let drains = asked(&done, Change::Drain, W2);
    let [(first, both), (again, there)] = drains.as_slice() else { panic!("{drains:?}") };
    assert_eq!((both.as_slice(), there.as_slice()), ([LB1, LB2].as_slice(), [LB1].as_slice()));
    let begun = *runs(&done, Procedure::Apply, W2).first().unwrap();
    assert!(*again >= first + 2_000 && begun > *again && begun - first < 60_000);
    let before = reads(&done).into_iter().rfind(|(at, _)| *at <= begun).unwrap().1;
    assert!(before.out(TargetIx(W2)));
    assert!(before.seen_everywhere(TargetIx(W2)).all(|seen| seen.connections == Some(0)));
    let said = said(&done);
    assert!(said.contains("lb1") && said.contains("w2") && said.contains("again"), "{said}");
}

/// O-06: the next batch waits until every load balancer shows the one before healthy.
#[test]
fn the_next_batch_waits_for_health_on_every_load_balancer() {
    let path = |instance, member, ms| What::PathDown { instance, member, ms };
    let setup = Setup::default()
        .on_change(Change::ForceDown, W1, 0, path(LB1, W1, 10_000))
        .on_change(Change::ForceDown, W1, 0, path(LB2, W1, 40_000))
        .on_change(Change::ForceDown, W2, 0, path(LB1, W2, 10_000))
        .on_change(Change::ForceDown, W2, 0, path(LB2, W2, FOR_EVER));
    let done = play(&case(base(), setup));
    assert!(matches!(outcome(&done), Outcome::Stopped { .. }), "{:?}", outcome(&done));
    expect_pool(&done, &[(true, "r2"), (false, "r2"), (true, "r1"), (true, "r1")]);
    let forced = asked(&done, Change::ForceDown, W1).first().unwrap().0;
    let next = asked(&done, Change::Drain, W2).first().unwrap().0;
    assert!(next >= forced + 40_000, "{forced}ms to {next}ms");
    let well = |(at, view): &(u64, &PoolView)| *at >= forced && *at <= next && view.serves(TargetIx(W1));
    assert!(reads(&done).iter().any(well));
    let forced = asked(&done, Change::ForceDown, W2).first().unwrap().0;
    let end = ended(&done).0;
    assert!((60_000..66_000).contains(&(end - forced)), "{forced}ms to {end}ms");
    assert!(touches(&done).iter().all(|(_, target)| *target < W3));
    let cause = cause(&done);
    assert!(cause.contains("w2") && cause.contains("up on lb1") && cause.contains("down on lb2"), "{cause}");
}

/// O-06, when it turns ill after it was put back: it is taken out again everywhere.
#[test]
fn a_member_that_does_not_stay_healthy_is_taken_out_again() {
    let ill = What::PathDown { instance: LB2, member: W2, ms: FOR_EVER };
    let setup = Setup::default().on_change(Change::Restore, W2, 0, ill);
    let done = play(&case(base().min_ready(20_000), setup));
    assert!(matches!(outcome(&done), Outcome::Stopped { .. }), "{:?}", outcome(&done));
    expect_pool(&done, &[(true, "r2"), (false, "r2"), (true, "r1"), (true, "r1")]);
    let drains = asked(&done, Change::Drain, W2);
    assert_eq!(drains.last().unwrap().1, [LB1, LB2]);
    assert_eq!(drains.len(), 2, "{drains:?}");
    let restored = asked(&done, Change::Restore, W2).first().unwrap().0;
    assert!((60_000..66_000).contains(&(drains.last().unwrap().0 - restored)), "{restored}ms, {drains:?}");
    for at in [LB1, LB2] {
        assert!(!done.world.truth(0).get(W2 as usize).unwrap().in_service, "lb{}", at + 1);
    }
    assert!(touches(&done).iter().all(|(_, target)| *target < W3));
    let cause = cause(&done);
    assert!(cause.contains("up on lb1") && cause.contains("down on lb2"), "{cause}");
}

/// O-08: a member that somebody drains on one load balancer does not count as in service.
#[test]
fn a_member_on_its_way_out_is_not_available() {
    let plan = PlanBuilder::new()
        .wave("canary", 1, 1)
        .wave("rest", 3, 2)
        .floor(Quantity::Count(2))
        .on_failure(OnFailure::Stop)
        .on_timeout(manent_plan::OnTimeout::Fail)
        .clocks(180_000, 60_000, 5_000);
    let setup = Setup { sessions: 30, longest_ms: 3_000, ..Setup::default() }
        .at(0, What::HandDrain { instance: LB1, member: W4 })
        .at(120_000, What::HandRestore { instance: LB1, member: W4 });
    let done = play(&case(plan, setup));
    assert_eq!(*outcome(&done), Outcome::Succeeded);
    expect_pool(&done, &ALL_UPDATED);
    assert!(asked(&done, Change::Drain, W1).first().unwrap().0 < 5_000);
    let pair = asked(&done, Change::Drain, W2);
    assert_eq!(pair, asked(&done, Change::Drain, W3));
    assert!((120_000..=125_100).contains(&pair.first().unwrap().0), "{pair:?}");
    let attempts: Vec<u32> = postponed(&done).iter().map(|(_, attempt)| *attempt).collect();
    assert!(attempts.len() > 15, "{attempts:?}");
    assert_eq!(attempts, (1..=u32::try_from(attempts.len()).unwrap()).collect::<Vec<_>>());
    for (at, what) in facts(&done) {
        if let Happened::Effect { before, after, .. } | Happened::Stopped { before, after, .. } = what {
            assert!(*before >= 2 && *after >= 2, "{after} of {before} healthy at {at}ms");
        }
    }
}

fn half_way_back(w4_down_ms: u64) -> Scenario {
    let plan =
        base().on_failure(OnFailure::Rollback).floor(Quantity::Count(3)).clocks(120_000, 60_000, 5_000);
    // The post-test is tried for 60 s; load balancers take up to 6 s to notice that w4 is down.
    let down = What::AppDown { member: W4, ms: w4_down_ms };
    let setup = Setup::default().with_quality(W3, "r2", Quality::FailsTest);
    case(plan, setup.on_run(Procedure::PostTest, W3, 53_000, down))
}

/// O-09: the floor holds on the way back, too, and compensations go in reverse order.
#[test]
fn the_floor_holds_on_the_way_back() {
    let done = play(&half_way_back(97_000));
    assert!(matches!(outcome(&done), Outcome::RolledBack { .. }), "{:?}", outcome(&done));
    expect_pool(&done, &UNCHANGED);
    let failed = answered(&done, Procedure::PostTest, W3).first().unwrap().0;
    let back = |change, target| {
        asked(&done, change, target)
            .into_iter()
            .map(|(at, _)| at)
            .filter(|at| *at > failed)
            .collect::<Vec<_>>()
    };
    let undone = |target| *runs(&done, Procedure::Undo, target).first().unwrap();
    let order = [
        undone(W3),
        *back(Change::Restore, W3).last().unwrap(),
        *back(Change::Drain, W2).first().unwrap(),
        undone(W2),
        *back(Change::Restore, W2).last().unwrap(),
        *back(Change::Drain, W1).first().unwrap(),
        undone(W1),
        *back(Change::Restore, W1).last().unwrap(),
    ];
    assert!(order.is_sorted(), "{order:?}");
    let drained = *back(Change::Drain, W2).first().unwrap();
    assert!(drained >= failed + 90_000, "{failed}ms to {drained}ms");
    let newest = reads(&done).into_iter().rfind(|(at, _)| *at <= drained).unwrap().1;
    assert!(newest.serves(TargetIx(W3)) && newest.serves(TargetIx(W4)));
    expect_at_most_out(&done, 1);
    expect_floor(&done, 3);
}

/// O-09, variant: the member never returns, so the way back stops where it is and says who runs what.
#[test]
fn a_way_back_that_the_floor_never_admits_stops_and_says_so() {
    let done = play(&half_way_back(FOR_EVER));
    assert!(matches!(outcome(&done), Outcome::Stopped { .. }), "{:?}", outcome(&done));
    expect_pool(&done, &[(true, "r2"), (true, "r2"), (true, "r1"), (true, "r1")]);
    let failed = answered(&done, Procedure::PostTest, W3).first().unwrap().0;
    for target in [W1, W2] {
        assert!(asked(&done, Change::Drain, target).iter().all(|(at, _)| *at < failed));
        assert_eq!(runs(&done, Procedure::Undo, target).first(), None);
    }
    let first = postponed(&done).first().unwrap().0;
    let (end, report) = ended(&done);
    assert!((119_900..=126_000).contains(&(end - first)), "{first}ms to {end}ms");
    let releases: Vec<Option<&str>> = report.targets.iter().map(|target| target.release.as_deref()).collect();
    assert_eq!(releases, [Some("r2"), Some("r2"), Some("r1"), Some("r1")]);
    assert!(report.targets.iter().all(|target| target.release_known));
    assert!(!report.way_back.is_empty());
    expect_at_most_out(&done, 1);
    expect_floor(&done, 3);
}

/// O-10: a failed step stops the wave; its member stays out and is named.
#[test]
fn a_failed_step_stops_the_wave() {
    let fail = What::Fail { procedure: Procedure::Custom(0), target: W1, stage: Stage::Early };
    let done = play(&case(base().custom("migrate", true), Setup::default().at(0, fail)));
    assert!(matches!(outcome(&done), Outcome::Stopped { .. }), "{:?}", outcome(&done));
    expect_pool(&done, &[(false, "r2"), (true, "r1"), (true, "r1"), (true, "r1")]);
    let failed = answered(&done, Procedure::Custom(0), W1).first().unwrap().0;
    assert!(touches(&done).iter().all(|(at, target)| *at < failed && *target == W1));
    assert_eq!(asked(&done, Change::Restore, W1), []);
    let (_, report) = ended(&done);
    let drained: Vec<&String> = report.passes.iter().flat_map(|pass| &pass.drained).collect();
    assert_eq!(drained, ["w1"]);
    let failure = report
        .passes
        .iter()
        .flat_map(|pass| &pass.batches)
        .flat_map(|batch| &batch.steps)
        .find(|step| step.id.contains("migrate") && step.why.is_some())
        .unwrap();
    let why = failure.why.as_deref().unwrap();
    assert!(why.contains("w1") && why.contains("exit code 1"), "{why}");
}

fn lost_while_deploying(ms: u64) -> Scenario {
    let mut scenario =
        case(base(), Setup::default().on_run(Procedure::Apply, W2, 100, What::HostGone { target: W2, ms }));
    // It is asked until the command's own time is over; the judge allows no such stretch as the usual ten minutes.
    for action in scenario.plans.iter_mut().flat_map(|plan| &mut plan.procedures.deploy.apply) {
        if let Action::Run { timeout_ms, .. } = action {
            *timeout_ms = 20_000;
        }
    }
    scenario
}

/// O-11: a connection lost in the middle of an update leaves it unknown, and nobody follows.
#[test]
fn a_connection_lost_while_deploying_leaves_the_result_unknown() {
    let done = play(&lost_while_deploying(FOR_EVER));
    assert!(matches!(outcome(&done), Outcome::Stopped { .. }), "{:?}", outcome(&done));
    let places: Vec<bool> = pool(&done).iter().map(|(inside, _)| *inside).collect();
    assert_eq!(places, [true, false, true, true]);
    let answers = answered(&done, Procedure::Apply, W2);
    assert!(answers.iter().all(|(_, ran)| matches!(ran, Ran::Unknown { .. })), "{answers:?}");
    assert!(!answers.is_empty());
    assert!(touches(&done).iter().all(|(_, target)| *target < W3));
    assert_eq!(asked(&done, Change::Restore, W2), []);
    let line = ended(&done).1.targets.get(W2 as usize).unwrap();
    assert!(!line.release_known && line.release.is_none(), "{line:?}");
    assert_eq!(line.in_service, Some(false));
    assert!(line.out_since.is_some());
    let said = said(&done);
    assert!(said.contains("w2") && (said.contains("no connection") || said.contains("reset")), "{said}");
}

/// O-11, taken up later: the node is asked what it runs before anything is repeated.
#[test]
fn a_resume_asks_the_node_before_it_repeats() {
    let mut scenario = lost_while_deploying(7_200_000);
    scenario.options.resumes = vec![(7_300_000, true)];
    let done = play(&scenario);
    assert_eq!(*outcome(&done), Outcome::Succeeded);
    expect_pool(&done, &ALL_UPDATED);
    let resumed = facts(&done).find(|(_, what)| matches!(what, Happened::Resumed { .. })).unwrap().0;
    let first = calls(&done).filter(|(at, _)| *at >= resumed).find(|(_, call)| match call {
        Call::Run { target, .. } | Call::Probe { target, .. } => target.0 == W2,
        Call::ReadPool { .. } | Call::Change { .. } => false,
    });
    assert!(matches!(first, Some((_, Call::Probe { .. }))), "{first:?}");
    let executed = facts(&done).filter(|(_, what)| {
        matches!(what, Happened::Executed { procedure: Procedure::Apply, target: W2, .. })
    });
    assert_eq!(executed.count(), 1);
}

/// Every change on one load balancer is answered with 500, from the end of `preflight` on.
fn refused_drain(instance: u32) -> Scenario {
    let errors = What::Api { instance, reach: Reach::Errors, ms: FOR_EVER };
    let plan = base().on_failure(OnFailure::Rollback);
    case(plan, Setup::default().on_run(Procedure::Current, W4, 0, errors))
}

fn expect_nothing_rolled_back(done: &Done, instance: &str) {
    assert!(matches!(outcome(done), Outcome::Failed { .. }), "{:?}", outcome(done));
    expect_pool(done, &UNCHANGED);
    assert!(touches(done).iter().all(|(_, target)| *target == W1));
    for (_, call) in calls(done) {
        if let Call::Run { procedure, .. } = call {
            assert_eq!(*procedure, Procedure::Current);
        }
    }
    let (_, report) = ended(done);
    assert_eq!(report.way_back, Vec::<String>::new());
    let before: Vec<Option<&str>> = report.targets.iter().map(|target| target.release.as_deref()).collect();
    assert_eq!(before, [Some("r1"); 4]);
    assert!(cause(done).contains("w1") && cause(done).contains(instance), "{}", cause(done));
}

/// O-12: what never began is not rolled back.
#[test]
fn an_update_that_had_not_begun_is_not_rolled_back() {
    expect_nothing_rolled_back(&refused_drain(LB1).run(), "lb1");
}

/// O-12, when the other load balancer had made the drain: that alone is taken back.
#[test]
fn a_drain_on_one_load_balancer_alone_is_taken_back() {
    let done = play(&refused_drain(LB2));
    expect_nothing_rolled_back(&done, "lb2");
    assert!(!asked(&done, Change::Restore, W1).is_empty());
}

/// O-12: the judge has nothing to say of it.
#[test]
fn a_drain_that_was_never_made_is_not_left() {
    play(&refused_drain(LB1));
}

/// A world in which the connections of `w2` never end.
fn endless() -> Scenario {
    let mut setup = Setup::default();
    setup.sticky.insert(W2, FOR_EVER);
    case(base(), setup)
}

/// Kills, from a time on, each shortly after the process came back.
fn often(scenario: &Scenario, from: u64) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.options.kills = (0..20).map(|nth| from + 1_000 + nth * 2_500).collect();
    scenario.options.downtime_ms = 900;
    scenario
}

fn twice(scenario: &Scenario, from: u64) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.options.kills = vec![from + 40_000, from + 50_000];
    scenario
}

fn crashes(done: &Done) -> usize {
    facts(done).filter(|(_, what)| matches!(what, Happened::Crashed { .. })).count()
}

/// O-13: the limit of a drain is 60 s from the drain, across two crashes and across twenty.
#[test]
fn crashes_do_not_move_the_limit_of_a_drain() {
    let calm = endless();
    let from = asked(&play(&calm), Change::Drain, W2).first().unwrap().0;
    for (scenario, times) in [(calm.clone(), 0), (twice(&calm, from), 2), (often(&calm, from), 20)] {
        let done = play(&scenario);
        assert_eq!(crashes(&done), times);
        assert!(matches!(outcome(&done), Outcome::Stopped { .. } | Outcome::Failed { .. }));
        expect_pool(&done, &[(true, "r2"), (true, "r1"), (true, "r1"), (true, "r1")]);
        assert_eq!(runs(&done, Procedure::Apply, W2).first(), None);
        let back = asked(&done, Change::Restore, W2).first().unwrap().0;
        assert!((60_000..=65_000).contains(&(back - from)), "{times} crashes: {from}ms to {back}ms");
    }
}

/// O-13, the same for a restore.
#[test]
fn crashes_do_not_move_the_limit_of_a_restore() {
    let ill = What::PathDown { instance: LB2, member: W2, ms: FOR_EVER };
    let calm = case(base(), Setup::default().on_change(Change::ForceDown, W2, 0, ill));
    let from = asked(&play(&calm), Change::ForceDown, W2).first().unwrap().0;
    for (scenario, times) in [(calm.clone(), 0), (twice(&calm, from), 2), (often(&calm, from), 20)] {
        let done = play(&scenario);
        assert_eq!(crashes(&done), times);
        assert!(matches!(outcome(&done), Outcome::Stopped { .. }));
        expect_pool(&done, &[(true, "r2"), (false, "r2"), (true, "r1"), (true, "r1")]);
        let end = ended(&done).0;
        assert!((59_000..=65_000).contains(&(end - from)), "{times} crashes: {from}ms to {end}ms");
    }
}

/// O-13, the same for a drain that is postponed.
#[test]
fn crashes_do_not_move_the_limit_of_a_postponed_drain() {
    let down = |member| What::AppDown { member, ms: FOR_EVER };
    let setup = Setup::default().on_run(Procedure::PostTest, W1, 0, down(W3));
    let calm = case(base().floor(Quantity::Count(3)), setup);
    let from = postponed(&play(&calm)).first().unwrap().0;
    for (scenario, times) in [(calm.clone(), 0), (twice(&calm, from), 2), (often(&calm, from), 20)] {
        let done = play(&scenario);
        assert_eq!(crashes(&done), times);
        assert!(matches!(outcome(&done), Outcome::Stopped { .. }));
        expect_pool(&done, &[(true, "r2"), (true, "r1"), (true, "r1"), (true, "r1")]);
        assert_eq!(asked(&done, Change::Drain, W2), []);
        let end = ended(&done).0;
        assert!((59_900..=65_000).contains(&(end - from)), "{times} crashes: {from}ms to {end}ms");
    }
}
