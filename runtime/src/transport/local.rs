//! Commands on this machine, through the same shell texts as on others.
//! It must not pass this process's environment on, nor its terminal's signals.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use async_trait::async_trait;
use tokio::process::Command;

use super::env;
use super::posix::{Posix, Session, Shell};
use super::{Exec, Executed, LedgerEntry, Transport};

/// This machine.
pub struct Local(Posix<Here>);

struct Here {
    root: PathBuf,
    ledger: String,
}

impl Local {
    /// Commands run in `root`; their ledger lies in `state`.
    #[must_use]
    pub fn new(root: &Path, state: &Path) -> Local {
        let here = Here { root: root.to_owned(), ledger: state.to_string_lossy().into_owned() };
        Local(Posix(here))
    }
}

#[async_trait]
impl Shell for Here {
    async fn start(&self, line: &'static str) -> Result<Session, String> {
        let mut command = Command::new("/bin/sh");
        env::clean(&mut command)
            .args(["-c", line])
            .current_dir(&self.root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // An interrupt at the terminal is for manent alone, which finishes the call in hand.
            .process_group(0);
        let mut child = command.spawn().map_err(|error| format!("`/bin/sh` cannot be started: {error}"))?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(String::from("`/bin/sh` was started without its streams"));
        };
        Ok(Session {
            input: Box::pin(input),
            output: Box::pin(output),
            errors: Box::pin(errors),
            exit: Box::pin(async move {
                let status =
                    child.wait().await.map_err(|error| format!("`/bin/sh` cannot be waited for: {error}"))?;
                status.code().ok_or_else(|| format!("`/bin/sh` ended by a signal ({status})"))
            }),
        })
    }

    fn ledger(&self) -> &str {
        &self.ledger
    }
}

#[async_trait]
impl Transport for Local {
    async fn exec(&self, exec: &Exec) -> Executed {
        self.0.exec(exec).await
    }

    async fn read_only(&self, exec: &Exec) -> Executed {
        self.0.read_only(exec).await
    }

    async fn probe(&self, key: &str) -> LedgerEntry {
        self.0.probe(key).await
    }

    async fn upload(
        &self,
        from: &Path,
        to: &str,
        sha256: Option<&str>,
        deadline: std::time::Duration,
    ) -> Executed {
        self.0.upload(from, to, sha256, deadline).await
    }
}
