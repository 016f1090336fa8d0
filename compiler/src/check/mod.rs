//! Rules between values: names that refer to something, targets in waves, numbers that fit. Everything is looked at and
//! every finding is kept; what comes out has no open names. It must not know how steps are made.

mod actions;
mod floor;
mod names;
mod pool;
mod recipe;
mod secrets;
mod settings;
mod targets;
mod templates;
mod waves;

pub(crate) use actions::{Notes, activate, post_tests, steps};
pub(crate) use floor::floor;
pub(crate) use pool::{pool, post_test_needed};
pub(crate) use recipe::{Filled, fill};
pub(crate) use secrets::secrets;
pub(crate) use targets::{connections, members, targets};
pub(crate) use templates::artifact_path;
pub(crate) use waves::{Batching, batching, waves};

use crate::decode::{RawEnv, Spanned};
use crate::diagnostic::{Code, Diagnostic, Findings};

/// A secret has to be declared where its name is used.
pub(crate) fn declared(env: &RawEnv, name: &Spanned<String>, findings: &mut Findings) {
    let known = || env.secrets.iter().map(|secret| secret.name.value.as_str());
    if !env.secrets_complete || known().any(|known| known == name.value) {
        return;
    }
    let help = match manent_grammar::suggest(&name.value, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("declare it: `secrets: [{{name: {}, ref: …}}]`", name.value),
    };
    findings.push(
        Diagnostic::error(Code::UndeclaredSecret, format!("there is no secret `{}`", name.value))
            .at(name.place.clone(), "not declared under `secrets`")
            .help(help),
    );
}
