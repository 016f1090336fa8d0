//! O-14: journals that earlier versions wrote, cut at every record and taken up by this one: it goes on with the same
//! steps in the same order, or it refuses before any call. `journals/VERSION-NAME.db` is such a journal.
//! With `UPDATE_JOURNALS=1` the run of this version is recorded anew; the others are never touched again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use manent_engine::{
    Admin, Answer, Call, CallNo, Change, Engine, Event, Health, InstanceAnswer, InstanceView, Ledger,
    Outcome, PoolView, Probed, Procedure, Ran, Seen, Timestamp, Turn,
};
use manent_plan::{Plan, TargetIx, file};
use manent_runtime::journal::{Journal, NewRun, ReadJournal, SqliteJournal, SqliteReader};
use manent_testbed::site::Site;

use super::{ENV, base, journal, run, start, until, with_warm};

/// The second target's step `warm` fails in the recorded run, so that it turns back.
const FAILS: TargetIx = TargetIx(1);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/journals")
}

/// Two hosts; killed in the middle of the first deployment and taken up; the last host's step fails; all is returned.
fn record(path: &Path) {
    let rollout = super::Rollout {
        min_healthy: "1".to_owned(),
        on_failure: "rollback".to_owned(),
        drain_timeout: "20s".to_owned(),
        ..base()
    };
    let plan = manent_testbed::site::Plan { ssh: false, hosts: 2, instances: 1, ..Default::default() };
    let site = Site::start(plan).unwrap();
    site.write_tree(&with_warm(&site, rollout)).unwrap();
    site.host("h2").unwrap().set_failing("warm", true).unwrap();
    let mut child = start(&site, &["apply", ENV, "--release", "2.0.0", "--yes"]);
    let begun = until("the first deployment", || {
        let begun = journal::runs(&site).pop()?;
        journal::deploying(&site, &begun, 1).then_some(begun)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    run(&site, &["resume", &begun]).exits(3);
    // Written anew by the program's own journal, under the name of nobody and of no machine.
    let reader = SqliteReader::open(&site.root().join(".manent")).unwrap().unwrap();
    let head = reader.runs(None).unwrap().remove(0);
    let (bytes, past) = (reader.plan_bytes(&head.id).unwrap(), reader.read(&head.id).unwrap());
    let state = tempfile::tempdir().unwrap();
    let head = NewRun { by: "ann".to_owned(), host: "ops1".to_owned(), pid: 1, ..head };
    let mut written = SqliteJournal::open(state.path()).unwrap();
    written.create(&head, &bytes).unwrap();
    for (at, event) in past.events(&head.id).unwrap() {
        written.append_events(&head.id, at, &[event]).unwrap();
    }
    drop(written);
    std::fs::create_dir_all(folder()).unwrap();
    std::fs::copy(SqliteJournal::path(state.path()), path).unwrap();
}

/// Just enough of a world to let a run go on: members obey at once, hosts succeed but for one step.
struct World {
    instances: Vec<InstanceView>,
    out: BTreeSet<TargetIx>,
}

impl World {
    /// As the recorded calls left it.
    fn after(plan: &Plan, past: &[(Timestamp, Event)]) -> World {
        let shown = past.iter().rev().find_map(|(_, event)| match event {
            Event::Answered { answer: Answer::Pool(view), .. } => Some(view.instances.clone()),
            _ => None,
        });
        let unread = InstanceView { name: "lb".to_owned(), identity: None, failure: None };
        let mut world = World { instances: shown.unwrap_or_else(|| vec![unread]), out: BTreeSet::new() };
        for (_, event) in past {
            if let Event::Intended { call, .. } = event {
                world.answer(plan, call);
            }
        }
        world
    }

    fn answer(&mut self, plan: &Plan, call: &Call) -> Answer {
        match call {
            Call::ReadPool { .. } => {
                let seen = |_| Seen {
                    admin: Admin::Out,
                    health: Health::Up,
                    connections: Some(0),
                    words: "drain/up".to_owned(),
                };
                let shown = |target: &TargetIx| (*target, self.instances.iter().map(seen).collect());
                Answer::Pool(PoolView {
                    total: u32::try_from(plan.targets.len()).unwrap(),
                    instances: self.instances.clone(),
                    targets: self.out.iter().map(shown).collect(),
                    others: std::collections::BTreeMap::new(),
                    problems: Vec::new(),
                })
            }
            Call::Change { change, on } => {
                for target in on.iter().flat_map(|on| &on.targets) {
                    match change {
                        Change::Drain | Change::Harden => self.out.insert(*target),
                        Change::Restore => self.out.remove(target),
                        Change::ForceDown => false,
                    };
                }
                Answer::Changed(on.iter().map(|_| InstanceAnswer::Accepted).collect())
            }
            Call::Run { procedure: Procedure::Current, .. } => {
                Answer::Ran(Ran::Done { output: Some("1.0.0".to_owned()) })
            }
            Call::Run { procedure: Procedure::Custom(_), target, .. } if *target == FAILS => {
                Answer::Ran(Ran::Failed { begun: true, reason: "told to".to_owned() })
            }
            Call::Run { .. } => Answer::Ran(Ran::Done { output: None }),
            Call::Probe { .. } => Answer::Probed(Probed { ledger: Ledger::Absent, release: None }),
        }
    }
}

fn begun(events: &[Event]) -> Vec<u32> {
    let steps = events.iter().map(|event| match event {
        Event::Began { step } => Some(step.0),
        _ => None,
    });
    steps.flatten().collect()
}

/// Takes the run up after its first `cut` records and lets it go on: the steps that it begins, and its end.
fn go_on(plan: &Plan, past: &[(Timestamp, Event)]) -> (Vec<Event>, Outcome) {
    let mut world = World::after(plan, past);
    let mut engine = Engine::fold(plan, past.iter().map(|(at, event)| (*at, event)));
    let mut now = past.last().map_or(Timestamp(0), |(at, _)| at.plus(1_000));
    let first = if past.is_empty() {
        Event::Started { adopted: BTreeSet::new(), force: false }
    } else {
        Event::Resumed { retry_failed: false }
    };
    let mut turn: Turn = engine.take(now, first);
    let mut events = Vec::new();
    let mut waiting: Vec<(CallNo, Call)> = Vec::new();
    for _ in 0..10_000 {
        events.extend(turn.records);
        waiting.extend(turn.perform);
        if let Some(outcome) = turn.outcome {
            return (events, outcome);
        }
        now = now.plus(20);
        turn = match waiting.pop() {
            Some((no, call)) => {
                let answer = world.answer(plan, &call);
                engine.take(now, Event::Answered { no, answer })
            }
            None => {
                now = turn.wake.unwrap_or(now);
                engine.advance(now)
            }
        };
    }
    panic!("it never ends: {:?}", events.iter().rev().take(20).collect::<Vec<_>>());
}

#[test]
fn journals_of_every_version_are_gone_on_with_in_the_same_order() {
    let own = folder().join(concat!(env!("CARGO_PKG_VERSION"), "-rolled-back.db"));
    if std::env::var_os("UPDATE_JOURNALS").is_some() {
        record(&own);
    }
    assert!(own.is_file(), "this version has no journal yet: record it with UPDATE_JOURNALS=1");
    for entry in std::fs::read_dir(folder()).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let state = tempfile::tempdir().unwrap();
        std::fs::copy(entry.path(), SqliteJournal::path(state.path())).unwrap();
        let reader = SqliteReader::open(state.path()).unwrap().unwrap();
        let head = reader.runs(None).unwrap().remove(0);
        let plan = file::read(&reader.plan_bytes(&head.id).unwrap()).unwrap();
        let past = reader.read(&head.id).unwrap().events(&head.id).unwrap();
        assert!(past.len() > 150, "{name} has {} records", past.len());
        let whole: Vec<Event> = past.iter().map(|(_, event)| event.clone()).collect();
        let wanted = begun(&whole);
        let Some(Event::Finished { outcome: Outcome::RolledBack { .. } }) = whole.last() else {
            panic!("{name} does not end rolled back");
        };
        for cut in 0..past.len() - 1 {
            let (then, outcome) = go_on(&plan, &past[..cut]);
            let mut steps = begun(&whole[..cut]);
            steps.extend(begun(&then));
            assert_eq!(steps, wanted, "{name}, cut after record {cut}");
            assert!(matches!(outcome, Outcome::RolledBack { .. }), "{name}, cut after {cut}: {outcome:?}");
        }
    }
}

/// The second of the two results: refused before any call, with what to do.
#[test]
fn a_journal_of_another_format_is_refused() {
    let site = Site::start(manent_testbed::site::Plan {
        ssh: false,
        hosts: 2,
        instances: 1,
        rollout: super::Rollout { min_healthy: "1".to_owned(), ..base() },
        ..Default::default()
    })
    .unwrap();
    super::apply(&site, "2.0.0").exits(0);
    let begun = journal::runs(&site).pop().unwrap();
    let calls = site.bridges[0].calls().len();
    let database = rusqlite::Connection::open(site.root().join(".manent/journal.db")).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    drop(database);
    site.pack("2.1.0").unwrap();
    for verb in [&["resume", &begun][..], &["status"], &["apply", ENV, "--release", "2.1.0", "--yes"]] {
        let said = run(&site, verb).exits(1);
        assert!(
            said.err.contains("format 99") && said.err.contains("the manent that began them"),
            "{}",
            said.err
        );
    }
    assert_eq!(site.bridges[0].calls().len(), calls, "a load balancer was asked");
}
