//! The one error of all little languages: where, what was expected, what stands there, how to mend it.
//! Knows no language and no file; the caller moves the place into the file that holds the text.

use std::fmt;
use std::ops::Range;

/// A text that a little language does not accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The bytes of the text to look at; empty at its end.
    pub at: Range<usize>,
    /// What stands there, ready to print: "`M`", "a blank", "the end", "an empty text".
    pub found: String,
    /// What could stand there instead, most likely first.
    pub expected: Vec<&'static str>,
    /// What the user can do about it.
    pub help: Option<String>,
}

impl SyntaxError {
    /// The error that the whole range `at` of `text` is not `expected`.
    pub(crate) fn at(text: &str, at: Range<usize>, expected: &'static str) -> Self {
        let found = quote(text.get(at.clone()).unwrap_or_default());
        Self { at, found, expected: vec![expected], help: None }.for_empty(text)
    }

    /// The error that none of `expected` begins at the byte `position` of `text`.
    pub(crate) fn unexpected(text: &str, position: usize, expected: Vec<&'static str>) -> Self {
        let word = word_at(text, position);
        Self { at: position..position + word.len(), found: quote(word), expected, help: None }.for_empty(text)
    }

    fn for_empty(mut self, text: &str) -> Self {
        if text.is_empty() {
            self.found = "an empty text".to_owned();
        }
        self
    }

    /// The same place, with other words for what could stand there.
    pub(crate) fn expecting(mut self, expected: &'static str) -> Self {
        self.expected = vec![expected];
        self
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected ")?;
        for (index, words) in self.expected.iter().enumerate() {
            let glue = match index {
                0 => "",
                _ if index + 1 == self.expected.len() => " or ",
                _ => ", ",
            };
            write!(f, "{glue}{words}")?;
        }
        write!(f, ", found {}", self.found)
    }
}

impl std::error::Error for SyntaxError {}

/// What a reader sees as one thing at the byte `position`: a word, a number, or one character.
pub(crate) fn word_at(text: &str, position: usize) -> &str {
    let rest = text.get(position..).unwrap_or_default();
    let Some(first) = rest.chars().next() else { return "" };
    let same_kind = |c: char| {
        (first.is_alphabetic() && c.is_alphabetic()) || (first.is_ascii_digit() && c.is_ascii_digit())
    };
    let end = rest.char_indices().skip(1).find(|(_, c)| !same_kind(*c)).map_or(rest.len(), |(at, _)| at);
    rest.get(..end).unwrap_or_default()
}

/// How many characters of a user's text fit into a sentence.
const LONGEST: usize = 40;

/// Whether a help may repeat the text: it reads as a whole and on one line.
pub(crate) fn is_quotable(text: &str) -> bool {
    text.chars().take(LONGEST + 1).count() <= LONGEST && !text.contains(char::is_control)
}

/// User text in backticks, cut to what fits into a sentence; what cannot be seen is named.
fn quote(found: &str) -> String {
    let mut chars = found.chars();
    match (chars.next(), chars.next()) {
        (None, _) => return "the end".to_owned(),
        (Some(only), None) if only.is_whitespace() => return "a blank".to_owned(),
        (Some(only), None) if only.is_control() => return "a control character".to_owned(),
        // Characters that look like nothing or like another one are told apart by their number.
        (Some(only), None) if !only.is_ascii() && !only.is_alphanumeric() => {
            return format!("`{only}` (U+{:04X})", u32::from(only));
        }
        _ => {}
    }
    let mut shown: String =
        found.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if found.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}
