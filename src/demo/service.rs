//! `manent demo-service`: what `systemctl` is on a real host, for the recipe of `examples/demo` to call. It asks the
//! demo's supervisor and passes on what it said; it must not start or stop anything itself.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::exit::Exit;
use crate::fault::Fault;

/// File in the tree with the supervisor's address.
pub(super) const CONTROL: &str = "control";

const EXAMPLES: &str = "\
Used by `manent demo`:
  manent demo-service restart TREE 18081";

/// What `manent demo-service` is given.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to do
    #[arg(value_enum)]
    order: Order,
    /// The demo's folder
    tree: PathBuf,
    /// Port of the server
    port: u16,
}

/// What can be done to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Order {
    /// Kill it, whatever it is doing, and start the release that the link names
    Restart,
}

/// Asks, and waits until it is done.
///
/// # Errors
/// No demo runs there, or it refused.
pub(crate) fn run(args: &Args) -> Result<Exit, Fault> {
    let order = match args.order {
        Order::Restart => "restart",
    };
    let answer = ask(&args.tree, &format!("{order} {}", args.port)).map_err(|error| {
        Fault::error(format!("no demo runs in `{}`", args.tree.display()))
            .because(&error)
            .help("start one with `manent demo`; its servers end with it")
    })?;
    match answer.trim() {
        "done" => Ok(Exit::Done),
        words => Err(Fault::error(format!("the server on port {} was not restarted: {words}", args.port))),
    }
}

fn ask(tree: &Path, line: &str) -> std::io::Result<String> {
    let address = std::fs::read_to_string(tree.join(CONTROL))?;
    let mut stream = TcpStream::connect(address.trim())?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(format!("{line}\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(answer)
}
