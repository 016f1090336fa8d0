//! `manent show`: the resolved configuration of an environment, with where each value came from.
//! It must not decide what a value means.

use std::path::PathBuf;

use crate::cli::Context;
use crate::compile;
use crate::console::Look;
use crate::exit::Exit;
use crate::fault::Fault;

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Secrets stand there by name and reference; no value is read.

Examples:
  manent show shop/shop/prod
  manent show envconfig/shop/shop/prod.yml --descriptor descriptors/shop.yml
  manent show shop/shop/prod --json | jq '.values[] | select(.from != \"default\")'")]
pub(crate) struct Args {
    /// `org/app/env`, or the path of an envconfig
    #[arg(value_name = "ENV")]
    environment: String,
    /// Descriptor; default: `descriptors/<app>.yml`
    #[arg(long, value_name = "FILE")]
    descriptor: Option<PathBuf>,
}

/// Prints it.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Fault> {
    let project = context.project()?;
    let chosen = project.choose(&args.environment, args.descriptor.as_deref())?;
    let compiled = compile::compiled(&project, &chosen, None, true)?;
    let Some(resolved) = compiled.resolved.as_ref().filter(|_| !compiled.has_errors()) else {
        return Err(compile::refused(context, &compiled.files, &compiled.diagnostics));
    };
    if context.console.json {
        context.console.value(resolved)?;
        return Ok(Exit::Done);
    }
    let lines: Vec<(String, &str)> =
        resolved.values.iter().map(|value| (line(&value.key, &value.value), value.from.as_str())).collect();
    let widest = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or_default().min(60);
    let paint = context.console.paint();
    let text: String = lines
        .iter()
        .map(|(line, from)| format!("{line:<widest$}  {}\n", paint.with(Look::Dim, format!("# {from}"))))
        .collect();
    context.console.data(&text)?;
    Ok(Exit::Done)
}

/// One entry of a YAML mapping, on one line: the emitter quotes rightly, and JSON is YAML where it would break lines.
fn line(key: &str, value: &str) -> String {
    let entry = std::collections::BTreeMap::from([(key, value)]);
    match serde_yaml::to_string(&entry) {
        Ok(text) if text.trim_end().lines().count() == 1 => text.trim_end().to_owned(),
        Ok(_) | Err(_) => format!("{key}: {}", serde_json::Value::from(value)),
    }
}
