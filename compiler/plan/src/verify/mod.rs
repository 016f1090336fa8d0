//! Is this plan sound? Asked by the compiler of what it made and by the runtime of what it was given; total over any
//! plan, also one that somebody wrote by hand. It must not know where the plan came from.

mod graph;
mod limits;
mod targets;
mod violation;

pub use violation::Violation;

use crate::model::Plan;

/// More findings than this help nobody.
const MOST: usize = 50;

/// Checks everything that the runtime takes for granted.
///
/// # Errors
/// What is wrong, at most fifty findings.
pub fn verify(plan: &Plan) -> Result<(), Vec<Violation>> {
    let mut found = Found(Vec::new());
    targets::check(plan, &mut found);
    limits::check(plan, &mut found);
    graph::check(plan, &mut found);
    if found.0.is_empty() { Ok(()) } else { Err(found.0) }
}

/// Findings, up to a limit.
struct Found(Vec<Violation>);

impl Found {
    fn push(&mut self, violation: Violation) {
        if self.0.len() < MOST {
            self.0.push(violation);
        }
    }
}
