//! What every transport does alike, over anything that can start a POSIX shell: the ledger, reads, uploads.
//! It must not know how the shell is reached.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::{Exec, Executed, LedgerEntry, Transport, ledger, read_only, upload};

/// Longest text that is sent: beyond it a system may refuse to start the command.
const LONGEST: usize = 120 * 1024;

/// Starts shells.
#[async_trait]
pub(super) trait Shell: Send + Sync {
    /// Starts one command line, which is a constant.
    ///
    /// # Errors
    /// In words, when it certainly was not started.
    async fn start(&self, line: &'static str) -> Result<Session, String>;

    /// Where the ledger lies; empty: where the user keeps such files.
    fn ledger(&self) -> &str;
}

/// A shell that was started.
pub(super) struct Session {
    pub input: Pin<Box<dyn AsyncWrite + Send>>,
    pub output: Pin<Box<dyn AsyncRead + Send>>,
    pub errors: Pin<Box<dyn AsyncRead + Send>>,
    /// Its exit code, or in words why it is not known. Not to be asked for before the streams have ended: a multiplexed
    /// ssh session is given up with its exit code, and what was not read by then is lost.
    pub exit: Pin<Box<dyn Future<Output = Result<i32, String>> + Send>>,
}

/// What a shell that was given a text came to.
pub(super) struct Spoken {
    pub code: i32,
    pub output: Vec<u8>,
    pub errors: Vec<u8>,
}

/// Why there is no answer.
pub(super) enum Silence {
    /// Certainly nothing was begun.
    NotStarted(String),
    /// It may have been begun.
    Lost(String),
    /// No answer in time.
    Late,
}

impl From<Silence> for Executed {
    fn from(silence: Silence) -> Executed {
        match silence {
            Silence::NotStarted(reason) => Executed::not_started(reason),
            Silence::Lost(reason) => Executed::lost(reason),
            Silence::Late => Executed::lost("there was no answer in time"),
        }
    }
}

/// Puts a text between braces, so that a shell that receives only a part of it executes nothing of it.
pub(super) fn whole(text: &str, call: &str) -> String {
    // Comments and empty lines are for readers of the source.
    let needed = |line: &&str| !line.trim_start().is_empty() && !line.trim_start().starts_with('#');
    let text: Vec<&str> = text.lines().filter(needed).collect();
    format!("{{\n{}\n{call}\nexit\n}}\n", text.join("\n"))
}

/// Starts a shell and hands it a text, as its whole input.
pub(super) async fn speak(shell: &dyn Shell, text: &str, within: Duration) -> Result<Spoken, Silence> {
    if text.len() > LONGEST {
        return Err(Silence::NotStarted(format!("the command is longer than {} KiB", LONGEST / 1024)));
    }
    let begun = std::sync::atomic::AtomicBool::new(false);
    let spoken = async {
        let Session { mut input, output, errors, exit } =
            shell.start("exec sh -s").await.map_err(Silence::NotStarted)?;
        let said = async {
            input.write_all(text.as_bytes()).await?;
            begun.store(true, std::sync::atomic::Ordering::Relaxed);
            input.shutdown().await
        };
        let (said, output, errors) =
            tokio::join!(said, super::output::tail(output), super::output::tail(errors));
        let exit = exit.await;
        let begun = begun.load(std::sync::atomic::Ordering::Relaxed);
        match (said, exit) {
            // A part of the text executes nothing.
            (Err(_), Err(reason)) if !begun => Err(Silence::NotStarted(reason)),
            (_, Err(reason)) => Err(Silence::Lost(reason)),
            (_, Ok(code)) => match (output, errors) {
                (Ok(output), Ok(errors)) => Ok(Spoken { code, output, errors }),
                (Err(error), _) | (_, Err(error)) => Err(Silence::Lost(error.to_string())),
            },
        }
    };
    match tokio::time::timeout(within, spoken).await {
        Ok(spoken) => spoken,
        Err(_) if begun.load(std::sync::atomic::Ordering::Relaxed) => Err(Silence::Late),
        Err(_) => Err(Silence::NotStarted(String::from("the target did not answer in time"))),
    }
}

/// A transport over a shell.
pub(super) struct Posix<S>(pub S);

#[async_trait]
impl<S: Shell> Transport for Posix<S> {
    async fn exec(&self, exec: &Exec) -> Executed {
        match &exec.key {
            Some(key) => ledger::exec(&self.0, key, exec).await,
            None => read_only::exec(&self.0, exec).await,
        }
    }

    async fn read_only(&self, exec: &Exec) -> Executed {
        read_only::exec(&self.0, exec).await
    }

    async fn probe(&self, key: &str) -> LedgerEntry {
        ledger::probe(&self.0, key).await
    }

    async fn upload(&self, from: &Path, to: &str, sha256: Option<&str>, deadline: Duration) -> Executed {
        upload::upload(&self.0, from, to, sha256, deadline).await
    }
}
