//! The command line of manent: reads arguments, calls the verb, prints what ended it, exits with its code.
//! It decides nothing about runs; the engine does.

mod clean;
mod cli;
mod clock;
mod compile;
mod console;
mod demo;
mod dry_run;
mod execute;
mod exit;
mod fault;
mod left_out;
mod live;
mod lock;
mod perform;
mod project;
mod report;
mod runs;
mod saved;
mod signals;
mod sources;
mod verbs;
mod words;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let context = cli::Context::new(&cli.global);
    let exit = match verbs::run(&cli.verb, &context) {
        Ok(exit) => exit,
        Err(fault) => {
            context.console.fault(&fault);
            fault.exit
        }
    };
    ExitCode::from(exit.code())
}
