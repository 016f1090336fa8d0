//! From the tree to typed shapes with places, collecting every error: unknown keys, wrong types, missing keys, texts of
//! the little languages. It must not know what a name refers to; `check` and `lower` do.

mod descriptor;
mod envconfig;
mod pool;
mod procedure;
mod raw;
mod recipe;
mod recipe_text;
mod values;

pub(crate) use descriptor::descriptor;
pub(crate) use envconfig::envconfig;
pub(crate) use raw::*;
pub(crate) use recipe::{
    DefaultValue, Parameter, ParameterKind, Recipe, RecipeAction, RecipeTime, fits, recipe,
};
pub(crate) use recipe_text::{Piece, RecipeText};

use manent_grammar::{SyntaxError, suggest};

use crate::diagnostic::{Code, Diagnostic, Findings, Place};
use crate::source::FileId;
use crate::yaml::{Entry, NodeId, Shape, Tree};

/// A value with the place that says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
}

impl<T> Spanned<T> {
    pub(crate) fn new(value: T, place: Place) -> Self {
        Spanned { value, place }
    }

    /// The same place, another value.
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned { value: change(self.value), place: self.place }
    }
}

/// Walks one document.
pub(crate) struct Decoder<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) file: FileId,
    pub(crate) findings: &'a mut Findings,
}

impl<'a> Decoder<'a> {
    pub(crate) fn place(&self, node: NodeId) -> Place {
        Place { file: self.file, span: self.tree.span(node) }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.findings.push(diagnostic);
    }

    fn wrong(&mut self, node: NodeId, what: &str, wanted: &str) {
        let found = match self.tree.shape(node) {
            Shape::Null => "nothing",
            Shape::Scalar => "text",
            Shape::Sequence => "a list",
            Shape::Mapping => "a mapping",
        };
        let place = self.place(node);
        self.report(
            Diagnostic::error(Code::WrongType, format!("{what} has to be {wanted}, and is {found}"))
                .at(place, format!("this is {found}"))
                .help(self.instead(node, what, wanted)),
        );
    }

    /// What to write in place of a value of another shape: the value itself mended where that can be seen, else how such
    /// a value looks.
    fn instead(&self, node: NodeId, what: &str, wanted: &str) -> String {
        let entries: Vec<(&str, &str)> = self
            .tree
            .entries(node)
            .map(|entry| (self.tree.text(entry.key).unwrap_or(""), self.tree.text(entry.value).unwrap_or("")))
            .collect();
        match (wanted, entries.as_slice()) {
            // `{release}` without quotes is YAML for a mapping.
            ("text", [(name, "")]) => format!("text with braces stands in quotes: `\"{{{name}}}\"`"),
            ("text", [(label, value)]) if what == "a selector" => format!("write text: `{label}={value}`"),
            _ => match example(what) {
                Some(example) => format!("write {wanted}, as in `{example}`"),
                None => format!("write {wanted}"),
            },
        }
    }

    /// The values of the keys of a mapping, in the order of `keys`; other keys are reported, `x-…` are free.
    fn fields<const N: usize>(
        &mut self,
        node: NodeId,
        what: &str,
        keys: [&'static str; N],
    ) -> Option<[Option<Entry>; N]> {
        let tree = self.tree;
        if tree.shape(node) != Shape::Mapping {
            self.wrong(node, what, "a mapping of keys");
            return None;
        }
        let mut found = [None; N];
        for entry in tree.entries(node) {
            let text = tree.text(entry.key).unwrap_or("");
            let slot = keys.iter().position(|key| *key == text).and_then(|at| found.get_mut(at));
            match slot {
                Some(slot) => *slot = Some(entry),
                None if text.starts_with("x-") => {}
                None => {
                    let near = self.unknown_key(entry.key, text, what, &keys);
                    // Read on as if it were written right: more is found in one go, and nothing is called missing.
                    let near = keys.iter().position(|key| Some(*key) == near.as_deref());
                    if let Some(slot @ None) = near.and_then(|at| found.get_mut(at)) {
                        *slot = Some(entry);
                    }
                }
            }
        }
        Some(found)
    }

    /// Reports a key, and gives the one that was meant, where that can be guessed.
    fn unknown_key(&mut self, key: NodeId, text: &str, what: &str, keys: &[&'static str]) -> Option<String> {
        let place = self.place(key);
        let near = suggest(text, keys.iter().copied());
        let help = match &near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the keys of {what} are {}", listed(keys.iter().copied())),
        };
        self.report(
            Diagnostic::error(Code::UnknownKey, format!("{what} has no key `{text}`"))
                .at(place, "unknown key")
                .help(help),
        );
        near
    }

    /// A key that has to be there.
    fn required(&mut self, entry: Option<Entry>, owner: Place, key: &str, what: &str) -> Option<Entry> {
        if entry.is_none() {
            self.report(
                Diagnostic::error(Code::MissingKey, format!("{what} needs the key `{key}`"))
                    .at(owner, format!("`{key}` is missing here"))
                    .help(format!("add `{key}`")),
            );
        }
        entry
    }

    /// The items of a list; an absent entry has none.
    fn items(&mut self, entry: Option<Entry>, what: &str) -> &'a [NodeId] {
        let tree = self.tree;
        let Some(entry) = entry else { return &[] };
        if tree.shape(entry.value) != Shape::Sequence {
            self.wrong(entry.value, what, "a list");
            return &[];
        }
        tree.items(entry.value)
    }

    /// Whether all items of a list are known: it is a list, and each item was decoded.
    fn whole_list(&self, entry: Option<Entry>, decoded: usize) -> bool {
        entry.is_none_or(|entry| {
            self.tree.shape(entry.value) == Shape::Sequence && self.tree.items(entry.value).len() == decoded
        })
    }

    /// The entries of a mapping with free keys; an absent one has none.
    fn pairs(&mut self, entry: Option<Entry>, what: &str) -> Vec<Entry> {
        let tree = self.tree;
        let Some(entry) = entry else { return Vec::new() };
        if tree.shape(entry.value) != Shape::Mapping {
            self.wrong(entry.value, what, "a mapping of keys");
            return Vec::new();
        }
        tree.entries(entry.value).collect()
    }

    /// A finding about a piece of a text, from a little language.
    pub(crate) fn syntax(&mut self, code: Code, node: NodeId, what: &str, error: &SyntaxError) {
        let whole = self.place(node);
        let place = match self.tree.text_start(node) {
            // An empty place cannot be underlined; the whole text is shown then.
            Some(start) if !error.at.is_empty() => {
                Place { file: self.file, span: start + error.at.start..start + error.at.end }
            }
            Some(_) | None => whole,
        };
        let text = self.tree.text(node).unwrap_or("");
        let shown: String = text.chars().take(60).collect();
        self.report(
            Diagnostic::error(code, format!("`{shown}` is not {what}: {error}"))
                .at(place, format!("expected {}", error.expected.first().copied().unwrap_or(what)))
                .maybe_help(error.help.clone()),
        );
    }
}

/// How a mapping or list looks whose keys people do not guess.
fn example(what: &str) -> Option<&'static str> {
    Some(match what {
        "a target" => "{host: web1.example.net, port: 8080}",
        "`targets`" => "- {host: web1.example.net, port: 8080}",
        "`labels`" => "{stage: canary}",
        "`ssh`" => "ssh: {user: deploy}",
        "`local`" => "local: {}",
        "a wave" => "{name: rest, select: stage=rest}",
        "`waves`" => "- {name: rest, select: stage=rest}",
        "a secret" => "{name: dataplane, ref: \"env:DATAPLANE\"}",
        "`secrets`" => "- {name: dataplane, ref: \"env:DATAPLANE\"}",
        "`artifact`" => "artifact: {path: \"dist/shop-{release}.tar.gz\"}",
        "`traffic`" => "traffic: {pool: {provider: haproxy, settings: {…}}}",
        "a post-test" => "{http: \"http://{host}:{port}/healthz\", within: 60s}",
        "`post-test`" => "- {http: \"http://{host}:{port}/healthz\", within: 60s}",
        "a step" => "{name: warm-cache, run: [/srv/shop/bin/warm]}",
        "`steps`" | "`activate`" => "- {name: warm-cache, run: [/srv/shop/bin/warm]}",
        _ => return None,
    })
}

/// Words in backticks, joined by commas.
pub(crate) fn listed<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
