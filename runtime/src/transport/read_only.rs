//! Commands that change nothing: executed without a ledger, and ended on both sides when their time is over.
//! It must not be used for anything with an effect.

use std::time::Duration;

use super::output::text;
use super::posix::{Shell, Silence, speak, whole};
use super::quote::words;
use super::{Exec, Executed};

/// `timeout` ends the command there when nobody waits for it here any more; where it is missing, the command ends itself.
const READ: &str = r#"
manent_read() {
  limit=$1
  shift
  if command -v timeout > /dev/null; then set -- timeout -k 5 "$limit" "$@"; fi
  exec "$@" < /dev/null
}
"#;

pub(super) async fn exec(shell: &dyn Shell, exec: &Exec) -> Executed {
    let command = match exec.command.words() {
        Ok(command) => command,
        Err(reason) => return Executed::not_started(reason),
    };
    let seconds = exec.deadline.as_millis().div_ceil(1000).saturating_add(1);
    let call = match words(command.iter().map(String::as_str)) {
        Ok(command) => format!("manent_read {seconds} {command}"),
        Err(error) => return Executed::not_started(error.to_string()),
    };
    match speak(shell, &whole(READ, &call), exec.deadline.max(Duration::from_millis(1))).await {
        Ok(spoken) => {
            Executed::Exited { code: spoken.code, stdout: text(&spoken.output), stderr: text(&spoken.errors) }
        }
        Err(Silence::Late) => Executed::TimedOut { stdout: String::new(), stderr: String::new() },
        Err(silence) => silence.into(),
    }
}
