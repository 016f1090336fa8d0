//! From what is sound to steps and edges: a list of transforms over one draft, each in a file of its own. They cannot
//! fail; whatever could be wrong was found before. It must not know YAML.

mod batches;
mod order;
mod steps;

use manent_plan::Plan;

use crate::decode::Order;

/// A plan in the making. At first every wave is one batch of all its targets, in the order of the file.
pub(crate) struct Draft {
    pub(crate) plan: Plan,
    pub(crate) order: Option<Order>,
}

type Transform = fn(Draft) -> Draft;

/// The transforms in order.
const TRANSFORMS: [Transform; 3] = [
    // First, since batches are cut from the ordered list.
    order::order,
    // Before any step, since steps stand for batches.
    batches::batches,
    // Last: forward steps and the way back follow from batches and procedures.
    steps::steps,
];

/// Runs all transforms.
pub(crate) fn lower(draft: Draft) -> Plan {
    TRANSFORMS.iter().fold(draft, |draft, transform| transform(draft)).plan
}
