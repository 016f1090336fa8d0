//! `manent status`: what is true of a run, from the journal alone, without network.
//! It must not guess: what the journal does not hold is said to be unknown.

use std::time::Duration;

use manent_engine::report::RunStanding;
use manent_runtime::journal::RunId;

use crate::cli::Context;
use crate::clock;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::report::Sheet;
use crate::runs::{Loaded, Runs};

/// Between two looks while watching.
const LOOK: Duration = Duration::from_millis(500);

/// Arguments of `status`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It reads the journal alone: it is right also when load balancers, targets and the network are gone.

Examples:
  manent status                   the newest run
  manent status shop/shop/prod    the newest run of an environment
  manent status RUN --watch       follow a run to its end
  manent status --json | jq .blocked")]
pub(crate) struct Args {
    /// The run, or `org/app/env` for its newest; default: the newest of all
    run: Option<String>,
    /// Show it again whenever it changes, until it ends
    #[arg(long)]
    watch: bool,
}

/// Prints the report.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Fault> {
    let project = context.project()?;
    let runs = Runs::open(&project)?;
    let id = match runs.of(args.run.as_deref().unwrap_or_default())?.into_iter().next() {
        Some(newest) => newest.id,
        None => runs.find(args.run.as_deref())?,
    };
    if !args.watch {
        let loaded = runs.load(&id)?;
        show(context, &loaded)?;
        hint(context, &runs, &loaded)?;
        return Ok(Exit::Done);
    }
    watch(context, &runs, &id)
}

fn watch(context: &Context, runs: &Runs, id: &RunId) -> Result<Exit, Fault> {
    let mut shown: Option<(usize, RunStanding)> = None;
    loop {
        let loaded = runs.load(id)?;
        let standing = loaded.report().state;
        let now = (loaded.events.len(), standing);
        let redraw = context.console.redraws();
        if shown != Some(now) || redraw {
            if redraw {
                context.console.wipe();
            } else if shown.is_some() && !context.console.json {
                context.console.data("")?;
            }
            show(context, &loaded)?;
            shown = Some(now);
        }
        let over = !matches!(
            standing,
            RunStanding::Running | RunStanding::Waiting | RunStanding::Paused | RunStanding::RollingBack
        );
        if over || context.console.is_closed() {
            return Ok(Exit::Done);
        }
        std::thread::sleep(LOOK);
    }
}

/// Prints a run as it stands: JSON on one line, or text.
pub(crate) fn show(context: &Context, loaded: &Loaded) -> Result<(), Fault> {
    let report = loaded.report();
    if context.console.json {
        return context.console.value(&report);
    }
    let (ending, suffix) = (loaded.ending(), context.suffix());
    let sheet = Sheet {
        report: &report,
        now: clock::now(),
        paint: context.console.paint(),
        alive: loaded.alive,
        ending: ending.as_deref(),
        pooled: loaded.plan.pool.is_some(),
        suffix: &suffix,
    };
    context.console.data(&sheet.full().join("\n"))
}

/// Other runs that need somebody, since the newest run is only one of them.
fn hint(context: &Context, runs: &Runs, shown: &Loaded) -> Result<(), Fault> {
    let others: Vec<String> = runs
        .unfinished(None)?
        .into_iter()
        .filter(|head| head.id != shown.head.id)
        .map(|head| format!("  manent status {}{}  ({})", head.id, context.suffix(), head.environment))
        .collect();
    if !others.is_empty() {
        context.console.talk(&format!("other runs that have not ended:\n{}", others.join("\n")));
    }
    Ok(())
}
