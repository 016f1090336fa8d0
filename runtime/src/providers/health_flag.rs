//! Health flag over HTTP: every target is told to fail, and later to pass, the check that the load balancer makes of it.
//! It must not claim to know the load balancer: whether a member is in service is never seen here, only its own health.
//!
//! The contract is manent's own. Draining and restoring are requests to the target itself, any 2xx is a success, and both
//! may be repeated; 404 to a DELETE that restores says that the flag was gone already. `health_url` is healthy at exactly
//! 200. The token goes with the two changes only. There is one pseudo-instance.

use std::sync::Arc;

use async_trait::async_trait;
use manent_engine::call::{Change, InstanceAnswer};
use manent_engine::view::{Admin, Failure, Health, Seen};
use reqwest::Method;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::http::{Client, Login, lasting};
use super::text::shown;
use super::url::TargetUrl;
use super::{InstanceRead, Members, Provider, Refusal, Settings, Surroundings, Wanted};
use crate::secrets::Form;

/// The name of the one pseudo-instance.
const INSTANCE: &str = "application flag";

/// Targets that are asked for their health at once.
const AT_ONCE: usize = 32;

/// Flags in the applications.
pub(super) struct HealthFlag {
    flag: TargetUrl,
    drain: Method,
    restore: Method,
    /// With the token.
    changes: Client,
    health: Option<Arc<HealthCheck>>,
}

struct HealthCheck {
    url: TargetUrl,
    /// Without the token: reading needs none.
    client: Client,
}

impl HealthFlag {
    pub(super) fn build(settings: &Settings<'_>, around: &Surroundings<'_>) -> Result<HealthFlag, Refusal> {
        match settings.get("mode").unwrap_or("http") {
            "http" => {}
            "file" => return Err(Refusal::LaterChoice { setting: "mode", value: "file" }),
            other => {
                let words = format!("`{}` is not `http` or `file`", shown(other, 60));
                return Err(Refusal::setting("mode", words));
            }
        }
        let address =
            |name, text: &str| TargetUrl::parse(text).map_err(|reason| Refusal::setting(name, reason));
        let flag = address("drain_url", settings.need("drain_url")?)?;
        let login = match settings.get("token_secret") {
            None => Login::default(),
            Some(_) => settings.login("token_secret", Form::Token, around)?,
        };
        let health = match settings.get("health_url") {
            None => None,
            Some(text) => {
                let url = address("health_url", text)?;
                let client = Client::new(None, around.limits, Login::default())?;
                Some(Arc::new(HealthCheck { url, client }))
            }
        };
        Ok(HealthFlag {
            flag,
            drain: method(settings, "drain_method", Method::PUT)?,
            restore: method(settings, "restore_method", Method::DELETE)?,
            changes: Client::new(None, around.limits, login)?,
            health,
        })
    }

    async fn tell(&self, change: Change, target: &Wanted) -> Result<(), Failure> {
        let (method, restores) = match change {
            Change::Drain => (&self.drain, false),
            Change::Restore => (&self.restore, true),
            Change::Harden | Change::ForceDown => {
                return Err(lasting("an application flag only drains and restores"));
            }
        };
        let url = self.flag.for_target(target).map_err(lasting)?;
        let answer = self.changes.ask(method.clone(), url, None).await?;
        let gone_already = restores && *method == Method::DELETE && answer.status == 404;
        if answer.ok() || gone_already {
            return Ok(());
        }
        Err(self.changes.refused(&answer, "`token_secret`", "`drain_url` and the application"))
    }
}

fn method(settings: &Settings<'_>, name: &'static str, default: Method) -> Result<Method, Refusal> {
    match settings.get(name) {
        None => Ok(default),
        Some("PUT") => Ok(Method::PUT),
        Some("POST") => Ok(Method::POST),
        Some("PATCH") => Ok(Method::PATCH),
        Some("DELETE") => Ok(Method::DELETE),
        Some("GET") => Ok(Method::GET),
        Some(other) => {
            let words = format!("`{}` is not `PUT`, `POST`, `PATCH`, `DELETE` or `GET`", shown(other, 60));
            Err(Refusal::setting(name, words))
        }
    }
}

#[async_trait]
impl Provider for HealthFlag {
    fn instances(&self) -> Vec<String> {
        vec![INSTANCE.to_owned()]
    }

    async fn read(&self, targets: &[Wanted]) -> Vec<InstanceRead> {
        let mut members = Members::default();
        match &self.health {
            None => {
                let seen =
                    targets.iter().map(|target| (target.member.clone(), seen(Health::Unknown, "unseen")));
                members.seen.extend(seen);
            }
            Some(check) => {
                let gate = Arc::new(Semaphore::new(AT_ONCE));
                let mut tasks = JoinSet::new();
                for target in targets.iter().cloned() {
                    members
                        .seen
                        .insert(target.member.clone(), seen(Health::Unknown, "the read was given up"));
                    let (check, gate) = (Arc::clone(check), Arc::clone(&gate));
                    tasks.spawn(async move {
                        let _turn = gate.acquire().await;
                        let seen = check.ask(&target).await;
                        (target.member, seen)
                    });
                }
                while let Some(done) = tasks.join_next().await {
                    members.seen.extend(done);
                }
            }
        }
        vec![InstanceRead { name: INSTANCE.to_owned(), identity: None, outcome: Ok(members) }]
    }

    async fn change(&self, change: Change, instance: usize, targets: &[Wanted]) -> InstanceAnswer {
        if instance != 0 {
            return InstanceAnswer::Refused { reason: format!("there is no instance {instance}") };
        }
        let mut first = Ok(());
        let mut changed = false;
        for target in targets {
            match self.tell(change, target).await {
                Ok(()) => changed = true,
                Err(failure) => {
                    let reason = format!("`{}`: {}", target.member, failure.reason);
                    first = first.and(Err(Failure { reason, ..failure }));
                    // A flag that cannot be taken away must not keep the other targets out.
                    if change != Change::Restore {
                        break;
                    }
                }
            }
        }
        match first {
            Ok(()) => InstanceAnswer::Accepted,
            // With another target already told, it is no longer true that nothing was changed.
            Err(Failure { permanent: true, reason }) if !changed => InstanceAnswer::Refused { reason },
            Err(Failure { reason, .. }) => InstanceAnswer::Unsure { reason },
        }
    }
}

impl HealthCheck {
    async fn ask(&self, target: &Wanted) -> Seen {
        let url = match self.url.for_target(target) {
            Ok(url) => url,
            Err(reason) => return seen(Health::Unknown, &reason),
        };
        match self.client.ask(Method::GET, url, None).await {
            Ok(answer) if answer.status == 200 => seen(Health::Up, "healthy (200)"),
            Ok(answer) => seen(Health::Down, &format!("not healthy (status {})", answer.status)),
            Err(failure) => seen(Health::Unknown, &failure.reason),
        }
    }
}

fn seen(health: Health, words: &str) -> Seen {
    Seen { admin: Admin::Unknown, health, connections: None, words: words.to_owned() }
}

#[cfg(test)]
mod tests;
