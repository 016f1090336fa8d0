//! Runs every line of `corpus/`: what each language accepts, and what it says about what it refuses.
//! Knows the languages only by parse and print. `UPDATE_CORPUS=1 cargo test -p manent-grammar` writes new messages.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the lints spare test functions, not the functions that tests share"
)]

use std::fmt::{Display, Write as _};
use std::path::Path;

use manent_grammar::{Duration, Quantity, Selector, SyntaxError, Template, host, name};

type Parse = fn(&str) -> Result<String, SyntaxError>;

fn printed<T: Display>(result: Result<T, SyntaxError>) -> Result<String, SyntaxError> {
    result.map(|value| value.to_string())
}

/// A file that is not listed here fails `every_file_is_run`.
const LANGUAGES: [(&str, Parse); 7] = [
    ("duration", |text| printed(Duration::parse(text))),
    ("host", |text| host(text).map(|()| text.to_owned())),
    ("name", |text| name(text).map(|()| text.to_owned())),
    ("quantity", |text| printed(Quantity::parse(text))),
    ("secret_ref", |text| printed(manent_grammar::SecretRef::parse(text))),
    ("selector", |text| printed(Selector::parse(text))),
    ("template", |text| printed(Template::parse(text))),
];

#[test]
fn every_case_is_as_the_corpus_says() {
    for (language, parse) in LANGUAGES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(format!("{language}.txt"));
        let written = std::fs::read_to_string(&path).unwrap();
        let actual = run(language, parse, &written);
        if std::env::var_os("UPDATE_CORPUS").is_some() {
            std::fs::write(&path, actual).unwrap();
            continue;
        }
        for (number, (written, actual)) in written.lines().zip(actual.lines()).enumerate() {
            assert_eq!(written, actual, "corpus/{language}.txt:{}", number + 1);
        }
        assert_eq!(written, actual, "corpus/{language}.txt");
    }
}

#[test]
fn every_file_is_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, LANGUAGES.map(|(language, _)| format!("{language}.txt")));
}

/// The file as it should be: comments and cases stay, the answers below the cases are what the language says now.
/// Whether a case is accepted or refused is never rewritten.
fn run(language: &str, parse: Parse, file: &str) -> String {
    let mut output = String::new();
    for line in file.lines() {
        if let Some(case) = line.strip_prefix("accept ") {
            let text = between_bars(case.split(" as ").next().unwrap());
            let printed =
                parse(text).unwrap_or_else(|error| panic!("{language}: `{text}` is refused: {error}"));
            let again = parse(&printed).unwrap_or_else(|error| panic!("{language}: `{printed}`: {error}"));
            assert_eq!(again, printed, "{language}: the canonical form is stable");
            writeln!(output, "accept |{text}| as |{printed}|").unwrap();
        } else if let Some(case) = line.strip_prefix("reject ") {
            let text = between_bars(case);
            let error = match parse(text) {
                Ok(printed) => panic!("{language}: `{text}` is accepted as `{printed}`"),
                Err(error) => error,
            };
            output.push_str(&refusal(text, &error));
        } else if line.is_empty() || line.starts_with('#') {
            writeln!(output, "{line}").unwrap();
        } else {
            assert!(line.starts_with(' '), "{language}: not a case, a comment or an answer: {line}");
        }
    }
    output
}

fn between_bars(text: &str) -> &str {
    text.strip_prefix('|')
        .and_then(|text| text.strip_suffix('|'))
        .unwrap_or_else(|| panic!("no bars: {text}"))
}

/// The message as a user sees it: the text, the place underlined, what is wrong, what to do.
fn refusal(text: &str, error: &SyntaxError) -> String {
    let before = text[..error.at.start].chars().count();
    let marks = "^".repeat(text[error.at.clone()].chars().count().max(1));
    let indent = " ".repeat("reject |".len() + before);
    let help = error.help.as_deref().unwrap_or_else(|| panic!("no help for `{text}`: {error}"));
    format!("reject |{text}|\n{indent}{marks}\n    {error}\n    help: {help}\n")
}
