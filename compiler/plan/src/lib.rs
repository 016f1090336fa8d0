//! The plan: the contract between the compiler, which writes it, and the runtime, which executes nothing else.
//! It knows no YAML, no network and no clock.

pub mod capacity;
pub mod dot;
mod drawing;
pub mod estimate;
pub mod file;
pub mod fixtures;
pub mod graph;
pub mod ids;
pub mod mermaid;
pub mod model;
pub mod steps;
pub mod text;
pub mod verify;

pub use ids::{StepIx, TargetIx};
pub use model::*;
pub use verify::{Violation, verify};
