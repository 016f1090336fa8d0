//! Opens a multiplexed connection. The `openssh` crate could start ssh itself, but always in batch mode, with this
//! process's whole environment and without a place for a configuration file that is handed on to jumps; so ssh is started
//! here in the same way, and the crate speaks to it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use openssh::{Error, Session};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::super::output::tail;
use super::super::{env, shown};
use super::config::{Settings, check_host};
use crate::secrets::Secret;

/// How long an unused connection outlives a killed process: it ends by itself then.
const PERSIST: &str = "ControlPersist=600";
/// Name, connection, keys and login together, over several jumps.
const LOGIN: Duration = Duration::from_secs(60);

/// What a connection needs beside its settings.
pub(super) struct Tools<'a> {
    /// The private directory.
    pub place: &'a Path,
    /// The configuration file.
    pub config: &'a Path,
    /// The helper, and what it answers.
    pub password: Option<(&'a Path, &'a Secret)>,
}

/// Opens a connection to a host; it closes when the session is dropped.
pub(super) async fn connect(host: &str, settings: &Settings, tools: Tools<'_>) -> Result<Session, String> {
    check_host(host)?;
    settings.check()?;
    let place = TempDir::with_prefix_in("c", tools.place).map_err(|error| {
        format!("a directory for the connection cannot be made in `{}`: {error}", tools.place.display())
    })?;
    std::fs::set_permissions(place.path(), Permissions::from_mode(0o700))
        .map_err(|error| error.to_string())?;
    let mut command = Command::new("ssh");
    env::clean(&mut command)
        .arg("-F")
        .arg(tools.config)
        .arg("-S")
        // The name that the crate expects.
        .arg(place.path().join("master"))
        .args(["-M", "-N", "-f", "-o", PERSIST])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    match tools.password {
        None => {
            command.args(["-o", "BatchMode=yes"]).stdin(Stdio::null());
        }
        Some((helper, _)) => {
            command
                .args(["-o", "PreferredAuthentications=keyboard-interactive,password"])
                .args(["-o", "PubkeyAuthentication=no", "-o", "NumberOfPasswordPrompts=1"])
                .env("SSH_ASKPASS", helper)
                .env("SSH_ASKPASS_REQUIRE", "force")
                .env("MANENT_HOST", host)
                .stdin(Stdio::piped());
        }
    }
    // Keys that an agent of the user holds are used only where no secret was named.
    if settings.key_secret.is_none()
        && settings.password_secret.is_none()
        && let Some(agent) = std::env::var_os("SSH_AUTH_SOCK")
    {
        command.env("SSH_AUTH_SOCK", agent);
    }
    if let Some(port) = settings.port {
        command.arg("-p").arg(port.to_string());
    }
    if let Some(user) = &settings.user {
        command.arg("-l").arg(user);
    }
    if let Some(jump) = &settings.jump {
        command.arg("-J").arg(jump);
    }
    command.arg("--").arg(host);
    match tokio::time::timeout(LOGIN, login(command, tools.password.map(|(_, secret)| secret))).await {
        Ok(Ok(())) => Ok(Session::new_native_mux(place)),
        Ok(Err(said)) => Err(refusal(host, settings, &said)),
        Err(_) => Err(format!("`{host}` did not let us in within {} s", LOGIN.as_secs())),
    }
}

/// Runs ssh until it is logged in and has gone to the background.
async fn login(mut command: Command, password: Option<&Secret>) -> Result<(), String> {
    let mut ssh = command
        .spawn()
        .map_err(|error| format!("`ssh` cannot be started: {error}; install the OpenSSH client"))?;
    if let (Some(password), Some(mut input)) = (password, ssh.stdin.take()) {
        // A host that does not ask for it closes the pipe, and says why it refused.
        let _ = async {
            input.write_all(password.reveal().as_bytes()).await?;
            input.write_all(b"\n").await
        }
        .await;
    }
    let errors = ssh.stderr.take();
    let said = async {
        match errors {
            Some(errors) => tail(errors).await.unwrap_or_default(),
            None => Vec::new(),
        }
    };
    let (status, said) = tokio::join!(ssh.wait(), said);
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(String::from_utf8_lossy(&said).into_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Why a host did not let us in, with what to do about it.
fn refusal(host: &str, settings: &Settings, said: &str) -> String {
    let known = settings
        .known_hosts
        .as_ref()
        .map_or_else(|| String::from("the known hosts of ssh"), |path| format!("`{}`", path.display()));
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("ssh gave no reason");
    if said.contains("IDENTIFICATION HAS CHANGED") {
        return format!(
            "the host key of `{host}` is not the one in {known}: nothing was sent; find out why it changed before you \
             replace the entry"
        );
    }
    if said.contains("REVOKED") {
        return format!("the host key of `{host}` is revoked in {known}: nothing was sent");
    }
    if said.contains("Host key verification failed") {
        return format!("the host key of `{host}` is not in {known}: add it there after you have checked it");
    }
    if said.contains("Permission denied") {
        return format!("`{host}` refused the login: {}", shown(last, 200));
    }
    // What a jump says is lost: a multiplexed ssh closes the standard error of what it starts.
    if let Some(jump) = settings.jump.as_ref().filter(|_| said.contains("UNKNOWN port")) {
        return format!(
            "the way to `{host}` through `{jump}` broke off: its host key may not be in {known}, or it refused the \
             login; `ssh -J {jump} {host}` shows why"
        );
    }
    format!("`{host}` cannot be reached over ssh: {}", shown(last, 200))
}

/// An error of a session with its causes.
pub(super) fn in_words(error: &Error) -> String {
    let mut words = match error {
        Error::RemoteProcessTerminated | Error::Disconnected => String::from("the connection was lost"),
        other => other.to_string(),
    };
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    shown(&words, 300)
}
