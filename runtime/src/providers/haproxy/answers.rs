//! The Data Plane API's answers, decoded: servers, statistics and process, of every release.
//! It must not judge them. Fields that are not used are not read; a value of another type is a malformed answer.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::truth::Facts;

/// An entry of the server list: six fields before 3.3.1, the whole line from then on.
#[derive(Deserialize)]
pub(super) struct Server {
    pub(super) name: String,
    admin_state: Option<String>,
    operational_state: Option<String>,
    backend_name: Option<String>,
}

/// The statistics of one process.
#[derive(Deserialize)]
pub(super) struct Collection {
    /// Why there are none; in answers with status 500.
    pub(super) error: Option<String>,
    /// Absent when nothing matches.
    #[serde(default)]
    stats: Option<Vec<Row>>,
}

#[derive(Deserialize)]
struct Row {
    name: Option<String>,
    backend_name: Option<String>,
    r#type: Option<String>,
    stats: Option<Counters>,
}

/// Fields that are empty in HAProxy's table are absent.
#[derive(Deserialize)]
struct Counters {
    scur: Option<u64>,
    qcur: Option<u64>,
    status: Option<String>,
    weight: Option<u64>,
    bck: Option<u64>,
    check_status: Option<String>,
    agent_status: Option<String>,
}

/// What the process says of itself.
#[derive(Deserialize)]
pub(super) struct Process {
    info: Option<Info>,
}

#[derive(Deserialize)]
struct Info {
    pid: Option<u64>,
    uptime: Option<u64>,
}

/// One object in v3, a list of them in v2 (one a process); either is taken.
pub(super) enum Many<T> {
    One(T),
    List(Vec<T>),
}

impl<T> Many<T> {
    pub(super) fn into_vec(self) -> Vec<T> {
        match self {
            Many::One(one) => vec![one],
            Many::List(list) => list,
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Many<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Visitor<T> {
            type Value = Many<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object or a list of objects")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Many<T>, A::Error> {
                T::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Many::One)
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Many<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(Many::List(all))
            }
        }
        deserializer.deserialize_any(Visitor(std::marker::PhantomData))
    }
}

/// Why two well-formed answers do not make sense together.
pub(super) type Nonsense = String;

/// Every server of the backend with both accounts of it.
pub(super) fn combined(
    backend: &str,
    servers: Vec<Option<Server>>,
    statistics: Vec<Collection>,
) -> Result<BTreeMap<String, Facts>, Nonsense> {
    let mut all: BTreeMap<String, Facts> = BTreeMap::new();
    // A line that the API cannot parse is a null entry; the statistics still name its server.
    for server in servers.into_iter().flatten() {
        if server.backend_name.is_some_and(|name| name != backend) {
            return Err("the list holds servers of another backend".to_owned());
        }
        if !nameable(&server.name) {
            return Err("the list holds a name that no server can have".to_owned());
        }
        let facts = Facts { admin: server.admin_state, oper: server.operational_state, ..Facts::default() };
        if all.insert(server.name, facts).is_some() {
            return Err("the list holds a server twice".to_owned());
        }
    }
    let mut shown = false;
    for collection in statistics {
        let mut rows: BTreeMap<String, Counters> = BTreeMap::new();
        for row in collection.stats.unwrap_or_default() {
            let ours = row.r#type.as_deref().is_none_or(|kind| kind == "server")
                && row.backend_name.as_deref().is_none_or(|name| name == backend);
            let (true, Some(name), Some(counters)) = (ours, row.name, row.stats) else { continue };
            if !nameable(&name) {
                return Err("the statistics hold a name that no server can have".to_owned());
            }
            if rows.insert(name, counters).is_some() {
                return Err("the statistics hold a server twice".to_owned());
            }
        }
        shown |= !rows.is_empty();
        for (name, counters) in rows {
            add(all.entry(name).or_default(), counters);
        }
    }
    if !all.is_empty() && !shown {
        return Err("the statistics hold no server of the backend".to_owned());
    }
    Ok(all)
}

/// Adds one process's counters. Several processes add up; where they disagree on the status, none is known.
fn add(facts: &mut Facts, counters: Counters) {
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    let first = facts.connections.is_none() && facts.status.is_none();
    let status = filled(counters.status);
    facts.status = match facts.status.take() {
        before if first || before == status => status,
        before => Some(format!("{} and {}", before.unwrap_or_default(), status.unwrap_or_default())),
    };
    let now = counters.scur.zip(counters.qcur).map(|(sessions, queued)| sessions.saturating_add(queued));
    facts.connections = match facts.connections {
        None if first => now,
        before => before.zip(now).map(|(before, now)| before.saturating_add(now)),
    };
    facts.weight = counters.weight;
    facts.backup = counters.bck.is_some_and(|backup| backup > 0);
    facts.check = filled(counters.check_status);
    facts.agent = filled(counters.agent_status);
}

/// Whether HAProxy and the API allow the name.
pub(super) fn nameable(name: &str) -> bool {
    let plain = |c: char| !c.is_control() && !c.is_whitespace() && !"<>*;$#&{}\"".contains(c);
    !name.is_empty() && name.len() <= 200 && name != "." && name != ".." && name.chars().all(plain)
}

/// Process ids and the shortest time that one of them has been running, in seconds.
pub(super) fn processes(answers: Vec<Process>) -> Option<(Vec<u64>, u64)> {
    let infos: Vec<Info> = answers.into_iter().filter_map(|answer| answer.info).collect();
    let pids: Option<Vec<u64>> = infos.iter().map(|info| info.pid).collect();
    let uptime = infos.iter().filter_map(|info| info.uptime).min()?;
    pids.filter(|pids| !pids.is_empty()).map(|pids| (pids, uptime))
}

/// Whether a list answer has no entry at all.
pub(super) fn is_empty_list(body: &[u8]) -> bool {
    serde_json::from_slice::<Vec<IgnoredAny>>(body).is_ok_and(|list| list.is_empty())
}
