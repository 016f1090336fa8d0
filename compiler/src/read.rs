//! Reads documents, recipes and the artifact's digest through the caller's sources, each with its findings.
//! It must not know what is checked between them.

use std::sync::Arc;

use manent_grammar::{Placeholder, Template};
use manent_plan::{Artifact, Input};

use crate::check;
use crate::compile::{Options, Work};
use crate::decode::{self, Decoder, RawDescriptor, RawEnv, Recipe};
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::source::{FileId, ReadError, sha256};
use crate::yaml::{self, Tree};

/// A document after reading.
pub(crate) struct Document {
    pub(crate) file: FileId,
    pub(crate) tree: Tree,
}

impl Work<'_> {
    /// Reads a document and its tree.
    pub(crate) fn document(&mut self, path: &str, what: &str) -> Option<Document> {
        let bytes = match self.sources.read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let help = match error {
                    ReadError::NotFound => "look for a mistake in the name, or create it",
                    ReadError::Other(_) => "make it readable",
                };
                let message = format!("{what} `{path}` cannot be read: {error}");
                self.findings.push(Diagnostic::error(Code::UnreadableFile, message).about(path).help(help));
                return None;
            }
        };
        self.inputs.push(Input { path: path.to_owned(), sha256: sha256(&bytes) });
        self.parsed(path, bytes)
    }

    fn parsed(&mut self, path: &str, bytes: Vec<u8>) -> Option<Document> {
        let text = match String::from_utf8(bytes) {
            Ok(text) => Arc::new(text),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let file = self.files.add(path, Arc::new(text));
                let place = Place { file, span: valid..valid + '\u{fffd}'.len_utf8() };
                self.findings.push(
                    Diagnostic::error(Code::UnreadableFile, format!("`{path}` is not UTF-8 text"))
                        .at(place, "the first byte that is not")
                        .help("save the file as UTF-8"),
                );
                return None;
            }
        };
        let file = self.files.add(path, Arc::clone(&text));
        let tree = yaml::build(file, &text, &mut self.findings)?;
        Some(Document { file, tree })
    }

    pub(crate) fn decode<T>(
        &mut self,
        document: &Document,
        decode: impl FnOnce(&mut Decoder<'_>) -> Option<T>,
    ) -> Option<T> {
        decode(&mut Decoder { tree: &document.tree, file: document.file, findings: &mut self.findings })
    }

    /// The recipe that a descriptor names: one of the standard library, or one beside the descriptor.
    pub(crate) fn recipe(&mut self, raw: &RawDescriptor, descriptor: &str) -> Option<Recipe> {
        let wanted = &raw.deploy.as_ref()?.recipe;
        let folder = descriptor.rsplit_once('/').map_or("", |(folder, _)| folder);
        let own = if folder.is_empty() { "recipes".to_owned() } else { format!("{folder}/recipes") };
        let own_path = format!("{own}/{}.yml", wanted.value);
        let document = match (self.stdlib.recipe(&wanted.value), self.sources.read(&own_path)) {
            (Some(_), Ok(_)) => {
                let message =
                    format!("`{}` is a recipe of manent and a recipe at `{own_path}`", wanted.value);
                self.findings.push(
                    Diagnostic::error(Code::DuplicateName, message)
                        .at(wanted.place.clone(), "could be either")
                        .help("give your recipe another name"),
                );
                return None;
            }
            (Some(builtin), Err(_)) => self.parsed(builtin.path, builtin.text.as_bytes().to_vec())?,
            (None, Err(ReadError::NotFound)) => {
                self.unknown_recipe(&wanted.value, wanted.place.clone(), &own);
                return None;
            }
            (None, Ok(_) | Err(ReadError::Other(_))) => self.document(&own_path, "the recipe")?,
        };
        self.decode(&document, |decoder| decode::recipe(decoder, &wanted.value))
    }

    fn unknown_recipe(&mut self, name: &str, place: Place, own: &str) {
        let beside = self.sources.list(own).unwrap_or_default();
        let beside = beside.iter().filter_map(|path| path.rsplit('/').next()?.strip_suffix(".yml"));
        let known: Vec<&str> = self.stdlib.recipes().iter().map(|recipe| recipe.name).chain(beside).collect();
        let help = match manent_grammar::suggest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the recipes are {}; your own lie in `{own}/`", decode::listed(known)),
        };
        self.findings.push(
            Diagnostic::error(Code::UnknownRecipe, format!("there is no recipe `{name}`"))
                .at(place, "unknown recipe")
                .help(help),
        );
    }

    /// The artifact, when the recipe uploads one.
    pub(crate) fn artifact(
        &mut self,
        env: &RawEnv,
        raw: &RawDescriptor,
        recipe: Option<&Recipe>,
        options: &Options,
    ) -> Option<Artifact> {
        let written = raw.artifact.as_ref().map(|path| {
            let filled = check::artifact_path(env, path, &self.files, &mut self.findings);
            (filled, path)
        });
        // Whether it is needed is known only of a recipe that could be read.
        recipe?.artifact.as_ref()?;
        if written.is_none() && raw.artifact_written {
            return None;
        }
        let Some((path, place)) = written else {
            let deploy = raw.deploy.as_ref()?;
            let message = format!(
                "recipe `{}` uploads an artifact, and the descriptor names none",
                deploy.recipe.value
            );
            self.findings.push(
                Diagnostic::error(Code::ArtifactMissing, message)
                    .at(deploy.recipe.place.clone(), "needs an artifact")
                    .help("add `release: {artifact: {path: \"dist/app-{release}.tar.gz\"}}`"),
            );
            return None;
        };
        let Some(release) = &options.release else {
            return Some(Artifact { path: path.to_string(), sha256: None, bytes: None });
        };
        let path = with_release(&path, release);
        match self.sources.artifact(&path) {
            Ok(facts) => Some(Artifact { path, sha256: Some(facts.sha256), bytes: Some(facts.bytes) }),
            Err(error) => {
                self.findings.push(
                    Diagnostic::error(
                        Code::UnreadableFile,
                        format!("the artifact `{path}` cannot be read: {error}"),
                    )
                    .at(place.place.clone(), format!("for release `{release}`"))
                    .help("build it first, or mend the path or the release"),
                );
                None
            }
        }
    }
}

/// A path with the release in it; checked before to hold nothing else.
fn with_release(path: &Template, release: &str) -> String {
    let value = |placeholder: &Placeholder| match placeholder {
        Placeholder::Release => Some(release.to_owned()),
        Placeholder::Host
        | Placeholder::Port
        | Placeholder::Label(_)
        | Placeholder::From
        | Placeholder::Var(_) => Some(String::new()),
    };
    path.render(value).unwrap_or_default()
}
