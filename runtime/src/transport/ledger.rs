//! Asks the ledger of a target to execute a command under a key, or what became of it. The ledger itself is `ledger.sh`.
//! It must not decide whether to ask again.

use std::time::Duration;

use super::output::text;
use super::posix::{Shell, Silence, Spoken, speak, whole};
use super::quote::words;
use super::{Exec, Executed, LedgerEntry, shown};

pub(super) const LEDGER: &str = include_str!("ledger.sh");
/// How long a command that does not heed SIGTERM may go on, and the way there and back.
const GRACE: Duration = Duration::from_secs(30);
/// How long a look may take.
const LOOK: Duration = Duration::from_secs(30);

/// Executes a command under a key.
pub(super) async fn exec(shell: &dyn Shell, key: &str, exec: &Exec) -> Executed {
    let call = match call(shell, "manent_exec", key) {
        Ok(call) => call,
        Err(reason) => return Executed::not_started(reason),
    };
    let command = match exec.command.words() {
        Ok(command) => command,
        Err(reason) => return Executed::not_started(reason),
    };
    let seconds = exec.deadline.as_millis().div_ceil(1000).max(1);
    let command = match words(command.iter().map(String::as_str)) {
        Ok(command) => format!("{call} {seconds} {command}"),
        Err(error) => return Executed::not_started(error.to_string()),
    };
    let within = exec.deadline.saturating_add(GRACE);
    match speak(shell, &whole(LEDGER, &command), within).await {
        Ok(spoken) => match read(spoken) {
            Said::Ended(executed) => executed,
            Said::Died => Executed::lost("it was begun there and is gone without a result"),
            Said::Refused(reason) => Executed::not_started(reason),
            Said::Absent | Said::Running => Executed::lost("the ledger there gave no result"),
            Said::Nothing(reason) => Executed::lost(reason),
        },
        Err(silence) => silence.into(),
    }
}

/// Looks what became of a key.
pub(super) async fn probe(shell: &dyn Shell, key: &str) -> LedgerEntry {
    let unreachable = |reason| LedgerEntry::Unreachable { reason };
    let call = match call(shell, "manent_probe", key) {
        Ok(call) => call,
        Err(reason) => return unreachable(reason),
    };
    match speak(shell, &whole(LEDGER, &call), LOOK).await {
        Ok(spoken) => match read(spoken) {
            Said::Absent => LedgerEntry::Absent,
            Said::Running => LedgerEntry::Running,
            Said::Ended(executed) => LedgerEntry::Ended(executed),
            Said::Died => LedgerEntry::Died,
            Said::Refused(reason) | Said::Nothing(reason) => unreachable(reason),
        },
        Err(Silence::NotStarted(reason) | Silence::Lost(reason)) => unreachable(reason),
        Err(Silence::Late) => unreachable(String::from("there was no answer in time")),
    }
}

/// The call of a function of the ledger for a key.
fn call(shell: &dyn Shell, function: &str, key: &str) -> Result<String, String> {
    let fine = |part: &str| {
        let byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        !part.is_empty() && !part.starts_with(['.', '-']) && part.len() <= 100 && part.bytes().all(byte)
    };
    match key.split_once('/') {
        Some((run, name)) if fine(run) && fine(name) => {
            let place = words([shell.ledger(), run, name]).map_err(|error| error.to_string())?;
            Ok(format!("{function} {place}"))
        }
        _ => Err(format!("`{}` is no key of a ledger", shown(key, 80))),
    }
}

enum Said {
    Absent,
    Running,
    Ended(Executed),
    Died,
    Refused(String),
    /// No word of the ledger.
    Nothing(String),
}

fn read(spoken: Spoken) -> Said {
    let mut lines = spoken.output.splitn(2, |byte| *byte == b'\n');
    let first = text(lines.next().unwrap_or_default());
    let rest = text(lines.next().unwrap_or_default());
    let Some(state) = first.strip_prefix("manent-ledger ").filter(|_| spoken.code == 0) else {
        let said = if spoken.errors.is_empty() { first } else { text(&spoken.errors) };
        return Said::Nothing(format!(
            "the shell there answered `{}` with exit code {}",
            shown(&said, 200),
            spoken.code
        ));
    };
    let errors = text(&spoken.errors);
    match state.split_once(' ') {
        None if state == "absent" => Said::Absent,
        None if state == "running" => Said::Running,
        None if state == "died" => Said::Died,
        Some(("refused", reason)) => Said::Refused(shown(reason, 300)),
        Some(("timed-out", _)) => Said::Ended(Executed::TimedOut { stdout: rest, stderr: errors }),
        Some(("ended", code)) => match code.parse() {
            Ok(code) => Said::Ended(Executed::Exited { code, stdout: rest, stderr: errors }),
            Err(_) => Said::Nothing(format!("the ledger there says `{}`", shown(state, 200))),
        },
        Some(_) | None => Said::Nothing(format!("the ledger there says `{}`", shown(state, 200))),
    }
}
