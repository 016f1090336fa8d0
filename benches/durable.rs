//! Durable steps against their floor: `cargo bench --bench durable`. The floor is one SQLite commit (WAL, synchronous
//! FULL, one insert) on the same disk in the same run, and for concurrent work the same with 64 inserts a commit.
//! Performs answer at once, so what is measured is the loop: decide, append, commit, apply.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark that cannot run has nothing to say"
)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use manent_engine::{Answer, Call, CallNo, Engine, Event, Procedure, Ran, Timestamp};
use manent_plan::fixtures::PlanBuilder;
use manent_plan::{Plan, file};
use manent_runtime::clock::wall;
use manent_runtime::drive::{Drive, Ending, Ledger, LedgerError, Perform};
use manent_runtime::journal::{Journal, NewRun, ReadJournal, Request, RunId, SqliteJournal};
use manent_runtime::observe::{Silent, stopper};

fn main() {
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    chain(disk.path());
    together(disk.path());
    fold(disk.path());
}

/// D1, D4: a chain of steps, one after another.
fn chain(disk: &std::path::Path) {
    let mut rows = Vec::new();
    for round in 0..5 {
        let floor = commits(&disk.join(format!("floor-{round}")), 2_000, 1);
        let plan = plan(1_000, 1, 32);
        let run = drive(&disk.join(format!("chain-{round}")), &plan);
        rows.push((run.took.as_secs_f64() / floor.as_secs_f64() * 2_000.0 / run.steps as f64, run, floor));
    }
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (ratio, run, floor) = &rows[rows.len() / 2];
    println!(
        "chain of {} steps: {:.0} steps/s, {:.3} commits a step, {:.2}x one commit ({:.3} ms)",
        run.steps,
        run.steps as f64 / run.took.as_secs_f64(),
        run.commits as f64 / run.steps as f64,
        ratio,
        floor.as_secs_f64() / 2.0
    );
    let long = drive(&disk.join("long"), &plan(10_000, 1, 32));
    let (first, last) = (long.marks.first().copied(), long.marks.last().copied());
    if let (Some(first), Some(last)) = (first, last) {
        println!(
            "chain of {} steps: the last tenth at {:.2}x the rate of the first",
            long.steps,
            first.as_secs_f64() / last.as_secs_f64()
        );
    }
}

/// D3: a hundred targets at once.
fn together(disk: &std::path::Path) {
    let floor = commits(&disk.join("group-floor"), 20_000, 64);
    let run = drive(&disk.join("group"), &plan(10_000, 100, 100));
    let calls = run.calls as f64 / run.took.as_secs_f64();
    let inserts = 20_000.0 / floor.as_secs_f64();
    println!(
        "batches of 100: {calls:.0} host-steps/s in {} commits; {:.2}x of {inserts:.0} inserts/s in groups of 64",
        run.commits,
        calls / inserts
    );
}

/// D5: how long a journal of 200,000 records takes to read, check, fold and decide on.
fn fold(disk: &std::path::Path) {
    let state = disk.join("fold");
    let plan = plan(27_000, 1, 32);
    let run = drive(&state, &plan);
    let journal = SqliteJournal::open(&state).unwrap();
    let id = RunId::parse("bench").unwrap();
    let begun = Instant::now();
    let past = journal.read(&id).unwrap();
    let events = past.events(&id).unwrap();
    let read = begun.elapsed();
    let mut engine = Engine::fold(&plan, events.iter().map(|(at, event)| (*at, event)));
    drop(engine.advance(wall()));
    println!(
        "journal of {} records ({} steps): read and checked in {:.2} s, folded and decided in {:.2} s",
        events.len(),
        run.steps,
        read.as_secs_f64(),
        (begun.elapsed() - read).as_secs_f64()
    );
}

/// Deploy steps only: one call each, nothing else to wait for.
fn plan(targets: u32, batch: u32, parallelism: u32) -> Plan {
    PlanBuilder::new()
        .targets(targets)
        .batches(batch)
        .parallelism(parallelism)
        .without_pool()
        .without_post_test()
        .build()
}

/// So many inserts, `group` of them a commit, as the journal is set up: the time for all.
fn commits(state: &std::path::Path, inserts: usize, group: usize) -> Duration {
    std::fs::create_dir_all(state).unwrap();
    let mut database = rusqlite::Connection::open(state.join("floor.db")).unwrap();
    database
        .execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE record (seq INTEGER PRIMARY KEY, body BLOB)")
        .unwrap();
    let body = [7_u8; 256];
    let begun = Instant::now();
    for _ in 0..inserts / group {
        let commit = database.transaction().unwrap();
        for _ in 0..group {
            commit
                .prepare_cached("INSERT INTO record (body) VALUES (?1)")
                .unwrap()
                .execute([&body[..]])
                .unwrap();
        }
        commit.commit().unwrap();
    }
    begun.elapsed()
}

struct Measured {
    took: Duration,
    steps: usize,
    calls: u64,
    commits: u64,
    marks: Vec<Duration>,
}

fn drive(state: &std::path::Path, plan: &Plan) -> Measured {
    let mut journal = SqliteJournal::open(state).unwrap();
    let run = RunId::parse("bench").unwrap();
    let head = NewRun {
        id: run.clone(),
        environment: plan.environment.clone(),
        release: "r2".into(),
        started_at: wall(),
        by: "bench".into(),
        host: "here".into(),
        pid: std::process::id(),
    };
    journal.create(&head, &file::write(plan)).unwrap();
    let steps = plan.steps.iter().filter(|step| !step.kind.is_compensation()).count();
    let calls = Arc::new(AtomicU64::new(0));
    let mut ledger = Counted {
        journal,
        run,
        commits: 0,
        marks: Vec::new(),
        tenth: steps as u64 / 10,
        last: Instant::now(),
    };
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let begun = Instant::now();
    let ending = tokio.block_on(async {
        let (_stop, stopped) = stopper();
        let perform = Arc::new(AtOnce(calls.clone()));
        let drive = Drive { plan, ledger: &mut ledger, perform, observer: &mut Silent, stopped };
        drive.run(&[], Event::Started { adopted: BTreeSet::new(), force: false }).await.unwrap()
    });
    let took = begun.elapsed();
    assert!(matches!(ending, Ending::Ended(_)));
    Measured {
        took,
        steps,
        calls: calls.load(Ordering::Relaxed),
        commits: ledger.commits,
        marks: ledger.marks,
    }
}

struct Counted {
    journal: SqliteJournal,
    run: RunId,
    commits: u64,
    marks: Vec<Duration>,
    tenth: u64,
    last: Instant,
}

impl Ledger for Counted {
    fn append(&mut self, at: Timestamp, events: &[Event]) -> Result<(), LedgerError> {
        self.commits += 1;
        if self.commits.is_multiple_of(self.tenth.max(1)) {
            self.marks.push(self.last.elapsed());
            self.last = Instant::now();
        }
        self.journal.append_events(&self.run, at, events).map_err(|error| LedgerError(error.to_string()))
    }

    fn requests(&mut self) -> Result<Vec<Event>, LedgerError> {
        let requests = self.journal.requests(&self.run).map_err(|error| LedgerError(error.to_string()))?;
        Ok(requests.iter().map(Request::event).collect())
    }
}

struct AtOnce(Arc<AtomicU64>);

#[async_trait]
impl Perform for AtOnce {
    async fn perform(&self, _: CallNo, call: Call) -> Answer {
        self.0.fetch_add(1, Ordering::Relaxed);
        match call {
            Call::Run { procedure: Procedure::Current, .. } => {
                Answer::Ran(Ran::Done { output: Some("r1".into()) })
            }
            _ => Answer::Ran(Ran::Done { output: None }),
        }
    }
}
