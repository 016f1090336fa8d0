//! The run that the demo shows: the same program, started as anybody would start it. It must not know more of the run than
//! `manent status` tells.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use serde::Deserialize;
use tokio::process::{Child, Command};

/// File in the tree with what the commands printed.
const LOG: &str = "run.log";
/// Folder in the tree for temporary files of the commands.
pub(super) const SCRATCH: &str = ".tmp";

/// Where the program is, and what it is to do.
#[derive(Debug, Clone)]
pub(super) struct Runner {
    /// The program.
    pub(super) program: PathBuf,
    /// The project tree.
    pub(super) root: PathBuf,
    /// `org/app/env`.
    pub(super) environment: &'static str,
    /// The release.
    pub(super) release: &'static str,
}

/// What `manent status --json` says, as far as the demo shows it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Status {
    /// The run's id.
    pub(super) run: String,
    /// Its state.
    pub(super) state: String,
    /// Why it turned back, stopped or was refused.
    cause: Option<String>,
    passes: Vec<Pass>,
    steps: Vec<Step>,
    waiting: Option<Waiting>,
    blocked: Option<Blocked>,
}

#[derive(Debug, Clone, Deserialize)]
struct Pass {
    batches: Vec<Batch>,
    gates: Vec<Step>,
}

#[derive(Debug, Clone, Deserialize)]
struct Batch {
    steps: Vec<Step>,
}

#[derive(Debug, Clone, Deserialize)]
struct Step {
    id: String,
    state: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Waiting {
    what: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Blocked {
    reason: String,
}

impl Status {
    /// The step in hand.
    pub(super) fn step(&self) -> Option<&str> {
        let passes = self.passes.iter();
        let inner =
            passes.flat_map(|pass| pass.batches.iter().flat_map(|batch| &batch.steps).chain(&pass.gates));
        self.steps.iter().chain(inner).find(|step| step.state == "active").map(|step| step.id.as_str())
    }

    /// What it waits for, or why it turned back.
    pub(super) fn why(&self) -> Option<&str> {
        let blocked = self.blocked.as_ref().map(|blocked| blocked.reason.as_str());
        let waiting = self.waiting.as_ref().map(|waiting| waiting.what.as_str());
        blocked.or(waiting).or(self.cause.as_deref())
    }

    /// Whether nothing more will happen to it.
    pub(super) fn is_over(&self) -> bool {
        ["succeeded", "rolled_back", "stopped", "failed"].contains(&self.state.as_str())
    }
}

impl Runner {
    /// `manent apply` as anybody would type it in the tree.
    pub(super) fn shown(&self) -> String {
        format!("manent {}", self.apply_words().join(" "))
    }

    fn apply_words(&self) -> [&'static str; 5] {
        ["apply", self.environment, "--release", self.release, "--yes"]
    }

    /// Starts `manent apply`.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn apply(&self) -> io::Result<Child> {
        self.start(&self.apply_words())
    }

    /// Starts `manent resume`.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn resume(&self, run: &str) -> io::Result<Child> {
        self.start(&["resume", run])
    }

    /// Asks `manent status`; `None` while there is no run, and when the answer cannot be read.
    pub(super) async fn status(&self) -> Option<Status> {
        let output = self.command(&["status", "--json"]).stderr(Stdio::null()).output().await.ok()?;
        serde_json::from_slice(&output.stdout).ok()
    }

    /// The last lines that the commands printed.
    pub(super) fn tail(&self) -> String {
        let text = std::fs::read_to_string(self.root.join(LOG)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(12)..).unwrap_or_default().join("\n")
    }

    fn start(&self, args: &[&str]) -> io::Result<Child> {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.root.join(LOG))?;
        // A process group of its own: Ctrl-C is for the demo, which then ends what it has started.
        self.command(args).stdout(log.try_clone()?).stderr(log).process_group(0).spawn()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).arg("--root").arg(&self.root).stdin(Stdio::null()).kill_on_drop(true);
        // Nothing is left in anybody's home or temporary folder, not even by a run that is killed: the servers' records of
        // commands lie in the demo's folder, and so does what the program needs while it runs.
        command.env("XDG_STATE_HOME", self.root.join("servers").join(".state"));
        command.env("TMPDIR", self.root.join(SCRATCH)).env("NO_COLOR", "1").current_dir(&self.root);
        command
    }
}

/// Whether it was killed by a signal, for `--crash`.
pub(super) fn was_killed(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal().is_some()
}
