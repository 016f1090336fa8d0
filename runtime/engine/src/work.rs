//! The work of one stage on the targets of a batch, kept so that the next thing to do is found without looking at every
//! target again: a batch, or a preflight, can have ten thousand. It must not know what the work is.

use std::collections::{BTreeMap, BTreeSet};

use manent_plan::TargetIx;

use crate::state::Node;

/// Work on targets. A target without a node waits for its turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Work {
    nodes: BTreeMap<TargetIx, Node>,
    /// Positions in the step's list of targets that wait, in its order.
    waiting: BTreeSet<usize>,
    again: BTreeSet<TargetIx>,
    doubts: BTreeSet<TargetIx>,
    failed: BTreeSet<TargetIx>,
}

impl Work {
    /// Work on these targets, of which `nodes` is what is known already.
    #[must_use]
    pub fn new(targets: &[TargetIx], nodes: BTreeMap<TargetIx, Node>) -> Work {
        let waiting = targets.iter().enumerate().filter(|(_, target)| !nodes.contains_key(target));
        let mut work = Work { waiting: waiting.map(|(at, _)| at).collect(), ..Work::default() };
        for (target, node) in nodes {
            work.set(target, node);
        }
        work
    }

    /// What is known of a target.
    #[must_use]
    pub fn get(&self, target: TargetIx) -> Option<&Node> {
        self.nodes.get(&target)
    }

    /// Everything that is known.
    pub fn iter(&self) -> impl Iterator<Item = (TargetIx, &Node)> {
        self.nodes.iter().map(|(target, node)| (*target, node))
    }

    /// The next target that waits, as a position in the step's list.
    #[must_use]
    pub fn next_waiting(&self) -> Option<usize> {
        self.waiting.first().copied()
    }

    /// The next call that may be performed again.
    #[must_use]
    pub fn next_again(&self) -> Option<TargetIx> {
        self.again.first().copied()
    }

    /// Targets in doubt.
    pub fn doubts(&self) -> impl Iterator<Item = TargetIx> {
        self.doubts.iter().copied()
    }

    /// Whether any target failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// A target begins: it waits no more.
    pub fn begin(&mut self, targets: &[TargetIx], target: TargetIx, node: Node) {
        // Targets begin in the order of the list, so the first that waits is nearly always the one.
        let first = self.waiting.first().copied().filter(|at| targets.get(*at) == Some(&target));
        let position = first.or_else(|| targets.iter().position(|one| *one == target));
        if let Some(position) = position {
            self.waiting.remove(&position);
        }
        self.set(target, node);
    }

    /// What is known of a target changes.
    pub fn set(&mut self, target: TargetIx, node: Node) {
        self.forget(target);
        match &node {
            Node::Again { .. } => drop(self.again.insert(target)),
            Node::Doubt { .. } => drop(self.doubts.insert(target)),
            Node::Failed { .. } => drop(self.failed.insert(target)),
            Node::Running { .. } | Node::Done { .. } => {}
        }
        self.nodes.insert(target, node);
    }

    /// A target waits again, under a new number.
    pub fn wait_again(&mut self, targets: &[TargetIx], target: TargetIx) {
        self.forget(target);
        if let Some(position) = targets.iter().position(|one| *one == target) {
            self.waiting.insert(position);
        }
    }

    /// The nodes alone.
    #[must_use]
    pub fn into_nodes(self) -> BTreeMap<TargetIx, Node> {
        self.nodes
    }

    fn forget(&mut self, target: TargetIx) {
        if let Some(node) = self.nodes.remove(&target) {
            match node {
                Node::Again { .. } => drop(self.again.remove(&target)),
                Node::Doubt { .. } => drop(self.doubts.remove(&target)),
                Node::Failed { .. } => drop(self.failed.remove(&target)),
                Node::Running { .. } | Node::Done { .. } => {}
            }
        }
    }
}
