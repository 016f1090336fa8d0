//! The verbs: one file each, and which one is meant.
//! This file must not do any work.

pub(crate) mod apply;
pub(crate) mod completions;
pub(crate) mod control;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod history;
pub(crate) mod init;
pub(crate) mod lint;
pub(crate) mod plan;
pub(crate) mod preflight;
pub(crate) mod resume;
pub(crate) mod rollback;
pub(crate) mod show;
pub(crate) mod status;

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
        Verb::Plan(args) => plan::run(args, context),
        Verb::Preflight(args) => preflight::run(args, context),
        Verb::Apply(args) => apply::run(args, context),
        Verb::Status(args) => status::run(args, context),
        Verb::Resume(args) => resume::run(args, context),
        Verb::Pause(args) => control::pause(args, context),
        Verb::Continue(args) => control::resume(args, context),
        Verb::Cancel(args) => control::cancel(args, context),
        Verb::Approve(args) => control::approve(args, context),
        Verb::Rollback(args) => rollback::run(args, context),
        Verb::History(args) => history::run(args, context),
        Verb::Doctor(args) => doctor::run(args, context),
        Verb::Explain(args) => explain::run(args, context),
        Verb::Completions(args) => completions::run(args, context),
    }
}
