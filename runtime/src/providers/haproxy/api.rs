//! Requests to one Data Plane API and what its errors mean, for every release from 2.x on.
//! It must not know what the members are wanted for.
//!
//! Only the runtime endpoints are called: they act on the running process and cause no reload. The releases differ in
//! what they answer when there is nothing to show: for an unknown backend and for a dead HAProxy alike, 2.x lists
//! nothing with status 200, 3.0 and 3.1 answer 500, later ones 404. The statistics tell the two apart.

use std::collections::BTreeMap;

use manent_engine::view::Failure;
use reqwest::{Method, Url};

use super::answers::{Collection, Many, Process, Server, combined, is_empty_list, processes};
use super::truth::Facts;
use crate::providers::http::{Answer, Client, lasting, passing};
use crate::providers::text::shown;

/// The version of the API, which decides the shape of its paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V2,
    V3,
}

impl Version {
    pub(super) fn parse(text: &str) -> Option<Version> {
        match text {
            "v2" => Some(Version::V2),
            "v3" => Some(Version::V3),
            _ => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Version::V2 => "v2",
            Version::V3 => "v3",
        }
    }

    fn other(self) -> Version {
        match self {
            Version::V2 => Version::V3,
            Version::V3 => Version::V2,
        }
    }
}

/// One Data Plane API.
pub(super) struct Api<'a> {
    pub(super) client: &'a Client,
    pub(super) base: &'a Url,
    pub(super) version: Version,
    pub(super) backend: &'a str,
}

impl Api<'_> {
    /// Every server of the backend, by name; never none.
    pub(super) async fn servers(&self) -> Result<BTreeMap<String, Facts>, Failure> {
        let list = self.client.ask(Method::GET, self.url_of_servers(), None);
        let statistics = self.client.ask(Method::GET, self.url_of_statistics(), None);
        let (list, statistics) = tokio::join!(list, statistics);
        let (list, statistics) = (list?, statistics?);
        if !list.ok() && !matches!(list.status, 404 | 500) {
            return Err(self.refused(&list));
        }
        if !list.ok() || is_empty_list(&list.body) {
            return Err(self.nothing_listed(&list, &statistics).await);
        }
        if !statistics.ok() {
            return Err(self.no_statistics(&statistics));
        }
        let servers: Vec<Option<Server>> = self.client.decode(&list, "the list of servers")?;
        let nulls = servers.iter().filter(|server| server.is_none()).count();
        if nulls == servers.len() {
            return Err(lasting(format!(
                "the list of servers has {nulls} null entries: this HAProxy is too old for this Data Plane API"
            )));
        }
        let collections = self.collections(&statistics)?;
        combined(self.backend, servers, collections).map_err(passing)
    }

    /// Identity of the process behind the API; unknown when it does not say.
    pub(super) async fn process(&self) -> Option<(Vec<u64>, u64)> {
        let url = self.url(&["services", "haproxy", "runtime", "info"]);
        let answer = self.client.ask(Method::GET, url, None).await.ok().filter(Answer::ok)?;
        let answers: Many<Process> = self.client.decode(&answer, "the process information").ok()?;
        processes(answers.into_vec())
    }

    /// Changes one state of a server. Only that one: a second field would be applied too.
    pub(super) async fn put(&self, server: &str, change: State) -> Result<(), Failure> {
        let url = self.url_of_server(server);
        let answer = self.client.ask(Method::PUT, url, Some(change.body().to_owned())).await?;
        if answer.ok() {
            return Ok(());
        }
        let said = self.client.said(&answer);
        if answer.status == 500 && said.contains("Permission denied") {
            return Err(lasting(format!(
                "the Data Plane API may not change HAProxy: the socket that it uses needs `level admin` (it says: {said})"
            )));
        }
        // An unknown server and a dead HAProxy answer alike, so another look has to tell.
        if matches!(answer.status, 404 | 500) {
            let servers = self.servers().await?;
            if !servers.contains_key(server) {
                return Err(self.no_such(server, &servers));
            }
            return Err(passing(format!("`{server}` was not changed: status {} ({said})", answer.status)));
        }
        Err(self.refused(&answer))
    }

    /// A member that the instance does not have.
    pub(super) fn no_such(&self, server: &str, servers: &BTreeMap<String, Facts>) -> Failure {
        let names: Vec<String> =
            servers.keys().take(20).map(|name| format!("`{}`", shown(name, 100))).collect();
        lasting(format!(
            "backend `{}` has no server `{}`; it has: {}",
            self.backend,
            shown(server, 100),
            names.join(", ")
        ))
    }

    fn collections(&self, answer: &Answer) -> Result<Vec<Collection>, Failure> {
        let collections: Many<Collection> = self.client.decode(answer, "the statistics")?;
        let collections = collections.into_vec();
        match collections.iter().find_map(|one| one.error.as_deref()) {
            Some(error) => Err(self.unreachable(error)),
            None => Ok(collections),
        }
    }

    /// Why there is no list: the statistics know more.
    async fn nothing_listed(&self, list: &Answer, statistics: &Answer) -> Failure {
        if list.status == 404 && statistics.status == 404 {
            return self.no_such_path().await;
        }
        if !statistics.ok() {
            return self.no_statistics(statistics);
        }
        let collections = match self.collections(statistics) {
            Ok(collections) => collections,
            Err(failure) => return failure,
        };
        match combined(self.backend, Vec::new(), collections) {
            Ok(servers) if servers.is_empty() => {
                lasting(format!("backend `{}` is unknown or has no servers: check `backend`", self.backend))
            }
            Ok(servers) => passing(format!(
                "the list of servers is missing (status {}), although the statistics show {} of them",
                list.status,
                servers.len()
            )),
            Err(nonsense) => passing(nonsense),
        }
    }

    fn no_statistics(&self, answer: &Answer) -> Failure {
        // The body of this 500 is the statistics object, not the error object.
        if answer.status == 500
            && let Ok(collections) = self.client.decode::<Many<Collection>>(answer, "the statistics")
            && let Some(error) = collections.into_vec().into_iter().find_map(|one| one.error)
        {
            return self.unreachable(&error);
        }
        self.refused(answer)
    }

    fn unreachable(&self, error: &str) -> Failure {
        passing(format!("the Data Plane API does not reach its HAProxy ({})", self.client.fit(error)))
    }

    /// Neither path exists: a wrong version is the likely cause, and the API can say so.
    async fn no_such_path(&self) -> Failure {
        let other = self.version.other();
        let url = Api { version: other, ..*self }.url(&["info"]);
        let answer = self.client.ask(Method::GET, url, None).await;
        if answer.is_ok_and(|answer| answer.ok() || answer.status == 401) {
            return lasting(format!(
                "this Data Plane API speaks {}, not {}: set `api_version: \"{}\"`",
                other.word(),
                self.version.word(),
                other.word()
            ));
        }
        lasting("404 not found: check `dataplane_urls` and `api_version`")
    }

    fn refused(&self, answer: &Answer) -> Failure {
        self.client.refused(answer, "`credentials_secret`", "`dataplane_urls`, `api_version` and `backend`")
    }

    fn url_of_servers(&self) -> Url {
        match self.version {
            Version::V3 => self.url(&["services", "haproxy", "runtime", "backends", self.backend, "servers"]),
            Version::V2 => with_query(
                self.url(&["services", "haproxy", "runtime", "servers"]),
                &[("backend", self.backend)],
            ),
        }
    }

    fn url_of_server(&self, server: &str) -> Url {
        let mut url = self.url_of_servers();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.push(server);
        }
        url
    }

    fn url_of_statistics(&self) -> Url {
        let url = self.url(&["services", "haproxy", "stats", "native"]);
        with_query(url, &[("type", "server"), ("parent", self.backend)])
    }

    /// Segments are encoded one by one, so that a name cannot add another.
    fn url(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push(self.version.word()).extend(segments);
        }
        url
    }
}

fn with_query(mut url: Url, pairs: &[(&str, &str)]) -> Url {
    url.query_pairs_mut().extend_pairs(pairs);
    url
}

/// The states that are ever set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    Drain,
    Maint,
    Down,
}

impl State {
    fn body(self) -> &'static str {
        match self {
            State::Ready => r#"{"admin_state":"ready"}"#,
            State::Drain => r#"{"admin_state":"drain"}"#,
            State::Maint => r#"{"admin_state":"maint"}"#,
            State::Down => r#"{"operational_state":"down"}"#,
        }
    }
}
