//! `manent history`: the runs of an environment, newest first.
//! It must not look outside the journal.

use crate::clean;
use crate::cli::Context;
use crate::clock::{self, span, stamp};
use crate::console::Look;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::runs::{Runs, Summary};

/// Arguments of `history`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  manent history shop/shop/prod
  manent history shop/shop/prod --json | jq '.[0]'")]
pub(crate) struct Args {
    /// `org/app/env`, or the path of an envconfig
    #[arg(value_name = "ENV")]
    environment: String,
}

/// Prints the list.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Fault> {
    let project = context.project()?;
    let name = Runs::environment(&project, &args.environment)?;
    let runs = Runs::open(&project)?.summaries(&name)?;
    if context.console.json {
        let list: Vec<_> = runs.iter().map(json).collect();
        context.console.value(&list)?;
        return Ok(Exit::Done);
    }
    if runs.is_empty() {
        context.console.talk(&format!("no run of {name} yet"));
        return Ok(Exit::Done);
    }
    let text: Vec<String> = runs.iter().map(|run| line(context, run)).collect();
    context.console.data(&text.join("\n"))?;
    Ok(Exit::Done)
}

fn json(run: &Summary) -> serde_json::Value {
    serde_json::json!({
        "run": run.head.id.as_str(),
        "release": run.head.release,
        "state": run.state,
        "started_at": clock::rfc3339(run.head.started_at),
        "ended_at": run.ended.map(clock::rfc3339),
        "duration_ms": run.ended.map(|ended| ended.since(run.head.started_at)),
        "by": run.head.by,
    })
}

fn line(context: &Context, run: &Summary) -> String {
    let state = run.state.replace('_', " ");
    let look = match run.state {
        "succeeded" => Look::Green,
        "stopped" | "interrupted" => Look::Red,
        _ => Look::Yellow,
    };
    let took = match run.ended {
        Some(ended) => span(ended.since(run.head.started_at)),
        None => String::from("-"),
    };
    format!(
        "{}  {}  {:<16} {took:>8}  {}  by {}",
        stamp(run.head.started_at),
        run.head.id,
        clean::line(&run.head.release),
        context.console.paint().with(look, format!("{state:<12}")),
        clean::line(&run.head.by),
    )
}
