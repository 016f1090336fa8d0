//! `manent preflight`: the reads that a run begins with, and the verdict; nothing is changed and nothing is recorded.
//! It must not judge: the engine does, with the same code as in a run.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use manent_engine::state::StepState;
use manent_engine::{Call, Engine, Event, RunState};
use manent_plan::{Plan, StepKind, TargetIx};
use manent_runtime::drive::Perform;
use tokio::task::JoinSet;

use crate::clean;
use crate::cli::Context;
use crate::clock::now;
use crate::compile;
use crate::console::Look;
use crate::execute;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::perform::performer;

/// Arguments of `preflight`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit code 6 when a run would be refused.

Examples:
  manent preflight shop/shop/prod
  manent preflight shop/shop/prod --json | jq .members")]
pub(crate) struct Args {
    /// `org/app/env`, or the path of an envconfig
    #[arg(value_name = "ENV")]
    environment: String,
    /// Descriptor; default: `descriptors/<app>.yml`
    #[arg(long, value_name = "FILE")]
    descriptor: Option<PathBuf>,
}

/// Reads and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Fault> {
    let project = context.project()?;
    let chosen = project.choose(&args.environment, args.descriptor.as_deref())?;
    let plan = Arc::new(compile::plan(context, &project, &chosen, None)?);
    compile::executable(&plan)?;
    let runtime = execute::tokio()?;
    let performer = performer(&project, &plan, None)?;
    let state = runtime.block_on(read(&plan, performer));
    let refused = refusal(&plan, &state);
    if context.console.json {
        context.console.value(&json(&plan, &state, refused.as_deref()))?;
    } else {
        context.console.data(&text(context, &plan, &state, refused.as_deref()))?;
    }
    Ok(if refused.is_some() { Exit::Refused } else { Exit::Done })
}

/// Lets the engine read until its first step with a question to the world has ended.
async fn read(plan: &Plan, performer: Arc<dyn Perform>) -> RunState {
    let mut engine = Engine::new(plan);
    let mut turn = engine.take(now(), Event::Started { adopted: BTreeSet::new(), force: false });
    let mut tasks: JoinSet<Event> = JoinSet::new();
    loop {
        if turn.outcome.is_some() || over(plan, engine.state()) {
            return engine.state().clone();
        }
        for (no, call) in turn.perform {
            // Preflight only reads; anything else would mean that it is over.
            if !matches!(call, Call::ReadPool { .. } | Call::Run { .. }) {
                return engine.state().clone();
            }
            let performer = Arc::clone(&performer);
            tasks.spawn(async move { Event::Answered { no, answer: performer.perform(no, call).await } });
        }
        let wake = turn.wake;
        let pause = std::time::Duration::from_millis(wake.map_or(1_000, |wake| wake.since(now())).max(1));
        turn = tokio::select! {
            Some(Ok(event)) = tasks.join_next() => engine.take(now(), event),
            () = tokio::time::sleep(pause) => engine.advance(now()),
        };
    }
}

fn preflight<'s>(plan: &Plan, state: &'s RunState) -> Option<&'s StepState> {
    let at = plan.steps.iter().position(|step| step.kind == StepKind::Preflight)?;
    state.steps.get(at)
}

fn over(plan: &Plan, state: &RunState) -> bool {
    !matches!(preflight(plan, state), None | Some(StepState::Waiting | StepState::Active))
}

fn refusal(plan: &Plan, state: &RunState) -> Option<String> {
    match preflight(plan, state) {
        Some(StepState::Failed { cause, .. }) => Some(clean::line(&cause.message)),
        Some(_) | None => None,
    }
}

fn release(state: &RunState, at: TargetIx) -> (Option<String>, bool) {
    match state.target(at).and_then(|target| target.before.clone()) {
        Some(release) => (release, true),
        None => (None, false),
    }
}

fn json(plan: &Plan, state: &RunState, refused: Option<&str>) -> serde_json::Value {
    let view = state.view.as_ref().map(|(_, view)| view);
    let instances: Vec<_> = view
        .iter()
        .flat_map(|view| &view.instances)
        .map(|one| {
            serde_json::json!({
                "name": one.name,
                "answers": one.failure.is_none(),
                "failure": one.failure.as_ref().map(|failure| &failure.reason),
                "identity": one.identity,
            })
        })
        .collect();
    let members: Vec<_> = (0_u32..)
        .map(TargetIx)
        .zip(&plan.targets)
        .map(|(at, target)| {
            let seen: Vec<_> = view
                .map(|view| view.instances.iter().zip(view.seen_everywhere(at)).collect())
                .unwrap_or_default();
            let seen: Vec<_> = seen
                .iter()
                .map(|(instance, seen)| {
                    serde_json::json!({
                        "instance": instance.name,
                        "admin": seen.admin,
                        "health": seen.health,
                        "connections": seen.connections,
                        "words": seen.words,
                    })
                })
                .collect();
            let (release, release_known) = release(state, at);
            serde_json::json!({
                "host": target.host,
                "port": target.port,
                "member": target.member,
                "release": release,
                "release_known": release_known,
                "in_service": view.filter(|view| view.complete()).map(|view| view.serves(at)),
                "seen": seen,
            })
        })
        .collect();
    serde_json::json!({
        "environment": plan.environment,
        "verdict": if refused.is_some() { "refused" } else { "ready" },
        "reason": refused,
        "floor": plan.pool.as_ref().map(|_| state.floor(plan)),
        "healthy": view.filter(|view| view.complete()).map(manent_engine::PoolView::healthy),
        "instances": instances,
        "members": members,
        "others": view.map(|view| &view.others),
    })
}

fn text(context: &Context, plan: &Plan, state: &RunState, refused: Option<&str>) -> String {
    let paint = context.console.paint();
    let mut lines = Vec::new();
    let verdict = match refused {
        None => paint.with(Look::Green, "ready"),
        Some(reason) => format!("{}: {reason}", paint.with(Look::Red, "a run would be refused")),
    };
    lines.push(format!("{}: {verdict}", clean::line(&plan.environment)));
    let view = state.view.as_ref().map(|(_, view)| view);
    match (&plan.pool, view) {
        (None, _) => lines.push(String::from("no pool: nothing is drained")),
        (Some(pool), None) => {
            lines.push(format!("the load balancer cannot be read through `{}`", pool.provider))
        }
        (Some(_), Some(view)) => {
            for instance in &view.instances {
                let answer = match &instance.failure {
                    None => String::from("answers"),
                    Some(failure) => paint.with(Look::Red, &failure.reason),
                };
                lines.push(format!("  {}  {answer}", clean::line(&instance.name)));
            }
            if view.complete() {
                lines.push(format!(
                    "{} of {} members are healthy and in service, the floor is {}",
                    view.healthy(),
                    view.total,
                    state.floor(plan)
                ));
            }
        }
    }
    lines.push(String::from("targets"));
    for (at, target) in (0_u32..).map(TargetIx).zip(&plan.targets) {
        let release = match release(state, at) {
            (Some(release), _) => clean::line(&release),
            (None, true) => String::from("(no release)"),
            (None, false) => String::from("(not known)"),
        };
        let seen = view.map(|view| {
            let each = view.instances.iter().zip(view.seen_everywhere(at));
            each.map(|(one, seen)| format!("{} on {}", seen.words, one.name)).collect::<Vec<_>>().join(", ")
        });
        lines.push(
            format!("  {:<28} {release:<16} {}", named(target), clean::line(&seen.unwrap_or_default()))
                .trim_end()
                .to_owned(),
        );
    }
    if let Some(view) = view.filter(|view| !view.others.is_empty()) {
        lines.push(String::from("other members that are not plainly in service"));
        for (name, seen) in &view.others {
            let words: Vec<&str> = seen.iter().map(|seen| seen.words.as_str()).collect();
            lines.push(format!("  {}  {}", clean::line(name), clean::line(&words.join(", "))));
        }
    }
    lines.join("\n")
}

/// A target, with its member's name where that is another.
fn named(target: &manent_plan::Target) -> String {
    let name = target.name();
    if name == target.member || target.host == target.member {
        return clean::line(&name);
    }
    clean::line(&format!("{name} ({})", target.member))
}
