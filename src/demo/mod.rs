//! `manent demo`: a release on this machine that anybody can watch, with nothing installed. Small servers, a small load
//! balancer and steady requests are the demo's own; the release is the real program on the real tree of `examples/demo`.

pub(crate) mod app;
mod balancer;
mod client;
mod load;
mod play;
mod run;
mod scene;
pub(crate) mod service;
mod summary;
mod supervisor;
mod tree;
mod view;

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use crate::cli::Context;
use crate::exit::Exit;
use crate::fault::Fault;
use tree::Tree;

const EXAMPLES: &str = "\
Examples:
  manent demo             release shop 2.0.0 on four servers, one after another, and count what fails: nothing
  manent demo --no-drain  the same restarts without draining: requests are cut
  manent demo --break     release 2.1.0, which never gets well on one server: everything returns to 1.0.0
  manent demo --crash     kill manent while a server drains, then resume
  manent demo --keep      leave the tree to look at: manent status --root DIR

Exit codes: 0 when no request failed and the run ended as it should, 1 otherwise (so `--no-drain` ends with 1).";

/// What `manent demo` is given.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Restart without draining, and see what that cuts
    #[arg(long, group = "tale")]
    no_drain: bool,
    /// Release a version that fails its test, and see the way back
    #[arg(long = "break", group = "tale")]
    broken: bool,
    /// Kill manent while a server drains, and resume the run
    #[arg(long, group = "tale")]
    crash: bool,
    /// Requests a second
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=400))]
    rate: u32,
    /// Leave the tree, with the journal of the run, where it is
    #[arg(long)]
    keep: bool,
}

/// What is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tale {
    /// A release that goes well.
    Plain,
    /// The same without draining.
    Undrained,
    /// A release that fails its test.
    Broken,
    /// A release whose runtime is killed.
    Crash,
}

impl Args {
    fn tale(&self) -> Tale {
        match (self.no_drain, self.broken, self.crash) {
            (true, _, _) => Tale::Undrained,
            (_, true, _) => Tale::Broken,
            (_, _, true) => Tale::Crash,
            (false, false, false) => Tale::Plain,
        }
    }
}

impl Tale {
    fn environment(self) -> &'static str {
        match self {
            Tale::Undrained => "demo/shop/undrained",
            Tale::Plain | Tale::Broken | Tale::Crash => "demo/shop/loopback",
        }
    }

    fn release(self) -> &'static str {
        match self {
            Tale::Broken => "2.1.0",
            Tale::Plain | Tale::Undrained | Tale::Crash => "2.0.0",
        }
    }

    /// The state that the run should end in.
    fn right_end(self) -> &'static str {
        match self {
            Tale::Broken => "rolled_back",
            Tale::Plain | Tale::Undrained | Tale::Crash => "succeeded",
        }
    }
}

/// Plays the demo to its end, or until a signal; whatever it has started is gone afterwards.
///
/// # Errors
/// Something cannot be started, or the run never began.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Fault> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Fault::error("cannot start the demo").because(&error))?;
    let exit = runtime.block_on(play_until_signal(args, context));
    // Servers end with the tasks that hold them.
    runtime.shutdown_timeout(Duration::from_secs(2));
    exit
}

async fn play_until_signal(args: &Args, context: &Context) -> Result<Exit, Fault> {
    let failed = |error: std::io::Error| Fault::error("cannot prepare the demo").because(&error);
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
    let program = std::env::current_exe().map_err(failed)?;
    // Outlives the play, so that nothing writes to it any more when it is removed.
    let (tree, listeners) = Tree::create(&program, args.keep).await.map_err(failed)?;
    let exit = tokio::select! {
        exit = play::play(args, context, &program, &tree, listeners) => exit,
        _ = interrupt.recv() => Ok(Exit::Interrupted),
        _ = terminate.recv() => Ok(Exit::Interrupted),
        _ = hangup.recv() => Ok(Exit::Interrupted),
    };
    if matches!(exit, Ok(Exit::Interrupted)) {
        context.console.talk("interrupted: the demo's servers and its run are ended");
    }
    if args.keep {
        context.console.talk(&format!("the tree is kept: {}", tree.root().display()));
    }
    exit
}
