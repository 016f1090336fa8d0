//! Sets up what performs the calls of a run: secrets, provider, ways to the targets. Everything that can be refused is
//! refused here, before anything is touched. It makes no call.

use std::path::Path;
use std::sync::Arc;

use manent_plan::{Connection, Plan};

use crate::perform::Performer;
use crate::providers::{self, Limits, Refusal, Surroundings};
use crate::secrets::{Form, Refused, Secrets};
use crate::transport::Transports;

/// Why a run cannot be set up. Nothing was touched.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The provider refuses its settings, or one of its secrets cannot be used.
    #[error(transparent)]
    Provider(#[from] Refusal),
    /// A connection cannot be used.
    #[error("{0}")]
    Connection(String),
    /// A secret of a connection cannot be used.
    #[error(transparent)]
    Secret(#[from] Refused),
}

/// Sets up the performer of a run.
///
/// # Errors
/// When this version cannot drive the provider, or a setting, connection or secret cannot be used.
pub fn performer(plan: &Arc<Plan>, root: &Path, state: &Path, run: &str) -> Result<Performer, SetupError> {
    let secrets = Secrets::new(root, &plan.secrets);
    let around = Surroundings { root, secrets: &secrets, limits: Limits::default() };
    let provider = match &plan.pool {
        Some(pool) => Some(providers::build(pool, &around)?),
        None => None,
    };
    check(plan, &secrets)?;
    let transports =
        Transports::new(plan, root, &state.join("ledger"), secrets).map_err(SetupError::Connection)?;
    Ok(Performer::new(Arc::clone(plan), root.to_owned(), provider, Arc::new(transports), run.to_owned()))
}

/// Secrets of connections are resolved when a connection is opened; whether they can be is known before anything is
/// touched.
fn check(plan: &Plan, secrets: &Secrets) -> Result<(), Refused> {
    for connection in &plan.connections {
        let Connection::Ssh(ssh) = connection else { continue };
        if let Some(name) = &ssh.key_secret {
            drop(secrets.resolve(name, Form::PrivateKey)?);
        }
        if let Some(name) = &ssh.password_secret {
            drop(secrets.resolve(name, Form::Line)?);
        }
    }
    Ok(())
}
