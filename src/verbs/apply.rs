//! `manent apply`: brings a release to an environment, by a plan that is made now or was saved before.
//! It must not touch anything before the plan was shown and agreed to.

use std::path::PathBuf;

use manent_engine::Event;
use manent_plan::Plan;

use crate::clean;
use crate::cli::Context;
use crate::clock::span;
use crate::compile;
use crate::dry_run::{self, Walk};
use crate::execute::Work;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::left_out::{adopted, left_out};
use crate::lock::LockWait;
use crate::project::Project;
use crate::runs::Runs;
use crate::saved;

/// Arguments of `apply`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It shows a summary and asks on a terminal; elsewhere `--yes` has to say so. The first Ctrl-C
finishes the calls in hand and leaves a run that `manent resume` takes up; the second leaves at once.

Exit codes: 0 done, 1 error, 2 wrong input, 3 failed and rolled back, 4 stopped with members out
or releases mixed, 5 plan stale or applied already, 6 preflight refused, 7 somebody else holds the
environment, 130 interrupted.

Examples:
  manent apply shop/shop/prod --release 2.4.1
  manent apply shop/shop/prod --release 2.4.1 --yes --lock-wait 10m
  manent apply shop/shop/prod --release 2.4.1 --dry-run     walk the whole plan, make no call
  manent apply release.plan                                 a plan saved by `manent plan --out`")]
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
    #[command(flatten)]
    how: How,
    /// Walk the whole plan and make no call
    #[arg(long)]
    dry_run: bool,
}

/// How a plan is carried out.
#[derive(Debug, clap::Args)]
pub(crate) struct How {
    /// Do not ask
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Update targets that run the release already, too
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) lock: LockWait,
}

/// Applies.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Fault> {
    let project = context.project()?;
    let plan = wanted(args, context, &project)?;
    compile::executable(&plan)?;
    if args.dry_run {
        return walk(context, &plan, args.how.force);
    }
    if !context.console.json {
        context.console.talk(&manent_plan::text::summary(&plan));
    }
    carry_out(context, &project, plan, &args.how)
}

fn wanted(args: &Args, context: &Context, project: &Project) -> Result<Plan, Fault> {
    let again = "name it: `--release R`";
    if saved::is_plan(&args.environment) {
        if args.release.is_some() || args.descriptor.is_some() {
            return Err(Fault::input(format!(
                "`{}` is a saved plan, it has its release already",
                args.environment
            ))
            .help("leave `--release` and `--descriptor` away, or name an environment"));
        }
        let plan = saved::read(&args.environment)?;
        if plan.release.is_none() {
            return Err(Fault::input("this plan names no release, so it can be read but not applied")
                .help("plan again with `--release R`"));
        }
        return Ok(plan);
    }
    let chosen = project.choose(&args.environment, args.descriptor.as_deref())?;
    let Some(release) = &args.release else {
        return Err(Fault::input(format!("which release shall {} get?", chosen.environment.name)).help(again));
    };
    compile::plan(context, project, &chosen, Some(release))
}

/// Checks that the plan may begin now, asks, and runs it.
pub(crate) fn carry_out(context: &Context, project: &Project, plan: Plan, how: &How) -> Result<Exit, Fault> {
    if !how.lock.waits() {
        may_begin(&Runs::open(project)?, &plan, context)?;
    }
    if !how.yes {
        if !context.console.can_ask() {
            return Err(Fault::error("nobody can be asked here, so nothing was begun")
                .help("add `--yes` to go ahead without a question, or `--dry-run` to see every call"));
        }
        let release = clean::line(plan.release.as_deref().unwrap_or("?"));
        if !context.console.ask(&format!("bring {release} to {}?", clean::line(&plan.environment))) {
            context.console.talk("nothing was begun");
            return Ok(Exit::Error);
        }
    }
    let checked = plan.clone();
    let force = how.force;
    let work = Work::begun(project, plan, &how.lock, |runs| {
        may_begin(runs, &checked, context)?;
        let left = left_out(runs, &checked.environment)?;
        Ok(Event::Started { adopted: adopted(&checked, &left), force })
    })?;
    work.carry_out(context)
}

/// No other run of the environment is open, and a saved plan still fits.
fn may_begin(runs: &Runs, plan: &Plan, context: &Context) -> Result<(), Fault> {
    let suffix = context.suffix();
    if let Some(head) = runs.unfinished(Some(&plan.environment))?.first() {
        let loaded = runs.load(&head.id)?;
        if loaded.alive {
            return Err(runs.in_the_way(head));
        }
        return Err(Fault::error(format!(
            "run {} of {} to {} has not ended, and no process is at work on it",
            head.id,
            head.environment,
            clean::line(&head.release)
        ))
        .help(format!(
            "go on with it, or return what it changed:\nmanent resume {id}{suffix}\nmanent cancel {id} --rollback{suffix}",
            id = head.id
        )));
    }
    saved::fresh(plan, runs)
}

fn walk(context: &Context, plan: &Plan, force: bool) -> Result<Exit, Fault> {
    let Some(walk) = dry_run::walk(plan, force) else {
        return Err(Fault::error("the plan comes to no end, which is a fault of manent"));
    };
    if context.console.json {
        let mut value = serde_json::json!({ "environment": plan.environment, "release": plan.release });
        if let (Some(all), Ok(serde_json::Value::Object(more))) =
            (value.as_object_mut(), serde_json::to_value(&walk))
        {
            all.extend(more);
        }
        context.console.value(&value)?;
    } else {
        context.console.data(&walked(plan, &walk))?;
    }
    Ok(Exit::Done)
}

fn walked(plan: &Plan, walk: &Walk) -> String {
    let release = clean::line(plan.release.as_deref().unwrap_or("?"));
    let mut lines =
        vec![format!("dry run of {} to {release}: no call is made", clean::line(&plan.environment))];
    let widest = walk.steps.iter().map(|step| step.id.chars().count()).max().unwrap_or_default();
    for step in walk.steps.iter().filter(|step| step.id != "config") {
        let mut calls = step.calls.iter();
        let first = calls.next().map_or("nothing to ask or to do", String::as_str);
        lines.push(format!("  {:>7}  {:<widest$} {first}", format!("+{}", span(step.at_ms)), step.id));
        lines.extend(calls.map(|call| format!("  {:>7}  {:<widest$} {call}", "", "")));
    }
    lines.push(format!(
        "it would end as {}, after waits of at least {}; connections, commands and health checks take their own time",
        walk.outcome.replace('_', " "),
        span(walk.waits_ms)
    ));
    lines.join("\n")
}
