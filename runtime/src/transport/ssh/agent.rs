//! A private ssh agent for one key: the key goes in by standard input and lives in the agent's memory only. The agent
//! ends with this process, however that ends.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};

use super::super::{env, shown};
use crate::secrets::Secret;

/// An agent that holds one key.
pub(super) struct Agent {
    socket: PathBuf,
    // The agent lives as long as its child `cat`, and that reads from this pipe until it ends with us.
    _lifeline: ChildStdin,
    _process: Child,
}

impl Agent {
    /// Starts an agent with its socket in `place` and hands it the key.
    pub(super) async fn start(place: &Path, number: usize, key: &Secret) -> Result<Agent, String> {
        let socket = place.join(format!("a{number}"));
        let mut command = Command::new("ssh-agent");
        let mut process = env::clean(&mut command)
            .arg("-a")
            .arg(&socket)
            .arg("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("`ssh-agent` cannot be started: {error}; install the OpenSSH client"))?;
        let lifeline = process.stdin.take().ok_or_else(|| String::from("`ssh-agent` has no input"))?;
        let agent = Agent { socket, _lifeline: lifeline, _process: process };
        for _ in 0..500 {
            // The file is there a moment before the agent listens on it.
            if std::os::unix::net::UnixStream::connect(&agent.socket).is_ok() {
                agent.add(key).await?;
                return Ok(agent);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Err(String::from("`ssh-agent` did not open its socket"))
    }

    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    async fn add(&self, key: &Secret) -> Result<(), String> {
        let mut command = Command::new("ssh-add");
        let mut adding = env::clean(&mut command)
            .args(["-q", "-"])
            .env("SSH_AUTH_SOCK", &self.socket)
            // A key with a passphrase would be asked for; nobody is there to answer.
            .env("SSH_ASKPASS", "false")
            .env("SSH_ASKPASS_REQUIRE", "force")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("`ssh-add` cannot be started: {error}; install the OpenSSH client"))?;
        if let Some(mut input) = adding.stdin.take() {
            // The key of a file may have lost its last line end, and OpenSSH insists on it.
            let end: &[u8] = if key.reveal().ends_with('\n') { b"" } else { b"\n" };
            let written = async {
                input.write_all(key.reveal().as_bytes()).await?;
                input.write_all(end).await
            };
            // A broken pipe shows in the exit code, with the reason on standard error.
            let _ = written.await;
        }
        let done = adding.wait_with_output().await.map_err(|error| format!("`ssh-add` failed: {error}"))?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        // Without an answer to its question it gives up without a word.
        if said.trim().is_empty() || said.contains("passphrase") {
            return Err(String::from("the private key is protected by a passphrase: store one without"));
        }
        // What it says holds no part of a key: only the name of the input, and what is wrong with it.
        Err(format!("`ssh-add` does not accept the private key: {}", shown(&said, 200)))
    }
}
