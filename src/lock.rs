//! The lock of an environment: who holds it, and waiting for it.
//! It must not know what the holder does.

use std::path::Path;

use manent_grammar::Duration;
use manent_runtime::journal::{NewRun, RunId};
pub(crate) use manent_runtime::lock::Lock;
use manent_runtime::lock::{Holding, LockError, Owner, look};

use crate::clean;
use crate::clock::{self, stamp};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::project::Project;
use crate::runs::{machine, person};

/// A look at a lock holds it for a moment, so a refusal is not believed at once.
const GLANCE_MS: u64 = 300;

/// How long to wait for the lock.
#[derive(Debug, clap::Args)]
pub(crate) struct LockWait {
    /// Wait so long for another run of the environment to end
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    lock_wait: Option<Duration>,
}

impl LockWait {
    /// Whether to wait at all.
    pub(crate) fn waits(&self) -> bool {
        self.lock_wait.is_some_and(|wait| wait.millis() > 0)
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    Duration::parse(text).map_err(|error| error.to_string())
}

/// Takes the lock of an environment for a run.
///
/// # Errors
/// Exit code 7 with the owner, when it is still held after the wait.
pub(crate) fn take(
    project: &Project,
    environment: &str,
    run: &RunId,
    wait: &LockWait,
) -> Result<Lock, Fault> {
    let owner = Owner {
        run: run.to_string(),
        by: person(),
        host: machine(),
        pid: std::process::id(),
        since: clock::now(),
    };
    let wait = wait.lock_wait.map_or(0, Duration::millis).max(GLANCE_MS);
    Lock::take(&project.state, environment, &owner, std::time::Duration::from_millis(wait))
        .map_err(|error| refusal(environment, &error))
}

/// Whether a process is at work on a run.
///
/// # Errors
/// The lock cannot be looked at; then nobody knows.
pub(crate) fn is_alive(state: &Path, environment: &str, run: &RunId) -> Result<bool, Fault> {
    match look(state, environment).map_err(|error| refusal(environment, &error))? {
        Holding::Free | Holding::Stale(_) => Ok(false),
        Holding::Held(Some(owner)) => Ok(owner.run == run.as_str()),
        // Somebody holds it and has not written a name yet: that can be a run taken up again.
        Holding::Held(None) => Ok(true),
    }
}

/// The run that died with the lock of an environment in its hand.
///
/// # Errors
/// As [`is_alive`].
pub(crate) fn stale(state: &Path, environment: &str) -> Result<Option<String>, Fault> {
    match look(state, environment).map_err(|error| refusal(environment, &error))? {
        Holding::Stale(owner) => Ok(Some(owner.run)),
        Holding::Free | Holding::Held(_) => Ok(None),
    }
}

fn refusal(environment: &str, error: &LockError) -> Fault {
    match error {
        LockError::Held(owner) => {
            let Some(owner) = owner else {
                return Fault::new(
                    Exit::Locked,
                    format!("{environment} is held by a run that has just begun"),
                )
                .help("`manent status` shows it; `--lock-wait 10m` waits for it to end");
            };
            held(environment, owner)
        }
        LockError::Private(_) | LockError::Failed { .. } => Fault::error(error.to_string())
            .help("mend owner and mode of the state directory, or name another one with `--state DIR`"),
    }
}

/// Somebody else holds the environment.
fn held(environment: &str, owner: &Owner) -> Fault {
    Fault::new(
        Exit::Locked,
        format!(
            "{environment} is held by run {} of {} on {} (process {}), since {}",
            clean::line(&owner.run),
            clean::line(&owner.by),
            clean::line(&owner.host),
            owner.pid,
            stamp(owner.since)
        ),
    )
    .help(format!(
        "`manent status {}` shows it; `--lock-wait 10m` waits for it to end",
        clean::line(&owner.run)
    ))
}

/// A run that is at work is in the way.
pub(crate) fn in_the_way(state: &Path, head: &NewRun) -> Fault {
    if let Ok(Holding::Held(Some(owner))) = look(state, &head.environment) {
        return held(&head.environment, &owner);
    }
    Fault::new(Exit::Locked, format!("{} is held by run {}", head.environment, head.id))
        .help(format!("`manent status {}` shows it; `--lock-wait 10m` waits for it to end", head.id))
}
