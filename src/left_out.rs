//! Members that earlier runs left out of the load balancer and that no later run has put back.
//! It knows what journals say, not what load balancers show.

use std::collections::{BTreeMap, BTreeSet};

use manent_engine::{Outcome, RunState};
use manent_plan::{Plan, TargetIx};

use crate::fault::Fault;
use crate::runs::Runs;

/// What is left out: the target's name, with the member and the run that left it.
pub(crate) type LeftOut = BTreeMap<String, Left>;

/// One member that is out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Left {
    /// Its name in the pool.
    pub(crate) member: String,
    /// The run that has it out.
    pub(crate) run: String,
}

/// Reads the journals of an environment, from the last run that put everything into service.
///
/// # Errors
/// A journal cannot be read.
pub(crate) fn left_out(runs: &Runs, environment: &str) -> Result<LeftOut, Fault> {
    let mut found = LeftOut::new();
    let mut since = Vec::new();
    for head in runs.of(environment)? {
        let loaded = runs.load(&head.id)?;
        let whole = matches!(loaded.state.outcome(), Some(Outcome::Succeeded));
        since.push(loaded);
        if whole {
            break;
        }
    }
    for loaded in since.iter().rev() {
        take(&mut found, loaded.head.id.as_str(), &loaded.plan, &loaded.state);
    }
    Ok(found)
}

/// A run starts with what was left out before it as its own, so what it does not have out is back in service.
fn take(found: &mut LeftOut, run: &str, plan: &Plan, state: &RunState) {
    if state.started.is_none() {
        return;
    }
    for (at, target) in (0_u32..).map(TargetIx).zip(&plan.targets) {
        let name = target.name();
        let out = state.target(at).is_some_and(|known| known.out.is_some());
        if out {
            let left = Left { member: target.member.clone(), run: run.to_owned() };
            found.insert(name, left);
        } else {
            found.remove(&name);
        }
    }
}

/// The targets of a plan among them.
pub(crate) fn adopted(plan: &Plan, left: &LeftOut) -> BTreeSet<TargetIx> {
    (0_u32..)
        .map(TargetIx)
        .zip(&plan.targets)
        .filter(|(_, target)| left.get(&target.name()).is_some_and(|left| left.member == target.member))
        .map(|(at, _)| at)
        .collect()
}
