//! Single values: text, numbers, yes or no, names, and the little languages. Each function reports what it refuses and
//! gives nothing then. It must not know which key a value belongs to, beyond its words for it.

use manent_grammar::{Duration, Quantity, Selector, SyntaxError, Template, label_name, name};

use super::{Decoder, Spanned};
use crate::diagnostic::{Code, Diagnostic};
use crate::yaml::{Entry, NodeId, Shape};

impl<'a> Decoder<'a> {
    /// A scalar as the text that stands in the file.
    pub(super) fn text(&mut self, node: NodeId, what: &str) -> Option<&'a str> {
        let tree = self.tree;
        if tree.shape(node) != Shape::Scalar {
            self.wrong(node, what, "text");
            return None;
        }
        tree.text(node)
    }

    /// The same, owned and with its place.
    pub(super) fn string(&mut self, node: NodeId, what: &str) -> Option<Spanned<String>> {
        let text = self.text(node, what)?;
        Some(Spanned::new(text.to_owned(), self.place(node)))
    }

    /// The same of a key that may be absent; text that is empty is refused.
    pub(super) fn entry_string(&mut self, entry: Option<Entry>, what: &str) -> Option<Spanned<String>> {
        let found = self.string(entry?.value, what)?;
        if found.value.is_empty() {
            self.bad(entry?.value, format!("{what} is empty"), "write it, or leave the key out");
            return None;
        }
        Some(found)
    }

    /// A value that is refused, with what to do.
    pub(super) fn bad(&mut self, node: NodeId, message: String, help: impl Into<String>) {
        let place = self.place(node);
        self.report(Diagnostic::error(Code::BadValue, message).at(place, "not accepted").help(help));
    }

    /// `true` or `false`.
    pub(super) fn boolean(&mut self, entry: Option<Entry>, what: &str) -> Option<bool> {
        let node = entry?.value;
        match self.text(node, what)? {
            "true" => Some(true),
            "false" => Some(false),
            other => {
                self.bad(node, format!("{what} cannot be `{other}`"), "write `true` or `false`");
                None
            }
        }
    }

    /// A decimal number in a range.
    pub(super) fn number(
        &mut self,
        entry: Option<Entry>,
        what: &str,
        low: u32,
        high: u32,
    ) -> Option<Spanned<u32>> {
        let node = entry?.value;
        let text = self.text(node, what)?;
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // A leading zero is octal to some readers and decimal to others.
        let clear = digits && (text == "0" || !text.starts_with('0'));
        match text.parse::<u32>() {
            Ok(value) if clear && (low..=high).contains(&value) => {
                Some(Spanned::new(value, self.place(node)))
            }
            Ok(_) | Err(_) => {
                let help = format!("write a decimal number from {low} to {high}");
                self.bad(node, format!("{what} cannot be `{text}`"), help);
                None
            }
        }
    }

    /// One of some words.
    pub(super) fn choice<T: Copy>(
        &mut self,
        entry: Option<Entry>,
        what: &str,
        words: &[(&str, T)],
    ) -> Option<Spanned<T>> {
        let node = entry?.value;
        let text = self.text(node, what)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(Spanned::new(*value, self.place(node)));
        }
        let help = format!("write one of {}", super::listed(words.iter().map(|(word, _)| *word)));
        self.bad(node, format!("{what} cannot be `{text}`"), help);
        None
    }

    fn language<T>(
        &mut self,
        node: NodeId,
        what: &str,
        code: Code,
        parse: impl FnOnce(&str) -> Result<T, SyntaxError>,
    ) -> Option<Spanned<T>> {
        let text = self.text(node, what)?;
        match parse(text) {
            Ok(value) => Some(Spanned::new(value, self.place(node))),
            Err(error) => {
                self.syntax(code, node, what, &error);
                None
            }
        }
    }

    /// A duration of any length.
    pub(super) fn duration(&mut self, entry: Option<Entry>) -> Option<Spanned<Duration>> {
        self.duration_node(entry?.value)
    }

    fn duration_node(&mut self, node: NodeId) -> Option<Spanned<Duration>> {
        self.language(node, "a duration", Code::BadDuration, Duration::parse)
    }

    /// A duration of more than nothing, of a key that may be absent.
    pub(super) fn positive(&mut self, entry: Option<Entry>, what: &str) -> Option<Spanned<Duration>> {
        self.positive_node(entry?.value, what)
    }

    /// A duration of more than nothing.
    pub(crate) fn positive_node(&mut self, node: NodeId, what: &str) -> Option<Spanned<Duration>> {
        let found = self.duration_node(node)?;
        if found.value.millis() == 0 {
            self.report(
                Diagnostic::error(Code::BadDuration, format!("{what} has to be more than 0s"))
                    .at(found.place, "no time at all")
                    .help("write a duration such as `5s`"),
            );
            return None;
        }
        Some(found)
    }

    /// A number or a percentage.
    pub(super) fn quantity(&mut self, entry: Option<Entry>) -> Option<Spanned<Quantity>> {
        self.language(entry?.value, "a number or a percentage", Code::BadQuantity, Quantity::parse)
    }

    /// A selector, with its text.
    pub(super) fn selector(&mut self, entry: Option<Entry>) -> Option<Spanned<Selector>> {
        self.language(entry?.value, "a selector", Code::BadSelector, Selector::parse)
    }

    /// A template.
    pub(crate) fn template(&mut self, node: NodeId) -> Option<Spanned<Template>> {
        self.language(node, "a template", Code::BadTemplate, Template::parse)
    }

    /// The name of a wave, a step or a secret.
    pub(super) fn name(&mut self, entry: Option<Entry>, what: &str) -> Option<Spanned<String>> {
        let node = entry?.value;
        let text = self.text(node, what)?.to_owned();
        let found = self.language(node, "a name", Code::BadName, name)?;
        Some(found.map(|()| text))
    }

    /// The name of a label or a variable, as a key.
    pub(super) fn key_name(&mut self, node: NodeId) -> Option<Spanned<String>> {
        let text = self.text(node, "a name")?.to_owned();
        let found = self.language(node, "a name", Code::BadName, label_name)?;
        Some(found.map(|()| text))
    }
}
