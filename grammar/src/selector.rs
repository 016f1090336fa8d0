//! Selectors: which targets, by their labels; the meaning of the Kubernetes label selector.
//! Knows labels as a map of texts, nothing of targets and waves.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::SyntaxError;
use crate::parser::{self, Node, Rule};
use crate::text_form::text_form;

/// Requirements on labels that all have to hold: `canary=true, zone in (a, b), !legacy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

text_form!(Selector, "a selector such as `canary=true`");

/// One condition on one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// `label=value`
    Equals {
        /// The name of the label.
        label: String,
        /// The value that it must have.
        value: String,
    },
    /// `label!=value`; also holds without the label.
    Differs {
        /// The name of the label.
        label: String,
        /// The value that it must not have.
        value: String,
    },
    /// `label in (value, value)`
    In {
        /// The name of the label.
        label: String,
        /// The values of which it must have one.
        values: Vec<String>,
    },
    /// `label notin (value, value)`; also holds without the label.
    NotIn {
        /// The name of the label.
        label: String,
        /// The values of which it must have none.
        values: Vec<String>,
    },
    /// `label`
    Present {
        /// The name of the label.
        label: String,
    },
    /// `!label`
    Absent {
        /// The name of the label.
        label: String,
    },
}

impl Selector {
    /// Parses requirements joined by `,`.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let selector = parser::parse(Rule::selector, text, |error| {
            let help = help(text, &error);
            error.with_help(help)
        })?;
        Ok(Self(
            parser::children(&selector, Rule::requirement)
                .flat_map(Node::into_inner)
                .map(requirement)
                .collect(),
        ))
    }

    /// Whether all requirements hold for these labels.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| requirement.holds(labels))
    }

    /// The requirements, as written.
    pub fn requirements(&self) -> &[Requirement] {
        &self.0
    }

    /// The names of the labels that are asked for.
    pub fn labels(&self) -> BTreeSet<&str> {
        self.0.iter().map(Requirement::label).collect()
    }
}

impl Requirement {
    /// The name of the label that it is about.
    pub fn label(&self) -> &str {
        match self {
            Self::Equals { label, .. }
            | Self::Differs { label, .. }
            | Self::In { label, .. }
            | Self::NotIn { label, .. }
            | Self::Present { label }
            | Self::Absent { label } => label,
        }
    }

    /// Whether it holds for these labels.
    pub fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        let actual = labels.get(self.label());
        match self {
            Self::Equals { value, .. } => actual == Some(value),
            Self::Differs { value, .. } => actual != Some(value),
            Self::In { values, .. } => actual.is_some_and(|actual| values.contains(actual)),
            Self::NotIn { values, .. } => actual.is_none_or(|actual| !values.contains(actual)),
            Self::Present { .. } => actual.is_some(),
            Self::Absent { .. } => actual.is_none(),
        }
    }
}

/// Turns what is inside a requirement (its form) into the requirement.
fn requirement(form: Node<'_>) -> Requirement {
    let label = parser::text_of(&form, Rule::label_name).to_owned();
    let mut values = parser::children(&form, Rule::value).map(|value| unquoted(&value));
    if parser::has(&form, Rule::equal) {
        Requirement::Equals { label, value: values.next().unwrap_or_default() }
    } else if parser::has(&form, Rule::differ) {
        Requirement::Differs { label, value: values.next().unwrap_or_default() }
    } else if parser::has(&form, Rule::one_of) {
        Requirement::In { label, values: values.collect() }
    } else if parser::has(&form, Rule::not_in) {
        Requirement::NotIn { label, values: values.collect() }
    } else if parser::has(&form, Rule::not) {
        Requirement::Absent { label }
    } else {
        Requirement::Present { label }
    }
}

fn unquoted(value: &Node<'_>) -> String {
    let quoted = value.clone().into_inner().flat_map(Node::into_inner);
    let text =
        quoted.into_iter().find(|part| matches!(part.as_rule(), Rule::double_text | Rule::single_text));
    text.map_or(value.as_str(), |text| text.as_str()).to_owned()
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.0.iter().enumerate() {
            let glue = if index == 0 { "" } else { ", " };
            write!(f, "{glue}{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equals { label, value } => write!(f, "{label}={}", quoted(value)),
            Self::Differs { label, value } => write!(f, "{label}!={}", quoted(value)),
            Self::In { label, values } => write!(f, "{label} in ({})", list(values)),
            Self::NotIn { label, values } => write!(f, "{label} notin ({})", list(values)),
            Self::Present { label } => f.write_str(label),
            Self::Absent { label } => write!(f, "!{label}"),
        }
    }
}

fn list(values: &[String]) -> String {
    values.iter().map(|value| quoted(value)).collect::<Vec<_>>().join(", ")
}

/// The value as it has to be written. Only parsed values get here, and those never have both kinds of quotes.
fn quoted(value: &str) -> String {
    if parser::is(Rule::whole_bare, value) {
        value.to_owned()
    } else if value.contains('"') {
        format!("'{value}'")
    } else {
        format!("\"{value}\"")
    }
}

/// The first advice that fits, from the particular to the general.
fn help(text: &str, error: &SyntaxError) -> &'static str {
    let before = text.get(..error.at.start).unwrap_or_default();
    let rest = text.get(error.at.start..).unwrap_or_default();
    let word = text.get(error.at.clone()).unwrap_or_default().to_lowercase();
    let expects = |words: &str| error.expected.iter().any(|choice| choice.starts_with(words));
    let in_label = before.ends_with(|c: char| c.is_ascii_alphanumeric()) && !rest.is_ascii();
    if text.trim().is_empty() {
        "name at least one label, as in `canary=true`"
    } else if expects("a closing") {
        "close the quote, or use the other kind of quotes around it"
    } else if rest.is_empty() && before.trim_end().ends_with(',') {
        "remove the `,` at the end"
    } else if expects("a label name") && rest.starts_with(',') {
        "remove the extra `,`"
    } else if rest.starts_with("&&") || rest.starts_with(';') || word == "and" {
        "join requirements with `,`: all of them have to hold"
    } else if rest.starts_with("||") || word == "or" {
        "there is no `or`: list the values, as in `zone in (a, b)`"
    } else if expects("a value") && (rest.is_empty() || rest.starts_with([',', ')'])) {
        "write a value, or `\"\"` for the empty one"
    } else if expects("a value") {
        "put a value with blanks or operators in quotes, as in `zone=\"a b\"`"
    } else if expects("`(`") {
        "put the values in parentheses, as in `zone in (a, b)`"
    } else if expects("`)`") {
        "put a `,` between values and a `)` after the last, as in `zone in (a, b)`"
    } else if expects("`in`") && matches!(word.as_str(), "in" | "notin" | "not") {
        "write `in` or `notin` in small letters and one word, as in `zone notin (a, b)`"
    } else if expects("`=`") && rest.starts_with(['<', '>', '~', '!', '*', '^', ':']) {
        "compare by `label=value`, `label!=value`, `label in (a, b)` or `label notin (a, b)`"
    } else if expects("`=`") && in_label {
        "label names have only the letters a to z, digits, `-`, `_`, `.` and `/`"
    } else if expects("`,`") && rest.starts_with('=') {
        "`!` before a label asks for its absence; for another value write `label!=value`"
    } else if expects("`,`") && rest.starts_with(['"', '\'']) {
        "put the quotes around the whole value"
    } else if expects("`,`") {
        "put a `,` between requirements, and a value with blanks in quotes"
    } else {
        "a requirement is `label=value`, `label!=value`, `label in (a, b)`, `label notin (a, b)`, `label` or `!label`"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(selector: &str, labels: &[(&str, &str)], expected: bool) {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let parsed = Selector::parse(selector).unwrap();
        assert_eq!(parsed.matches(&labels), expected, "`{selector}` on {labels:?}");
    }

    #[test]
    fn equality_needs_the_label() {
        check("zone=a", &[("zone", "a")], true);
        check("zone == a", &[("zone", "b")], false);
        check("zone=a", &[], false);
        check("zone=\"\"", &[], false);
        check("zone=''", &[("zone", "")], true);
    }

    #[test]
    fn inequality_holds_without_the_label() {
        check("zone!=a", &[], true);
        check("zone != a", &[("zone", "a")], false);
        check("zone!=a", &[("zone", "b")], true);
        check("zone notin (a, b)", &[], true);
        check("zone notin (a, b)", &[("zone", "b")], false);
        check("zone notin (a, b)", &[("zone", "c")], true);
    }

    #[test]
    fn membership_needs_the_label() {
        check("zone in (a, b)", &[("zone", "b")], true);
        check("zone in (a, b)", &[("zone", "c")], false);
        check("zone in (a, b)", &[], false);
    }

    #[test]
    fn presence_ignores_the_value() {
        check("zone", &[("zone", "")], true);
        check("zone", &[], false);
        check("!zone", &[], true);
        check("! zone", &[("zone", "")], false);
    }

    #[test]
    fn all_requirements_have_to_hold() {
        check("zone=a, !old", &[("zone", "a")], true);
        check("zone=a, !old", &[("zone", "a"), ("old", "1")], false);
    }

    #[test]
    fn values_are_compared_as_text() {
        check("country=NO", &[("country", "NO")], true);
        check("build=1.10", &[("build", "1.1")], false);
        check("rack=012", &[("rack", "12")], false);
        check("canary=true", &[("canary", "yes")], false);
    }

    #[test]
    fn words_of_the_language_can_be_names_and_values() {
        check("in in (in, notin)", &[("in", "notin")], true);
        check("notin=in", &[("notin", "in")], true);
        check("inside in(a)", &[("inside", "a")], true);
    }

    #[test]
    fn labels_are_listed_once() {
        let selector = Selector::parse("b=1, a, b!=2").unwrap();
        assert_eq!(selector.labels().into_iter().collect::<Vec<_>>(), ["a", "b"]);
    }
}
