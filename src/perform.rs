//! Sets up what performs the calls of a run: the provider, the transports, the secrets they need.
//! It must not perform anything itself.

use std::sync::Arc;

use manent_plan::Plan;
use manent_runtime::drive::Perform;
use manent_runtime::journal::RunId;
use manent_runtime::setup;

use crate::fault::Fault;
use crate::project::Project;

/// What performs the calls of a run; without one (a preflight alone) nothing is ever written into a target's ledger.
///
/// # Errors
/// A setting or secret cannot be used; nothing was touched.
pub(crate) fn performer(
    project: &Project,
    plan: &Arc<Plan>,
    run: Option<&RunId>,
) -> Result<Arc<dyn Perform>, Fault> {
    let run = run.map_or("preflight", RunId::as_str);
    match setup::performer(plan, &project.root, &project.state, run) {
        Ok(performer) => Ok(Arc::new(performer)),
        Err(error) => Err(Fault::error("the run cannot be set up, so nothing was touched")
            .because(&error)
            .help("mend the setting, or make the secret readable here, and try again")),
    }
}
