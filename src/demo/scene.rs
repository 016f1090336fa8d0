//! What can be seen at one moment: members as the load balancer shows them, the release that each server answers with, the
//! requests so far, and the run as `manent status` tells it. It must not keep anything from one moment to the next.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::balancer::BACKEND;
use super::client;
use super::load::Counts;
use super::run::Status;
use super::supervisor::Server;

/// No look may take longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// One moment.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Scene {
    /// Since the demo began.
    pub(super) at_ms: u64,
    /// Requests that ended.
    pub(super) requests: u64,
    /// Those that failed.
    pub(super) failed: u64,
    /// Requests that ended within the last second.
    pub(super) per_second: u64,
    /// Members; `None` when the load balancer did not answer.
    pub(super) members: Option<Vec<Seen>>,
    /// State of the run; `None` before it began.
    pub(super) state: Option<String>,
    /// The step in hand.
    pub(super) step: Option<String>,
    /// What it waits for.
    pub(super) why: Option<String>,
    /// What the demo itself is doing to the run.
    pub(super) note: Option<String>,
}

/// A member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Seen {
    /// Its name.
    pub(super) member: String,
    /// `ready`, `drain` or `maint`.
    pub(super) admin_state: String,
    /// `up` or `down`.
    pub(super) operational_state: String,
    /// Requests in flight.
    pub(super) sessions: u64,
    /// Requests that it was ever given.
    pub(super) given: u64,
    /// The release that answers; `None` when nothing does.
    pub(super) release: Option<String>,
}

impl Seen {
    /// Whether it is given new requests.
    pub(super) fn in_service(&self) -> bool {
        self.admin_state == "ready" && self.operational_state == "up"
    }

    /// Taken out, with requests left.
    pub(super) fn is_draining(&self) -> bool {
        self.admin_state == "drain" && self.sessions > 0
    }
}

/// Whom to ask.
#[derive(Debug, Clone)]
pub(super) struct Eyes {
    /// Address of the Data Plane API.
    pub(super) api: SocketAddr,
    /// Login there.
    pub(super) authorization: String,
    /// The servers.
    pub(super) servers: Vec<Server>,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    admin_state: String,
    operational_state: String,
}

#[derive(Deserialize)]
struct Counted {
    stats: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    stats: Numbers,
}

#[derive(Deserialize)]
struct Numbers {
    scur: u64,
    stot: u64,
}

impl Eyes {
    /// The members now; `None` when the load balancer does not answer.
    pub(super) async fn members(&self) -> Option<Vec<Seen>> {
        let list = format!("/v3/services/haproxy/runtime/backends/{BACKEND}/servers");
        let counters = format!("/v3/services/haproxy/stats/native?type=server&parent={BACKEND}");
        let (listed, counted) = tokio::join!(self.ask::<Vec<Listed>>(&list), self.ask::<Counted>(&counters));
        let (listed, counted) = (listed?, counted?);
        let mut members = Vec::new();
        for server in listed {
            let numbers = counted.stats.iter().find(|row| row.name == server.name).map(|row| &row.stats)?;
            members.push(Seen {
                release: self.release(&server.name).await,
                member: server.name,
                admin_state: server.admin_state,
                operational_state: server.operational_state,
                sessions: numbers.scur,
                given: numbers.stot,
            });
        }
        Some(members)
    }

    async fn ask<T: serde::de::DeserializeOwned>(&self, path: &str) -> Option<T> {
        let answer = client::get_as(self.api, path, &self.authorization, PATIENCE).await.ok()?;
        serde_json::from_str(&answer.body).ok().filter(|_| answer.status == 200)
    }

    async fn release(&self, name: &str) -> Option<String> {
        let server = self.servers.iter().find(|server| server.name == name)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port));
        let answer = client::get(address, "/healthz", PATIENCE).await.ok()?;
        answer.header("x-release").map(str::to_owned)
    }
}

impl Scene {
    /// Puts together what was seen.
    pub(super) fn new(
        at: Duration,
        counts: &Counts,
        members: Option<Vec<Seen>>,
        status: Option<&Status>,
    ) -> Scene {
        Scene {
            at_ms: u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
            requests: counts.requests,
            failed: counts.failed.len().try_into().unwrap_or(u64::MAX),
            per_second: counts.per_second,
            members,
            state: status.map(|status| status.state.clone()),
            step: status.and_then(Status::step).map(str::to_owned),
            why: status.and_then(Status::why).map(str::to_owned),
            note: None,
        }
    }
}
