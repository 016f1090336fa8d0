//! Templates: text with `{placeholders}`.
//! Knows which placeholders exist, not where each is allowed and not their values.

use std::fmt;
use std::ops::Range;

use crate::error::is_quotable;
use crate::parser::{self, Node, Rule};
use crate::suggest::suggest;
use crate::text_form::text_form;
use crate::{SyntaxError, names};

/// Text with places that are filled in later: `http://{host}:{port}/`.
///
/// Its parts are kept in one form only (no empty text, no two texts in a row), so equal templates print alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Template(Vec<Part>);

text_form!(Template, "a template such as `{host}:{port}`");

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Text that stays as it is; a brace here is a brace.
    Text(String),
    /// A place to fill in.
    Placeholder(Placeholder),
}

/// What a place in a template is filled with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Placeholder {
    /// `{host}`: the host of the target.
    Host,
    /// `{port}`: the port of the target.
    Port,
    /// `{label.zone}`: the value of a label of the target.
    Label(String),
    /// `{release}`: the release that should be on the target.
    Release,
    /// `{from}`: the release that is being left.
    From,
    /// `{var.name}`: a variable of the environment.
    Var(String),
}

const FORMS: [&str; 6] = ["host", "port", "label.<name>", "release", "from", "var.<name>"];

const ALL_FORMS: &str =
    "placeholders are `{host}`, `{port}`, `{label.<name>}`, `{release}`, `{from}` and `{var.<name>}`";

impl Template {
    /// Parses text with placeholders; `{{` and `}}` stand for braces.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let template = parser::parse(Rule::template, text, |error| explain(text, error))?;
        let mut parts = Self::default();
        for part in template.into_inner() {
            match part.as_rule() {
                Rule::open_brace => parts.push_text("{"),
                Rule::close_brace => parts.push_text("}"),
                Rule::text => parts.push_text(part.as_str()),
                Rule::placeholder => parts.0.push(Part::Placeholder(placeholder(text, &part)?)),
                // The end of the input is the only other rule in there.
                _ => {}
            }
        }
        Ok(parts)
    }

    /// The template that is this text and nothing else, braces included.
    pub fn literal(text: &str) -> Self {
        let mut template = Self::default();
        template.push_text(text);
        template
    }

    /// The pieces in order.
    pub fn parts(&self) -> &[Part] {
        &self.0
    }

    /// The placeholders in order, each with its bytes (braces included) in the printed template; that is the text
    /// which was parsed.
    pub fn placeholders(&self) -> impl Iterator<Item = (&Placeholder, Range<usize>)> {
        let mut end = 0;
        self.0.iter().filter_map(move |part| {
            let start = end;
            end += part.to_string().len();
            match part {
                Part::Text(_) => None,
                Part::Placeholder(placeholder) => Some((placeholder, start..end)),
            }
        })
    }

    /// The text with all placeholders filled in, or the first placeholder for which `lookup` has no value.
    pub fn render(
        &self,
        mut lookup: impl FnMut(&Placeholder) -> Option<String>,
    ) -> Result<String, Placeholder> {
        let mut rendered = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => rendered.push_str(text),
                Part::Placeholder(placeholder) => {
                    rendered.push_str(&lookup(placeholder).ok_or_else(|| placeholder.clone())?);
                }
            }
        }
        Ok(rendered)
    }

    /// The template with some placeholders filled in. A value is text: braces in it are braces.
    pub fn substitute(&self, mut lookup: impl FnMut(&Placeholder) -> Option<String>) -> Self {
        let mut substituted = Self::default();
        for part in &self.0 {
            match part {
                Part::Text(text) => substituted.push_text(text),
                Part::Placeholder(placeholder) => match lookup(placeholder) {
                    Some(value) => substituted.push_text(&value),
                    None => substituted.0.push(part.clone()),
                },
            }
        }
        substituted
    }

    /// The text, if there is no placeholder.
    pub fn as_literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(Part::Text(before)) = self.0.last_mut() {
            before.push_str(text);
        } else {
            self.0.push(Part::Text(text.to_owned()));
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| part.fmt(f))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(&text.replace('{', "{{").replace('}', "}}")),
            Self::Placeholder(placeholder) => placeholder.fmt(f),
        }
    }
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("{host}"),
            Self::Port => f.write_str("{port}"),
            Self::Label(name) => write!(f, "{{label.{name}}}"),
            Self::Release => f.write_str("{release}"),
            Self::From => f.write_str("{from}"),
            Self::Var(name) => write!(f, "{{var.{name}}}"),
        }
    }
}

fn placeholder(text: &str, node: &Node<'_>) -> Result<Placeholder, SyntaxError> {
    let name = parser::text_of(node, Rule::placeholder_name);
    let known = match name.split_once('.') {
        None => match name {
            "host" => Some(Placeholder::Host),
            "port" => Some(Placeholder::Port),
            "release" => Some(Placeholder::Release),
            "from" => Some(Placeholder::From),
            _ => None,
        },
        Some(("label", label)) if names::label_name(label).is_ok() => {
            Some(Placeholder::Label(label.to_owned()))
        }
        Some(("var", variable)) if names::label_name(variable).is_ok() => {
            Some(Placeholder::Var(variable.to_owned()))
        }
        Some(_) => None,
    };
    known.ok_or_else(|| {
        SyntaxError::at(text, parser::range(node), "a known placeholder").with_help(help_for_unknown(name))
    })
}

fn help_for_unknown(name: &str) -> String {
    match likely(name.trim()) {
        Some(meant) => format!("did you mean `{{{meant}}}`? {ALL_FORMS}; `{{{{` is a brace"),
        None => format!("write `{{{{` and `}}}}` for braces; {ALL_FORMS}"),
    }
}

/// The placeholder that an unknown name was most likely meant to be.
fn likely(name: &str) -> Option<String> {
    let (family, member) = match name.split_once(['.', ':']) {
        Some((family, member)) => (family, Some(member)),
        None => (name, None),
    };
    let plain = |form: &&str| !form.contains('.');
    match name.to_lowercase().as_str() {
        "hostname" | "address" | "ip" | "target" => return Some("host".to_owned()),
        "version" | "tag" => return Some("release".to_owned()),
        "previous" => return Some("from".to_owned()),
        _ => {}
    }
    match member.filter(|member| is_quotable(member) && names::label_name(member).is_ok()) {
        Some(member) => suggest(family, ["label", "var"]).map(|family| format!("{family}.{member}")),
        None if member.is_none() && matches!(family, "label" | "var") => Some(format!("{family}.<name>")),
        None if member.is_none() => suggest(family, FORMS.into_iter().filter(plain)),
        None => None,
    }
}

fn explain(text: &str, error: SyntaxError) -> SyntaxError {
    let rest = text.get(error.at.start..).unwrap_or_default();
    if rest.starts_with('}') {
        return error
            .expecting(parser::words(Rule::close_brace))
            .with_help("write `}}` for a brace, or open the placeholder with one `{`");
    }
    // Not closed: the brace to mend is the one that opens it.
    let opening = text.get(..error.at.start).and_then(|before| before.rfind('{')).unwrap_or(error.at.start);
    SyntaxError { at: opening..error.at.start, ..error }
        .with_help("close the placeholder with `}`, or write `{{` for a brace")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Template {
        Template::parse(text).unwrap()
    }

    #[test]
    fn placeholders_know_their_places() {
        let text = "é{{}}{host}:{label.a/b}";
        let found: Vec<_> = parse(text).placeholders().map(|(_, at)| text[at].to_owned()).collect();
        assert_eq!(found, ["{host}", "{label.a/b}"]);
    }

    #[test]
    fn rendering_fills_in_or_names_the_first_gap() {
        let template = parse("{{{host}}} {var.x}");
        let host_only = |wanted: &Placeholder| (*wanted == Placeholder::Host).then(|| "{port}".to_owned());
        assert_eq!(template.render(|_| Some("v".into())), Ok("{v} v".into()));
        assert_eq!(template.render(host_only), Err(Placeholder::Var("x".into())));
    }

    #[test]
    fn a_substituted_value_stays_literal() {
        let template = parse("{var.x}-{host}");
        let with_x =
            template.substitute(|wanted| matches!(wanted, Placeholder::Var(_)).then(|| "{host}}".to_owned()));
        assert_eq!(with_x.to_string(), "{{host}}}}-{host}");
        assert_eq!(parse(&with_x.to_string()), with_x);
        assert_eq!(with_x.render(|_| Some("web1".into())), Ok("{host}}-web1".into()));
    }

    #[test]
    fn a_template_without_placeholders_is_literal() {
        assert_eq!(parse("a{{b}}").as_literal(), Some("a{b}"));
        assert_eq!(parse("").as_literal(), Some(""));
        assert_eq!(parse("{host}").as_literal(), None);
        assert_eq!(Template::literal("{host}").as_literal(), Some("{host}"));
    }
}
