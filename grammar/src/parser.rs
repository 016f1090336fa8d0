//! Runs the grammars and turns a failure of pest into a [`SyntaxError`] in the user's words.
//! Does not know what a rule means; that is for the file of its language.

use std::ops::Range;

use pest::Parser;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pair;

use crate::SyntaxError;

/// Longer texts, in bytes, are refused: nobody writes them by hand, and every message stays readable.
pub const LONGEST_TEXT: usize = 64 * 1024;

#[derive(pest_derive::Parser)]
#[grammar = "lexical.pest"]
#[grammar = "duration.pest"]
#[grammar = "quantity.pest"]
#[grammar = "selector.pest"]
#[grammar = "template.pest"]
#[grammar = "secret_ref.pest"]
struct Grammars;

pub(crate) type Node<'t> = Pair<'t, Rule>;

/// Parses the whole `text` as `rule`; `explain` adds what its language knows about a failure.
pub(crate) fn parse(
    rule: Rule,
    text: &str,
    explain: impl FnOnce(SyntaxError) -> SyntaxError,
) -> Result<Node<'_>, SyntaxError> {
    if text.len() > LONGEST_TEXT {
        let mut error = SyntaxError::at(text, 0..text.len(), "at most 65536 bytes");
        error.found = format!("{} bytes", text.len());
        return Err(error.with_help("make the text shorter, or move it into a file of its own"));
    }
    parse_any_length(rule, text).map_err(explain)
}

/// Whether the whole `text` is a `rule`.
pub(crate) fn is(rule: Rule, text: &str) -> bool {
    parse(rule, text, |error| error).is_ok()
}

fn parse_any_length(rule: Rule, text: &str) -> Result<Node<'_>, SyntaxError> {
    let mut nodes = Grammars::parse(rule, text).map_err(|error| in_words(text, error))?;
    nodes.next().ok_or_else(|| SyntaxError::unexpected(text, 0, vec![words(rule)]))
}

fn in_words(text: &str, error: pest::error::Error<Rule>) -> SyntaxError {
    let position = match error.location {
        InputLocation::Pos(position) => position,
        InputLocation::Span((start, _)) => start,
    };
    let mut expected = Vec::new();
    if let ErrorVariant::ParsingError { positives, .. } = error.variant {
        for rule in positives {
            if !expected.contains(&words(rule)) {
                expected.push(words(rule));
            }
        }
    }
    // "the end" reads best as the last choice.
    expected.sort_by_key(|choice| *choice == words(Rule::EOI));
    SyntaxError::unexpected(text, position, expected)
}

/// The direct children of `node` made by `rule`.
pub(crate) fn children<'t>(node: &Node<'t>, rule: Rule) -> impl Iterator<Item = Node<'t>> + use<'t> {
    node.clone().into_inner().filter(move |child| child.as_rule() == rule)
}

/// Whether `node` has a direct child made by `rule`.
pub(crate) fn has(node: &Node<'_>, rule: Rule) -> bool {
    children(node, rule).next().is_some()
}

/// The text of the first direct child made by `rule`; empty where the grammar lets it be absent.
pub(crate) fn text_of<'t>(node: &Node<'t>, rule: Rule) -> &'t str {
    children(node, rule).next().map_or("", |child| child.as_str())
}

/// The bytes of the text that `node` covers.
pub(crate) fn range(node: &Node<'_>) -> Range<usize> {
    node.as_span().start()..node.as_span().end()
}

/// What a rule is called after "expected". Exhaustive, so that a new rule cannot do without words.
pub(crate) fn words(rule: Rule) -> &'static str {
    match rule {
        Rule::EOI => "the end",
        Rule::blank => "a blank",
        Rule::control => "a control character",
        Rule::number => "a number",
        Rule::comma => "`,`",
        Rule::slash => "`/`",
        Rule::hash => "`#`",
        Rule::dot => "`.`",
        Rule::label_char => "a letter, a digit, `-`, `_`, `.` or `/`",
        Rule::label_name | Rule::whole_label_name => "a label name (letters, digits, `-`, `_`, `.`, `/`)",
        Rule::name | Rule::whole_name => "a name (letters, digits, `-`, `_`, `.`)",
        Rule::host | Rule::whole_host => "a host name or an IP address",

        Rule::duration => "a duration",
        Rule::amount => "a number and a unit",
        Rule::unit => "a unit: `ms`, `s`, `m` or `h`",

        Rule::quantity => "a number or a percentage",
        Rule::percent => "`%`",

        Rule::selector => "a selector",
        Rule::requirement => "a label name or `!`",
        Rule::absent => "`!` and a label name",
        Rule::membership => "`in (…)` or `notin (…)`",
        Rule::comparison => "a comparison",
        Rule::present => "a label name",
        Rule::not => "`!`",
        Rule::equal => "`=`",
        Rule::differ => "`!=`",
        Rule::one_of => "`in`",
        Rule::not_in => "`notin`",
        Rule::open => "`(`",
        Rule::close => "`)`",
        Rule::value | Rule::bare | Rule::whole_bare => "a value",
        Rule::bare_char => "a character of a value",
        Rule::double_quoted | Rule::single_quoted => "a value in quotes",
        Rule::double_text | Rule::single_text => "text in quotes",
        Rule::double_end => "a closing `\"`",
        Rule::single_end => "a closing `'`",

        Rule::template => "a template",
        Rule::text => "text",
        Rule::open_brace => "`{{`",
        Rule::close_brace => "`}}`",
        Rule::placeholder => "a placeholder",
        Rule::placeholder_name => "the name of a placeholder",
        Rule::placeholder_end => "a closing `}`",

        Rule::secret_ref => "`vault:path#field`, `env:NAME`, `file:path` or `sops:file#key`",
        Rule::vault => "`vault:path#field`",
        Rule::env => "`env:NAME`",
        Rule::file => "`file:path`",
        Rule::sops => "`sops:file#key`",
        Rule::vault_path | Rule::file_path => "a path",
        Rule::path_part => "a part of a path",
        Rule::path_char => "a character of a path",
        Rule::field => "the name of a field",
        Rule::key => "a key",
        Rule::variable => "the name of an environment variable (letters, digits, `_`, no digit first)",
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// A megabyte of each text that could make a backtracking grammar slow: many beginnings, no end. When parsing is
    /// linear they take a second at most, without optimisation; when it is quadratic, hours.
    #[test]
    fn time_is_linear_also_beyond_the_limit() {
        const SIZE: usize = 1024 * 1024;
        let cases = [
            (Rule::duration, "", "1"),
            (Rule::quantity, "", "9"),
            (Rule::selector, "", "a"),
            (Rule::selector, "a in (", "b, "),
            (Rule::selector, "", "a in (b), "),
            (Rule::selector, "a=", "\"b, "),
            (Rule::template, "", "{"),
            (Rule::template, "", "{a"),
            (Rule::secret_ref, "vault:", "a/"),
            (Rule::secret_ref, "file:", "a "),
            (Rule::whole_host, "", "a."),
        ];
        for (rule, prefix, piece) in cases {
            let text = format!("{prefix}{}", piece.repeat(SIZE / piece.len()));
            let begin = Instant::now();
            let outcome = parse_any_length(rule, &text).is_ok();
            let took = begin.elapsed();
            assert!(took < Duration::from_secs(30), "{rule:?} {prefix}{piece}…: {took:?}, {outcome}");
        }
    }
}
