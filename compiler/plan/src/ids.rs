//! Small ids of the plan: positions in its vectors, and the printable names of steps.
//! They know nothing of what a step does.

use serde::{Deserialize, Serialize};

/// Position of a target in [`Plan::targets`](crate::Plan::targets).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TargetIx(pub u32);

/// Position of a step in [`Plan::steps`](crate::Plan::steps).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepIx(pub u32);

impl TargetIx {
    /// The same as an index of a slice.
    #[must_use]
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

impl StepIx {
    /// The same as an index of a slice.
    #[must_use]
    pub fn at(self) -> usize {
        self.0 as usize
    }
}
