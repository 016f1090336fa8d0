//! Finds things in the project tree: the root, the environments, the state directory.
//! It must not read what the documents say.

use std::path::{Path, PathBuf};

use manent_compiler::{Environment, environments};

use crate::fault::Fault;
use crate::sources::DiskSources;

/// A project tree.
#[derive(Debug, Clone)]
pub(crate) struct Project {
    /// The directory that has `envconfig/`.
    pub(crate) root: PathBuf,
    /// Where runs live.
    pub(crate) state: PathBuf,
}

/// What a person named: an environment, and a descriptor where it is not the usual one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// The environment.
    pub(crate) environment: Environment,
    /// Path of the descriptor, when it was named.
    pub(crate) descriptor: Option<String>,
}

impl Project {
    /// From `--root` and `--state`; without `--root` the nearest parent that has `envconfig/`.
    ///
    /// # Errors
    /// No root is found, or the named one is no directory.
    pub(crate) fn find(root: Option<&Path>, state: Option<&Path>) -> Result<Project, Fault> {
        let here = std::env::current_dir()
            .map_err(|error| Fault::error("the current directory cannot be read").because(&error))?;
        let root = match root {
            Some(root) if root.is_dir() => here.join(root),
            Some(root) => {
                return Err(Fault::error(format!("`--root {}` is not a directory", root.display()))
                    .help("name the directory that has `envconfig/` in it"));
            }
            None => match here.ancestors().find(|parent| parent.join("envconfig").is_dir()) {
                Some(root) => root.to_owned(),
                None => {
                    return Err(Fault::error(
                        "no `envconfig` directory here or in any directory above",
                    )
                    .help("go into a project tree, name one with `--root DIR`, or begin one with `manent init`"));
                }
            },
        };
        let state = state.map_or_else(|| root.join(".manent"), |state| here.join(state));
        Ok(Project { root, state })
    }

    /// The root as given, for verbs that work without a tree.
    ///
    /// # Errors
    /// The current directory cannot be read.
    pub(crate) fn anywhere(root: Option<&Path>) -> Result<PathBuf, Fault> {
        let here = std::env::current_dir()
            .map_err(|error| Fault::error("the current directory cannot be read").because(&error))?;
        Ok(root.map_or_else(|| here.clone(), |root| here.join(root)))
    }

    /// A path as people write it: relative to the root when it is inside.
    pub(crate) fn relative(&self, path: &Path) -> PathBuf {
        let plain = resolve(path);
        let root = resolve(&self.root);
        plain.strip_prefix(&root).map_or_else(|_| path.to_owned(), Path::to_owned)
    }

    /// Where documents are read.
    pub(crate) fn sources(&self) -> DiskSources {
        DiskSources::new(&self.root)
    }

    /// Every environment, in the order of their names.
    ///
    /// # Errors
    /// The tree cannot be listed.
    pub(crate) fn environments(&self) -> Result<Vec<Environment>, Fault> {
        environments(&self.sources())
            .map_err(|error| Fault::error("the folder `envconfig` cannot be listed").because(&error))
    }

    /// The environment that a person means: `org/app/env`, or the path of an envconfig.
    ///
    /// # Errors
    /// There is none; the message lists those that exist.
    pub(crate) fn choose(&self, named: &str, descriptor: Option<&Path>) -> Result<Chosen, Fault> {
        let environment = self.locate(named)?;
        let descriptor = match descriptor {
            None => None,
            Some(path) => Some(self.existing(path).ok_or_else(|| {
                Fault::input(format!("no descriptor at `{}`", path.display()))
                    .help("name a file from the current directory or from the root of the tree")
            })?),
        };
        Ok(Chosen { environment, descriptor })
    }

    fn locate(&self, named: &str) -> Result<Environment, Fault> {
        let all = self.environments()?;
        if let Some(found) = all.iter().find(|environment| environment.name == named) {
            return Ok(found.clone());
        }
        let yaml = Path::new(named).extension().is_some_and(|suffix| suffix == "yml" || suffix == "yaml");
        if let Some(path) = self.existing(Path::new(named)).filter(|_| yaml) {
            return Ok(Environment::of(&path));
        }
        let names: Vec<String> = all.into_iter().map(|environment| environment.name).collect();
        let help = match nearest(named, &names) {
            _ if names.is_empty() => format!(
                "no environment lives under `{}`: begin with `manent init`, or write `envconfig/<org>/<app>/<env>.yml`",
                self.root.join("envconfig").display()
            ),
            Some(near) => format!("did you mean `{near}`? {}", list("environments found: ", &names)),
            None => list("environments found: ", &names),
        };
        Err(Fault::input(format!("no environment `{named}`")).help(help))
    }

    /// The path of an existing file as documents name it, from the current directory or from the root.
    pub(crate) fn existing(&self, path: &Path) -> Option<String> {
        let here = std::env::current_dir().unwrap_or_default().join(path);
        let found = [here, self.root.join(path)].into_iter().find(|path| path.is_file())?;
        self.relative(&found).to_str().map(str::to_owned)
    }
}

/// The name that a person most likely meant.
pub(crate) fn nearest(wanted: &str, names: &[String]) -> Option<String> {
    let last = |name: &String| name.rsplit('/').next().unwrap_or_default().to_owned();
    let whole = manent_grammar::suggest(wanted, names.iter().map(String::as_str));
    // `prod` for `shop/shop/prod`: a part that is right says as much as a small distance.
    whole.or_else(|| {
        names.iter().find(|name| last(name) == wanted.rsplit('/').next().unwrap_or_default()).cloned()
    })
}

/// `intro a, b and 3 more`.
fn list(intro: &str, names: &[String]) -> String {
    const SHOWN: usize = 12;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => format!("{intro}{shown}"),
        more => format!("{intro}{shown} and {more} more"),
    }
}

/// The path without links where it exists; as it stands where it does not.
fn resolve(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_meant() {
        let names: Vec<String> = ["shop/shop/prod", "shop/shop/test"].map(String::from).to_vec();
        assert_eq!(nearest("shop/shop/prd", &names).as_ref(), names.first());
        assert_eq!(nearest("prod", &names).as_ref(), names.first());
        assert_eq!(nearest("bank/ledger/live", &names), None);
    }
}
