//! `manent doctor`: what dead or stopped runs left behind, each with the command that mends it.
//! It must not mend anything itself, and it reads journals and locks alone.

use manent_engine::Outcome;
use serde::Serialize;

use crate::cli::Context;
use crate::console::Look;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::left_out::left_out;
use crate::runs::{Loaded, Runs};
use crate::words::{count, list};

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What load balancers show now is read by `manent preflight ENV`.

Examples:
  manent doctor shop/shop/prod")]
pub(crate) struct Args {
    /// `org/app/env`, or the path of an envconfig
    #[arg(value_name = "ENV")]
    environment: String,
}

/// Something that was left behind.
#[derive(Debug, Serialize)]
struct Finding {
    kind: &'static str,
    run: Option<String>,
    members: Vec<String>,
    message: String,
    commands: Vec<String>,
}

/// Looks and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Fault> {
    let project = context.project()?;
    let name = Runs::environment(&project, &args.environment)?;
    let runs = Runs::open(&project)?;
    let findings = examine(&runs, &name)?;
    if context.console.json {
        context.console.value(&serde_json::json!({ "environment": name, "findings": findings }))?;
        return Ok(Exit::Done);
    }
    if findings.is_empty() {
        context.console.data(&format!("{name}: no run left anything behind"))?;
        return Ok(Exit::Done);
    }
    let paint = context.console.paint();
    let suffix = context.suffix();
    let mut text = String::new();
    for finding in &findings {
        text.push_str(&format!("{}\n", paint.with(Look::Yellow, &finding.message)));
        for command in &finding.commands {
            text.push_str(&format!("  {}\n", paint.with(Look::Cyan, format!("{command}{suffix}"))));
        }
    }
    context.console.data(&text)?;
    Ok(Exit::Done)
}

fn examine(runs: &Runs, environment: &str) -> Result<Vec<Finding>, Fault> {
    let mut findings = Vec::new();
    let left = left_out(runs, environment)?;
    for head in runs.of(environment)? {
        let loaded = runs.load(&head.id)?;
        let members: Vec<String> = left
            .values()
            .filter(|left| left.run == head.id.as_str())
            .map(|left| left.member.clone())
            .collect();
        match loaded.state.outcome() {
            None if !loaded.alive => findings.push(dead(&loaded, members)),
            Some(Outcome::Stopped { .. }) if loaded.overtaken.is_none() => {
                findings.push(stopped(&loaded, members));
            }
            Some(_) if !members.is_empty() => findings.push(ended(&loaded, members)),
            None | Some(_) => {}
        }
    }
    if let Some(run) = runs.stale_lock(environment)? {
        let known = findings.iter().any(|finding| finding.run.as_deref() == Some(run.as_str()));
        if !known {
            findings.push(Finding {
                kind: "stale_lock",
                message: format!(
                    "run {run} died with the lock in its hand; the next run takes it over by itself"
                ),
                run: Some(run),
                members: Vec::new(),
                commands: Vec::new(),
            });
        }
    }
    Ok(findings)
}

fn dead(loaded: &Loaded, members: Vec<String>) -> Finding {
    let id = &loaded.head.id;
    let out = match members.len() {
        0 => String::from("no member is out"),
        number => format!("{} out: {}", count(number, "member"), list(&members)),
    };
    Finding {
        kind: "dead_run",
        run: Some(id.to_string()),
        members,
        message: format!("run {id} has not ended and no process is at work on it; {out}"),
        commands: vec![format!("manent resume {id}"), format!("manent cancel {id} --rollback")],
    }
}

fn stopped(loaded: &Loaded, members: Vec<String>) -> Finding {
    let id = &loaded.head.id;
    let (kind, message) = match members.len() {
        0 => {
            ("stopped_run", format!("run {id} stopped; no member is out, targets may run different releases"))
        }
        out => {
            ("members_out", format!("run {id} stopped with {} out: {}", count(out, "member"), list(&members)))
        }
    };
    let back = format!("manent cancel {id} --rollback");
    let resume = loaded.report().next.into_iter().find(|command| command.starts_with("manent resume"));
    Finding {
        kind,
        run: Some(id.to_string()),
        members,
        message,
        commands: resume.into_iter().chain([back]).collect(),
    }
}

/// A run that cannot be gone on with has members out: the next one takes them over.
fn ended(loaded: &Loaded, members: Vec<String>) -> Finding {
    let (id, environment) = (&loaded.head.id, &loaded.head.environment);
    Finding {
        kind: "members_out",
        run: Some(id.to_string()),
        message: format!("run {id} ended with {} out: {}", count(members.len(), "member"), list(&members)),
        members,
        commands: vec![format!("manent apply {environment} --release R")],
    }
}
