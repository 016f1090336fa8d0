//! Findings as data: the list that `lint --json` prints and other tools read.
//! Keys change only with a note in the changelog; it must not know how the text form looks.

use serde::Serialize;

use super::{Diagnostic, Label};
use crate::source::Files;

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JsonFinding {
    /// Its code.
    pub code: &'static str,
    /// `error` or `warning`.
    pub severity: &'static str,
    /// The file; null where the finding is about none (a release).
    pub path: Option<String>,
    /// Line, from 1; null where there is no place in the file (it cannot be read).
    pub line: Option<usize>,
    /// Column in characters, from 1; null like the line.
    pub column: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// Other places that belong to it.
    pub related: Vec<JsonPlace>,
}

/// Another place of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JsonPlace {
    /// The file.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What stands there.
    pub message: String,
}

/// Findings as data, in the same order.
#[must_use]
pub fn findings_to_json(files: &Files, findings: &[Diagnostic]) -> Vec<JsonFinding> {
    findings.iter().map(|finding| one(files, finding)).collect()
}

fn one(files: &Files, finding: &Diagnostic) -> JsonFinding {
    let mut places = finding.labels.iter().map(|label| place(files, label));
    let first = places.next();
    JsonFinding {
        code: finding.code.name(),
        severity: finding.severity.word(),
        path: first.as_ref().map(|place| place.path.clone()).or_else(|| finding.about.clone()),
        line: first.as_ref().map(|place| place.line),
        column: first.as_ref().map(|place| place.column),
        message: finding.message.clone(),
        help: finding.help.clone(),
        related: places.collect(),
    }
}

fn place(files: &Files, label: &Label) -> JsonPlace {
    let (line, column) = files.line_column(label.place.file, label.place.span.start);
    JsonPlace { path: files.path(label.place.file).to_owned(), line, column, message: label.text.clone() }
}
