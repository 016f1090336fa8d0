//! Questions about the graph of a plan: cycles as a readable path, what can be reached, an order. The only file that
//! knows petgraph; it must not know what steps do.

use petgraph::algo::{astar, toposort};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::Dfs;

use crate::ids::StepIx;
use crate::model::{EdgeKind, Plan};

/// The steps with the edges of some kinds, each edge from what comes first to what comes after.
pub struct Graph(DiGraph<(), ()>);

impl Graph {
    /// The graph of `needs`, `compensates` or `undo-order` edges, or several of them. Edges that lead nowhere are left out.
    #[must_use]
    pub fn of(plan: &Plan, kinds: &[EdgeKind]) -> Self {
        let mut graph = DiGraph::with_capacity(plan.steps.len(), plan.edges.len());
        for _ in &plan.steps {
            graph.add_node(());
        }
        for edge in plan.edges.iter().filter(|edge| kinds.contains(&edge.kind)) {
            if edge.from.at() < plan.steps.len() && edge.to.at() < plan.steps.len() {
                graph.add_edge(node(edge.to), node(edge.from), ());
            }
        }
        Self(graph)
    }

    /// All steps, each after those that come before it.
    ///
    /// # Errors
    /// A cycle: its steps in order, the first one again at the end.
    pub fn order(&self) -> Result<Vec<StepIx>, Vec<StepIx>> {
        toposort(&self.0, None)
            .map(|order| order.into_iter().map(step).collect())
            .map_err(|cycle| self.cycle_through(cycle.node_id()))
    }

    /// Everything that comes after a step, itself first.
    #[must_use]
    pub fn after(&self, from: StepIx) -> Vec<StepIx> {
        if from.at() >= self.0.node_count() {
            return Vec::new();
        }
        let mut reached = Vec::new();
        let mut search = Dfs::new(&self.0, node(from));
        while let Some(found) = search.next(&self.0) {
            reached.push(step(found));
        }
        reached
    }

    /// The shortest way from a step back to itself.
    fn cycle_through(&self, start: NodeIndex) -> Vec<StepIx> {
        let ways = self
            .0
            .neighbors(start)
            .filter_map(|next| astar(&self.0, next, |at| at == start, |_| 1_u32, |_| 0));
        let shortest = ways.min_by_key(|(length, _)| *length).map(|(_, way)| way).unwrap_or_default();
        std::iter::once(start).chain(shortest).map(step).collect()
    }
}

fn node(step: StepIx) -> NodeIndex {
    NodeIndex::new(step.at())
}

fn step(node: NodeIndex) -> StepIx {
    StepIx(u32::try_from(node.index()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::four_targets;
    use crate::model::Edge;

    #[test]
    fn the_order_of_needs_is_the_order_of_the_plan() {
        let plan = four_targets();
        let order = Graph::of(&plan, &[EdgeKind::Needs]).order().unwrap();
        let forward: Vec<StepIx> =
            order.into_iter().filter(|at| !plan.steps[at.at()].kind.is_compensation()).collect();
        assert!(forward.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_cycle_is_a_path_that_closes() {
        let mut plan = four_targets();
        plan.edges.push(Edge { kind: EdgeKind::Needs, from: StepIx(2), to: StepIx(4) });
        let cycle = Graph::of(&plan, &[EdgeKind::Needs]).order().unwrap_err();
        assert_eq!(cycle.first(), cycle.last());
        assert_eq!(cycle.len(), 4);
    }

    #[test]
    fn what_comes_after_is_reached() {
        let plan = four_targets();
        let forward = plan.steps.iter().filter(|step| !step.kind.is_compensation()).count();
        assert_eq!(Graph::of(&plan, &[EdgeKind::Needs]).after(StepIx(0)).len(), forward);
        assert!(Graph::of(&plan, &[EdgeKind::Needs]).after(StepIx(u32::MAX)).is_empty());
    }
}
