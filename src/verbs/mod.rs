//! The verbs: one file each, and which one is meant.
//! This file must not do any work.

pub(crate) mod completions;
pub(crate) mod explain;
pub(crate) mod init;
pub(crate) mod lint;
pub(crate) mod show;

use crate::cli::{Context, Verb};
use crate::exit::Exit;
use crate::fault::Fault;

/// Runs a verb to its end.
pub(crate) fn run(verb: &Verb, context: &Context) -> Result<Exit, Fault> {
    match verb {
        Verb::Demo(args) => crate::demo::run(args, context),
        Verb::DemoApp(args) => crate::demo::app::run(args),
        Verb::DemoService(args) => crate::demo::service::run(args),
        Verb::Init(args) => init::run(args, context),
        Verb::Lint(args) => lint::run(args, context),
        Verb::Show(args) => show::run(args, context),
        Verb::Explain(args) => explain::run(args, context),
        Verb::Completions(args) => completions::run(args, context),
    }
}
