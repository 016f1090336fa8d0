//! The little languages inside YAML strings: selectors, durations, quantities, templates, secret references.
//! Knows nothing of YAML, files, targets or plans; a text goes in, a value or a [`SyntaxError`] comes out.
//!
//! Each language is one `.pest` file (the grammar) and one `.rs` file (the meaning); `lexical.pest` holds what they
//! share. Printing a value and parsing it again gives the same value. `corpus/` shows what is accepted and refused.

mod duration;
mod error;
mod names;
mod parser;
mod quantity;
mod secret_ref;
mod selector;
mod suggest;
mod template;
mod text_form;

pub use duration::Duration;
pub use error::SyntaxError;
pub use names::{host, label_name, name};
pub use parser::LONGEST_TEXT;
pub use quantity::Quantity;
pub use secret_ref::SecretRef;
pub use selector::{Requirement, Selector};
pub use suggest::suggest;
pub use template::{Part, Placeholder, Template};
