//! A page of plain text: sections, rows with a key, prose that is wrapped. Every line is made harmless for a terminal here,
//! whatever the plan says. It must not know plans.

use std::borrow::Cow;

/// Prose and lists are wrapped here; what has to be read exactly never is.
const WIDTH: usize = 100;
/// Where values of rows begin.
const COLUMN: usize = 15;

/// Text in the making.
#[derive(Default)]
pub(super) struct Page(String);

impl Page {
    pub(super) fn done(self) -> String {
        self.0
    }

    /// Begins a section.
    pub(super) fn section(&mut self, title: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.line(0, title);
    }

    pub(super) fn blank(&mut self) {
        self.0.push('\n');
    }

    /// One line, never wrapped.
    pub(super) fn line(&mut self, indent: usize, text: &str) {
        let text = harmless(text);
        if !text.is_empty() {
            self.0.extend(std::iter::repeat_n(' ', indent));
            self.0.push_str(text.trim_end());
        }
        self.0.push('\n');
    }

    /// A key and its value on one line.
    pub(super) fn row(&mut self, key: &str, value: &str) {
        self.line(2, &format!("{key:<width$}{value}", width = COLUMN - 2));
    }

    /// A key and a value that may take several lines.
    pub(super) fn prose(&mut self, key: &str, text: &str) {
        let mut key = key;
        for line in wrapped(&harmless(text), WIDTH - COLUMN) {
            self.row(key, &line);
            key = "";
        }
    }

    /// Sentences over the whole width.
    pub(super) fn paragraph(&mut self, indent: usize, text: &str) {
        for line in wrapped(&harmless(text), WIDTH - indent) {
            self.line(indent, &line);
        }
    }
}

/// Breaks text between words; a word longer than a line stays whole.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut length = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let long = word.chars().count();
        if length > 0 && length + 1 + long > width {
            lines.push(String::new());
            length = 0;
        }
        let Some(line) = lines.last_mut() else { continue };
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += long;
    }
    lines
}

/// Characters that move a cursor, end a line, or make text read in another order are shown as what they are.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            _ if is_harmful(character) => shown.extend(character.escape_unicode()),
            _ => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

fn is_harmful(character: char) -> bool {
    let invisible = matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    );
    character.is_control() || invisible
}
