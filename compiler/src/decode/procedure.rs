//! Decodes the actions that users write: commands, scripts, requests.
//! It must not know on which way they run.

use std::collections::BTreeMap;

use super::{Decoder, RawAction, Spanned};
use crate::diagnostic::{Code, Diagnostic};
use crate::yaml::{Entry, NodeId, Shape};
use manent_grammar::Template;

/// Deadline of a command when none is written.
pub(crate) const COMMAND_TIMEOUT_MS: u64 = 600_000;
/// Deadline of one request when none is written.
pub(crate) const REQUEST_TIMEOUT_MS: u64 = 10_000;
/// Methods that a request can have.
pub(crate) const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

impl Decoder<'_> {
    fn timeout(&mut self, entry: Option<Entry>, default_ms: u64) -> u64 {
        self.positive(entry, "`timeout`").map_or(default_ms, |found| found.value.millis())
    }

    /// A command as a list of arguments, never as one text that a shell would take apart.
    pub(super) fn run(&mut self, entry: Entry, timeout: Option<Entry>) -> Option<RawAction> {
        let timeout_ms = self.timeout(timeout, COMMAND_TIMEOUT_MS);
        let argv = self.argv(entry.value)?;
        Some(RawAction::Run { argv, timeout_ms })
    }

    fn argv(&mut self, node: NodeId) -> Option<Vec<Spanned<Template>>> {
        let tree = self.tree;
        if tree.shape(node) != Shape::Sequence {
            let place = self.place(node);
            self.report(
                Diagnostic::error(Code::WrongType, "a command has to be a list of arguments")
                    .at(place, "not a list")
                    .help("write `[program, argument, …]`; for a script use `sh: |`"),
            );
            return None;
        }
        let items = tree.items(node);
        let argv: Vec<_> = items.iter().filter_map(|item| self.template(*item)).collect();
        let first_is_empty = argv.first().is_none_or(|first| first.value.as_literal() == Some(""));
        if items.is_empty() || (first_is_empty && argv.len() == items.len()) {
            self.bad(node, "a command has no program".into(), "write `[program, argument, …]`");
            return None;
        }
        (argv.len() == items.len()).then_some(argv)
    }

    pub(super) fn sh(
        &mut self,
        entry: Entry,
        env: Option<Entry>,
        timeout: Option<Entry>,
    ) -> Option<RawAction> {
        let timeout_ms = self.timeout(timeout, COMMAND_TIMEOUT_MS);
        let script = self.entry_string(Some(entry), "the script")?.value;
        let env = self.env(env)?;
        Some(RawAction::Sh { script, env, timeout_ms })
    }

    fn env(&mut self, entry: Option<Entry>) -> Option<BTreeMap<String, Spanned<Template>>> {
        let pairs = self.pairs(entry, "`env`");
        let mut env = BTreeMap::new();
        let count = pairs.len();
        for Entry { key, value } in pairs {
            if let (Some(name), Some(value)) = (self.variable(key), self.template(value)) {
                env.insert(name, value);
            }
        }
        (env.len() == count).then_some(env)
    }

    /// The name of an environment variable that every shell can read.
    pub(super) fn variable(&mut self, key: NodeId) -> Option<String> {
        let text = self.tree.text(key).unwrap_or("");
        if is_variable(text) {
            return Some(text.to_owned());
        }
        let help = "use letters, digits and `_`, and begin with a letter or `_`";
        self.bad(key, format!("`{text}` cannot be the name of an environment variable"), help);
        None
    }

    /// `undo`: a list is a command; beside `sh` it may be a script with the same environment.
    pub(super) fn undo(
        &mut self,
        undo: Entry,
        script: bool,
        env: Option<Entry>,
        timeout: Option<Entry>,
    ) -> Option<RawAction> {
        if script && self.tree.shape(undo.value) == Shape::Scalar {
            return self.sh(undo, env, timeout);
        }
        self.run(undo, timeout)
    }

    pub(super) fn http(
        &mut self,
        http: Entry,
        method: Option<Entry>,
        expect: Option<Entry>,
        timeout: Option<Entry>,
    ) -> Option<RawAction> {
        let timeout_ms = self.timeout(timeout, REQUEST_TIMEOUT_MS);
        let method = self
            .choice(method, "`method`", &METHODS.map(|method| (method, method)))
            .map_or("GET", |found| found.value);
        let expect = self.number(expect, "`expect`", 100, 599).map_or(200, |status| status.value);
        let url = self.template(http.value)?;
        if !Decoder::has_scheme(&url.value) {
            let help = "begin it with `http://` or `https://`";
            self.bad(http.value, "the address has no scheme".into(), help);
            return None;
        }
        let expect = u16::try_from(expect).unwrap_or(200);
        Some(RawAction::Http { method: method.to_owned(), url, expect, timeout_ms })
    }
}

/// Whether a text can be the name of an environment variable.
pub(crate) fn is_variable(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
