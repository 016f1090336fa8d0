//! Commands on other machines, through the system's OpenSSH: one connection a host, multiplexed.
//! It must not accept a host key that is not known, and never shows a secret to a disk, an argument or an environment.

mod agent;
mod askpass;
mod config;
mod master;
mod place;
mod pool;

#[cfg(test)]
mod server;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use openssh::{Error, Session as Connection, Stdio};

use super::posix::{Posix, Session, Shell};

pub(super) use config::Settings;
pub(super) use pool::Pool;

/// A transport to a host.
pub(super) fn transport(pool: Arc<Pool>, host: &str, settings: Arc<Settings>) -> Posix<Remote> {
    Posix(Remote { pool, host: host.to_owned(), settings })
}

/// A shell on a host.
pub(super) struct Remote {
    pool: Arc<Pool>,
    host: String,
    settings: Arc<Settings>,
}

#[async_trait]
impl Shell for Remote {
    async fn start(&self, line: &'static str) -> Result<Session, String> {
        let (connection, fresh) = self.pool.connection(&self.host, &self.settings).await?;
        match open(&connection, line).await {
            Ok(session) => Ok(session),
            // A kept connection may have broken unnoticed. Nothing was begun on it, so a new one is safe.
            Err(_) if !fresh => {
                self.pool.forget(&self.host, &self.settings, &connection).await;
                drop(connection);
                let (connection, _) = self.pool.connection(&self.host, &self.settings).await?;
                open(&connection, line).await
            }
            Err(reason) => Err(reason),
        }
    }

    fn ledger(&self) -> &'static str {
        ""
    }
}

async fn open(connection: &Arc<Connection>, line: &str) -> Result<Session, String> {
    let mut command = Connection::to_raw_command(Arc::clone(connection), line);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().await.map_err(|error| master::in_words(&error))?;
    let streams = (child.stdin().take(), child.stdout().take(), child.stderr().take());
    let (Some(input), Some(output), Some(errors)) = streams else {
        return Err(String::from("the connection gave no streams"));
    };
    Ok(Session {
        input: Box::pin(input),
        output: Box::pin(output),
        errors: Box::pin(errors),
        exit: Box::pin(async move {
            match child.wait().await {
                Ok(status) => status.code().ok_or_else(|| format!("the command ended oddly ({status})")),
                // This is how the crate says that the exit code was 127.
                Err(Error::Remote(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(127),
                Err(error) => Err(master::in_words(&error)),
            }
        }),
    })
}
