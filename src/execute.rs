//! Carries out a run: takes the environment's lock, opens the journal, sets up what performs calls, listens to signals,
//! shows what happens, and says how it ended. It must not decide anything about the run; the engine does.

use std::sync::Arc;

use manent_engine::{Event, Outcome, Timestamp};
use manent_plan::{Plan, file};
use manent_runtime::drive::{Drive, Ending, Ledger, LedgerError, Perform};
use manent_runtime::journal::{Ask, Journal, NewRun, Request, RunId, SqliteJournal};
use manent_runtime::observe::{Stopped, stopper};
use tokio::runtime::Runtime;

use crate::cli::Context;
use crate::clock;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::live::Live;
use crate::lock::{self, Lock, LockWait};
use crate::perform::performer;
use crate::project::Project;
use crate::runs::{Runs, machine, person, unusable};
use crate::saved;
use crate::signals;
use crate::verbs::status;

/// A run that this process holds the lock for.
pub(crate) struct Work<'p> {
    project: &'p Project,
    plan: Arc<Plan>,
    run: RunId,
    journal: SqliteJournal,
    past: Vec<(Timestamp, Event)>,
    first: Event,
    lock: Lock,
    runtime: Runtime,
    performer: Arc<dyn Perform>,
}

impl<'p> Work<'p> {
    /// Begins a new run. Until the journal has it, nothing is left behind by a refusal; so everything that can refuse
    /// comes before.
    ///
    /// # Errors
    /// A secret or setting cannot be used, somebody else holds the environment, a run of it has not ended, or the
    /// journal cannot be written.
    pub(crate) fn begun(
        project: &'p Project,
        plan: Plan,
        wait: &LockWait,
        check: impl FnOnce(&Runs) -> Result<Event, Fault>,
    ) -> Result<Work<'p>, Fault> {
        let plan = Arc::new(plan);
        let runtime = tokio()?;
        let run = RunId::at(clock::now());
        let performer = performer(project, &plan, Some(&run))?;
        let lock = lock::take(project, &plan.environment, &run, wait)?;
        // Under the lock once more: a run may have come and gone since the first look.
        let first = check(&Runs::open(project)?)?;
        let mut journal = SqliteJournal::open(&project.state).map_err(|error| unusable(&error))?;
        let head = NewRun {
            id: run.clone(),
            environment: plan.environment.clone(),
            release: plan.release.clone().unwrap_or_default(),
            started_at: clock::now(),
            by: person(),
            host: machine(),
            pid: std::process::id(),
        };
        journal.create(&head, &file::write(&plan)).map_err(|error| unusable(&error))?;
        Ok(Work { project, plan, run, journal, past: Vec::new(), first, lock, runtime, performer })
    }

    /// Takes a run up again.
    ///
    /// # Errors
    /// Somebody is at work on it, a later run has overtaken it, or its journal cannot be used.
    pub(crate) fn taken_up(
        project: &'p Project,
        run: &RunId,
        wait: &LockWait,
        first: Event,
    ) -> Result<Work<'p>, Fault> {
        let loaded = Runs::open(project)?.load(run)?;
        let plan = Arc::new(loaded.plan);
        let runtime = tokio()?;
        let performer = performer(project, &plan, Some(run))?;
        let lock = lock::take(project, &plan.environment, run, wait)?;
        // Read again under the lock: the process before may have gone on until now, or another run have come and gone.
        Runs::open(project)?.load(run)?.current()?;
        let mut journal = SqliteJournal::open(&project.state).map_err(|error| unusable(&error))?;
        let past = journal.take_up(run).map_err(|error| unusable(&error))?;
        let past = past.events(run).map_err(|error| unusable(&error))?;
        Ok(Work { project, plan, run: run.clone(), journal, past, first, lock, runtime, performer })
    }

    /// Leaves a request that the run finds as soon as it is driven.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub(crate) fn ask(&mut self, ask: &Ask) -> Result<(), Fault> {
        self.journal.ask(&self.run, clock::now(), &person(), ask).map_err(|error| unusable(&error))
    }

    /// Drives the run to its end, or to the first signal.
    ///
    /// # Errors
    /// What performs calls cannot be set up, or the journal failed on the way.
    pub(crate) fn carry_out(self, context: &Context) -> Result<Exit, Fault> {
        let Work { project, plan, run, journal, past, first, lock, runtime, performer } = self;
        let mut ledger = OneRun { journal, run };
        let mut live = Live::new(&context.console, ledger.run.as_str());
        let ended = runtime.block_on(async {
            let stopped = listen(&live, &ledger.run)?;
            let drive =
                Drive { plan: &plan, ledger: &mut ledger, perform: performer, observer: &mut live, stopped };
            Ok::<_, Fault>(drive.run(&past, first).await)
        });
        live.end();
        // Calls that were given up must not keep the program; the next process asks what became of them.
        runtime.shutdown_background();
        drop(lock);
        let run = ledger.run;
        let ending = ended?.map_err(|error| {
            Fault::error(error.to_string()).help(format!(
                "mend the disk or the state directory, then `manent resume {run}{}`",
                context.suffix()
            ))
        })?;
        if plan.basis.recorded && ending == Ending::Ended(Outcome::NothingToDo) {
            return Err(saved::overtaken(&plan));
        }
        status::show(context, &Runs::open(project)?.load(&run)?)?;
        match ending {
            Ending::Ended(outcome) => Ok(Exit::of(&outcome)),
            Ending::Interrupted => {
                let again = format!("manent resume {run}{}", context.suffix());
                context
                    .console
                    .talk(&format!("interrupted; what was done is recorded, and this goes on: {again}"));
                Ok(Exit::Interrupted)
            }
        }
    }
}

/// Signals ask the run to stop from now on.
fn listen(live: &Live<'_>, run: &RunId) -> Result<Stopped, Fault> {
    let (stop, stopped) = stopper();
    let notice = live.notice();
    let again = format!("manent resume {run}");
    signals::listen(stop, move |name| {
        notice.say(&format!(
            "{name}: finishing the calls in hand; once more leaves at once, and `{again}` goes on either way"
        ));
    })?;
    Ok(stopped)
}

/// The tasks of a run.
///
/// # Errors
/// The system has no threads left.
pub(crate) fn tokio() -> Result<Runtime, Fault> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Fault::error("the program's tasks cannot be started").because(&error))
}

/// The events of one run in the journal.
struct OneRun {
    journal: SqliteJournal,
    run: RunId,
}

impl Ledger for OneRun {
    fn append(&mut self, at: Timestamp, events: &[Event]) -> Result<(), LedgerError> {
        self.journal.append_events(&self.run, at, events).map_err(|error| LedgerError(error.to_string()))
    }

    fn requests(&mut self) -> Result<Vec<Event>, LedgerError> {
        let requests = self.journal.requests(&self.run).map_err(|error| LedgerError(error.to_string()))?;
        Ok(requests.iter().map(Request::event).collect())
    }
}
