//! The resolved configuration for people: every value that holds, and where it came from.
//! It must not know what a plan does with a value.

use serde::Serialize;

use manent_plan::Pool;

use crate::decode::{RawDescriptor, RawEnv};
use crate::source::Files;

/// All values, in the order of the reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resolved {
    /// The values.
    pub values: Vec<Value>,
}

/// One value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Value {
    /// Its key, with the keys above it.
    pub key: String,
    /// What holds.
    pub value: String,
    /// `file:line:column`, or `default`.
    pub from: String,
}

pub(crate) fn resolve(
    env: &RawEnv,
    descriptor: &RawDescriptor,
    pool: Option<&Pool>,
    files: &mut Files,
) -> Resolved {
    let _ = (env, descriptor, pool, files);
    Resolved { values: Vec::new() }
}
