//! What every journal keeps, run on each of them.

use manent_engine::{Event, Timestamp};
use manent_plan::StepIx;

use super::{Ask, Entry, Journal, JournalError, MemoryJournal, NewRun, ReadJournal, RunId, SqliteJournal};

/// A journal that can be looked at after the process that wrote it died.
trait Place {
    fn open(&mut self) -> Box<dyn Journal>;
    fn crash(&mut self, journal: Box<dyn Journal>);
}

struct OnDisk(tempfile::TempDir);

impl Place for OnDisk {
    fn open(&mut self) -> Box<dyn Journal> {
        Box::new(SqliteJournal::open(&self.0.path().join("state")).unwrap())
    }

    fn crash(&mut self, journal: Box<dyn Journal>) {
        drop(journal);
    }
}

/// `MemoryJournal` cannot be shared, so a crash is played through a copy.
struct Shared(std::rc::Rc<std::cell::RefCell<MemoryJournal>>);

struct Handle(std::rc::Rc<std::cell::RefCell<MemoryJournal>>);

impl ReadJournal for Handle {
    fn runs(&self, environment: Option<&str>) -> Result<Vec<NewRun>, JournalError> {
        self.0.borrow().runs(environment)
    }
    fn run(&self, run: &str) -> Result<NewRun, JournalError> {
        self.0.borrow().run(run)
    }
    fn plan_bytes(&self, run: &RunId) -> Result<Vec<u8>, JournalError> {
        self.0.borrow().plan_bytes(run)
    }
    fn read(&self, run: &RunId) -> Result<super::Past, JournalError> {
        self.0.borrow().read(run)
    }
    fn last_record(&self, run: &RunId) -> Result<Option<super::Record>, JournalError> {
        self.0.borrow().last_record(run)
    }
}

impl Journal for Handle {
    fn create(&mut self, run: &NewRun, plan: &[u8]) -> Result<(), JournalError> {
        self.0.borrow_mut().create(run, plan)
    }
    fn take_up(&mut self, run: &RunId) -> Result<super::Past, JournalError> {
        self.0.borrow_mut().take_up(run)
    }
    fn append(&mut self, run: &RunId, at: Timestamp, entries: &[Entry]) -> Result<(), JournalError> {
        self.0.borrow_mut().append(run, at, entries)
    }
    fn ask(&mut self, run: &RunId, at: Timestamp, by: &str, ask: &Ask) -> Result<(), JournalError> {
        self.0.borrow_mut().ask(run, at, by, ask)
    }
    fn requests(&mut self, run: &RunId) -> Result<Vec<super::Request>, JournalError> {
        self.0.borrow_mut().requests(run)
    }
}

impl Place for Shared {
    fn open(&mut self) -> Box<dyn Journal> {
        Box::new(Handle(std::rc::Rc::clone(&self.0)))
    }

    fn crash(&mut self, _: Box<dyn Journal>) {
        let left = self.0.borrow().after_crash();
        *self.0.borrow_mut() = left;
    }
}

fn on_each(check: impl Fn(&mut dyn Place)) {
    check(&mut OnDisk(tempfile::tempdir().unwrap()));
    check(&mut Shared(std::rc::Rc::default()));
}

pub(super) fn new_run(id: &str, environment: &str, started: u64) -> NewRun {
    NewRun {
        id: RunId::parse(id).unwrap(),
        environment: environment.to_owned(),
        release: String::from("2.4.1"),
        started_at: Timestamp(started),
        by: String::from("ann"),
        host: String::from("ops1"),
        pid: 4711,
    }
}

fn began(step: u32) -> Event {
    Event::Began { step: StepIx(step) }
}

#[test]
fn what_was_appended_is_read_in_order() {
    on_each(|place| {
        let run = new_run("r1", "shop/shop/prod", 5);
        let mut journal = place.open();
        journal.create(&run, b"{\"plan\":1}").unwrap();
        journal.append_events(&run.id, Timestamp(7), &[began(1), Event::Interrupted]).unwrap();
        journal.append_events(&run.id, Timestamp(9), &[began(2)]).unwrap();
        let past = journal.read(&run.id).unwrap();
        assert_eq!(
            past.events(&run.id).unwrap(),
            [(Timestamp(7), began(1)), (Timestamp(7), Event::Interrupted), (Timestamp(9), began(2))]
        );
        let kinds: Vec<_> = past.records.iter().map(|record| (record.seq, record.kind.as_str())).collect();
        assert_eq!(kinds, [(1, "began"), (2, "interrupted"), (3, "began")]);
        assert_eq!(journal.plan_bytes(&run.id).unwrap(), b"{\"plan\":1}");
        assert_eq!(journal.run("r1").unwrap(), run);
        assert_eq!(journal.last_record(&run.id).unwrap().as_ref(), past.records.last());
    });
}

#[test]
fn runs_are_listed_newest_first_for_one_environment() {
    on_each(|place| {
        let mut journal = place.open();
        for (id, environment, started) in
            [("r1", "a/a/prod", 1), ("r3", "a/a/prod", 3), ("r2", "a/a/test", 2)]
        {
            journal.create(&new_run(id, environment, started), b"{}").unwrap();
        }
        let names = |runs: Vec<NewRun>| runs.into_iter().map(|run| run.id.to_string()).collect::<Vec<_>>();
        assert_eq!(names(journal.runs(None).unwrap()), ["r3", "r2", "r1"]);
        assert_eq!(names(journal.runs(Some("a/a/prod")).unwrap()), ["r3", "r1"]);
        assert_eq!(journal.last_run("a/a/prod").unwrap().unwrap().id.as_str(), "r3");
        assert_eq!(journal.last_run("a/a/dev").unwrap(), None);
    });
}

#[test]
fn after_a_crash_a_run_is_taken_up_before_it_is_appended_to() {
    on_each(|place| {
        let run = new_run("r1", "a/a/prod", 1);
        let mut journal = place.open();
        journal.create(&run, b"{}").unwrap();
        journal.append_events(&run.id, Timestamp(2), &[began(1)]).unwrap();
        place.crash(journal);
        let mut journal = place.open();
        let refused = journal.append_events(&run.id, Timestamp(3), &[began(2)]);
        assert!(matches!(refused, Err(JournalError::NotOpen(_))), "{refused:?}");
        let past = journal.take_up(&run.id).unwrap();
        assert_eq!((past.records.len(), past.cut), (1, None));
        journal.append_events(&run.id, Timestamp(3), &[began(2)]).unwrap();
        assert_eq!(journal.read(&run.id).unwrap().records.len(), 2);
    });
}

#[test]
fn a_name_is_given_once_and_an_unknown_run_is_told() {
    on_each(|place| {
        let run = new_run("r1", "a/a/prod", 1);
        let mut journal = place.open();
        journal.create(&run, b"{}").unwrap();
        let mut again = new_run("r1", "a/a/test", 2);
        assert!(matches!(journal.create(&again, b"[]"), Err(JournalError::RunExists(_))));
        again.id = RunId::parse("r2").unwrap();
        assert_eq!(journal.plan_bytes(&run.id).unwrap(), b"{}");
        assert!(matches!(journal.run("r2"), Err(JournalError::NoRun(_))));
        assert!(matches!(journal.read(&again.id), Err(JournalError::NoRun(_))));
        assert!(matches!(journal.take_up(&again.id), Err(JournalError::NoRun(_))));
        assert!(matches!(
            journal.ask(&again.id, Timestamp(1), "ann", &Ask::Pause),
            Err(JournalError::NoRun(_))
        ));
    });
}

#[test]
fn a_request_is_taken_once_and_not_lost_in_a_crash() {
    on_each(|place| {
        let run = new_run("r1", "a/a/prod", 1);
        let mut journal = place.open();
        journal.create(&run, b"{}").unwrap();
        assert_eq!(journal.requests(&run.id).unwrap(), []);
        journal.ask(&run.id, Timestamp(2), "bob", &Ask::Pause).unwrap();
        journal.ask(&run.id, Timestamp(3), "eve", &Ask::Cancel { rollback: true }).unwrap();
        let given = journal.requests(&run.id).unwrap();
        assert_eq!(
            given.iter().map(super::Request::event).collect::<Vec<_>>(),
            [Event::Paused { by: "bob".into() }, Event::Cancelled { by: "eve".into(), rollback: true }]
        );
        assert_eq!(journal.requests(&run.id).unwrap(), [], "given out already");
        place.crash(journal);
        let mut journal = place.open();
        journal.take_up(&run.id).unwrap();
        assert_eq!(journal.requests(&run.id).unwrap(), given, "nothing was appended, so they come again");
        journal.append_events(&run.id, Timestamp(4), &[given[0].event(), given[1].event()]).unwrap();
        journal.ask(&run.id, Timestamp(5), "bob", &Ask::Approve { step: StepIx(3) }).unwrap();
        place.crash(journal);
        let mut journal = place.open();
        journal.take_up(&run.id).unwrap();
        let left = journal.requests(&run.id).unwrap();
        assert_eq!(
            left.iter().map(|request| request.ask).collect::<Vec<_>>(),
            [Ask::Approve { step: StepIx(3) }]
        );
    });
}
