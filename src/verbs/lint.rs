//! `manent lint`: everything that is wrong with documents, as text or JSON. It opens no connection and no secret.
//! It must not stop at the first environment.

use std::collections::BTreeSet;
use std::path::PathBuf;

use manent_compiler::{
    Diagnostic, Environment, Files, JsonFinding, Look, environments_of, findings_to_json, render,
};

use crate::cli::Context;
use crate::compile;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::project::{Chosen, Project};
use crate::words::count;

/// Arguments of `lint`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A changed descriptor is checked with every environment that uses it.
Exit code 2 when an error is found, 0 otherwise.

Examples:
  manent lint                                  the whole tree
  manent lint descriptors/shop.yml             what a commit changed (pre-commit passes names like this)
  manent lint --format json | jq '.[].code'    for other tools")]
pub(crate) struct Args {
    /// Files to check; default: all of the tree
    files: Vec<PathBuf>,
    /// How to print
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Findings of all environments, each once.
#[derive(Default)]
struct Found {
    seen: BTreeSet<String>,
    json: Vec<JsonFinding>,
    text: String,
}

/// Checks and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Fault> {
    let project = context.project()?;
    let environments = wanted(args, context, &project)?;
    let look =
        Look { width: context.console.width().min(120), colour: context.console.paint().0, unicode: true };
    let mut found = Found::default();
    for environment in &environments {
        let chosen = Chosen { environment: environment.clone(), descriptor: None };
        let compiled = compile::compiled(&project, &chosen, None, false)?;
        found.take(&compiled.files, &compiled.diagnostics, look);
    }
    if context.console.json || args.format == Format::Json {
        context.console.value(&found.json)?;
    } else if !found.json.is_empty() {
        context.console.data(&found.text)?;
        context.console.talk(&compile::json_summary(&found.json));
    } else {
        context.console.talk(&format!("no findings in {}", count(environments.len(), "environment")));
    }
    let wrong = found.json.iter().any(|finding| finding.severity == "error");
    Ok(if wrong { Exit::Input } else { Exit::Done })
}

impl Found {
    /// A descriptor used by several environments has the same findings in each; they are told once.
    fn take(&mut self, files: &Files, findings: &[Diagnostic], look: Look) {
        for (finding, json) in findings.iter().zip(findings_to_json(files, findings)) {
            let key = format!(
                "{}\u{0}{:?}\u{0}{:?}\u{0}{:?}\u{0}{}",
                json.code, json.path, json.line, json.column, json.message
            );
            if self.seen.insert(key) {
                self.text.push_str(&render(files, finding, look));
                self.text.push('\n');
                self.json.push(json);
            }
        }
    }
}

/// The environments that named files concern; all without names.
fn wanted(args: &Args, context: &Context, project: &Project) -> Result<Vec<Environment>, Fault> {
    if args.files.is_empty() {
        let all = project.environments()?;
        if all.is_empty() {
            context.console.talk("no environments under `envconfig/`");
        }
        return Ok(all);
    }
    let sources = project.sources();
    let mut wanted = BTreeSet::new();
    for file in &args.files {
        let Some(path) = project.existing(file) else {
            return Err(Fault::input(format!("no file `{}`", file.display())).help("name files of the tree"));
        };
        let concerned = environments_of(&sources, &path)
            .map_err(|error| Fault::error("the folder `envconfig` cannot be listed").because(&error))?;
        if concerned.is_empty() {
            context.console.talk(&format!("`{path}` concerns no environment, skipped"));
        }
        wanted.extend(concerned);
    }
    Ok(wanted.into_iter().collect())
}
