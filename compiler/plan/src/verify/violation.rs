//! What can be wrong with a plan, in words. It must not know how it was found.

use thiserror::Error;

use crate::model::EdgeKind;

/// One thing that is wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Violation {
    /// There is nothing to do.
    #[error("the plan has no targets")]
    NoTargets,
    /// A target points at a connection that is not there.
    #[error("target `{target}` has no connection")]
    ConnectionMissing {
        /// Its name.
        target: String,
    },
    /// Two targets with the same host and port, or the same member.
    #[error("two targets have the {what} `{name}`")]
    Twice {
        /// `name` or `member`.
        what: &'static str,
        /// What both have.
        name: String,
    },
    /// A target stands in no batch, or in several.
    #[error("target `{target}` is in {batches} batches, it has to be in one")]
    Batched {
        /// Its name.
        target: String,
        /// In how many batches it is.
        batches: u32,
    },
    /// A batch holds a target that is not there.
    #[error("batch {batch} of wave `{wave}` holds target {target}, the plan does not")]
    UnknownTarget {
        /// The wave.
        wave: String,
        /// The batch.
        batch: usize,
        /// Position of the target.
        target: u32,
    },
    /// A batch is empty, or larger than its wave allows.
    #[error("batch {batch} of wave `{wave}` has {size} targets, from 1 to {most} are allowed")]
    BatchSize {
        /// The wave.
        wave: String,
        /// The batch.
        batch: usize,
        /// How many it has.
        size: usize,
        /// How many it may have.
        most: u32,
    },
    /// A name that cannot be part of a step's id, or that is used twice.
    #[error("`{name}` cannot be the name of a {what}: {why}")]
    Name {
        /// `wave`, `step`, `activation`, `host` or `release`.
        what: &'static str,
        /// The name.
        name: String,
        /// The reason.
        why: String,
    },
    /// A number that makes no sense.
    #[error("{what} is {value}, {rule}")]
    Limit {
        /// Which number, as in the documents.
        what: String,
        /// Its value.
        value: String,
        /// The rule that it breaks.
        rule: String,
    },
    /// A secret that is used and not declared.
    #[error("secret `{name}` is used by {by} and not declared")]
    SecretUndeclared {
        /// The name of the secret.
        name: String,
        /// Who uses it.
        by: String,
    },
    /// Fewer steps than the batches need.
    #[error("the plan has {steps} steps, its batches need {fewest} or more")]
    StepsMissing {
        /// How many there are.
        steps: usize,
        /// How many there are at least in a whole plan.
        fewest: usize,
    },
    /// An edge that leads nowhere, or joins steps that it cannot join.
    #[error("edge {at} ({kind}) from step {from} to step {to} {why}")]
    Edge {
        /// Its position.
        at: usize,
        /// Its kind.
        kind: EdgeKind,
        /// Position of one end.
        from: u32,
        /// Position of the other end.
        to: u32,
        /// What is wrong.
        why: &'static str,
    },
    /// Steps wait for each other.
    #[error("steps wait for each other ({kind}): {}", .path.join(" -> "))]
    Cycle {
        /// The kind of its edges.
        kind: EdgeKind,
        /// Ids of the steps, the first one again at the end.
        path: Vec<String>,
    },
    /// A step stands where no step of its kind can stand.
    #[error("step {at} `{id}` {why}")]
    Step {
        /// Its position.
        at: usize,
        /// Its id.
        id: String,
        /// What is wrong.
        why: &'static str,
    },
    /// Steps and edges are sound as a graph, but not those that belong to these waves and procedures.
    #[error("step {at} is `{found}`, `{expected}` belongs there")]
    Order {
        /// The position.
        at: usize,
        /// The step that is there.
        found: String,
        /// The step that should be.
        expected: String,
    },
    /// The same for edges.
    #[error("the edges of the plan are not those that its steps need: edge {at} is missing or another one")]
    Edges {
        /// The first edge that differs.
        at: usize,
    },
}
