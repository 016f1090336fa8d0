//! Load balancers behind one trait: reads and changes of a pool's members, over all of its instances.
//! It must not decide anything about a rollout: one try a call, no retries, no waiting; the engine paces and judges.
//!
//! Rules that hold for every provider: a success is no proof, the next read is; what is not seen is unknown and never
//! healthy, empty or zero; only the members that the plan names are ever put into a request; no redirect is followed;
//! credentials appear in no reason.

mod haproxy;
mod health_flag;
pub(crate) mod http;
mod pool;
pub(crate) mod text;
pub(crate) mod url;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use async_trait::async_trait;
use manent_engine::call::{Change, InstanceAnswer};
use manent_engine::view::{Failure, Seen};
use manent_plan::{Pool, Target, TargetIx};

use crate::secrets::{Form, Secrets};

pub use self::http::Limits;
use self::http::Login;
pub use self::pool::{pool_view, read_pool};

/// A load balancer product, set up for one pool.
#[async_trait]
pub trait Provider: Send + Sync {
    /// The names of the instances, always in the same order. A position in it is an instance everywhere else.
    fn instances(&self) -> Vec<String>;

    /// Reads every instance, once. `targets` matters only to providers that have to ask for each one.
    async fn read(&self, targets: &[Wanted]) -> Vec<InstanceRead>;

    /// Changes members on one instance, once. It stops at the first member that cannot be changed, except when it
    /// restores: then it goes on and reports the first trouble.
    async fn change(&self, change: Change, instance: usize, targets: &[Wanted]) -> InstanceAnswer;
}

/// A target as a provider needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its position in the plan.
    pub ix: TargetIx,
    /// Its name in the pool.
    pub member: String,
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: Option<u16>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

impl Wanted {
    /// A target of a plan.
    #[must_use]
    pub fn of(ix: TargetIx, target: &Target) -> Wanted {
        Wanted {
            ix,
            member: target.member.clone(),
            host: target.host.clone(),
            port: target.port,
            labels: target.labels.clone(),
        }
    }
}

/// What one instance showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceRead {
    /// Its name for people.
    pub name: String,
    /// Identity of the process that answered; a change means a reload or restart.
    pub identity: Option<String>,
    /// Its members, or why there are none to show.
    pub outcome: Result<Members, Failure>,
}

/// The members of a pool as one instance shows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Members {
    /// By name, without backup members.
    pub seen: BTreeMap<String, Seen>,
    /// Members that serve only when all others are gone; they count for nothing.
    pub backup: BTreeSet<String>,
    /// Whether these are all members. If so, one that is missing here does not exist; if not, it was not asked for.
    pub whole: bool,
}

/// Where a provider finds what its settings only name.
pub struct Surroundings<'a> {
    /// The root of the project; relative paths of settings begin there.
    pub root: &'a Path,
    /// The declared secrets.
    pub secrets: &'a Secrets,
    /// Limits of requests.
    pub limits: Limits,
}

/// Why a provider cannot be set up. Nothing has been touched when this is returned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The provider is known to the compiler, but this version cannot drive it.
    #[error("provider `{0}` is known to this version for planning only; its runtime comes later")]
    Later(String),
    /// The same of one choice of a setting.
    #[error("`{setting}: {value}` is known to this version for planning only; its runtime comes later")]
    LaterChoice {
        /// The setting.
        setting: &'static str,
        /// What it is set to.
        value: &'static str,
    },
    /// No such provider.
    #[error("provider `{0}` is unknown")]
    Unknown(String),
    /// A setting cannot be used.
    #[error("setting `{setting}`: {reason}")]
    Setting {
        /// Its name.
        setting: &'static str,
        /// Why, without any secret.
        reason: String,
    },
}

impl Refusal {
    fn setting(setting: &'static str, reason: impl Into<String>) -> Refusal {
        Refusal::Setting { setting, reason: reason.into() }
    }
}

/// Sets up the provider of a pool: reads its settings and secrets, makes no call.
///
/// # Errors
/// When this version cannot drive the provider, or a setting or secret cannot be used.
pub fn build(pool: &Pool, around: &Surroundings<'_>) -> Result<Box<dyn Provider>, Refusal> {
    let settings = Settings { values: &pool.settings };
    match pool.provider.as_str() {
        "haproxy" => Ok(Box::new(haproxy::Haproxy::build(&settings, around)?)),
        "health-flag" => Ok(Box::new(health_flag::HealthFlag::build(&settings, around)?)),
        "aws-elb" | "f5" | "nginx-plus" | "nginx" | "iis-arr" | "nlb" => {
            Err(Refusal::Later(pool.provider.clone()))
        }
        other => Err(Refusal::Unknown(text::shown(other, 60))),
    }
}

/// The settings of a pool.
pub(crate) struct Settings<'a> {
    values: &'a BTreeMap<String, String>,
}

impl Settings<'_> {
    /// A setting that may be absent; an empty text counts as absent.
    pub(crate) fn get(&self, name: &'static str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A setting that has to be there.
    pub(crate) fn need(&self, name: &'static str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| Refusal::setting(name, "is required"))
    }

    /// The login that a setting names the secret of.
    pub(crate) fn login(
        &self,
        name: &'static str,
        form: Form,
        around: &Surroundings<'_>,
    ) -> Result<Login, Refusal> {
        let secret = around.secrets.resolve(self.need(name)?, form);
        let secret = secret.map_err(|refused| Refusal::setting(name, refused.to_string()))?;
        let login = match form {
            Form::UserPassword => Login::basic(&secret),
            Form::Token | Form::PrivateKey | Form::Line => Login::bearer(&secret),
        };
        login.map_err(|reason| Refusal::setting(name, reason))
    }

    /// Whether plain http is allowed: by this exact word only.
    pub(crate) fn allows_http(&self) -> bool {
        self.get("allow_http") == Some("true")
    }
}

#[cfg(test)]
mod tests;
