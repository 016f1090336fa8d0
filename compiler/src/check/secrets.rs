//! Declared secrets: each name once. Values are never looked at.
//! It must not know who uses a secret.

use std::collections::BTreeMap;

use crate::decode::RawEnv;
use crate::diagnostic::{Code, Diagnostic, Findings};

/// Name to reference.
pub(crate) fn secrets(env: &RawEnv, findings: &mut Findings) -> BTreeMap<String, String> {
    let mut places = BTreeMap::new();
    let mut secrets = BTreeMap::new();
    for secret in &env.secrets {
        if let Some(first) = places.insert(&secret.name.value, secret.name.place.clone()) {
            findings.push(
                Diagnostic::error(
                    Code::DuplicateSecret,
                    format!("two secrets are called `{}`", secret.name.value),
                )
                .at(secret.name.place.clone(), "again here")
                .at(first, "first here")
                .help("keep one of the two"),
            );
        }
        secrets.insert(secret.name.value.clone(), secret.reference.value.to_string());
    }
    secrets
}
