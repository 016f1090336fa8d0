//! `manent rollback`: returns an environment to an earlier release. The way back is a rollout: a plan of its own, shown
//! first, under the same floor. It must not undo a run; `manent cancel RUN --rollback` does that.

use std::collections::BTreeSet;
use std::path::PathBuf;

use manent_engine::Outcome;

use crate::cli::Context;
use crate::compile;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::runs::{Loaded, Runs};
use crate::verbs::{apply, plan};
use crate::words;

/// Arguments of `rollback`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without `--to` it returns to the release that the targets ran before the last run that changed
them. The documents are those of today; the release's artifact has to be there still.

Examples:
  manent rollback shop/shop/prod
  manent rollback shop/shop/prod --to 2.3.9 --yes")]
pub(crate) struct Args {
    /// `org/app/env`, or the path of an envconfig
    #[arg(value_name = "ENV")]
    environment: String,
    /// The release to return to
    #[arg(long, value_name = "R")]
    to: Option<String>,
    /// Descriptor; default: `descriptors/<app>.yml`
    #[arg(long, value_name = "FILE")]
    descriptor: Option<PathBuf>,
    #[command(flatten)]
    how: apply::How,
}

/// Plans the way back, shows it, and carries it out.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Fault> {
    let project = context.project()?;
    let chosen = project.choose(&args.environment, args.descriptor.as_deref())?;
    let release = match &args.to {
        Some(release) => release.clone(),
        None => before(&Runs::open(&project)?, &chosen.environment.name)?,
    };
    let plan = compile::plan(context, &project, &chosen, Some(&release))?;
    compile::executable(&plan)?;
    if !context.console.json {
        context.console.talk(&plan::text(&plan, false));
    }
    apply::carry_out(context, &project, plan, &args.how)
}

/// The release that the targets ran before the last run that changed them.
fn before(runs: &Runs, environment: &str) -> Result<String, Fault> {
    for head in runs.of(environment)? {
        let loaded = runs.load(&head.id)?;
        match loaded.state.outcome() {
            Some(Outcome::Succeeded | Outcome::Stopped { .. }) => {
                let releases = recorded(&loaded);
                let known: Vec<&String> = releases.iter().flatten().collect();
                return match known.as_slice() {
                    [one] => Ok((*one).clone()),
                    [] => Err(Fault::error(format!(
                        "there was no release before run {}, so there is none to return to",
                        head.id
                    ))
                    .help("name one: `--to RELEASE`")),
                    several => Err(Fault::error(format!(
                        "before run {} the targets ran several releases: {}",
                        head.id,
                        words::list(several)
                    ))
                    .help("name the one to return to: `--to RELEASE`")),
                };
            }
            // These left nothing behind that could be taken back; an open run is refused later, with what to do.
            Some(
                Outcome::NothingToDo
                | Outcome::Refused { .. }
                | Outcome::RolledBack { .. }
                | Outcome::Failed { .. },
            )
            | None => {}
        }
    }
    Err(Fault::error(format!("no run of {environment} has changed anything, so nothing can be returned"))
        .help("name a release: `--to RELEASE`"))
}

/// What `preflight` found on the targets that the run had to change.
fn recorded(loaded: &Loaded) -> BTreeSet<Option<String>> {
    let found = loaded.state.targets.iter().filter_map(|target| target.before.clone());
    found.filter(|before| *before != loaded.plan.release).collect()
}
