//! `manent completions`: a completion script for a shell.
//! It must not know the verbs; clap does.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::{Cli, Context};
use crate::exit::Exit;
use crate::fault::Fault;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  manent completions bash > ~/.local/share/bash-completion/completions/manent
  manent completions zsh > ~/.zfunc/_manent
  manent completions fish > ~/.config/fish/completions/manent.fish")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "manent", &mut script);
    let script = String::from_utf8_lossy(&script);
    if context.console.json {
        let shell = args.shell.to_string();
        context.console.value(&serde_json::json!({ "shell": shell, "script": script }))?;
    } else {
        context.console.script(&script)?;
    }
    Ok(Exit::Done)
}
