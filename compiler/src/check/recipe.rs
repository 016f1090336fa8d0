//! A recipe with the parameters of a descriptor filled in. Values are templates of their own: what they give is not
//! read again, and nothing is ever pasted into a script. It must not know which recipe it is.

use std::collections::BTreeMap;

use manent_grammar::{Template, suggest};
use manent_plan::{Action, Artifact, Recipe as Procedure};

use super::templates::{BACK, FORWARD, Scope, template};
use crate::decode::{
    Decoder, DefaultValue, Parameter, ParameterKind, Piece, RawDeploy, RawEnv, Recipe, RecipeAction,
    RecipeText, RecipeTime, Spanned, fits, listed,
};
use crate::diagnostic::{Code, Diagnostic, Findings, Place};
use crate::source::{FileId, Files};
use crate::yaml::{NodeId, Shape, Tree};

/// The value of a parameter.
enum Value {
    Text(Spanned<Template>),
    Argv(Vec<Spanned<Template>>),
    Duration(u64),
}

/// Everything that filling in needs.
pub(crate) struct Filled<'a> {
    pub(crate) env: &'a RawEnv,
    /// The descriptor's tree, where values of parameters stand.
    pub(crate) tree: &'a Tree,
    pub(crate) file: FileId,
    pub(crate) deploy: &'a RawDeploy,
    pub(crate) recipe: &'a Recipe,
    pub(crate) artifact: Option<&'a Artifact>,
}

/// The recipe of the plan.
pub(crate) fn fill(filled: &Filled<'_>, files: &Files, findings: &mut Findings) -> Option<Procedure> {
    let before = findings.errors();
    let values = values(filled, findings);
    if findings.errors() > before {
        return None;
    }
    let forward = |what| Scope { what, ..FORWARD };
    let current = Scope { release: false, ..forward("the question for the current release") };
    let mut fill = Fill { filled, values, files, findings };
    let recipe = filled.recipe;
    Some(Procedure {
        name: filled.deploy.recipe.value.clone(),
        apply: fill.actions(&recipe.apply, FORWARD),
        undo: fill.actions(&recipe.undo, BACK),
        current: fill.actions(&recipe.current, current),
        retain: fill.actions(&recipe.retain, Scope { what: "what tidies up", ..BACK }),
    })
}

fn values(filled: &Filled<'_>, findings: &mut Findings) -> BTreeMap<String, Value> {
    let recipe_name = &filled.deploy.recipe.value;
    let parameters = &filled.recipe.parameters;
    for (name, _) in &filled.deploy.with {
        if parameters.iter().any(|parameter| parameter.name.value == name.value) {
            continue;
        }
        let known = || parameters.iter().map(|parameter| parameter.name.value.as_str());
        let help = match suggest(&name.value, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its parameters are {}", listed(known())),
        };
        findings.push(
            Diagnostic::error(
                Code::UnknownParameter,
                format!("recipe `{recipe_name}` has no parameter `{}`", name.value),
            )
            .at(name.place.clone(), "unknown parameter")
            .help(help),
        );
    }
    let mut values = BTreeMap::new();
    for parameter in parameters {
        let written = filled.deploy.with.iter().find(|(name, _)| name.value == parameter.name.value);
        let value = match (written, &parameter.default) {
            (Some((_, node)), _) => written_value(filled, parameter, *node, findings),
            (None, Some(default)) => default_value(filled, default, &values),
            (None, None) => {
                missing(filled, parameter, findings);
                None
            }
        };
        if let Some(value) = value {
            values.insert(parameter.name.value.clone(), value);
        }
    }
    values
}

fn missing(filled: &Filled<'_>, parameter: &Parameter, findings: &mut Findings) {
    let name = &parameter.name.value;
    let message = format!("recipe `{}` needs the parameter `{name}`", filled.deploy.recipe.value);
    findings.push(
        Diagnostic::error(Code::MissingParameter, message)
            .at(filled.deploy.recipe.place.clone(), format!("`{name}` is missing under `with`"))
            .help(format!("add `{name}: …` under `with`; it is {}", parameter.kind.words())),
    );
}

fn written_value(
    filled: &Filled<'_>,
    parameter: &Parameter,
    node: NodeId,
    findings: &mut Findings,
) -> Option<Value> {
    let tree = filled.tree;
    let list = parameter.kind == ParameterKind::Argv;
    let wanted = if list { Shape::Sequence } else { Shape::Scalar };
    let mut decoder = Decoder { tree, file: filled.file, findings };
    let place = decoder.place(node);
    let text = tree.text(node).unwrap_or("");
    if tree.shape(node) != wanted || !fits(parameter.kind, text) {
        let message =
            format!("the parameter `{}` has to be {}", parameter.name.value, parameter.kind.words());
        findings.push(
            Diagnostic::error(Code::BadParameter, message)
                .at(place, "not accepted")
                .help(format!("write {}", parameter.kind.words())),
        );
        return None;
    }
    match parameter.kind {
        ParameterKind::Argv => {
            let items = tree.items(node);
            let argv: Vec<_> = items.iter().filter_map(|item| decoder.template(*item)).collect();
            (argv.len() == items.len()).then_some(Value::Argv(argv))
        }
        ParameterKind::Duration => {
            decoder.positive_node(node, "the parameter").map(|found| Value::Duration(found.value.millis()))
        }
        ParameterKind::Text | ParameterKind::Bool | ParameterKind::Count => {
            decoder.template(node).map(Value::Text)
        }
    }
}

/// Defaults are checked when the recipe is read, so they have no findings of their own. What they take from other
/// parameters keeps the place of those.
fn default_value(
    filled: &Filled<'_>,
    default: &DefaultValue,
    values: &BTreeMap<String, Value>,
) -> Option<Value> {
    let place = &filled.deploy.recipe.place;
    Some(match default {
        DefaultValue::Duration(ms) => Value::Duration(*ms),
        DefaultValue::Text(text) => Value::Text(joined(text, values, None, place)),
        DefaultValue::Argv(argv) => {
            let mut all = Vec::new();
            for argument in argv {
                match argument.only_parameter().and_then(|name| values.get(name)) {
                    Some(Value::Argv(list)) => all.extend(list.iter().cloned()),
                    Some(Value::Text(_) | Value::Duration(_)) | None => {
                        all.push(joined(argument, values, None, place))
                    }
                }
            }
            Value::Argv(all)
        }
    })
}

/// Text with its parameters and the artifact in it. Printed templates can be joined: each is whole in itself.
fn joined(
    text: &RecipeText,
    values: &BTreeMap<String, Value>,
    artifact: Option<&Artifact>,
    fallback: &Place,
) -> Spanned<Template> {
    let mut written = String::new();
    let mut place = fallback.clone();
    for piece in &text.0 {
        let part = match piece {
            Piece::Template(template) => template.to_string(),
            Piece::With(name) => match values.get(name) {
                Some(Value::Text(value)) => {
                    // The value is what a user can mend, so findings point there.
                    if value.value.as_literal().is_none() {
                        place = value.place.clone();
                    }
                    value.value.to_string()
                }
                Some(Value::Argv(_) | Value::Duration(_)) | None => String::new(),
            },
            // Without a release the path is a template still, there is no file to digest, and the plan can only be read.
            Piece::ArtifactPath => match artifact {
                Some(artifact) if artifact.sha256.is_none() => artifact.path.clone(),
                artifact => literal(artifact.map_or("", |artifact| artifact.path.as_str())),
            },
            Piece::ArtifactSha256 => {
                literal(artifact.and_then(|artifact| artifact.sha256.as_deref()).unwrap_or("of-the-artifact"))
            }
        };
        written.push_str(&part);
    }
    Spanned::new(Template::parse(&written).unwrap_or_default(), place)
}

fn literal(text: &str) -> String {
    Template::literal(text).to_string()
}

struct Fill<'a, 'f> {
    filled: &'a Filled<'a>,
    values: BTreeMap<String, Value>,
    files: &'a Files,
    findings: &'f mut Findings,
}

impl Fill<'_, '_> {
    fn actions(&mut self, actions: &[RecipeAction], scope: Scope) -> Vec<Action> {
        actions.iter().map(|action| self.action(action, scope)).collect()
    }

    fn action(&mut self, action: &RecipeAction, scope: Scope) -> Action {
        match action {
            RecipeAction::Run { argv, timeout } => {
                let argv = argv.iter().flat_map(|argument| self.arguments(argument, scope)).collect();
                Action::Run { argv, timeout_ms: self.time(timeout) }
            }
            RecipeAction::Sh { script, env, timeout } => {
                let env = env.iter().map(|(name, value)| (name.clone(), self.text(value, scope))).collect();
                Action::Sh { script: script.clone(), env, timeout_ms: self.time(timeout) }
            }
            RecipeAction::Upload { from, to, timeout } => Action::Upload {
                sha256: self.digest_of(from),
                from: self.text(from, scope),
                to: self.text(to, scope),
                timeout_ms: self.time(timeout),
            },
            RecipeAction::Http { method, url, expect, timeout } => Action::Http {
                method: method.clone(),
                url: self.text(url, scope),
                expect: *expect,
                timeout_ms: self.time(timeout),
            },
            RecipeAction::Wait(time) => Action::Wait { ms: self.time(time) },
        }
    }

    fn arguments(&mut self, argument: &RecipeText, scope: Scope) -> Vec<Template> {
        if let Some(name) = argument.only_parameter()
            && let Some(Value::Argv(list)) = self.values.get(name)
        {
            let (env, files) = (self.filled.env, self.files);
            return list.iter().map(|found| template(env, found, scope, files, self.findings)).collect();
        }
        vec![self.text(argument, scope)]
    }

    fn text(&mut self, text: &RecipeText, scope: Scope) -> Template {
        let found = joined(text, &self.values, self.filled.artifact, &self.filled.deploy.recipe.place);
        template(self.filled.env, &found, scope, self.files, self.findings)
    }

    fn time(&self, time: &RecipeTime) -> u64 {
        match time {
            RecipeTime::Fixed(ms) => *ms,
            RecipeTime::With(name) => match self.values.get(name) {
                Some(Value::Duration(ms)) => *ms,
                Some(Value::Text(_) | Value::Argv(_)) | None => 0,
            },
        }
    }

    /// The artifact's digest goes with it, so that what arrives is checked.
    fn digest_of(&self, from: &RecipeText) -> Option<String> {
        match from.0.as_slice() {
            [Piece::ArtifactPath] => self.filled.artifact.and_then(|artifact| artifact.sha256.clone()),
            _ => None,
        }
    }
}
