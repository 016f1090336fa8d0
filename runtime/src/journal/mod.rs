//! The journal: what a run intended and what came of it, append-only, the only truth after a crash.
//! It must not know what the records mean: a record has a kind, a body, and its place in a chain.

mod memory;
mod record;
mod request;
mod run_id;
mod sqlite;
mod sqlite_read;

#[cfg(test)]
mod contract;
#[cfg(test)]
mod damage;

use manent_engine::{Event, Timestamp};

use crate::private::PrivateError;

pub use memory::MemoryJournal;
pub use record::{Entry, Record};
pub use request::{Ask, Request};
pub use run_id::RunId;
pub use sqlite::SqliteJournal;
pub use sqlite_read::SqliteReader;

/// What a new run writes down about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// Its name.
    pub id: RunId,
    /// The environment that it changes, as `shop/shop/prod`.
    pub environment: String,
    /// The release that it brings.
    pub release: String,
    /// When it began.
    pub started_at: Timestamp,
    /// Who started it.
    pub by: String,
    /// On which machine.
    pub host: String,
    /// In which process.
    pub pid: u32,
}

/// The records of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Past {
    /// All that hold, in order.
    pub records: Vec<Record>,
    /// Set when the last commit was torn and left out.
    pub cut: Option<Cut>,
}

impl Past {
    /// The records as events.
    ///
    /// # Errors
    /// When a body is not an event that this version knows.
    pub fn events(&self, run: &RunId) -> Result<Vec<(Timestamp, Event)>, JournalError> {
        self.records
            .iter()
            .map(|record| {
                let event = serde_json::from_slice(&record.body).map_err(|error| JournalError::Unknown {
                    run: run.clone(),
                    seq: record.seq,
                    reason: error.to_string(),
                })?;
                Ok((record.at, event))
            })
            .collect()
    }
}

/// The end of a journal that a crash of the machine tore off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The first record that was left out.
    pub seq: u64,
    /// How many.
    pub records: u64,
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the last commit of the journal was not written whole; {} from {} on cut off",
            if self.records == 1 { String::from("1 record") } else { format!("{} records", self.records) },
            self.seq
        )
    }
}

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The directory or the file is not ours alone.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// Another version of manent made it.
    #[error(
        "the journal `{path}` has format {found} and this manent reads format {known}: finish its runs with the manent \
         that began them"
    )]
    Format {
        /// Where it is.
        path: String,
        /// Its format.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// A file that is not a journal.
    #[error("`{0}` is not a journal of manent")]
    NotAJournal(String),
    /// Something before the last commit does not hold.
    #[error(
        "the journal of run `{run}` is damaged at record {seq} ({what}): restore the journal from a backup, or see with \
         `manent doctor` what is out of service"
    )]
    Damaged {
        /// Whose.
        run: RunId,
        /// The first record that does not hold; 0 is the head with the plan.
        seq: u64,
        /// In which way.
        what: &'static str,
    },
    /// A record of a kind that this version does not know.
    #[error("record {seq} of run `{run}` was written by another version of manent: {reason}")]
    Unknown {
        /// Whose.
        run: RunId,
        /// Which.
        seq: u64,
        /// Why it cannot be read.
        reason: String,
    },
    /// No such run.
    #[error("there is no run `{0}` in the journal")]
    NoRun(String),
    /// A run of this name is there already.
    #[error("there is a run `{0}` in the journal already")]
    RunExists(RunId),
    /// A record could not be turned into JSON.
    #[error("an event cannot be written: {0}")]
    Encoding(#[from] serde_json::Error),
    /// Nothing may be appended to a run that was neither created nor taken up here.
    #[error("run `{0}` is not open for writing here")]
    NotOpen(RunId),
    /// The disk or the database failed. Final: what was committed is known only after the journal is read anew.
    #[error("the journal cannot be used any more: {0}")]
    Failed(String),
}

/// Reading. Never waits for a writer and never makes a file.
pub trait ReadJournal {
    /// Runs, newest first; of one environment, or of all.
    ///
    /// # Errors
    /// When the journal cannot be read.
    fn runs(&self, environment: Option<&str>) -> Result<Vec<NewRun>, JournalError>;

    /// One run.
    ///
    /// # Errors
    /// When the journal cannot be read, or has no such run.
    fn run(&self, run: &str) -> Result<NewRun, JournalError>;

    /// The newest run of an environment.
    ///
    /// # Errors
    /// When the journal cannot be read.
    fn last_run(&self, environment: &str) -> Result<Option<NewRun>, JournalError> {
        Ok(self.runs(Some(environment))?.into_iter().next())
    }

    /// The plan of a run, as it was handed in.
    ///
    /// # Errors
    /// When the journal cannot be read, or has no such run.
    fn plan_bytes(&self, run: &RunId) -> Result<Vec<u8>, JournalError>;

    /// All records of a run, each checked against the chain.
    ///
    /// # Errors
    /// When something before the last commit does not hold.
    fn read(&self, run: &RunId) -> Result<Past, JournalError>;

    /// The newest record of a run, unchecked: enough to say how it stands.
    ///
    /// # Errors
    /// When the journal cannot be read.
    fn last_record(&self, run: &RunId) -> Result<Option<Record>, JournalError>;
}

/// Writing. One process writes a run; the lock of its environment sees to that.
pub trait Journal: ReadJournal {
    /// Writes down a new run with its plan, in one commit.
    ///
    /// # Errors
    /// When it cannot be written, or there is a run of that name.
    fn create(&mut self, run: &NewRun, plan: &[u8]) -> Result<(), JournalError>;

    /// Opens a run for appending after a crash: checks it and cuts off a torn end.
    ///
    /// # Errors
    /// As [`ReadJournal::read`].
    fn take_up(&mut self, run: &RunId) -> Result<Past, JournalError>;

    /// Appends in one durable commit; requests that [`Journal::requests`] gave out are done with in the same commit.
    ///
    /// # Errors
    /// Every error is final for this journal: nothing may be performed whose intent is not certainly on disk.
    fn append(&mut self, run: &RunId, at: Timestamp, entries: &[Entry]) -> Result<(), JournalError>;

    /// Asks the process that drives a run for something.
    ///
    /// # Errors
    /// When it cannot be written, or there is no such run.
    fn ask(&mut self, run: &RunId, at: Timestamp, by: &str, ask: &Ask) -> Result<(), JournalError>;

    /// Requests that were not given out before. One that was given out and never appended comes again after a crash.
    ///
    /// # Errors
    /// As [`Journal::append`].
    fn requests(&mut self, run: &RunId) -> Result<Vec<Request>, JournalError>;

    /// Appends events in one durable commit.
    ///
    /// # Errors
    /// As [`Journal::append`].
    fn append_events(&mut self, run: &RunId, at: Timestamp, events: &[Event]) -> Result<(), JournalError> {
        let entries = events.iter().map(Entry::of_event).collect::<Result<Vec<_>, _>>()?;
        self.append(run, at, &entries)
    }
}
