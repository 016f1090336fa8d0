//! Names of waves and steps: each once, none that means something already.
//! It must not know what the named things do.

use crate::decode::Spanned;
use crate::diagnostic::{Code, Diagnostic, Findings};

/// First parts of step ids that the language itself uses.
const TAKEN: [&str; 13] = [
    "config",
    "preflight",
    "drain",
    "drain-wait",
    "deploy",
    "post-test",
    "custom",
    "restore",
    "restore-wait",
    "activate",
    "bake",
    "approve",
    "undo",
];

/// Checks the names of one kind of thing.
pub(super) fn names<'n>(
    what: &str,
    all: impl IntoIterator<Item = &'n Spanned<String>>,
    findings: &mut Findings,
) {
    let mut seen: Vec<&Spanned<String>> = Vec::new();
    for name in all {
        if let Some(first) = seen.iter().find(|earlier| earlier.value == name.value) {
            findings.push(
                Diagnostic::error(Code::DuplicateName, format!("two {what}s are called `{}`", name.value))
                    .at(name.place.clone(), "again here")
                    .at(first.place.clone(), "first here")
                    .help("give each its own name; names stand in step ids"),
            );
        }
        if TAKEN.contains(&name.value.as_str()) || name.value.starts_with("undo-") {
            findings.push(
                Diagnostic::error(Code::BadName, format!("a {what} cannot be called `{}`", name.value))
                    .at(name.place.clone(), "this name has a meaning of its own")
                    .help("choose another name, one that does not begin with `undo-`"),
            );
        }
        seen.push(name);
    }
}
