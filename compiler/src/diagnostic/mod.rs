//! Findings: what is wrong, where, and what to do about it; three sentences with three jobs.
//! They must not know how they are shown; `render` and `json` do.

mod code;
mod excerpt;
mod json;
mod render;

pub use code::Code;
pub use json::{JsonFinding, JsonPlace, findings_to_json};
pub use render::{Look, render, render_all};

use std::collections::BTreeMap;
use std::ops::Range;

use crate::source::{FileId, Files};

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// No plan is made.
    Error,
    /// The plan is made and carries the warning.
    Warning,
}

impl Severity {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// A place in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: FileId,
    /// Bytes of its text.
    pub span: Range<usize>,
}

/// A place with what is to be said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub place: Place,
    /// What stands there.
    pub text: String,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its name, page and test.
    pub code: Code,
    /// How grave it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// Where; the first one is the place to edit. Empty where there is no place (a file that is missing).
    pub labels: Vec<Label>,
    /// What to do.
    pub help: Option<String>,
    /// The path of the file that it is about, where there is no place in it: one that cannot be read.
    pub about: Option<String>,
}

impl Diagnostic {
    /// An error without a place yet.
    pub(crate) fn error(code: Code, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            severity: Severity::Error,
            message: message.into(),
            labels: Vec::new(),
            help: None,
            about: None,
        }
    }

    /// A warning without a place yet.
    pub(crate) fn warning(code: Code, message: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Adds a place.
    pub(crate) fn at(mut self, place: Place, text: impl Into<String>) -> Self {
        self.labels.push(Label { place, text: text.into() });
        self
    }

    /// Says which file is meant, where no place in it can be shown.
    pub(crate) fn about(mut self, path: &str) -> Self {
        self.about = Some(path.to_owned());
        self
    }

    /// Says what to do.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says what to do, where that is known.
    pub(crate) fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }
}

/// Findings of one kind that are kept; more are counted only.
const SHOWN_OF_A_KIND: usize = 100;

/// Collects findings: nothing stops at the first one.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    kept: Vec<Diagnostic>,
    counts: BTreeMap<Code, usize>,
    errors: usize,
}

impl Findings {
    /// Takes a finding in.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Error {
            self.errors += 1;
        }
        let count = self.counts.entry(diagnostic.code).or_default();
        *count += 1;
        // A value that is used in several places is wrong only once.
        if *count <= SHOWN_OF_A_KIND && !self.kept.contains(&diagnostic) {
            self.kept.push(diagnostic);
        }
    }

    /// Errors so far, also those that are only counted.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    /// All of them, sorted by file and place; those without a place come first.
    pub(crate) fn finish(mut self, files: &mut Files) -> Vec<Diagnostic> {
        self.kept.sort_by_key(|found| {
            let first = found.labels.first().map(|label| (label.place.file, label.place.span.start));
            (first, found.severity, found.code)
        });
        for label in self.kept.iter().flat_map(|found| &found.labels) {
            files.index_lines(label.place.file);
        }
        for (code, count) in self.counts {
            if let Some(more) = count.checked_sub(SHOWN_OF_A_KIND).filter(|more| *more > 0) {
                let severity = self.kept.iter().find(|found| found.code == code).map(|found| found.severity);
                let message = format!("{more} more findings of the kind `{}` are not shown", code.name());
                let more =
                    Diagnostic::error(code, message).help("mend those that are shown, then look again");
                self.kept.push(Diagnostic { severity: severity.unwrap_or(Severity::Error), ..more });
            }
        }
        self.kept
    }
}
