//! Properties of all little languages on generated texts: what is printed reads back, nothing panics.
//! Knows the languages only by their public functions.

use std::fmt::{Debug, Display};

use manent_grammar::{
    Duration, LONGEST_TEXT, Placeholder, Quantity, SecretRef, Selector, SyntaxError, Template, host,
    label_name, name, suggest,
};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Prints, parses again, prints again; and the same through serde.
#[track_caller]
fn check_round_trip<T>(text: &str, parse: fn(&str) -> Result<T, SyntaxError>) -> Result<(), TestCaseError>
where
    T: Debug + Display + PartialEq + Serialize + DeserializeOwned,
{
    let value = parse(text).map_err(|error| TestCaseError::fail(format!("`{text}`: {error}")))?;
    let printed = value.to_string();
    let read_back = parse(&printed);
    prop_assert_eq!(read_back.as_ref(), Ok(&value), "`{}` was printed as `{}`", text, printed);
    let json = serde_json::to_string(&value)?;
    prop_assert_eq!(&json, &serde_json::to_string(&printed)?);
    prop_assert_eq!(serde_json::from_str::<T>(&json)?, value);
    Ok(())
}

/// An error that can be shown: its place is in the text, its sentences are whole and on one line.
fn check_error<T>(text: &str, result: Result<T, SyntaxError>) -> Result<(), TestCaseError> {
    let Err(error) = result else { return Ok(()) };
    prop_assert!(text.get(error.at.clone()).is_some(), "{:?} is not a place in {:?}", error.at, text);
    prop_assert!(!error.expected.is_empty());
    let help = error.help.clone().unwrap_or_default();
    for sentence in [error.to_string(), help] {
        prop_assert!(!sentence.is_empty() && !sentence.ends_with('.'), "{:?}", sentence);
        prop_assert!(!sentence.contains(char::is_control), "{:?}", sentence);
        prop_assert!(sentence.len() < 600, "{:?}", sentence);
    }
    Ok(())
}

fn check_no_panic(text: &str) -> Result<(), TestCaseError> {
    check_error(text, Duration::parse(text))?;
    check_error(text, Quantity::parse(text))?;
    check_error(text, Selector::parse(text))?;
    check_error(text, Template::parse(text))?;
    check_error(text, SecretRef::parse(text))?;
    check_error(text, name(text))?;
    check_error(text, label_name(text))?;
    check_error(text, host(text))?;
    suggest(text, [text, "host"]);
    Ok(())
}

fn selector() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        "[a-zA-Z0-9.:/é@%+-][a-zA-Z0-9.:/é=!~&|-]{0,6}"
            .prop_filter("a joint of other languages", |value| !value.contains("&&")
                && !value.contains("||")),
        "\"[^\"]{0,8}\"",
        "'[^']{0,8}'",
    ];
    let values = prop::collection::vec(value.clone(), 1..4).prop_map(|values| values.join(" ,"));
    let label = "[a-zA-Z0-9._/-]{1,8}";
    let requirement = prop_oneof![
        label.prop_map(|label| label),
        label.prop_map(|label| format!("!{label}")),
        (label, "=|==|!=| = | != ", value)
            .prop_map(|(label, operator, value)| format!("{label}{operator}{value}")),
        (label, " in| notin ", values)
            .prop_map(|(label, operator, values)| format!("{label}{operator}({values})")),
    ];
    prop::collection::vec(requirement, 1..5).prop_map(|requirements| requirements.join(", "))
}

fn template() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{host}".to_owned()),
        Just("{port}".to_owned()),
        Just("{release}".to_owned()),
        Just("{from}".to_owned()),
        Just("{{".to_owned()),
        Just("}}".to_owned()),
        "\\{label\\.[a-z0-9._/-]{1,6}\\}",
        "\\{var\\.[a-z0-9._/-]{1,6}\\}",
        "[^{}]{0,6}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn secret_ref() -> impl Strategy<Value = String> {
    let path = "/?[a-zäö0-9._$-]{1,6}(/[a-z0-9][a-z0-9. _-]{0,4}[a-z0-9]){0,3}"
        .prop_filter("leaves the root", |path| path.starts_with('/') || !path.starts_with(".."));
    prop_oneof![
        "vault:[a-zäö0-9]{1,6}(/[a-z0-9_-]{1,4}){0,3}#[a-zä0-9._-]{1,6}",
        "env:[A-Za-z_][A-Za-z0-9_]{0,8}",
        path.clone().prop_map(|path| format!("file:{path}")),
        (path, "[a-z0-9_-]{1,4}(\\.[a-zä0-9_-]{1,4}){0,3}")
            .prop_map(|(path, keys)| format!("sops:{path}#{keys}")),
    ]
}

proptest! {
    #[test]
    fn durations_read_back(milliseconds in 0..=87_600 * 3_600_000_u64) {
        let duration = Duration::from_millis(milliseconds);
        prop_assert_eq!(Duration::parse(&duration.to_string()), Ok(duration));
        check_round_trip(&duration.to_string(), Duration::parse)?;
    }

    #[test]
    fn durations_add_up(h in 0..1000_u64, m in 0..1000_u64, s in 0..1000_u64, ms in 0..1000_u64) {
        let parsed = Duration::parse(&format!("{h}h{m}m{s}s{ms}ms")).unwrap();
        prop_assert_eq!(parsed.millis(), ((h * 60 + m) * 60 + s) * 1000 + ms);
    }

    #[test]
    fn quantities_read_back(count: u32, percent in 0..=100_u8) {
        check_round_trip(&count.to_string(), Quantity::parse)?;
        check_round_trip(&format!("{percent}%"), Quantity::parse)?;
        prop_assert_eq!(Quantity::parse(&count.to_string()), Ok(Quantity::Count(count)));
        prop_assert_eq!(Quantity::parse(&format!("{percent}%")), Ok(Quantity::Percent(percent)));
    }

    #[test]
    fn selectors_read_back(text in selector()) {
        check_round_trip(&text, Selector::parse)?;
    }

    #[test]
    fn templates_read_back(text in template()) {
        check_round_trip(&text, Template::parse)?;
        let template = Template::parse(&text).unwrap();
        prop_assert_eq!(template.to_string(), text.as_str());
        for (placeholder, at) in template.placeholders() {
            prop_assert_eq!(&text[at], placeholder.to_string());
        }
    }

    #[test]
    fn secret_refs_read_back(text in secret_ref()) {
        check_round_trip(&text, SecretRef::parse)?;
    }

    /// Filling in a part first and the rest later is the same as filling in all at once, whatever the values are.
    #[test]
    fn substitution_and_rendering_agree(text in template(), value in "[{}a-z.]{0,8}") {
        let template = Template::parse(&text).unwrap();
        let variable = |wanted: &Placeholder| matches!(wanted, Placeholder::Var(_)).then(|| value.clone());
        let substituted = template.substitute(variable);
        let read_back = Template::parse(&substituted.to_string());
        prop_assert_eq!(read_back.as_ref(), Ok(&substituted));
        let all = |_: &Placeholder| Some(value.clone());
        prop_assert_eq!(substituted.render(all), template.render(all));
    }

    #[test]
    fn nothing_panics_on_any_text(text in any::<String>()) {
        check_no_panic(&text)?;
    }

    #[test]
    fn nothing_panics_on_likely_texts(text in "[a{}=!,()\"'#:/.~ %0-9mshé\u{301}\n-]{0,24}") {
        check_no_panic(&text)?;
        check_no_panic(&format!("vault:{text}"))?;
        check_no_panic(&format!("file:{text}"))?;
        check_no_panic(&format!("sops:{text}"))?;
    }

    #[test]
    fn long_texts_give_short_messages(piece in "[a{}=!,()\"'#:/.~ %01mshé\n-]{1,4}", prefix in "(|vault:|file:|\\{label\\.|\\{|a=|0)"){
        check_no_panic(&format!("{prefix}{}", piece.repeat(2000)))?;
    }

    #[test]
    fn damaged_texts_do_not_panic(
        text in prop_oneof![selector(), template(), secret_ref()],
        at: prop::sample::Index,
        damage in any::<char>(),
    ) {
        let mut chars: Vec<char> = text.chars().collect();
        let at = at.index(chars.len() + 1);
        chars.insert(at, damage);
        check_no_panic(&chars.into_iter().collect::<String>())?;
    }
}

/// Against exact arithmetic that is done in another way: by search instead of division.
#[test]
fn percentages_round_exactly() {
    for total in 1..=200_u32 {
        for percent in 0..=100_u8 {
            let exact = u32::from(percent) * total;
            let down = (0..=total).rev().find(|members| members * 100 <= exact).unwrap();
            let up = (0..=total).find(|members| members * 100 >= exact).unwrap();
            let quantity = Quantity::parse(&format!("{percent}%")).unwrap();
            assert_eq!(quantity.round_down(total), down, "{percent}% of {total}, down");
            assert_eq!(quantity.round_up(total), up, "{percent}% of {total}, up");
        }
    }
}

#[test]
fn texts_over_the_limit_are_refused_kindly() {
    let fits = "x".repeat(LONGEST_TEXT);
    assert!(Template::parse(&fits).is_ok());
    let too_long = fits + "é";
    let errors = [
        Duration::parse(&too_long).map(drop),
        Quantity::parse(&too_long).map(drop),
        Selector::parse(&too_long).map(drop),
        Template::parse(&too_long).map(drop),
        SecretRef::parse(&too_long).map(drop),
        name(&too_long),
        host(&too_long),
    ];
    for error in errors.map(Result::unwrap_err) {
        assert_eq!(error.to_string(), "expected at most 65536 bytes, found 65538 bytes");
        assert_eq!(error.help.as_deref(), Some("make the text shorter, or move it into a file of its own"));
    }
}
