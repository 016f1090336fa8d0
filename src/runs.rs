//! Runs as the journal has them: which there are, how each stands, and what is asked of one.
//! It must not start or change a run; `execute` does.

use std::path::PathBuf;

use manent_engine::report::{Facts, Report, report};
use manent_engine::{Engine, Event, Outcome, RunState, Timestamp};
use manent_plan::{Plan, file};
use manent_runtime::journal::{
    Ask, Journal, JournalError, NewRun, ReadJournal, RunId, SqliteJournal, SqliteReader,
};

use crate::clock;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::lock;
use crate::project::Project;
use crate::words;

/// The runs of a state directory.
pub(crate) struct Runs {
    /// `None` before the first run.
    reader: Option<SqliteReader>,
    state: PathBuf,
}

/// A run with everything that is known of it.
pub(crate) struct Loaded {
    /// What it wrote down about itself.
    pub(crate) head: NewRun,
    /// Its plan.
    pub(crate) plan: Plan,
    /// Its events.
    pub(crate) events: Vec<(Timestamp, Event)>,
    /// What they come to.
    pub(crate) state: RunState,
    /// A process is at work on it.
    pub(crate) alive: bool,
    /// The later run that has changed what this one left behind, so that this one's records are true no longer.
    pub(crate) overtaken: Option<RunId>,
}

/// A run in a list.
pub(crate) struct Summary {
    /// What it wrote down about itself.
    pub(crate) head: NewRun,
    /// How it stands, in the words of `status --json`.
    pub(crate) state: &'static str,
    /// When it ended, if it has.
    pub(crate) ended: Option<Timestamp>,
}

impl Runs {
    /// Opens the state directory for reading. It makes no file.
    ///
    /// # Errors
    /// The journal is there and cannot be read.
    pub(crate) fn open(project: &Project) -> Result<Runs, Fault> {
        let reader = SqliteReader::open(&project.state).map_err(|error| unusable(&error))?;
        Ok(Runs { reader, state: project.state.clone() })
    }

    /// The environment's name, whether or not its documents are still there.
    ///
    /// # Errors
    /// Neither a document nor a run has that name.
    pub(crate) fn environment(project: &Project, named: &str) -> Result<String, Fault> {
        match project.choose(named, None) {
            Ok(chosen) => Ok(chosen.environment.name),
            Err(fault) => {
                // Documents may be renamed or removed; the runs stay.
                let runs = Runs::open(project)?.of(named)?;
                if runs.is_empty() { Err(fault) } else { Ok(named.to_owned()) }
            }
        }
    }

    fn all(&self, environment: Option<&str>) -> Result<Vec<NewRun>, Fault> {
        match &self.reader {
            Some(reader) => reader.runs(environment).map_err(|error| unusable(&error)),
            None => Ok(Vec::new()),
        }
    }

    /// Runs of an environment, newest first.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(crate) fn of(&self, environment: &str) -> Result<Vec<NewRun>, Fault> {
        self.all(Some(environment))
    }

    /// The run that a person means: its id or the beginning of it; without a name the newest.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub(crate) fn find(&self, named: Option<&str>) -> Result<RunId, Fault> {
        let all = self.all(None)?;
        let Some(newest) = all.first() else {
            return Err(Fault::error(format!(
                "no run yet: there is no journal in `{}`",
                self.state.display()
            ))
            .help("`manent apply ENV --release R` begins one; name another directory with `--state DIR`"));
        };
        let Some(named) = named else { return Ok(newest.id.clone()) };
        let matching: Vec<&NewRun> = all.iter().filter(|run| run.id.as_str().starts_with(named)).collect();
        match matching.as_slice() {
            [one] => Ok(one.id.clone()),
            _ if matching.iter().any(|run| run.id.as_str() == named) => {
                RunId::parse(named).ok_or_else(|| Fault::input(format!("`{named}` is no name of a run")))
            }
            [] => {
                let newest = words::list(all.iter().take(5).map(|run| run.id.as_str()));
                let help = match all.iter().find(|run| run.environment == named) {
                    Some(run) => format!("`{named}` is an environment; its newest run is {}", run.id),
                    None => format!("newest runs: {newest}"),
                };
                Err(Fault::error(format!("no run `{named}`")).help(help))
            }
            [_, _, ..] => Err(Fault::error(format!("`{named}` is the beginning of several runs"))
                .help(format!("one of: {}", words::list(matching.iter().map(|run| run.id.as_str()))))),
        }
    }

    /// A run with its state.
    ///
    /// # Errors
    /// Its journal cannot be read, or is damaged.
    pub(crate) fn load(&self, id: &RunId) -> Result<Loaded, Fault> {
        let reader = self.reader.as_ref().ok_or_else(|| Fault::error(format!("no run `{id}`")))?;
        let read = || -> Result<_, JournalError> {
            let events = reader.read(id)?.events(id)?;
            Ok((reader.run(id.as_str())?, reader.plan_bytes(id)?, events))
        };
        let (head, plan, events) = read().map_err(|error| unusable(&error))?;
        let plan = file::read(&plan)
            .map_err(|error| Fault::error(format!("the plan of run {id} cannot be used")).because(&error))?;
        let state = Engine::fold(&plan, events.iter().map(|(at, event)| (*at, event))).state().clone();
        let alive = state.outcome().is_none() && lock::is_alive(&self.state, &head.environment, id)?;
        let overtaken = match state.outcome() {
            Some(Outcome::Stopped { .. }) => self.overtaker(&head)?,
            Some(_) | None => None,
        };
        Ok(Loaded { head, plan, events, state, alive, overtaken })
    }

    /// The newest run of the environment that came after another one and left something else behind. One that was
    /// refused, failed before it touched anything, or was rolled back has not.
    fn overtaker(&self, head: &NewRun) -> Result<Option<RunId>, Fault> {
        for later in self.of(&head.environment)?.into_iter().take_while(|run| run.id != head.id) {
            let newest = self.newest(&later.id)?;
            let same = match newest {
                None => true,
                Some((_, Event::Finished { outcome })) => matches!(
                    outcome,
                    Outcome::NothingToDo
                        | Outcome::Refused { .. }
                        | Outcome::Failed { .. }
                        | Outcome::RolledBack { .. }
                ),
                Some(_) => false,
            };
            if !same {
                return Ok(Some(later.id));
            }
        }
        Ok(None)
    }

    /// The run that died with the lock of an environment in its hand.
    ///
    /// # Errors
    /// The lock cannot be looked at.
    pub(crate) fn stale_lock(&self, environment: &str) -> Result<Option<String>, Fault> {
        lock::stale(&self.state, environment)
    }

    /// A run at work, as the reason why another one cannot begin.
    pub(crate) fn in_the_way(&self, head: &NewRun) -> Fault {
        lock::in_the_way(&self.state, head)
    }

    /// All runs of an environment with how they stand, newest first.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(crate) fn summaries(&self, environment: &str) -> Result<Vec<Summary>, Fault> {
        let heads = self.of(environment)?;
        heads.into_iter().map(|head| self.summary(head)).collect()
    }

    /// Only the newest record is read: a list must not take as long as the runs are.
    fn summary(&self, head: NewRun) -> Result<Summary, Fault> {
        let newest = self.newest(&head.id)?;
        let (state, ended) = match newest {
            Some((at, Event::Finished { outcome })) => (finished(&outcome), Some(at)),
            Some(_) | None => {
                let loaded = self.load(&head.id)?;
                let ended = loaded.state.outcome().map(|_| loaded.state.newest);
                (standing(&loaded.report()), ended)
            }
        };
        Ok(Summary { head, state, ended })
    }

    /// The digest of a run's plan.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(crate) fn plan_digest(&self, id: &RunId) -> Result<String, Fault> {
        let Some(reader) = &self.reader else { return Ok(String::new()) };
        let bytes = reader.plan_bytes(id).map_err(|error| unusable(&error))?;
        // A plan of another version is not this one, whatever its digest would be.
        Ok(file::read(&bytes).map(|plan| plan.digest()).unwrap_or_default())
    }

    fn newest(&self, id: &RunId) -> Result<Option<(Timestamp, Event)>, Fault> {
        let Some(reader) = &self.reader else { return Ok(None) };
        let record = reader.last_record(id).map_err(|error| unusable(&error))?;
        Ok(record.and_then(|record| Some((record.at, serde_json::from_slice(&record.body).ok()?))))
    }

    /// Runs that have not ended, newest first.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(crate) fn unfinished(&self, environment: Option<&str>) -> Result<Vec<NewRun>, Fault> {
        let mut found = Vec::new();
        for head in self.all(environment)? {
            if !matches!(self.newest(&head.id)?, Some((_, Event::Finished { .. }))) {
                found.push(head);
            }
        }
        Ok(found)
    }

    /// Asks the process at work on a run for something, or leaves it for the next one.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub(crate) fn ask(&self, id: &RunId, ask: &Ask) -> Result<(), Fault> {
        let mut journal = SqliteJournal::open(&self.state).map_err(|error| unusable(&error))?;
        journal.ask(id, clock::now(), &person(), ask).map_err(|error| unusable(&error))
    }
}

impl Loaded {
    /// How it ended, in one sentence.
    pub(crate) fn ending(&self) -> Option<String> {
        let ending = words::outcome(&self.plan, self.state.outcome()?);
        Some(match &self.overtaken {
            Some(later) => format!("{ending}; run {later} came since, what stands here was so before it"),
            None => ending,
        })
    }

    /// Refuses to go on with a run that a later one has overtaken: it would take the other release for its own.
    ///
    /// # Errors
    /// Exit code 5, with the later run.
    pub(crate) fn current(&self) -> Result<(), Fault> {
        let Some(later) = &self.overtaken else { return Ok(()) };
        let (id, environment) = (&self.head.id, &self.head.environment);
        Err(Fault::new(
            Exit::Stale,
            format!("run {id} is overtaken: run {later} has changed {environment} since"),
        )
        .help(format!(
            "see how it stands with `manent status {later}`, and bring a release with `manent apply {environment} --release R`"
        )))
    }

    /// The run as it stands.
    pub(crate) fn report(&self) -> Report {
        let facts = Facts { run: self.head.id.as_str(), alive: self.alive, now: clock::now() };
        let mut report = report(&facts, &self.plan, &self.state);
        if let Some(later) = &self.overtaken {
            report.next =
                vec![format!("manent status {later}"), format!("manent history {}", self.head.environment)];
        }
        report
    }
}

/// The journal cannot be used, in the user's words.
pub(crate) fn unusable(error: &JournalError) -> Fault {
    let fault = Fault::error(error.to_string());
    match error {
        JournalError::NoRun(_) => fault.help("`manent status` shows the newest run, `manent history ENV` those of an environment"),
        JournalError::Private(_) => fault.help("runs may be read and written by their owner alone: mend owner and mode, or name another directory with `--state DIR`"),
        JournalError::Format { .. }
        | JournalError::NotAJournal(_)
        | JournalError::Damaged { .. }
        | JournalError::Unknown { .. }
        | JournalError::RunExists(_)
        | JournalError::Encoding(_)
        | JournalError::NotOpen(_)
        | JournalError::Failed(_) => fault,
    }
}

fn finished(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded | Outcome::NothingToDo => "succeeded",
        Outcome::RolledBack { .. } => "rolled_back",
        Outcome::Stopped { .. } => "stopped",
        Outcome::Refused { .. } | Outcome::Failed { .. } => "failed",
    }
}

/// A state in the words of `status --json`.
fn standing(report: &Report) -> &'static str {
    use manent_engine::report::RunStanding as S;
    match report.state {
        S::Running => "running",
        S::Waiting => "waiting",
        S::Paused => "paused",
        S::RollingBack => "rolling_back",
        S::Succeeded => "succeeded",
        S::RolledBack => "rolled_back",
        S::Stopped => "stopped",
        S::Failed => "failed",
        S::Interrupted => "interrupted",
    }
}

/// Who is at the keyboard, for the journal.
pub(crate) fn person() -> String {
    let named = ["SUDO_USER", "USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    named.filter(|name| !name.is_empty()).unwrap_or_else(account)
}

/// The account of this process, where no variable names it.
fn account() -> String {
    use std::os::unix::fs::MetadataExt;
    let Ok(own) = std::fs::metadata("/proc/self") else { return String::from("unknown") };
    let uid = own.uid().to_string();
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut lines = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = lines.find(|parts| parts.get(2).is_some_and(|found| *found == uid));
    found
        .and_then(|parts| parts.first().map(|name| (*name).to_owned()))
        .unwrap_or_else(|| format!("uid {uid}"))
}

/// The name of this machine.
pub(crate) fn machine() -> String {
    let read = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    read.map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| String::from("unknown"))
}
