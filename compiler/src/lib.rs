//! The compiler: two YAML documents to a plan, with every finding in one go.
//!
//! Text is decoded to typed shapes with places (`yaml`, `decode`), names are resolved and rules between keys are
//! checked (`check`), and what is sound is turned into steps and edges (`lower`). It is pure: the caller hands in
//! documents through [`Sources`], and the same documents give the same bytes of plan on every machine.

mod check;
mod compile;
mod decode;
mod diagnostic;
mod draft;
mod lower;
mod project;
mod read;
mod resolved;
mod source;
mod yaml;

pub use compile::{Compiled, Options, compile};
pub use diagnostic::{
    Code, Diagnostic, JsonFinding, JsonPlace, Label, Look, Place, Severity, findings_to_json, render,
    render_all,
};
pub use project::{Environment, descriptor_of, environments, environments_of};
pub use resolved::{Resolved, Value};
pub use source::{ArtifactFacts, File, FileId, Files, MemorySources, ReadError, Sources};
