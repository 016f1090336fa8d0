//! Secret references: where a secret is kept. `vault:kv/shop#password`, `env:TOKEN`, `file:key`, `sops:file#a.b`.
//! Knows no secret and reads nothing; the runtime resolves references.

use std::fmt;

use crate::SyntaxError;
use crate::error::is_quotable;
use crate::parser::{self, Node, Rule};
use crate::suggest::suggest;
use crate::text_form::text_form;

/// Where a secret is kept; never the secret itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretRef {
    /// `vault:path#field`
    Vault {
        /// The path below the address of the store, with its mount first, without a leading slash.
        path: String,
        /// The field of the entry.
        field: String,
    },
    /// `env:NAME`
    Env {
        /// The name of the environment variable.
        name: String,
    },
    /// `file:path`
    File {
        /// Absolute, or relative to the root and inside it.
        path: String,
    },
    /// `sops:file#a.b`
    Sops {
        /// Absolute, or relative to the root and inside it.
        file: String,
        /// The keys that lead to the secret; at least one.
        keys: Vec<String>,
    },
}

text_form!(SecretRef, "a secret reference such as `env:NAME`");

const SCHEMES: [&str; 4] = ["vault", "env", "file", "sops"];

const ALL_FORMS: &str = "a reference is `vault:path#field`, `env:NAME`, `file:path` or `sops:file#a.b`";

impl SecretRef {
    /// Parses a scheme and what it needs.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let reference = parser::parse(Rule::secret_ref, text, |error| explain(text, error))?;
        let scheme = |rule| parser::children(&reference, rule).next();
        if let Some(vault) = scheme(Rule::vault) {
            let path = inside_store(text, &vault)?;
            return Ok(Self::Vault { path, field: parser::text_of(&vault, Rule::field).to_owned() });
        }
        if let Some(env) = scheme(Rule::env) {
            return Ok(Self::Env { name: parser::text_of(&env, Rule::variable).to_owned() });
        }
        if let Some(sops) = scheme(Rule::sops) {
            let keys = parser::children(&sops, Rule::key).map(|key| key.as_str().to_owned()).collect();
            return Ok(Self::Sops { file: inside_root(text, &sops)?, keys });
        }
        if let Some(file) = scheme(Rule::file) {
            return Ok(Self::File { path: inside_root(text, &file)? });
        }
        Err(SyntaxError::at(text, 0..text.len(), "a secret reference").with_help(ALL_FORMS))
    }
}

/// A path in the store becomes part of an address, where `.` and `..` would lead elsewhere.
fn inside_store(text: &str, vault: &Node<'_>) -> Result<String, SyntaxError> {
    for path in parser::children(vault, Rule::vault_path) {
        for part in parser::children(&path, Rule::path_part) {
            if matches!(part.as_str(), "." | "..") {
                return Err(SyntaxError::at(text, parser::range(&part), "the name of a part of the path")
                    .with_help("write the path from its mount on, as in `vault:kv/shop#password`"));
            }
        }
    }
    Ok(parser::text_of(vault, Rule::vault_path).to_owned())
}

/// The path of a file reference, if it does not leave the root. Only by its text: links are the runtime's to follow.
fn inside_root(text: &str, reference: &Node<'_>) -> Result<String, SyntaxError> {
    for path in parser::children(reference, Rule::file_path) {
        if path.as_str() == "~" || path.as_str().starts_with("~/") {
            return Err(SyntaxError::at(
                text,
                parser::range(&path),
                "an absolute path or one relative to the root",
            )
            .with_help("write the home directory out, as in `file:/home/deploy/key`"));
        }
        if path.as_str().starts_with('/') {
            continue;
        }
        let mut depth = 0_usize;
        for part in parser::children(&path, Rule::path_part) {
            match part.as_str() {
                "." => {}
                ".." => {
                    depth = depth.checked_sub(1).ok_or_else(|| {
                        SyntaxError::at(
                            text,
                            parser::range(&path),
                            "a relative path that stays inside the root",
                        )
                        .with_help("keep the file below the root, or write an absolute path")
                    })?;
                }
                _ => depth += 1,
            }
        }
    }
    Ok(parser::text_of(reference, Rule::file_path).to_owned())
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vault { path, field } => write!(f, "vault:{path}#{field}"),
            Self::Env { name } => write!(f, "env:{name}"),
            Self::File { path } => write!(f, "file:{path}"),
            Self::Sops { file, keys } => write!(f, "sops:{file}#{}", keys.join(".")),
        }
    }
}

fn explain(text: &str, error: SyntaxError) -> SyntaxError {
    if text.trim() != text && SecretRef::parse(text.trim()).is_ok() {
        return error.with_help("remove the blanks around the reference");
    }
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    let Some(scheme) = scheme.filter(|scheme| SCHEMES.contains(scheme)) else {
        return unknown_scheme(text, scheme);
    };
    let before = text.get(..error.at.start).unwrap_or_default();
    let rest = text.get(error.at.start..).unwrap_or_default();
    let expects = |words: &str| error.expected.contains(&words);
    let help = match scheme {
        "vault" if rest.is_empty() && expects("`#`") => {
            let example = if is_quotable(text) { text } else { "vault:kv/shop" };
            format!("add the field, as in `{example}#password`")
        }
        "sops" if rest.is_empty() && expects("`#`") => {
            let example = if is_quotable(text) { text } else { "sops:secrets.yml" };
            format!("add the keys that lead to the secret, as in `{example}#db.password`")
        }
        "file" if rest.starts_with('#') => {
            "the whole file is the secret; for one field of an encrypted file use `sops:file#key`".to_owned()
        }
        _ if expects("a part of a path") && (before.ends_with('/') || rest.starts_with('/')) => {
            "a path has no empty parts: leave out the extra `/`".to_owned()
        }
        "file" | "sops" if rest.starts_with('\\') => "separate the parts of a path by `/`".to_owned(),
        "sops" if rest.starts_with(['[', '"', '\'']) => {
            "join the keys with `.`, as in `#db.password`".to_owned()
        }
        "env" => "write the name alone, as in `env:SHOP_TOKEN`".to_owned(),
        _ => ALL_FORMS.to_owned(),
    };
    error.with_help(help)
}

/// Nothing of the text is repeated where there is no scheme: it may be the secret itself.
fn unknown_scheme(text: &str, scheme: Option<&str>) -> SyntaxError {
    let expected = "a scheme: `vault:`, `env:`, `file:` or `sops:`";
    match scheme {
        Some(scheme) if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !scheme.is_empty() => {
            let error = SyntaxError::at(text, 0..scheme.len() + 1, expected);
            match suggest(scheme, SCHEMES) {
                Some(meant) => error.with_help(format!("did you mean `{meant}:`? {ALL_FORMS}")),
                None => error.with_help(ALL_FORMS),
            }
        }
        _ => {
            let mut error = SyntaxError::at(text, 0..text.len(), expected);
            if !text.is_empty() {
                error.found = "text without one".to_owned();
            }
            error.with_help(format!("say where the secret is kept, never the secret: {ALL_FORMS}"))
        }
    }
}
