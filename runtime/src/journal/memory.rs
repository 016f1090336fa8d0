//! A journal in memory, for tests and for runs that need not outlive their process. It keeps the rules of the real one.
//! It must not be used where a crash matters.

use std::collections::BTreeMap;

use manent_engine::Timestamp;

use super::record::{Link, Tail, Tip, check, head, join};
use super::{Ask, Entry, Journal, JournalError, NewRun, Past, ReadJournal, Record, Request, RunId};

/// Runs in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal {
    runs: BTreeMap<RunId, Kept>,
    asked: u64,
}

#[derive(Debug, Clone)]
struct Kept {
    run: NewRun,
    plan: Vec<u8>,
    links: Vec<Link>,
    tip: Tip,
    tail: Option<Tail>,
    /// Requests that no commit has settled, and whether they were given out.
    inbox: Vec<(Request, bool)>,
}

impl MemoryJournal {
    /// An empty journal.
    #[must_use]
    pub fn new() -> MemoryJournal {
        MemoryJournal::default()
    }

    /// What is left after the process that wrote it died.
    #[must_use]
    pub fn after_crash(&self) -> MemoryJournal {
        let mut left = self.clone();
        for kept in left.runs.values_mut() {
            kept.tail = None;
            kept.inbox.iter_mut().for_each(|(_, given)| *given = false);
        }
        left
    }

    fn kept(&self, run: &str) -> Result<&Kept, JournalError> {
        let found = self.runs.iter().find(|(id, _)| id.as_str() == run);
        found.map(|(_, kept)| kept).ok_or_else(|| JournalError::NoRun(run.to_owned()))
    }

    fn kept_mut(&mut self, run: &RunId) -> Result<&mut Kept, JournalError> {
        self.runs.get_mut(run).ok_or_else(|| JournalError::NoRun(run.to_string()))
    }
}

impl Kept {
    fn check(&self) -> Result<(Past, Tail), JournalError> {
        check(&self.run.id, head(&self.run, &self.plan), &self.tip, self.links.iter().cloned().map(Ok))
    }
}

impl ReadJournal for MemoryJournal {
    fn runs(&self, environment: Option<&str>) -> Result<Vec<NewRun>, JournalError> {
        let wanted = |run: &&NewRun| environment.is_none_or(|environment| run.environment == environment);
        let mut runs: Vec<NewRun> =
            self.runs.values().map(|kept| &kept.run).filter(wanted).cloned().collect();
        runs.sort_by(|a, b| (b.started_at, &b.id).cmp(&(a.started_at, &a.id)));
        Ok(runs)
    }

    fn run(&self, run: &str) -> Result<NewRun, JournalError> {
        Ok(self.kept(run)?.run.clone())
    }

    fn plan_bytes(&self, run: &RunId) -> Result<Vec<u8>, JournalError> {
        Ok(self.kept(run.as_str())?.plan.clone())
    }

    fn read(&self, run: &RunId) -> Result<Past, JournalError> {
        Ok(self.kept(run.as_str())?.check()?.0)
    }

    fn last_record(&self, run: &RunId) -> Result<Option<Record>, JournalError> {
        Ok(self.kept(run.as_str())?.links.last().map(|link| link.record.clone()))
    }
}

impl Journal for MemoryJournal {
    fn create(&mut self, run: &NewRun, plan: &[u8]) -> Result<(), JournalError> {
        if self.runs.contains_key(&run.id) {
            return Err(JournalError::RunExists(run.id.clone()));
        }
        let checksum = head(run, plan);
        let kept = Kept {
            run: run.clone(),
            plan: plan.to_vec(),
            links: Vec::new(),
            tip: Tip::start(&checksum),
            tail: Some(Tail { seq: 0, checksum }),
            inbox: Vec::new(),
        };
        self.runs.insert(run.id.clone(), kept);
        Ok(())
    }

    fn take_up(&mut self, run: &RunId) -> Result<Past, JournalError> {
        let kept = self.kept_mut(run)?;
        let (past, tail) = kept.check()?;
        kept.links.truncate(past.records.len());
        if past.cut.is_some() {
            kept.tip = Tip::cut_at(&tail);
        }
        kept.tail = Some(tail);
        Ok(past)
    }

    fn append(&mut self, run: &RunId, at: Timestamp, entries: &[Entry]) -> Result<(), JournalError> {
        let kept = self.kept_mut(run)?;
        let tail = kept.tail.ok_or_else(|| JournalError::NotOpen(run.clone()))?;
        if entries.is_empty() {
            return Ok(());
        }
        let before = tail;
        let (links, tail) = join(run, before, at, entries);
        kept.tip = Tip::after(&before, &tail);
        kept.links.extend(links);
        kept.tail = Some(tail);
        kept.inbox.retain(|(_, given)| !given);
        Ok(())
    }

    fn ask(&mut self, run: &RunId, at: Timestamp, by: &str, ask: &Ask) -> Result<(), JournalError> {
        let id = self.asked.saturating_add(1);
        let request = Request { id, at, by: by.to_owned(), ask: *ask };
        self.kept_mut(run)?.inbox.push((request, false));
        self.asked = id;
        Ok(())
    }

    fn requests(&mut self, run: &RunId) -> Result<Vec<Request>, JournalError> {
        let inbox = self.kept_mut(run)?.inbox.iter_mut().filter(|(_, given)| !given);
        Ok(inbox
            .map(|(request, given)| {
                *given = true;
                request.clone()
            })
            .collect())
    }
}
