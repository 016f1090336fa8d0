//! The environment of children: what they need to find their programs and files, and nothing that could be a secret.
//! It must not pass anything on that is not in the list.

use tokio::process::Command;

/// Variables that children get when they are set.
const PASSED: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    "XDG_CONFIG_HOME",
    "KRB5CCNAME",
];

/// Leaves a child with the variables of the list.
pub(super) fn clean(command: &mut Command) -> &mut Command {
    command.env_clear();
    for name in PASSED {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

/// Whether a text is the name of a variable that a script can use.
pub(super) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && text.len() <= 128
}
