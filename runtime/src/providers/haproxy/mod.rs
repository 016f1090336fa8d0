//! HAProxy through the Data Plane API (2.x and 3.x), on every active instance.
//! It must not know the order of a rollout; it reads, and changes members as it is told.
//!
//! Facts behind the rules, seen on HAProxy 2.6 (the tests pass on 2.8 too):
//! - A drained server keeps its checks: it reads `up` while it drains. Maintenance pauses them, and a server that leaves
//!   it counts as up at once, before any check.
//! - `ready` trusts the last check. So a member is forced down while it is still drained ([`Change::ForceDown`]) and is
//!   put back when checks have brought it up again. A server without checks would stay down for ever: it is left alone.
//! - A cookie or a stick table leads its clients to a drained server; only maintenance moves them ([`Change::Harden`]).
//! - A reload forgets drains, and the sessions of the old process are invisible: hence the identity of the process.
//! - Queued requests are not sessions: a member is empty when both counts are 0.
//! - What the API says of a server needs the statistics beside it: see `truth.rs`.
//! - A member whose last check failed (`UP 1/3`) still serves, but does not count as healthy: the same words stand for one
//!   that just left maintenance and has passed no check. At worst a batch waits one read longer.
//! - Releases of the Data Plane API of 2020 refuse a change of one state alone; they need a repaired release (its issue
//!   100).
//! - On a server that was `disabled` in the configuration the API mistakes a drain for maintenance, so that it sends
//!   nothing when maintenance is asked for: there a drain cannot be hardened.
//!
//! Calls, all of them (rights that the user of the API needs): the list of runtime servers, native statistics, runtime
//! information, the change of one runtime server; and `/info` of the other version when no path exists. Nothing here touches
//! HAProxy's configuration. The statistics take about 1.2 KB a server, so a backend of some 6,000 fills the limit of 8 MiB.

mod answers;
mod api;
mod change;
mod truth;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use manent_engine::call::{Change, InstanceAnswer};
use manent_engine::view::Failure;
use reqwest::Url;
use tokio::task::JoinSet;

use self::api::{Api, Version};
use super::http::{Client, passing};
use super::text::shown;
use super::{InstanceRead, Members, Provider, Refusal, Settings, Surroundings, Wanted, url};
use crate::secrets::Form;

/// HAProxy behind one or more Data Plane APIs.
pub(super) struct Haproxy {
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    version: Version,
    backend: String,
    instances: Vec<Instance>,
}

struct Instance {
    name: String,
    base: Url,
    last: Mutex<Option<Running>>,
}

/// The process that answered last.
#[derive(Clone)]
struct Running {
    pids: Vec<u64>,
    uptime: u64,
    /// How often a process with these ids was seen to have begun anew.
    again: u32,
}

impl Haproxy {
    pub(super) fn build(settings: &Settings<'_>, around: &Surroundings<'_>) -> Result<Haproxy, Refusal> {
        let version = settings.get("api_version").unwrap_or("v3");
        let version = Version::parse(version).ok_or_else(|| {
            let words = format!("`{}` is not `v2` or `v3`", shown(version, 60));
            Refusal::setting("api_version", words)
        })?;
        let backend = settings.need("backend")?;
        if !answers::nameable(backend) {
            let words = format!("`{}` cannot be the name of a backend", shown(backend, 100));
            return Err(Refusal::setting("backend", words));
        }
        let instances = instances(settings.need("dataplane_urls")?, settings.allows_http())?;
        let login = settings.login("credentials_secret", Form::UserPassword, around)?;
        let ca_file = settings.get("ca_file").map(|file| around.root.join(file));
        let client = Client::new(ca_file.as_deref(), around.limits, login)?;
        let shared = Shared { client, version, backend: backend.to_owned(), instances };
        Ok(Haproxy { shared: Arc::new(shared) })
    }
}

fn instances(urls: &str, allow_http: bool) -> Result<Vec<Instance>, Refusal> {
    let wrong = |reason: String| Refusal::setting("dataplane_urls", reason);
    let mut found: Vec<Instance> = Vec::new();
    for text in urls.split(',').map(str::trim) {
        if text.is_empty() {
            return Err(wrong("it holds an empty address; write one between every two commas".to_owned()));
        }
        let base = url::base(text, allow_http).map_err(wrong)?;
        let last = base.path_segments().and_then(|mut path| path.rfind(|part| !part.is_empty()));
        if let Some(version @ ("v2" | "v3")) = last {
            return Err(wrong(format!(
                "`{}` ends with the version; leave `/{version}` away and set `api_version: \"{version}\"`",
                shown(text, 200)
            )));
        }
        if found.iter().any(|other| other.base == base) {
            return Err(wrong(format!("`{}` stands there twice", shown(text, 200))));
        }
        found.push(Instance { name: name_of(&base), base, last: Mutex::new(None) });
    }
    Ok(found)
}

/// `host:port`, and the path where there is one.
fn name_of(base: &Url) -> String {
    let host = base.host_str().unwrap_or_default();
    let port = base.port().map(|port| format!(":{port}")).unwrap_or_default();
    shown(&format!("{host}{port}{}", base.path().trim_end_matches('/')), 100)
}

#[async_trait]
impl Provider for Haproxy {
    fn instances(&self) -> Vec<String> {
        self.shared.instances.iter().map(|instance| instance.name.clone()).collect()
    }

    async fn read(&self, _: &[Wanted]) -> Vec<InstanceRead> {
        let mut tasks = JoinSet::new();
        for at in 0..self.shared.instances.len() {
            let shared = Arc::clone(&self.shared);
            tasks.spawn(async move { (at, shared.read(at).await) });
        }
        let mut reads: Vec<InstanceRead> = self.shared.instances.iter().map(Instance::unread).collect();
        while let Some(done) = tasks.join_next().await {
            if let Ok((at, read)) = done
                && let Some(place) = reads.get_mut(at)
            {
                *place = read;
            }
        }
        reads
    }

    async fn change(&self, change: Change, instance: usize, targets: &[Wanted]) -> InstanceAnswer {
        let Some(api) = self.shared.api(instance) else {
            return InstanceAnswer::Refused { reason: format!("there is no instance {instance}") };
        };
        match change::change(&api, change, targets).await {
            Ok(()) => InstanceAnswer::Accepted,
            Err(Failure { permanent: true, reason }) => InstanceAnswer::Refused { reason },
            Err(Failure { permanent: false, reason }) => InstanceAnswer::Unsure { reason },
        }
    }
}

impl Shared {
    fn api(&self, at: usize) -> Option<Api<'_>> {
        let base = &self.instances.get(at)?.base;
        Some(Api { client: &self.client, base, version: self.version, backend: &self.backend })
    }

    async fn read(&self, at: usize) -> InstanceRead {
        let (Some(instance), Some(api)) = (self.instances.get(at), self.api(at)) else {
            let outcome = Err(passing("there is no such instance"));
            return InstanceRead { name: String::new(), identity: None, outcome };
        };
        let servers = api.servers().await;
        // Asked after the rest: a reload in the middle of a read shows as another process in this very read.
        let identity = match &servers {
            Ok(_) => api.process().await.map(|(pids, uptime)| instance.identity(pids, uptime)),
            Err(_) => None,
        };
        let outcome = servers.map(|servers| {
            let doubted = servers.values().any(truth::Facts::belies_maint);
            let (backup, active): (Vec<_>, Vec<_>) = servers.into_iter().partition(|(_, facts)| facts.backup);
            Members {
                seen: active.into_iter().map(|(name, facts)| (name, facts.judge(doubted))).collect(),
                backup: backup.into_iter().map(|(name, _)| name).collect(),
                whole: true,
            }
        });
        InstanceRead { name: instance.name.clone(), identity, outcome }
    }
}

impl Instance {
    fn unread(&self) -> InstanceRead {
        InstanceRead {
            name: self.name.clone(),
            identity: None,
            outcome: Err(passing("the read was given up")),
        }
    }

    /// The process in words. In a container a restarted HAProxy may have its old id again, so its age is watched.
    fn identity(&self, pids: Vec<u64>, uptime: u64) -> String {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let again = match last.as_ref().filter(|last| last.pids == pids) {
            Some(last) if uptime < last.uptime => last.again + 1,
            Some(last) => last.again,
            None => 0,
        };
        let ids: Vec<String> = pids.iter().map(u64::to_string).collect();
        *last = Some(Running { pids, uptime, again });
        let anew = if again == 0 { String::new() } else { format!(", begun anew {again} times") };
        format!("process {}{anew}", ids.join(", "))
    }
}

#[cfg(test)]
mod tests;
