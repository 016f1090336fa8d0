//! From a declared name to a value: `env:` and `file:`. It opens nothing that the plan does not name.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use manent_grammar::SecretRef;

use super::{Form, Secret};

/// The largest secret file that is read, in bytes.
const LARGEST: u64 = 64 << 10;

/// The declared secrets of a plan.
pub struct Secrets {
    root: PathBuf,
    declared: BTreeMap<String, String>,
}

/// A secret that cannot be used. Says its name, its reference and what was expected; never a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("secret `{name}` ({reference}): {reason}")]
pub struct Refused {
    /// Its name.
    pub name: String,
    /// Its reference as declared.
    pub reference: String,
    /// Why, without any part of a value.
    pub reason: String,
}

impl Secrets {
    /// The secrets that a plan declares; paths are relative to `root`.
    #[must_use]
    pub fn new(root: &Path, declared: &BTreeMap<String, String>) -> Secrets {
        Secrets { root: root.to_owned(), declared: declared.clone() }
    }

    /// Resolves a secret and checks its form.
    ///
    /// # Errors
    /// When it is not declared, cannot be read, or has another form.
    pub fn resolve(&self, name: &str, form: Form) -> Result<Secret, Refused> {
        let Some(reference) = self.declared.get(name) else {
            let reason = String::from("it is not declared under `secrets`");
            return Err(Refused { name: name.to_owned(), reference: String::from("undeclared"), reason });
        };
        let refused =
            |reason: String| Refused { name: name.to_owned(), reference: reference.clone(), reason };
        let value = self.read(reference).map_err(refused)?;
        if form.fits(value.reveal()) {
            Ok(value)
        } else {
            Err(refused(format!("its value is not {}", form.words())))
        }
    }

    fn read(&self, reference: &str) -> Result<Secret, String> {
        match SecretRef::parse(reference).map_err(|error| error.to_string())? {
            SecretRef::Env { name } => match std::env::var(&name) {
                Ok(value) => Ok(Secret::new(value)),
                Err(std::env::VarError::NotPresent) => {
                    Err(format!("the environment variable `{name}` is not set"))
                }
                Err(std::env::VarError::NotUnicode(_)) => {
                    Err(format!("the environment variable `{name}` does not hold UTF-8 text"))
                }
            },
            SecretRef::File { path } => read_file(&self.root, &path),
            SecretRef::Vault { .. } => Err(later("vault")),
            SecretRef::Sops { .. } => Err(later("sops")),
        }
    }
}

fn later(scheme: &str) -> String {
    format!("`{scheme}:` is known to this version for planning only; use `env:` or `file:` to apply")
}

/// A file that only its owner can read. A relative path stays inside the root, links included.
fn read_file(root: &Path, path: &str) -> Result<Secret, String> {
    let full = root.join(path);
    let place = full.canonicalize().map_err(|error| format!("`{path}` cannot be read: {error}"))?;
    if !Path::new(path).is_absolute() {
        let root = root.canonicalize().map_err(|error| format!("the root cannot be read: {error}"))?;
        if !place.starts_with(&root) {
            return Err(format!(
                "`{path}` leads out of the project by a link; name the file by its absolute path"
            ));
        }
    }
    let mut file =
        std::fs::File::open(&place).map_err(|error| format!("`{path}` cannot be read: {error}"))?;
    let meta = file.metadata().map_err(|error| format!("`{path}` cannot be read: {error}"))?;
    if !meta.is_file() {
        return Err(format!("`{path}` is not a file"));
    }
    let mode = meta.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(format!(
            "`{path}` can be used by others (mode {:o}); run `chmod 600 {path}`",
            mode & 0o777
        ));
    }
    if meta.size() > LARGEST {
        return Err(format!("`{path}` is larger than {LARGEST} bytes"));
    }
    let mut text = String::new();
    match file.by_ref().take(LARGEST).read_to_string(&mut text) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            return Err(format!("`{path}` does not hold UTF-8 text"));
        }
        Err(error) => return Err(format!("`{path}` cannot be read: {error}")),
    }
    // Editors end a file with a line end that is no part of the secret; one is taken off, no more.
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(Secret::new(text))
}
