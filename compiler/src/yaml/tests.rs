//! The tree against its source: texts, places, shapes, and both sides of every limit.

use std::sync::Arc;

use proptest::prelude::*;

use super::build::build_within;
use super::limits::{LIMITS, Limits};
use super::{NodeId, Shape, Tree};
use crate::diagnostic::{Code, Findings};
use crate::source::{FileId, Files};

fn read(text: &str) -> (Option<Tree>, Vec<Code>) {
    read_within(LIMITS, text)
}

fn read_within(limits: Limits, text: &str) -> (Option<Tree>, Vec<Code>) {
    let mut findings = Findings::default();
    let tree = build_within(limits, FileId(0), &Arc::new(text.to_owned()), &mut findings);
    let mut files = Files::default();
    files.add("test.yml", Arc::new(text.to_owned()));
    (tree, findings.finish(&mut files).into_iter().map(|found| found.code).collect())
}

#[track_caller]
fn tree(text: &str) -> Tree {
    let (tree, codes) = read(text);
    tree.unwrap_or_else(|| panic!("refused with {codes:?}: {text}"))
}

/// The value under a key of the root.
#[track_caller]
fn value(tree: &Tree, key: &str) -> NodeId {
    let found = tree.entries(tree.root()).find(|entry| tree.text(entry.key) == Some(key));
    found.unwrap_or_else(|| panic!("no key `{key}`")).value
}

#[track_caller]
fn check(text: &str, key: &str, expected: &str, underlined: &str) {
    let tree = tree(text);
    let node = value(&tree, key);
    assert_eq!(tree.text(node), Some(expected), "text");
    assert_eq!(&text[tree.span(node)], underlined, "underlined");
}

#[test]
fn scalars_are_the_text_that_stands_there() {
    for plain in ["NO", "yes", "1.10", "012", "0x1F", "1e3", "2026-12-01", ".inf", "a b", "http://x:1/y"] {
        check(&format!("k: {plain} # end\n"), "k", plain, plain);
    }
    check("k: 'it''s'\n", "k", "it's", "'it''s'");
    check("k: \"a\\tb\"\n", "k", "a\tb", "\"a\\tb\"");
    check("k: \"plain\"\n", "k", "plain", "\"plain\"");
    check("k: two\n  lines\n", "k", "two lines", "two\n  lines");
    check("k: |\n  one\n  two\nz: 1\n", "k", "one\ntwo\n", "one\n  two");
    check("k: &anchor text\n", "k", "text", "text");
    check("k: &anchor 'text'\n", "k", "text", "'text'");
}

#[test]
fn places_are_bytes_whatever_stands_before() {
    check("ключ: значение # é\nk: ✓ ok\n", "k", "✓ ok", "✓ ok");
    check("# 🦀🦀\r\na: \"ü\"\r\nk: x\r\n", "k", "x", "x");
    check("\u{feff}k: x\n", "k", "x", "x");
    check("é: 1\nk: &ü {a: 1}\n", "é", "1", "1");
}

#[test]
fn only_what_yaml_calls_null_is_null() {
    for null in ["", "~", "null", "Null", "NULL"] {
        let tree = tree(&format!("k: {null}\n"));
        assert_eq!(tree.shape(value(&tree, "k")), Shape::Null, "`{null}`");
    }
    for text in ["''", "\"~\"", "'null'", "nul", "NuLL", "none"] {
        let tree = tree(&format!("k: {text}\n"));
        assert_eq!(tree.shape(value(&tree, "k")), Shape::Scalar, "`{text}`");
    }
}

#[test]
fn an_alias_is_the_node_that_it_names() {
    let tree = tree("a: &a [x, y]\nb: *a\n");
    assert_eq!(tree.items(value(&tree, "b")).len(), 2);
}

#[track_caller]
fn refused(text: &str, code: Code) {
    let (tree, codes) = read(text);
    assert!(tree.is_none(), "accepted: {text}");
    assert!(codes.contains(&code), "{codes:?} for {text}");
}

#[test]
fn what_the_language_does_not_want_is_refused() {
    for text in
        ["a: !t x", "!!map {a: b}", "a: &x {b: c}\n<<: *x", "a: b\n---\nc: d", "? [a]\n: b", "[{a: b}: c]"]
    {
        refused(text, Code::YamlFeature);
    }
    for text in ["a: 1\na: 2", "a: 1\n\"a\": 2", "x: [{b: 1, 'b': 2}]", "a: 1\n\"\\u0061\": 2"] {
        refused(text, Code::DuplicateKey);
    }
    for text in ["a: [", "a: b: c", "a: \"", "a: b\n\tc: d", "a: *nowhere", "a: b\0", "- a\nb: c", "%FOO"] {
        refused(text, Code::YamlSyntax);
    }
    for text in ["", "# nothing\n", "---\n"] {
        let (tree, codes) = read(text);
        let null = tree.is_some_and(|tree| tree.shape(tree.root()) == Shape::Null);
        assert!(null || codes == [Code::WrongType], "{text:?}: {codes:?}");
    }
}

#[test]
fn the_deepest_allowed_nesting_passes_and_one_more_does_not() {
    let deep = |levels: u32| format!("{}{}", "[".repeat(levels as usize), "]".repeat(levels as usize));
    tree(&deep(LIMITS.depth));
    refused(&deep(LIMITS.depth + 1), Code::OverLimit);
    // An alias counts as deep as what it names.
    let aliased = |levels: u32| format!("a: &a {}\nb: [[*a]]\n", deep(levels));
    tree(&aliased(LIMITS.depth - 3));
    refused(&aliased(LIMITS.depth - 2), Code::OverLimit);
}

#[test]
fn aliases_are_counted_as_if_they_were_written_out() {
    let list = format!("a: &a [{}]\n", "x, ".repeat(999));
    let uses = |times: usize| format!("{list}b: [{}]\n", "*a, ".repeat(times));
    let allowed = usize::try_from(LIMITS.expanded).unwrap() / 1000;
    tree(&uses(allowed));
    refused(&uses(allowed + 1), Code::OverLimit);
    refused("a: &a [*a]\n", Code::OverLimit);
}

#[test]
fn bytes_and_values_are_allowed_up_to_the_limit() {
    let small = Limits { bytes: 20, nodes: 4, ..LIMITS };
    let check = |text: &str, allowed: bool| {
        let (tree, codes) = read_within(small, text);
        assert_eq!(tree.is_some(), allowed, "{text}: {codes:?}");
        assert_eq!(codes.contains(&Code::OverLimit), !allowed, "{text}: {codes:?}");
    };
    check("[a, b, c]", true);
    check("[a, b, c, d]", false);
    check("a: 345678901234567890", false);
    check("a: 34567890123456789", true);
}

proptest! {
    /// Whatever is written in double quotes comes back, and its place is exact.
    #[test]
    fn quoted_text_comes_back(before in "[a-zé漢🦀 ]{0,20}", text in "\\PC{0,40}") {
        let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let source = format!("# {before}\nk: {quoted}\n");
        let tree = tree(&source);
        let node = value(&tree, "k");
        prop_assert_eq!(tree.text(node), Some(text.as_str()));
        prop_assert_eq!(&source[tree.span(node)], quoted.as_str());
    }

    /// No text makes the reader panic or hang, and a refusal always says why.
    #[test]
    fn any_text_is_a_tree_or_a_finding(text in "[\\[\\]{}:,&*!'\"|>#\\-? \\n\\t~a-cé]{0,60}") {
        let (tree, codes) = read(&text);
        prop_assert!(tree.is_some() == codes.is_empty(), "{:?}", codes);
    }
}
