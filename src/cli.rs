//! What can be typed: the global options, the verbs, and what every verb is given.
//! It must not do any work; each verb's own arguments stand in its file.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};

use crate::console::{Colour, Console};
use crate::fault::Fault;
use crate::project::Project;
use crate::verbs;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

const EXAMPLES: &str = "\
Start here:
  manent demo                                     watch a release without a lost request
  manent init && manent plan example/hello/local  begin a project tree
  manent plan shop/shop/prod --release 2.4.1      read what would happen
  manent apply shop/shop/prod --release 2.4.1     do it
  manent status                                   what is true now, and what you can do

Exit codes: 0 done, 1 error, 2 wrong input, 3 failed and rolled back, 4 stopped with members out
or releases mixed, 5 plan stale, 6 preflight refused, 7 lock held, 130 interrupted, resumable.";

/// Releases software on servers behind a load balancer without cutting a request.
#[derive(Debug, Parser)]
#[command(name = "manent", version, styles = STYLES, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Options that stand after any verb.
#[derive(Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Global {
    /// Project tree; default: the nearest parent that has `envconfig/`
    #[arg(long, global = true, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Where runs are kept; default: `.manent` in the project tree
    #[arg(long, global = true, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Print one JSON value to standard output
    #[arg(long, global = true)]
    json: bool,
    /// When to colour
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Colour::Auto)]
    color: Colour,
}

/// What manent can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Show a release on loopback: real compile, real apply, steady requests, none lost
    Demo(crate::demo::Args),
    /// Application server of the demo
    #[command(hide = true)]
    DemoApp(crate::demo::app::Args),
    /// Restarts application servers of the demo
    #[command(hide = true)]
    DemoService(crate::demo::service::Args),
    /// Write a small project tree to begin with
    Init(verbs::init::Args),
    /// Check documents; never opens a connection or a secret
    Lint(verbs::lint::Args),
    /// Show the resolved configuration of an environment, with where each value came from
    Show(verbs::show::Args),
    /// Show what would happen, step by step, with the way back
    Plan(verbs::plan::Args),
    /// Read load balancers and targets as the first step of a run does; changes nothing
    Preflight(verbs::preflight::Args),
    /// Bring a release to an environment
    Apply(verbs::apply::Args),
    /// Say what is true of a run, what it waits for, and what you can do
    Status(verbs::status::Args),
    /// Take a run up again after a crash, a stop or an interrupt
    Resume(verbs::resume::Args),
    /// Begin no new call until `continue`
    Pause(verbs::control::Pause),
    /// End a pause
    Continue(verbs::control::Continue),
    /// Stop a run now, or turn it back
    Cancel(verbs::control::Cancel),
    /// Open a gate that a run waits at
    Approve(verbs::control::Approve),
    /// Return an environment to an earlier release, by a plan of its own
    Rollback(verbs::rollback::Args),
    /// List the runs of an environment
    History(verbs::history::Args),
    /// Find members left out by dead runs and stale locks, with what mends each
    Doctor(verbs::doctor::Args),
    /// Explain a diagnostic
    Explain(verbs::explain::Args),
    /// Print a completion script for a shell
    Completions(verbs::completions::Args),
}

/// What every verb is given.
#[derive(Debug)]
pub(crate) struct Context {
    /// Where to print.
    pub(crate) console: Console,
    /// `--root` as given.
    pub(crate) root: Option<PathBuf>,
    state: Option<PathBuf>,
}

impl Context {
    /// From the global options.
    pub(crate) fn new(global: &Global) -> Context {
        Context {
            console: Console::new(global.json, global.color),
            root: global.root.clone(),
            state: global.state.clone(),
        }
    }

    /// What has to stand behind a command that is shown, so that it finds this tree from the same directory.
    pub(crate) fn suffix(&self) -> String {
        let option = |name: &str, value: &Option<PathBuf>| match value {
            Some(path) => format!(" {name} {}", path.display()),
            None => String::new(),
        };
        option("--root", &self.root) + &option("--state", &self.state)
    }

    /// The project tree.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn project(&self) -> Result<Project, Fault> {
        Project::find(self.root.as_deref(), self.state.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_has_examples() {
        for verb in Cli::command().get_subcommands() {
            let examples = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(examples.contains(&format!("manent {}", verb.get_name())), "{}", verb.get_name());
        }
    }
}
