//! `manent resume`: takes a run up again after a crash, a stop or an interrupt.
//! It must not read the documents: the run's plan lies in its journal.

use manent_engine::state::{StepState, Way};
use manent_engine::{Event, Outcome};

use crate::cli::Context;
use crate::execute::Work;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::lock::LockWait;
use crate::runs::{Loaded, Runs};
use crate::verbs::status;
use crate::words;

/// Arguments of `resume`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Whatever was in flight is asked about first; nothing with an effect is done twice, and waits are
not started anew.

Examples:
  manent resume RUN                   after a crash, a restart or an interrupt
  manent resume RUN --retry-failed    after a stop, once the cause is mended")]
pub(crate) struct Args {
    /// The run
    run: String,
    /// Try the failed step again
    #[arg(long)]
    retry_failed: bool,
    #[command(flatten)]
    lock: LockWait,
}

/// The step that is next has failed and is certain to be failed: going on without trying it again changes nothing.
fn would_stop_again(loaded: &Loaded) -> bool {
    let Some(Outcome::Stopped { cause }) = loaded.state.outcome() else { return false };
    let Way::Ended { was, .. } = &loaded.state.way else { return false };
    let Way::Forward { next } = **was else { return false };
    let failed = matches!(loaded.state.steps.get(next as usize), Some(StepState::Failed { .. }));
    failed && cause.unknown.is_empty()
}

/// Goes on with the run to its end.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Fault> {
    let project = context.project()?;
    let runs = Runs::open(&project)?;
    let id = runs.find(Some(&args.run))?;
    let loaded = runs.load(&id)?;
    if let Some(outcome) = loaded.state.outcome()
        && !matches!(outcome, Outcome::Stopped { .. })
    {
        let ended = words::outcome(&loaded.plan, outcome);
        if context.console.json {
            status::show(context, &loaded)?;
        } else {
            context.console.data(&format!("run {id} has ended, there is nothing to resume: {ended}"))?;
        }
        return Ok(Exit::of(outcome));
    }
    loaded.current()?;
    if would_stop_again(&loaded) && !args.retry_failed {
        return Err(Fault::error(format!("run {id} stopped at a step that failed, it would only stop there again")).help(
            format!(
                "mend the cause and try it again, or return what the run changed:\nmanent resume {id} --retry-failed{suffix}\nmanent cancel {id} --rollback{suffix}",
                suffix = context.suffix()
            ),
        ));
    }
    let first = Event::Resumed { retry_failed: args.retry_failed };
    let work = Work::taken_up(&project, &id, &args.lock, first)?;
    work.carry_out(context)
}
