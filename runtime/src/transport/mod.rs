//! Commands and files on targets: over ssh or on this machine, exactly once where a key is given.
//! It must not know what a command is for, and never turns a value into shell text but through `quote`.

mod all;
mod env;
mod ledger;
mod local;
mod output;
mod posix;
mod quote;
mod read_only;
mod ssh;
mod upload;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;

pub use all::Transports;
pub use local::Local;
pub use output::shown;
pub use quote::{HasNul, quote};

/// How much of a stream is kept: its tail.
pub const KEPT: usize = 64 * 1024;

/// What to execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exec {
    /// `<run>/<call>.<action>`: under one key a command is executed at most once on a target.
    pub key: Option<String>,
    /// The command.
    pub command: Command,
    /// How long it may take; then it is ended.
    pub deadline: Duration,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A program and its arguments.
    Argv(Vec<String>),
    /// A text for `sh`, never changed; values reach it as environment variables.
    Script {
        /// The text.
        text: String,
        /// The variables.
        env: BTreeMap<String, String>,
    },
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executed {
    /// It ended by itself.
    Exited {
        /// Its exit code; 128 and more for a signal.
        code: i32,
        /// The tail of what it printed.
        stdout: String,
        /// The tail of what it said about that.
        stderr: String,
    },
    /// Certainly nothing was begun.
    NotStarted {
        /// In words.
        reason: String,
    },
    /// It may run, or may have run.
    Lost {
        /// In words.
        reason: String,
    },
    /// Its time was over and it was ended.
    TimedOut {
        /// The tail of what it printed.
        stdout: String,
        /// The tail of what it said about that.
        stderr: String,
    },
}

/// What the ledger of a target says of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerEntry {
    /// Nothing was ever begun under it.
    Absent,
    /// It is running.
    Running,
    /// It ended: `Exited` or `TimedOut`.
    Ended(Executed),
    /// It was begun and is gone without a result.
    Died,
    /// The target could not be asked.
    Unreachable {
        /// In words.
        reason: String,
    },
}

/// A way to one target.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Executes a command; with a key at most once, however often it is asked for. Asked again it waits for the first
    /// one and gives its result.
    async fn exec(&self, exec: &Exec) -> Executed;

    /// Executes a command that changes nothing and may be repeated; the key does not count.
    async fn read_only(&self, exec: &Exec) -> Executed;

    /// Looks what became of a key.
    async fn probe(&self, key: &str) -> LedgerEntry;

    /// Brings a file to its place; nothing is sent when it is there already. `sha256` is what the file must be, in hex.
    async fn upload(&self, from: &Path, to: &str, sha256: Option<&str>, deadline: Duration) -> Executed;
}

impl Executed {
    fn not_started(reason: impl Into<String>) -> Executed {
        Executed::NotStarted { reason: reason.into() }
    }

    fn lost(reason: impl Into<String>) -> Executed {
        Executed::Lost { reason: reason.into() }
    }
}

impl Command {
    /// The words of the command, checked.
    fn words(&self) -> Result<Vec<String>, String> {
        match self {
            Command::Argv(words) => match words.first() {
                Some(first) if first.is_empty() || first.starts_with('-') => {
                    Err(format!("`{}` cannot be the name of a program", shown(first, 80)))
                }
                Some(_) => Ok(words.clone()),
                None => Err(String::from("the command is empty")),
            },
            Command::Script { text, env } => {
                let mut words = Vec::with_capacity(env.len() + 4);
                if !env.is_empty() {
                    words.push(String::from("env"));
                }
                for (name, value) in env {
                    if !env::is_name(name) {
                        return Err(format!("`{}` cannot be the name of a variable", shown(name, 80)));
                    }
                    words.push(format!("{name}={value}"));
                }
                words.extend([String::from("sh"), String::from("-c"), text.clone()]);
                Ok(words)
            }
        }
    }
}

#[cfg(test)]
mod suite;
