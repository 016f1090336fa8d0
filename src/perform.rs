//! Sets up what performs the calls of a run: the provider, the transports, the secrets they need.
//! It must not perform anything itself.

use std::sync::Arc;

use manent_plan::Plan;
use manent_runtime::drive::Perform;
use manent_runtime::journal::RunId;
use tokio::runtime::Runtime;

use crate::fault::Fault;
use crate::project::Project;

pub(crate) fn performer(
    _: &Runtime,
    _: &Project,
    _: &Arc<Plan>,
    _: Option<&RunId>,
) -> Result<Arc<dyn Perform>, Fault> {
    Err(Fault::error("calls cannot be performed by this build"))
}
