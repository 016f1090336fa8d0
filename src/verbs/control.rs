//! `pause`, `continue`, `cancel` and `approve`: what a person asks of a run, at work or not.
//! It must not touch the run itself: a request is written into the journal, and whoever works on the run carries it out.

use std::time::{Duration, Instant};

use manent_engine::{Event, Outcome};
use manent_plan::{Plan, StepKind};
use manent_runtime::journal::{Ask, RunId};

use crate::cli::Context;
use crate::execute::Work;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::lock::LockWait;
use crate::project::Project;
use crate::runs::{Loaded, Runs};
use crate::words;

/// How long a request may take to be seen by the process at work.
const SEEN: Duration = Duration::from_secs(10);

/// Arguments of `pause`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Calls in hand are finished; then nothing new begins until `continue`. Limits go on counting.

Examples:
  manent pause RUN")]
pub(crate) struct Pause {
    /// The run
    run: String,
}

/// Arguments of `continue`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  manent continue RUN")]
pub(crate) struct Continue {
    /// The run
    run: String,
}

/// Arguments of `cancel`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without `--rollback` everything stays as it is: what is out stays out, and `status` says what.
A run that no process works on is taken up for that.

Examples:
  manent cancel RUN                stop after the call in hand
  manent cancel RUN --rollback     undo exactly what was begun, in reverse order")]
pub(crate) struct Cancel {
    /// The run
    run: String,
    /// Return what the run changed to the release before
    #[arg(long)]
    rollback: bool,
    #[command(flatten)]
    lock: LockWait,
}

/// Arguments of `approve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  manent approve RUN approve@canary")]
pub(crate) struct Approve {
    /// The run
    run: String,
    /// The gate, as `status` names it
    step: String,
}

/// Pauses.
pub(crate) fn pause(args: &Pause, context: &Context) -> Result<Exit, Fault> {
    let asked = Asked::find(context, &args.run)?;
    asked.open()?;
    if !asked.loaded.alive {
        return Err(Fault::error(format!(
            "no process is at work on run {}, there is nothing to pause",
            asked.id()
        ))
        .help(format!("`manent resume {}` takes it up", asked.id())));
    }
    asked.request(&Ask::Pause)?;
    asked.confirm(context, "paused", |loaded| loaded.state.paused.is_some())
}

/// Ends a pause.
pub(crate) fn resume(args: &Continue, context: &Context) -> Result<Exit, Fault> {
    let asked = Asked::find(context, &args.run)?;
    asked.open()?;
    if !asked.loaded.alive {
        return Err(Fault::error(format!("no process is at work on run {}", asked.id()))
            .help(format!("`manent resume {}` takes it up, paused or not", asked.id())));
    }
    asked.request(&Ask::Continue)?;
    asked.confirm(context, "continued", |loaded| loaded.state.paused.is_none())
}

/// Stops, or turns back.
pub(crate) fn cancel(args: &Cancel, context: &Context) -> Result<Exit, Fault> {
    let asked = Asked::find(context, &args.run)?;
    let stopped = matches!(asked.loaded.state.outcome(), Some(Outcome::Stopped { .. }));
    if stopped && !args.rollback {
        return Err(Fault::error(format!("run {} has stopped already", asked.id()))
            .help(format!("`manent cancel {} --rollback` returns what it changed", asked.id())));
    }
    asked.loaded.current()?;
    if !stopped {
        asked.open()?;
    }
    let ask = Ask::Cancel { rollback: args.rollback };
    if asked.loaded.alive {
        asked.request(&ask)?;
        let seen = asked.loaded.events.len();
        let word = if args.rollback { "turning back" } else { "stopping" };
        return asked.confirm(context, word, |loaded| {
            loaded.events.iter().skip(seen).any(|(_, event)| matches!(event, Event::Cancelled { .. }))
        });
    }
    // Nobody is at work on it: it is taken up with the request already waiting.
    let first = Event::Resumed { retry_failed: false };
    let mut work = Work::taken_up(&asked.project, &asked.loaded.head.id, &args.lock, first)?;
    work.ask(&ask)?;
    work.carry_out(context)
}

/// Opens a gate.
pub(crate) fn approve(args: &Approve, context: &Context) -> Result<Exit, Fault> {
    let asked = Asked::find(context, &args.run)?;
    asked.open()?;
    let plan = &asked.loaded.plan;
    let gates = gates(plan);
    let Some(step) = plan.find_step(&args.step).filter(|_| gates.contains(&args.step)) else {
        let help = if gates.is_empty() {
            String::from("the plan of this run has no gates")
        } else {
            format!("gates of this run: {}", words::list(&gates))
        };
        return Err(Fault::input(format!("run {} has no gate `{}`", asked.id(), args.step)).help(help));
    };
    if let Some(by) = asked.loaded.state.approvals.get(&step) {
        context.console.talk(&format!("`{}` was approved by {by} already", args.step));
        return Ok(Exit::Done);
    }
    asked.request(&Ask::Approve { step })?;
    if !asked.loaded.alive {
        context.console.talk(&format!(
            "recorded; no process is at work on the run: `manent resume {}` takes it up",
            asked.id()
        ));
        return asked.told(context, "approved");
    }
    asked.confirm(context, "approved", |loaded| loaded.state.approvals.contains_key(&step))
}

fn gates(plan: &Plan) -> Vec<String> {
    let gates = plan.steps.iter().filter(|step| step.kind == StepKind::Approve);
    gates.map(|step| plan.id_of(step)).collect()
}

/// A run that somebody asks something of.
struct Asked {
    project: Project,
    runs: Runs,
    loaded: Loaded,
}

impl Asked {
    fn find(context: &Context, run: &str) -> Result<Asked, Fault> {
        let project = context.project()?;
        let runs = Runs::open(&project)?;
        let id = runs.find(Some(run))?;
        let loaded = runs.load(&id)?;
        Ok(Asked { project, runs, loaded })
    }

    fn id(&self) -> &RunId {
        &self.loaded.head.id
    }

    /// The run has not ended.
    fn open(&self) -> Result<(), Fault> {
        match self.loaded.state.outcome() {
            None => Ok(()),
            Some(outcome) => Err(Fault::error(format!(
                "run {} has ended: {}",
                self.id(),
                words::outcome(&self.loaded.plan, outcome)
            ))
            .help(format!("`manent status {}` says what can be done", self.id()))),
        }
    }

    fn request(&self, ask: &Ask) -> Result<(), Fault> {
        self.runs.ask(self.id(), ask)
    }

    /// Waits until the process at work has recorded the request.
    fn confirm(&self, context: &Context, word: &str, seen: impl Fn(&Loaded) -> bool) -> Result<Exit, Fault> {
        let limit = Instant::now() + SEEN;
        while Instant::now() < limit {
            let loaded = self.runs.load(self.id())?;
            if seen(&loaded) || loaded.state.outcome().is_some() {
                return self.told(context, word);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(Fault::error(format!("the request is recorded, but run {} has not taken it up yet", self.id()))
            .help(format!("`manent status {}` says what it is doing", self.id())))
    }

    fn told(&self, context: &Context, word: &str) -> Result<Exit, Fault> {
        if context.console.json {
            context.console.value(&serde_json::json!({ "run": self.id().as_str(), "request": word }))?;
        } else {
            context.console.data(&format!("run {}: {word}", self.id()))?;
        }
        Ok(Exit::Done)
    }
}
