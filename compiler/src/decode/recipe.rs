//! Decodes a recipe: parameters, then what is done to one target. The rules stand at the head of
//! `stdlib/recipes/release-dir.yml`. It must not know which values a descriptor gives.

use manent_grammar::Duration;

use super::procedure::{COMMAND_TIMEOUT_MS, METHODS, REQUEST_TIMEOUT_MS};
use super::recipe_text::{Context, Part, Piece, RecipeText};
use super::{Decoder, Spanned};
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::yaml::{Entry, NodeId, Shape};

/// A recipe whose `{with.…}` all name a parameter of a fitting type.
#[derive(Debug)]
pub(crate) struct Recipe {
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) apply: Vec<RecipeAction>,
    pub(crate) undo: Vec<RecipeAction>,
    pub(crate) current: Vec<RecipeAction>,
    pub(crate) retain: Vec<RecipeAction>,
    /// Where the artifact is asked for, if it is.
    pub(crate) artifact: Option<Place>,
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Spanned<String>,
    pub(crate) kind: ParameterKind,
    pub(crate) default: Option<DefaultValue>,
}

/// What the value of a parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterKind {
    Text,
    Argv,
    Duration,
    Bool,
    Count,
}

impl ParameterKind {
    /// What to write, for sentences.
    pub(crate) fn words(self) -> &'static str {
        match self {
            ParameterKind::Text => "text",
            ParameterKind::Argv => "a list: a command and its arguments",
            ParameterKind::Duration => "a duration such as `5m`",
            ParameterKind::Bool => "`true` or `false`",
            ParameterKind::Count => "a number that is not negative",
        }
    }
}

/// A default as the recipe writes it.
#[derive(Debug)]
pub(crate) enum DefaultValue {
    Text(RecipeText),
    Argv(Vec<RecipeText>),
    Duration(u64),
}

/// A time as a recipe writes it.
#[derive(Debug)]
pub(crate) enum RecipeTime {
    Fixed(u64),
    With(String),
}

/// An action as a recipe writes it.
#[derive(Debug)]
pub(crate) enum RecipeAction {
    Run { argv: Vec<RecipeText>, timeout: RecipeTime },
    Sh { script: String, env: Vec<(String, RecipeText)>, timeout: RecipeTime },
    Upload { from: RecipeText, to: RecipeText, timeout: RecipeTime },
    Http { method: String, url: RecipeText, expect: u16, timeout: RecipeTime },
    Wait(RecipeTime),
}

/// Decodes the document. `None` when a plan could not use it; the findings say why.
pub(crate) fn recipe(decoder: &mut Decoder<'_>, name: &str) -> Option<Recipe> {
    let before = decoder.findings.errors();
    let root = decoder.tree.root();
    let place = decoder.place(root);
    let keys = ["name", "summary", "parameters", "apply", "undo", "current", "retain"];
    let [own_name, _summary, parameters, apply, undo, current, retain] =
        decoder.fields(root, "a recipe", keys)?;
    let own_name = decoder.required(own_name, place.clone(), "name", "a recipe");
    if let Some(found) = decoder.entry_string(own_name, "the name of a recipe")
        && found.value != name
    {
        let message = format!("this file is found as recipe `{name}` and calls itself `{}`", found.value);
        decoder.bad_recipe(found.place, message, "let the file and `name` agree");
    }
    let mut context = Context { parameters: Vec::new(), artifact: None };
    for item in decoder.items(parameters, "`parameters`") {
        if let Some(parameter) = decoder.parameter(*item, &mut context) {
            context.parameters.push(parameter);
        }
    }
    let apply = decoder.required(apply, place.clone(), "apply", "a recipe");
    let undo = decoder.required(undo, place.clone(), "undo", "a recipe");
    let current = decoder.required(current, place, "current", "a recipe");
    let apply = decoder.actions(apply, Part::Apply, &mut context);
    let undo = decoder.actions(undo, Part::Undo, &mut context);
    let current = decoder.actions(current, Part::Current, &mut context);
    let retain = decoder.actions(retain, Part::Retain, &mut context);
    let Context { parameters, artifact } = context;
    (decoder.findings.errors() == before).then_some(Recipe {
        parameters,
        apply,
        undo,
        current,
        retain,
        artifact,
    })
}

impl Decoder<'_> {
    pub(super) fn bad_recipe(&mut self, place: Place, message: String, help: &str) {
        self.report(Diagnostic::error(Code::BadRecipe, message).at(place, "in this recipe").help(help));
    }

    fn parameter(&mut self, node: NodeId, context: &mut Context) -> Option<Parameter> {
        let keys = ["name", "type", "required", "default", "meaning"];
        let [name, kind, required, default, _meaning] = self.fields(node, "a parameter", keys)?;
        let owner = self.place(node);
        let name = self.required(name, owner.clone(), "name", "a parameter");
        let name = self.name(name, "the name of a parameter")?;
        let kind = self.required(kind, owner, "type", "a parameter");
        let kinds = [
            ("text", ParameterKind::Text),
            ("argv", ParameterKind::Argv),
            ("duration", ParameterKind::Duration),
            ("bool", ParameterKind::Bool),
            ("count", ParameterKind::Count),
        ];
        let kind = self.choice(kind, "the type of a parameter", &kinds)?.value;
        if context.kind(&name.value).is_some() {
            let message = format!("the parameter `{}` stands here twice", name.value);
            self.bad_recipe(name.place.clone(), message, "keep one of the two");
        }
        if self.boolean(required, "`required`") == Some(true)
            && let Some(default) = default
        {
            let place = self.place(default.key);
            self.bad_recipe(
                place,
                "a required parameter has no use for a default".into(),
                "keep one of the two",
            );
        }
        let default = default.and_then(|entry| self.default(entry, kind, context));
        Some(Parameter { name, kind, default })
    }

    /// A default may use the parameters above it.
    fn default(&mut self, entry: Entry, kind: ParameterKind, context: &mut Context) -> Option<DefaultValue> {
        match kind {
            ParameterKind::Argv => self.argv_of(entry, Part::Default, context).map(DefaultValue::Argv),
            ParameterKind::Duration => self
                .positive(Some(entry), "a default")
                .map(|found| DefaultValue::Duration(found.value.millis())),
            ParameterKind::Text | ParameterKind::Bool | ParameterKind::Count => {
                let text = self.text(entry.value, "a default")?;
                if !fits(kind, text) {
                    let place = self.place(entry.value);
                    let message = format!("the default `{text}` is not {}", kind.words());
                    self.bad_recipe(place, message, "let the default be of the parameter's type");
                }
                self.recipe_text(entry.value, Part::Default, context).map(DefaultValue::Text)
            }
        }
    }

    fn actions(&mut self, entry: Option<Entry>, part: Part, context: &mut Context) -> Vec<RecipeAction> {
        let what = format!("`{}`", part.name());
        let items = self.items(entry, &what);
        if let Some(entry) = entry
            && items.is_empty()
            && part != Part::Retain
            && self.tree.shape(entry.value) == Shape::Sequence
        {
            let place = self.place(entry.key);
            self.bad_recipe(place, format!("{what} does nothing"), "list at least one action");
        }
        items.iter().filter_map(|item| self.action(*item, part, context)).collect()
    }

    fn action(&mut self, node: NodeId, part: Part, context: &mut Context) -> Option<RecipeAction> {
        let keys = ["run", "sh", "upload", "http", "wait", "env", "timeout"];
        let [run, sh, upload, http, wait, env, timeout] = self.fields(node, "an action", keys)?;
        let written = [run, sh, upload, http, wait].into_iter().flatten().count();
        if written != 1 {
            let place = self.place(node);
            let help = "write one of `run`, `sh`, `upload`, `http`, `wait`";
            self.bad_recipe(place, format!("an action does one thing, and this one {written}"), help);
            return None;
        }
        if let Some(env) = env.filter(|_| sh.is_none()) {
            let place = self.place(env.key);
            self.bad_recipe(place, "`env` is for scripts".into(), "write the values into the arguments");
        }
        if let Some(run) = run {
            let argv = self.argv_of(run, part, context)?;
            let timeout = self.time(timeout, COMMAND_TIMEOUT_MS, context)?;
            return Some(RecipeAction::Run { argv, timeout });
        }
        if let Some(sh) = sh {
            let script = self.text(sh.value, "the script")?.to_owned();
            let env = self.env_of(env, part, context);
            let timeout = self.time(timeout, COMMAND_TIMEOUT_MS, context)?;
            return Some(RecipeAction::Sh { script, env, timeout });
        }
        if let Some(upload) = upload {
            let [from, to] = self.fields(upload.value, "`upload`", ["from", "to"])?;
            let owner = self.place(upload.key);
            let from = self.required(from, owner.clone(), "from", "`upload`")?;
            let to = self.required(to, owner, "to", "`upload`")?;
            let from = self.recipe_text(from.value, part, context)?;
            let to = self.recipe_text(to.value, part, context)?;
            let timeout = self.time(timeout, COMMAND_TIMEOUT_MS, context)?;
            return Some(RecipeAction::Upload { from, to, timeout });
        }
        if let Some(http) = http {
            return self.request(http, timeout, part, context);
        }
        self.time(wait, 0, context).map(RecipeAction::Wait)
    }

    fn request(
        &mut self,
        http: Entry,
        timeout: Option<Entry>,
        part: Part,
        context: &mut Context,
    ) -> Option<RecipeAction> {
        let [url, method, expect] = self.fields(http.value, "`http`", ["url", "method", "expect"])?;
        let owner = self.place(http.key);
        let written = self.required(url, owner, "url", "`http`")?;
        let url = self.recipe_text(written.value, part, context)?;
        // What begins with a parameter is for the descriptor to say.
        if let Some(Piece::Template(template)) = url.0.first()
            && !Decoder::has_scheme(template)
        {
            let place = self.place(written.value);
            self.bad_recipe(
                place,
                "the address has no scheme".into(),
                "begin it with `http://` or `https://`",
            );
        }
        let method = self
            .choice(method, "`method`", &METHODS.map(|method| (method, method)))
            .map_or("GET", |found| found.value);
        let expect = self.number(expect, "`expect`", 100, 599).map_or(200, |status| status.value);
        let timeout = self.time(timeout, REQUEST_TIMEOUT_MS, context)?;
        Some(RecipeAction::Http {
            method: method.to_owned(),
            url,
            expect: u16::try_from(expect).unwrap_or(200),
            timeout,
        })
    }

    fn argv_of(&mut self, entry: Entry, part: Part, context: &mut Context) -> Option<Vec<RecipeText>> {
        let items = self.items(Some(entry), "a command");
        let argv: Vec<_> =
            items.iter().filter_map(|item| self.recipe_text_or_list(*item, part, context)).collect();
        (argv.len() == items.len()).then_some(argv)
    }

    fn env_of(&mut self, env: Option<Entry>, part: Part, context: &mut Context) -> Vec<(String, RecipeText)> {
        let pairs = self.pairs(env, "`env`");
        pairs
            .into_iter()
            .filter_map(|Entry { key, value }| {
                Some((self.variable(key)?, self.recipe_text(value, part, context)?))
            })
            .collect()
    }

    /// A duration, or a parameter that is one.
    fn time(&mut self, entry: Option<Entry>, default_ms: u64, context: &Context) -> Option<RecipeTime> {
        let Some(entry) = entry else { return Some(RecipeTime::Fixed(default_ms)) };
        let text = self.text(entry.value, "a duration")?;
        if let Some(name) = text.strip_prefix("{with.").and_then(|rest| rest.strip_suffix('}')) {
            if context.kind(name) == Some(ParameterKind::Duration) {
                return Some(RecipeTime::With(name.to_owned()));
            }
            let place = self.place(entry.value);
            self.bad_recipe(
                place,
                format!("`{name}` is not a parameter of type duration"),
                "name one that is",
            );
            return None;
        }
        match Duration::parse(text) {
            Ok(duration) => Some(RecipeTime::Fixed(duration.millis())),
            Err(error) => {
                self.syntax(Code::BadDuration, entry.value, "a duration", &error);
                None
            }
        }
    }
}

/// Whether a text can be the value of a parameter that is one word.
pub(crate) fn fits(kind: ParameterKind, text: &str) -> bool {
    match kind {
        ParameterKind::Bool => matches!(text, "true" | "false"),
        ParameterKind::Count => {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits && (text == "0" || !text.starts_with('0')) && text.parse::<u32>().is_ok()
        }
        ParameterKind::Text | ParameterKind::Argv | ParameterKind::Duration => true,
    }
}
