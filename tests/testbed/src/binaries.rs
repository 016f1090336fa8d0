//! Finds the testbed's own programs, and builds them when a test of another package needs them.
//! Hosts get a copy: the target folder may lie where another user cannot look.

use crate::process::run;
use crate::{Context, Result, Trouble};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Copies the program `name` into `folder` and answers its new path.
pub(crate) fn copy_to(name: &str, folder: &Path) -> Result<PathBuf> {
    let source = find(name)?;
    let target = folder.join(name);
    std::fs::copy(&source, &target).doing(format_args!("copying {}", source.display()))?;
    let all_may_run = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&target, all_may_run).doing("making a program executable")?;
    Ok(target)
}

/// The path of the program. Cargo builds the programs of a package for the package's own tests only, so a
/// missing or old one is built here.
pub(crate) fn find(name: &str) -> Result<PathBuf> {
    let here = std::env::current_exe().doing("finding the target folder")?;
    let profile = here
        .ancestors()
        .find(|folder| folder.join(".fingerprint").is_dir())
        .ok_or_else(|| Trouble::new("the tests do not run from a cargo target folder"))?;
    let path = profile.join(name);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    if age(&path).is_some_and(|built| newest(&sources).is_none_or(|changed| changed <= built)) {
        return Ok(path);
    }
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "--package", "manent-testbed", "--bins"]).current_dir(&sources);
    if let Some(target) = profile.parent() {
        command.arg("--target-dir").arg(target);
    }
    if profile.ends_with("release") {
        command.arg("--release");
    }
    run(&mut command)?;
    path.is_file().then_some(path).ok_or_else(|| Trouble::new(format!("cargo built no program `{name}`")))
}

fn age(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|found| found.modified()).ok()
}

fn newest(folder: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    entries
        .filter_map(|entry| {
            let path = entry.path();
            if path.is_dir() { newest(&path) } else { age(&path) }
        })
        .max()
}
