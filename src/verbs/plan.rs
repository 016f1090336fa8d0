//! `manent plan`: what would happen, step by step, with the way back.
//! It must not touch anything but the file that `--out` names.

use std::path::PathBuf;

use manent_engine::Outcome;
use manent_plan::text::Detail;
use manent_plan::{Plan, file};

use crate::cli::Context;
use crate::compile;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::runs::Runs;
use crate::saved;

/// Arguments of `plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without `--release` a plan can be read, diffed and kept in git, not applied.

With `--detailed-exitcode`: 0 when the environment's last successful run carried out this very
plan, 2 when it differs or there was none, 1 for every error, wrong documents included.

Examples:
  manent plan shop/shop/prod --release 2.4.1
  manent plan shop/shop/prod --release 2.4.1 --out release.plan && manent apply release.plan
  manent plan release.plan                           a saved plan again
  manent plan shop/shop/prod --format mermaid        a picture of the steps and the way back
  manent plan envconfig/shop/shop/prod.yml --descriptor /tmp/shop.yml")]
pub(crate) struct Args {
    /// `org/app/env`, the path of an envconfig, or a saved plan
    #[arg(value_name = "ENV|FILE")]
    environment: String,
    /// The release to bring
    #[arg(long, value_name = "R")]
    release: Option<String>,
    /// Descriptor; default: `descriptors/<app>.yml`
    #[arg(long, value_name = "FILE")]
    descriptor: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    format: Format,
    /// Save the plan for `manent apply FILE`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Say by the exit code whether anything changes
    #[arg(long, requires = "release")]
    detailed_exitcode: bool,
    /// Do not shorten lists of targets
    #[arg(long)]
    wide: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    Yaml,
    Dot,
    Mermaid,
}

/// Prints the plan.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Fault> {
    match planned(args, context) {
        // 2 means "there are changes" here.
        Err(mut fault) if args.detailed_exitcode => {
            fault.exit = Exit::Error;
            Err(fault)
        }
        other => other,
    }
}

fn planned(args: &Args, context: &Context) -> Result<Exit, Fault> {
    if saved::is_plan(&args.environment) {
        if args.release.is_some() || args.descriptor.is_some() || args.out.is_some() {
            return Err(Fault::input(format!(
                "`{}` is a saved plan, it can only be shown",
                args.environment
            ))
            .help("leave `--release`, `--descriptor` and `--out` away, or name an environment"));
        }
        let plan = saved::read(&args.environment)?;
        print(context, args, &plan)?;
        return Ok(Exit::Done);
    }
    let project = context.project()?;
    let chosen = project.choose(&args.environment, args.descriptor.as_deref())?;
    let mut plan = compile::plan(context, &project, &chosen, args.release.as_deref())?;
    if let Some(out) = &args.out {
        saved::write(&mut plan, &Runs::open(&project)?, out)?;
    }
    print(context, args, &plan)?;
    if let Some(out) = &args.out {
        let then = match &plan.release {
            Some(_) => format!("`manent apply {}` carries it out", out.display()),
            None => String::from("it names no release, so it can be read but not applied"),
        };
        context.console.talk(&format!("saved as {}; {then}", out.display()));
    }
    if args.detailed_exitcode && changes(&Runs::open(&project)?, &plan)? {
        return Ok(Exit::Input);
    }
    Ok(Exit::Done)
}

/// Whether the last successful run of the environment carried out another plan than this one.
fn changes(runs: &Runs, plan: &Plan) -> Result<bool, Fault> {
    for head in runs.of(&plan.environment)? {
        let loaded = runs.load(&head.id)?;
        match loaded.state.outcome() {
            Some(Outcome::Succeeded) => return Ok(saved::meaning(&loaded.plan) != saved::meaning(plan)),
            // It changed nothing, so the run before it still holds.
            Some(
                Outcome::NothingToDo
                | Outcome::Refused { .. }
                | Outcome::RolledBack { .. }
                | Outcome::Failed { .. },
            ) => {}
            Some(Outcome::Stopped { .. }) | None => return Ok(true),
        }
    }
    Ok(true)
}

fn print(context: &Context, args: &Args, plan: &Plan) -> Result<(), Fault> {
    let format = if context.console.json { Format::Json } else { args.format };
    match format {
        Format::Text => context.console.data(&text(plan, args.wide)),
        Format::Json => context.console.script(&String::from_utf8_lossy(&file::write(plan))),
        Format::Yaml => context.console.data(&yaml(plan)?),
        Format::Dot => context.console.data(&manent_plan::dot::dot(plan)),
        Format::Mermaid => context.console.data(&manent_plan::mermaid::mermaid(plan)),
    }
}

/// The plan as people read and review it.
pub(crate) fn text(plan: &Plan, wide: bool) -> String {
    manent_plan::text::text(plan, if wide { Detail::Wide } else { Detail::Review })
}

fn yaml(plan: &Plan) -> Result<String, Fault> {
    let broken =
        |error: &dyn std::error::Error| Fault::error("the plan cannot be written as YAML").because(error);
    let value: serde_json::Value =
        serde_json::from_slice(&file::write(plan)).map_err(|error| broken(&error))?;
    serde_yaml::to_string(&value).map_err(|error| broken(&error))
}
