//! Placeholders: allowed where they stand, and with a value for every target.
//! It must not know what the text is for.

use manent_grammar::{Part, Placeholder, Template, suggest};

use crate::decode::{RawEnv, RawTarget, Spanned, listed};
use crate::diagnostic::{Code, Diagnostic, Findings, Place};
use crate::source::Files;

/// Which placeholders have a value in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope {
    /// Where the text stands, for sentences.
    pub(super) what: &'static str,
    /// `{host}`, `{port}`, `{label.…}`
    pub(super) target: bool,
    /// `{release}`
    pub(super) release: bool,
    /// `{from}`
    pub(super) from: bool,
    /// `{var.…}`
    pub(super) variables: bool,
}

/// The member's name and settings: only what is the target's own.
pub(super) const OF_TARGET: Scope =
    Scope { what: "the pool", target: true, release: false, from: false, variables: false };
/// What runs forward.
pub(super) const FORWARD: Scope =
    Scope { what: "what runs forward", target: true, release: true, from: false, variables: true };
/// What runs on the way back.
pub(super) const BACK: Scope =
    Scope { what: "what runs on the way back", target: true, release: true, from: true, variables: true };
/// The artifact is one file for all targets.
const ARTIFACT: Scope =
    Scope { what: "the path of the artifact", target: false, release: true, from: false, variables: true };

/// Checks a template and fills its variables in.
pub(super) fn template(
    env: &RawEnv,
    found: &Spanned<Template>,
    scope: Scope,
    files: &Files,
    findings: &mut Findings,
) -> Template {
    for (placeholder, at) in found.value.placeholders() {
        let place = inside(&found.place, &found.value, at, files);
        check_one(env, placeholder, scope, place, findings);
    }
    for part in found.value.parts() {
        if let Part::Text(text) = part
            && let Some((written, meant)) = doubled(text)
        {
            doubled_braces(&found.place, &written, &meant, files, findings);
        }
    }
    found.value.substitute(|placeholder| match placeholder {
        Placeholder::Var(name) => env.vars.get(name).map(|value| value.value.clone()),
        Placeholder::Host
        | Placeholder::Port
        | Placeholder::Label(_)
        | Placeholder::Release
        | Placeholder::From => None,
    })
}

/// The path of the artifact, variables filled in.
pub(crate) fn artifact_path(
    env: &RawEnv,
    found: &Spanned<Template>,
    files: &Files,
    findings: &mut Findings,
) -> Template {
    template(env, found, ARTIFACT, files, findings)
}

fn check_one(env: &RawEnv, placeholder: &Placeholder, scope: Scope, place: Place, findings: &mut Findings) {
    let allowed = match placeholder {
        Placeholder::Host | Placeholder::Port | Placeholder::Label(_) => scope.target,
        Placeholder::Release => scope.release,
        Placeholder::From => scope.from,
        Placeholder::Var(_) => scope.variables,
    };
    if !allowed {
        findings.push(
            Diagnostic::error(Code::BadTemplate, format!("`{placeholder}` has no value in {}", scope.what))
                .at(place, "nothing to fill in here")
                .help(format!("remove it; what has a value here is {}", listed(forms(scope)))),
        );
        return;
    }
    match placeholder {
        Placeholder::Label(name) => label(env, name, place, findings),
        Placeholder::Port => port(env, place, findings),
        Placeholder::Var(name) if env.vars_complete && !env.vars.contains_key(name) => {
            let help = match suggest(name, env.vars.keys().map(String::as_str)) {
                Some(near) => format!("did you mean `{{var.{near}}}`?"),
                None => format!("add `vars: {{{name}: …}}` to the envconfig"),
            };
            findings.push(
                Diagnostic::error(Code::UnknownVariable, format!("the environment has no variable `{name}`"))
                    .at(place, "has no value")
                    .at(env.place.clone(), format!("no `{name}` under `vars` here"))
                    .help(help),
            );
        }
        Placeholder::Var(_) | Placeholder::Host | Placeholder::Release | Placeholder::From => {}
    }
}

/// A placeholder in text that will keep its braces: as it was written, and as it was meant.
fn doubled(text: &str) -> Option<(String, Placeholder)> {
    text.match_indices('{').find_map(|(open, _)| {
        let inner = text.get(open + 1..)?.split('}').next()?;
        let meant = Template::parse(&format!("{{{}}}", inner.trim())).ok()?;
        let (placeholder, _) = meant.placeholders().next()?;
        Some((format!("{{{{{inner}}}}}"), placeholder.clone()))
    })
}

fn doubled_braces(whole: &Place, written: &str, meant: &Placeholder, files: &Files, findings: &mut Findings) {
    let source = files.text(whole.file).get(whole.span.clone()).unwrap_or("");
    // Text that somebody else put together, such as the name of an artifact without a release, is not theirs to mend.
    let Some(at) = source.find(written) else { return };
    let start = whole.span.start + at;
    let place = Place { file: whole.file, span: start..start + written.len() };
    findings.push(
        Diagnostic::warning(Code::DoubledBraces, format!("nothing is filled into `{written}`"))
            .at(place, "two braces stand for one, as text")
            .help(format!("write `{meant}`")),
    );
}

fn forms(scope: Scope) -> Vec<&'static str> {
    let groups: [(bool, &[&str]); 4] = [
        (scope.target, &["{host}", "{port}", "{label.<name>}"]),
        (scope.release, &["{release}"]),
        (scope.from, &["{from}"]),
        (scope.variables, &["{var.<name>}"]),
    ];
    groups.iter().filter(|(has, _)| *has).flat_map(|(_, forms)| forms.iter().copied()).collect()
}

fn label(env: &RawEnv, name: &str, place: Place, findings: &mut Findings) {
    let lacking = |target: &&RawTarget| !target.labels.contains_key(name);
    let Some(first) = env.targets.iter().find(lacking) else { return };
    let count = env.targets.iter().filter(lacking).count();
    let known = env.targets.iter().flat_map(|target| target.labels.keys()).map(String::as_str);
    let help = match suggest(name, known) {
        Some(near) if near != name => format!("did you mean `{{label.{near}}}`?"),
        Some(_) | None => format!("give every target the label `{name}`"),
    };
    findings.push(
        Diagnostic::error(
            Code::UnknownLabel,
            format!("target `{}` has no label `{name}`{}", first.name(), others(count)),
        )
        .at(place, "has no value for this target")
        .at(first.host.place.clone(), format!("no label `{name}` here"))
        .help(help),
    );
}

fn port(env: &RawEnv, place: Place, findings: &mut Findings) {
    let lacking = |target: &&RawTarget| target.port.is_none();
    let Some(first) = env.targets.iter().find(lacking) else { return };
    let count = env.targets.iter().filter(lacking).count();
    findings.push(
        Diagnostic::error(
            Code::MissingPort,
            format!("target `{}` has no port{}", first.name(), others(count)),
        )
        .at(place, "has no value for this target")
        .at(first.host.place.clone(), "no `port` here")
        .help("give every target a `port`, or write the number here"),
    );
}

/// How many more there are like the one that is named.
pub(super) fn others(count: usize) -> String {
    match count {
        0 | 1 => String::new(),
        2 => " (and 1 other)".to_owned(),
        more => format!(" (and {} others)", more - 1),
    }
}

/// The place of a placeholder: where the text stands in the source as it is, or where the placeholder is found in what a
/// user wrote, when the text was made of several.
fn inside(whole: &Place, template: &Template, at: std::ops::Range<usize>, files: &Files) -> Place {
    let source = files.text(whole.file).get(whole.span.clone()).unwrap_or("");
    let written = template.to_string();
    let placeholder = written.get(at.clone()).unwrap_or("");
    let found = match source.find(&written) {
        Some(offset) => Some(offset + at.start),
        None => source.find(placeholder).filter(|_| !placeholder.is_empty()),
    };
    let Some(offset) = found else { return whole.clone() };
    let start = whole.span.start + offset;
    Place { file: whole.file, span: start..start + placeholder.len() }
}
