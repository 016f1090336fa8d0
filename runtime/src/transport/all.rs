//! The transports of a run: one for each target of the plan, over connections that are kept and opened ahead.
//! It must not know what is executed over them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use manent_plan::{Connection, Plan, TargetIx};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::ssh::{self, Pool, Settings};
use super::{Command, Exec, Executed, Local, Transport};
use crate::secrets::Secrets;

/// Connections that are kept open at once.
const LIMIT: usize = 200;
/// Connections that are opened at once ahead of their use.
const AHEAD: usize = 8;

/// Ways to all targets of a plan.
pub struct Transports {
    targets: Vec<Arc<dyn Transport>>,
    pool: Arc<Pool>,
}

impl Transports {
    /// Transports for a plan. `root` is the project's directory, `state` where a local ledger lies. Opens nothing.
    ///
    /// # Errors
    /// When a connection of the plan cannot be used, in words.
    pub fn new(plan: &Plan, root: &Path, state: &Path, secrets: Secrets) -> Result<Transports, String> {
        Transports::within(plan, root, state, secrets, LIMIT)
    }

    /// As [`Transports::new`], with another limit of open connections.
    ///
    /// # Errors
    /// As [`Transports::new`].
    pub fn within(
        plan: &Plan,
        root: &Path,
        state: &Path,
        secrets: Secrets,
        limit: usize,
    ) -> Result<Transports, String> {
        let pool = Arc::new(Pool::new(secrets, plan.connections.len(), limit));
        let mut ways = Vec::with_capacity(plan.connections.len());
        for (number, connection) in plan.connections.iter().enumerate() {
            ways.push(way(number, connection, root, state)?);
        }
        let targets = plan.targets.iter().map(|target| {
            let at = usize::try_from(target.connection).unwrap_or(usize::MAX);
            match ways.get(at) {
                Some(Way::Ssh(settings)) => {
                    let over = ssh::transport(Arc::clone(&pool), &target.host, Arc::clone(settings));
                    Ok(Arc::new(over) as Arc<dyn Transport>)
                }
                Some(Way::Local(local)) => Ok(Arc::clone(local)),
                None => Err(format!("target `{}` has a connection that the plan lacks", target.name())),
            }
        });
        Ok(Transports { targets: targets.collect::<Result<_, String>>()?, pool })
    }

    /// The way to a target. Connects when it is first used.
    ///
    /// # Errors
    /// When the plan has no such target.
    pub async fn of(&self, target: TargetIx) -> Result<Arc<dyn Transport>, String> {
        let found = self.targets.get(target.at()).map(Arc::clone);
        found.ok_or_else(|| format!("the plan has no target {}", target.0))
    }

    /// Opens connections ahead of their use. What fails here is told when the connection is used.
    pub async fn warm(&self, targets: &[TargetIx]) {
        let gate = Arc::new(Semaphore::new(AHEAD));
        let mut opening = JoinSet::new();
        for transport in targets.iter().filter_map(|target| self.targets.get(target.at())) {
            let (transport, gate) = (Arc::clone(transport), Arc::clone(&gate));
            opening.spawn(async move {
                let Ok(_held) = gate.acquire().await else { return };
                let nothing = Exec {
                    key: None,
                    command: Command::Argv(vec![String::from("true")]),
                    deadline: Duration::from_secs(90),
                };
                let _: Executed = transport.read_only(&nothing).await;
            });
        }
        while opening.join_next().await.is_some() {}
    }

    /// How many connections were opened so far.
    #[must_use]
    pub fn opened(&self) -> u64 {
        self.pool.opened()
    }
}

enum Way {
    Ssh(Arc<Settings>),
    Local(Arc<dyn Transport>),
}

fn way(number: usize, connection: &Connection, root: &Path, state: &Path) -> Result<Way, String> {
    match connection {
        Connection::Local => Ok(Way::Local(Arc::new(Local::new(root, state)))),
        Connection::Ssh(ssh) => {
            let known_hosts = match &ssh.known_hosts {
                Some(path) => {
                    // ssh runs elsewhere than in the project.
                    let path = std::path::absolute(root.join(path)).map_err(|error| error.to_string())?;
                    if !path.is_file() {
                        return Err(format!("there is no file `{}` (known_hosts)", path.display()));
                    }
                    Some(path)
                }
                None => None,
            };
            let settings = Settings {
                user: ssh.user.clone(),
                port: ssh.port,
                jump: ssh.jump.clone(),
                known_hosts,
                key_secret: ssh.key_secret.clone(),
                password_secret: ssh.password_secret.clone(),
                number,
            };
            settings.check()?;
            Ok(Way::Ssh(Arc::new(settings)))
        }
    }
}
