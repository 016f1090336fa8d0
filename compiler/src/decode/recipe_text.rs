//! Text inside a recipe: templates with `{with.…}` and `{artifact.…}` between them, and what has a value where.
//! It must not know the actions that the text belongs to.

use manent_grammar::{Placeholder, SyntaxError, Template, suggest};

use super::recipe::{Parameter, ParameterKind};
use super::{Decoder, listed};
use crate::diagnostic::{Code, Place};
use crate::yaml::NodeId;

/// Text of a recipe: templates with parameters and the artifact between them.
#[derive(Debug)]
pub(crate) struct RecipeText(pub(crate) Vec<Piece>);

#[derive(Debug)]
pub(crate) enum Piece {
    Template(Template),
    /// `{with.name}`
    With(String),
    /// `{artifact.path}`
    ArtifactPath,
    /// `{artifact.sha256}`
    ArtifactSha256,
}

impl RecipeText {
    /// The parameter, when the text is exactly `{with.name}`.
    pub(crate) fn only_parameter(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Piece::With(name)] => Some(name),
            _ => None,
        }
    }
}

/// Which placeholders a text may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Apply,
    Undo,
    Current,
    Retain,
    Default,
}

impl Part {
    pub(super) fn name(self) -> &'static str {
        match self {
            Part::Apply => "apply",
            Part::Undo => "undo",
            Part::Current => "current",
            Part::Retain => "retain",
            Part::Default => "a default",
        }
    }
}

/// What is known while a recipe is read.
pub(super) struct Context {
    pub(super) parameters: Vec<Parameter>,
    pub(super) artifact: Option<Place>,
}

impl Context {
    pub(super) fn kind(&self, name: &str) -> Option<ParameterKind> {
        self.parameters.iter().find(|parameter| parameter.name.value == name).map(|parameter| parameter.kind)
    }
}

impl Decoder<'_> {
    /// An element of a list: also a list parameter, when it stands alone.
    pub(super) fn recipe_text_or_list(
        &mut self,
        node: NodeId,
        part: Part,
        context: &mut Context,
    ) -> Option<RecipeText> {
        let text = self.text(node, "an argument")?;
        let alone = text.strip_prefix("{with.").and_then(|rest| rest.strip_suffix('}'));
        if let Some(name) = alone.filter(|name| context.kind(name) == Some(ParameterKind::Argv)) {
            return Some(RecipeText(vec![Piece::With(name.to_owned())]));
        }
        self.recipe_text(node, part, context)
    }

    pub(super) fn recipe_text(
        &mut self,
        node: NodeId,
        part: Part,
        context: &mut Context,
    ) -> Option<RecipeText> {
        let text = self.text(node, "a template")?;
        let pieces = match split(text) {
            Ok(pieces) => pieces,
            Err(error) => {
                self.syntax(Code::BadTemplate, node, "a template", &error);
                return None;
            }
        };
        let place = self.place(node);
        for piece in &pieces {
            self.check_piece(piece, part, &place, context)?;
        }
        Some(RecipeText(pieces))
    }

    fn check_piece(&mut self, piece: &Piece, part: Part, place: &Place, context: &mut Context) -> Option<()> {
        match piece {
            Piece::With(name) => match context.kind(name) {
                Some(ParameterKind::Text | ParameterKind::Bool | ParameterKind::Count) => return Some(()),
                Some(kind @ (ParameterKind::Argv | ParameterKind::Duration)) => {
                    let message =
                        format!("the parameter `{name}` is {}, which cannot stand inside text", kind.words());
                    let help =
                        "let a list stand alone as one element of a command, a duration alone as a `timeout`";
                    self.bad_recipe(place.clone(), message, help);
                }
                None => {
                    let names = || context.parameters.iter().map(|parameter| parameter.name.value.as_str());
                    let help = match suggest(name, names()) {
                        Some(near) => format!("did you mean `{{with.{near}}}`?"),
                        None => format!("the parameters above are {}", listed(names())),
                    };
                    self.bad_recipe(place.clone(), format!("there is no parameter `{name}`"), &help);
                }
            },
            Piece::ArtifactPath | Piece::ArtifactSha256 if part == Part::Apply => {
                context.artifact.get_or_insert_with(|| place.clone());
                return Some(());
            }
            Piece::ArtifactPath | Piece::ArtifactSha256 => {
                let message =
                    format!("the artifact belongs to the new release, and `{}` is not about it", part.name());
                self.bad_recipe(place.clone(), message, "use it in `apply` only");
            }
            Piece::Template(template) => {
                let unfit = template.placeholders().find_map(|(placeholder, _)| unfit(placeholder, part));
                let Some(message) = unfit else { return Some(()) };
                self.bad_recipe(place.clone(), message, "remove the placeholder");
            }
        }
        None
    }
}

/// Why a placeholder cannot be filled in here, if it cannot.
fn unfit(placeholder: &Placeholder, part: Part) -> Option<String> {
    use Placeholder::{From, Host, Label, Port, Release, Var};
    let bad = match placeholder {
        From => !matches!(part, Part::Undo | Part::Retain),
        Release => part == Part::Current,
        // A recipe serves every environment, so it cannot know which labels and variables there are.
        Label(_) | Var(_) => true,
        Host | Port => false,
    };
    bad.then(|| format!("`{placeholder}` has no value in `{}` of a recipe", part.name()))
}

/// Takes `{with.…}` and `{artifact.…}` out; what stands between them is templates.
fn split(text: &str) -> Result<Vec<Piece>, SyntaxError> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find('{')) {
        let open = at + offset;
        let rest = text.get(open + 1..).unwrap_or("");
        if rest.starts_with('{') {
            at = open + 2;
            continue;
        }
        let Some(length) = rest.find('}') else { break };
        let name = rest.get(..length).unwrap_or("");
        at = open + 1 + length + 1;
        let piece = match name {
            "artifact.path" => Piece::ArtifactPath,
            "artifact.sha256" => Piece::ArtifactSha256,
            other => match other.strip_prefix("with.") {
                Some(parameter) => Piece::With(parameter.to_owned()),
                None => continue,
            },
        };
        push_template(&mut pieces, text, start, open)?;
        pieces.push(piece);
        start = at;
    }
    push_template(&mut pieces, text, start, text.len())?;
    Ok(pieces)
}

fn push_template(pieces: &mut Vec<Piece>, text: &str, start: usize, end: usize) -> Result<(), SyntaxError> {
    let between = text.get(start..end).unwrap_or("");
    if !between.is_empty() {
        let moved =
            |error: SyntaxError| SyntaxError { at: error.at.start + start..error.at.end + start, ..error };
        pieces.push(Piece::Template(Template::parse(between).map_err(moved)?));
    }
    Ok(())
}
