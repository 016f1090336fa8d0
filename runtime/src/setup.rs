//! Sets up what performs the calls of a run: secrets, provider, ways to the targets. Everything that can be refused is
//! refused here, before anything is touched. It makes no call.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use manent_plan::{Connection, Plan, TargetIx};

use crate::perform::{Performer, Transports};
use crate::providers::{self, Limits, Refusal, Surroundings};
use crate::secrets::Secrets;
use crate::transport::{Local, Transport};

/// Why a run cannot be set up. Nothing was touched.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The provider refuses its settings, or a secret cannot be used.
    #[error(transparent)]
    Provider(#[from] Refusal),
}

/// Sets up the performer of a run.
///
/// # Errors
/// When this version cannot drive the provider, or a setting or secret cannot be used.
pub fn performer(plan: &Arc<Plan>, root: &Path, state: &Path, run: &str) -> Result<Performer, SetupError> {
    let secrets = Secrets::new(root, &plan.secrets);
    let around = Surroundings { root, secrets: &secrets, limits: Limits::default() };
    let provider = match &plan.pool {
        Some(pool) => Some(providers::build(pool, &around)?),
        None => None,
    };
    let ways = Ways { plan: Arc::clone(plan), local: Arc::new(Local::new(root, &state.join("ledger"))) };
    Ok(Performer::new(Arc::clone(plan), root.to_owned(), provider, Box::new(ways), run.to_owned()))
}

/// The ways to the targets of one plan.
struct Ways {
    plan: Arc<Plan>,
    local: Arc<dyn Transport>,
}

#[async_trait]
impl Transports for Ways {
    async fn of(&self, target: TargetIx) -> Result<Arc<dyn Transport>, String> {
        let connection =
            self.plan.target(target).and_then(|target| self.plan.connections.get(target.connection as usize));
        match connection {
            Some(Connection::Local) => Ok(Arc::clone(&self.local)),
            Some(Connection::Ssh(_)) => Err(String::from("ssh is set up elsewhere")),
            None => Err(String::from("the plan has no connection for it")),
        }
    }
}
