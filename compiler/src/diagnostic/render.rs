//! Findings as text with the lines underlined, by miette. Labels in a second file become a report of their own below.
//! It must not know what a finding means.

use std::fmt;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, SourceCode};

use super::excerpt::Excerpt;
use super::{Diagnostic, Label, Severity};
use crate::source::{FileId, Files};

/// How text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Columns to use.
    pub width: usize,
    /// Colours, where the terminal has them.
    pub colour: bool,
    /// Line-drawing characters; plain ASCII without.
    pub unicode: bool,
}

impl Default for Look {
    fn default() -> Self {
        Look { width: 100, colour: false, unicode: true }
    }
}

/// All findings, one after the other.
#[must_use]
pub fn render_all(files: &Files, findings: &[Diagnostic], look: Look) -> String {
    findings.iter().map(|finding| render(files, finding, look)).collect::<Vec<_>>().join("\n")
}

/// One finding.
#[must_use]
pub fn render(files: &Files, finding: &Diagnostic, look: Look) -> String {
    let theme = match (look.unicode, look.colour) {
        (true, true) => GraphicalTheme::unicode(),
        (true, false) => GraphicalTheme::unicode_nocolor(),
        (false, true) => {
            GraphicalTheme { characters: miette::ThemeCharacters::ascii(), ..GraphicalTheme::unicode() }
        }
        (false, false) => GraphicalTheme::none(),
    };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(look.width).with_links(false);
    let mut text = String::new();
    if handler.render_report(&mut text, &Shown::new(files, finding)).is_err() {
        // Writing into a string does not fail; if miette gives up, the message must not be lost.
        text = format!("{}: {}\n", finding.severity.word(), finding.message);
    }
    text
}

/// A finding in the shape that miette draws: the labels of one file, then one report a further file.
struct Shown {
    code: &'static str,
    severity: Severity,
    message: String,
    help: Option<String>,
    source: Option<Excerpt>,
    labels: Vec<LabeledSpan>,
    elsewhere: Vec<Shown>,
    is_place: bool,
}

impl Shown {
    fn new(files: &Files, finding: &Diagnostic) -> Self {
        let mut order: Vec<FileId> = Vec::new();
        for label in &finding.labels {
            if !order.contains(&label.place.file) {
                order.push(label.place.file);
            }
        }
        let mut order = order.into_iter();
        let first = order.next();
        let (source, labels) = first.map(|file| excerpt(files, &finding.labels, file)).unzip();
        Shown {
            code: finding.code.name(),
            severity: finding.severity,
            message: finding.message.clone(),
            help: finding.help.clone(),
            source,
            labels: labels.unwrap_or_default(),
            elsewhere: order.map(|file| Shown::place(files, finding, file)).collect(),
            is_place: false,
        }
    }

    fn place(files: &Files, finding: &Diagnostic, file: FileId) -> Self {
        let (source, labels) = excerpt(files, &finding.labels, file);
        Shown {
            code: "",
            severity: finding.severity,
            message: format!("see also {}", files.path(file)),
            help: None,
            source: Some(source),
            labels,
            elsewhere: Vec::new(),
            is_place: true,
        }
    }
}

fn excerpt(files: &Files, labels: &[Label], file: FileId) -> (Excerpt, Vec<LabeledSpan>) {
    let mut labels = labels_in(files, labels, file);
    let source = Excerpt::new(files.path(file), files.text(file), &mut labels);
    (source, labels)
}

fn labels_in(files: &Files, labels: &[Label], file: FileId) -> Vec<LabeledSpan> {
    let inside = labels.iter().filter(|label| label.place.file == file);
    inside
        .map(|label| {
            let end = label.place.span.end.min(files.text(file).len());
            let start = label.place.span.start.min(end);
            LabeledSpan::new(Some(label.text.clone()), start, end - start)
        })
        .collect()
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Shown {}

impl miette::Diagnostic for Shown {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        (!self.is_place).then(|| Box::new(self.code) as Box<dyn fmt::Display>)
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match (self.is_place, self.severity) {
            (true, _) => miette::Severity::Advice,
            (false, Severity::Error) => miette::Severity::Error,
            (false, Severity::Warning) => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        (!self.labels.is_empty())
            .then(|| Box::new(self.labels.iter().cloned()) as Box<dyn Iterator<Item = _>>)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        if self.elsewhere.is_empty() {
            return None;
        }
        Some(Box::new(self.elsewhere.iter().map(|shown| shown as &dyn miette::Diagnostic)))
    }
}
