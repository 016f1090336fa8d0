//! Finds things in the project tree: the root, the environments, the state directory.
//! It must not read what the documents say.

use std::path::{Path, PathBuf};

use crate::fault::Fault;

/// A project tree.
#[derive(Debug, Clone)]
pub(crate) struct Project {
    /// The directory that has `envconfig/`.
    pub(crate) root: PathBuf,
    /// Where runs live.
    pub(crate) state: PathBuf,
}

/// One environment of the tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Environment {
    /// `org/app/env`.
    pub(crate) name: String,
    /// Its envconfig, relative to the root where it is inside.
    pub(crate) envconfig: PathBuf,
    /// Its descriptor, likewise.
    pub(crate) descriptor: PathBuf,
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

    /// Every environment, in the order of their names.
    pub(crate) fn environments(&self) -> Vec<Environment> {
        let base = self.root.join("envconfig");
        let mut found: Vec<Environment> = yaml_files(&base, 3)
            .into_iter()
            .filter_map(|path| {
                let inside = path.strip_prefix(&base).ok()?;
                (inside.components().count() == 3).then(|| self.environment_at(&path))
            })
            .collect();
        found.sort();
        found
    }

    /// Descriptors of the tree, in the order of their names.
    pub(crate) fn descriptors(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = yaml_files(&self.root.join("descriptors"), 1)
            .into_iter()
            .map(|path| self.relative(&path))
            .collect();
        found.sort();
        found
    }

    /// The environment that a person means: `org/app/env`, or the path of an envconfig.
    ///
    /// # Errors
    /// There is none; the message lists those that exist.
    pub(crate) fn environment(&self, named: &str, descriptor: Option<&Path>) -> Result<Environment, Fault> {
        let mut found = self.locate(named)?;
        if let Some(descriptor) = descriptor {
            let here = std::env::current_dir().unwrap_or_default().join(descriptor);
            let path = if here.is_file() { here } else { self.root.join(descriptor) };
            if !path.is_file() {
                return Err(Fault::input(format!("no descriptor at `{}`", descriptor.display())).help(list(
                    "descriptors found: ",
                    self.descriptors().iter().map(|path| path.display().to_string()),
                )));
            }
            found.descriptor = self.relative(&path);
        }
        Ok(found)
    }

    fn locate(&self, named: &str) -> Result<Environment, Fault> {
        let all = self.environments();
        if let Some(found) = all.iter().find(|environment| environment.name == named) {
            return Ok(found.clone());
        }
        if has_yaml_suffix(Path::new(named)) {
            let here = std::env::current_dir().unwrap_or_default().join(named);
            if let Some(path) = [here, self.root.join(named)].into_iter().find(|path| path.is_file()) {
                return Ok(self.environment_at(&path));
            }
        }
        let names: Vec<String> = all.into_iter().map(|environment| environment.name).collect();
        let nearest =
            nearest(named, &names).map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
        let help = if names.is_empty() {
            format!(
                "no environment lives under `{}`: begin with `manent init`, or write `envconfig/<org>/<app>/<env>.yml`",
                self.root.join("envconfig").display()
            )
        } else {
            nearest + &list("environments found: ", names.into_iter())
        };
        Err(Fault::input(format!("no environment `{named}`")).help(help))
    }

    /// An envconfig outside the tree's pattern is named by the last three parts of its path, as far as it has them.
    fn environment_at(&self, path: &Path) -> Environment {
        let envconfig = self.relative(path);
        let parts: Vec<String> = resolve(path)
            .with_extension("")
            .components()
            .filter_map(|part| match part {
                std::path::Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
                std::path::Component::Prefix(_)
                | std::path::Component::RootDir
                | std::path::Component::CurDir
                | std::path::Component::ParentDir => None,
            })
            .collect();
        let from = parts.len().saturating_sub(3);
        let last: Vec<String> = parts.get(from..).unwrap_or_default().to_vec();
        let app = last.get(last.len().saturating_sub(2)).cloned().unwrap_or_default();
        let descriptor = ["yml", "yaml"]
            .iter()
            .map(|suffix| PathBuf::from("descriptors").join(format!("{app}.{suffix}")))
            .find(|path| self.root.join(path).is_file())
            .unwrap_or_else(|| PathBuf::from("descriptors").join(format!("{app}.yml")));
        Environment { name: last.join("/"), envconfig, descriptor }
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
fn list(intro: &str, names: impl Iterator<Item = String>) -> String {
    const SHOWN: usize = 12;
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        return format!("{intro}none");
    }
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{intro}{shown} and {more} more"),
        Some(_) | None => format!("{intro}{shown}"),
    }
}

fn has_yaml_suffix(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix == "yml" || suffix == "yaml")
}

fn yaml_files(base: &Path, depth: usize) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(base) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if hidden {
            continue;
        }
        if path.is_dir() {
            if depth > 1 {
                found.extend(yaml_files(&path, depth - 1));
            }
        } else if has_yaml_suffix(&path) {
            found.push(path);
        }
    }
    found
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
