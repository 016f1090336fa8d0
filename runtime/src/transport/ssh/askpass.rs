//! The helper that ssh asks for a password. It reads the password from the pipe that is ssh's standard input, and answers
//! the question for this host's password only: not one of a jump host, nor whether an unknown key is to be trusted.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The two ways in which ssh asks: for a password, and for what a server asks for interactively.
const HELPER: &str = r#"#!/bin/sh
case $1 in
  *"@$MANENT_HOST's password: " | "("*"@$MANENT_HOST) "*) IFS= read -r answer && printf '%s\n' "$answer" ;;
  *) exit 1 ;;
esac
"#;

/// Writes the helper, which holds no secret.
pub(super) fn write(place: &Path) -> std::io::Result<PathBuf> {
    let path = place.join("askpass");
    std::fs::write(&path, HELPER)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700))?;
    Ok(path)
}
