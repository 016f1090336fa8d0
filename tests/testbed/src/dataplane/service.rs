//! Answers requests as the chosen release does: login, paths, statuses, the order of changes.
//! It holds no state of the pool: every answer is read anew from what stands behind.

use super::answer;
use super::backend::{Backend, Gone, Refusal, find, integer};
use super::bridge::Options;
use super::dialect::operational_state;
use super::ledger::Entry;
use crate::socket::{Row, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A status and a body.
pub(super) type Answer = (u16, Value);

/// The request, taken apart.
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) path: String,
    /// Path segments, decoded.
    pub(super) segments: Vec<String>,
    pub(super) query: BTreeMap<String, String>,
    /// Header names in lower case.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: String,
}

/// The API over one backend.
pub(super) struct Service {
    pub(super) options: Options,
    pub(super) backend: Box<dyn Backend>,
    /// The real one speaks to its socket one command at a time.
    pub(super) one_at_a_time: Mutex<()>,
}

impl Service {
    /// The answer to one request; what it changed is noted in the entry.
    pub(super) fn answer(&self, asked: &Asked, entry: &Entry) -> Answer {
        let _turn = self.one_at_a_time.lock();
        let release = self.options.release;
        let segments: Vec<&str> = asked.segments.iter().map(String::as_str).collect();
        let known = segments.first() == Some(&release.api());
        if !known && !release.unknown_path_after_login() {
            return unknown_path(asked);
        }
        if let Some(refused) = self.login(asked) {
            return refused;
        }
        let accepts = asked.headers.get("accept").map_or("*/*", String::as_str);
        if release.checks_accept() && !(accepts.contains("*/*") || accepts.contains("json")) {
            return (
                406,
                answer::error(406, "unsupported media type requested, only [application/json] is available"),
            );
        }
        match segments.get(1..).unwrap_or_default() {
            _ if !known => unknown_path(asked),
            ["info"] => (200, json!({ "api": { "version": release.version() }, "system": {} })),
            ["health"] => {
                (200, json!({ "haproxy": if self.backend.info().is_ok() { "up" } else { "down" } }))
            }
            ["services", "haproxy", "runtime", "info"] => self.process(),
            ["services", "haproxy", "stats", "native"] => self.stats(&asked.query),
            ["services", "haproxy", "runtime", "servers", rest @ ..] if release.api() == "v2" => {
                match asked.query.get("backend") {
                    Some(backend) => self.servers(asked, backend, rest, entry),
                    None => (422, answer::error(602, "backend in query is required")),
                }
            }
            ["services", "haproxy", "runtime", "backends", backend, "servers", rest @ ..]
                if release.api() == "v3" =>
            {
                self.servers(asked, backend, rest, entry)
            }
            _ => unknown_path(asked),
        }
    }

    fn login(&self, asked: &Asked) -> Option<Answer> {
        let given = asked.headers.get("authorization").and_then(|header| header.strip_prefix("Basic "));
        let right = given.and_then(basic).is_some_and(|login| login == self.options.credentials);
        (!right).then(|| (401, answer::error(401, "unauthorized")))
    }

    fn process(&self) -> Answer {
        let name = self.backend.name();
        let release = self.options.release;
        match self.backend.info() {
            Ok(info) => {
                let object = json!({ "runtimeAPI": name, "info": answer::process(&info) });
                (200, answer::collection(release, object))
            }
            Err(Gone(words)) => {
                (500, answer::collection(release, json!({ "error": words, "runtimeAPI": name })))
            }
        }
    }

    fn stats(&self, query: &BTreeMap<String, String>) -> Answer {
        let wanted = |name: &str| query.get(name).filter(|value| !value.is_empty());
        let (kind, name, parent) = (wanted("type"), wanted("name"), wanted("parent"));
        if name.is_some() && kind.is_none() {
            return (400, answer::error(400, "Type required when filtering by name"));
        }
        if kind.is_some_and(|kind| kind == "server") && name.is_some() && parent.is_none() {
            return (400, answer::error(400, "Parent backend required when filtering by server"));
        }
        let runtime = self.backend.name();
        let release = self.options.release;
        let rows = match self.backend.stats() {
            Ok(rows) => rows,
            // The body is the stats object here, not the error object.
            Err(Gone(words)) => {
                return (500, answer::collection(release, json!({ "error": words, "runtimeAPI": runtime })));
            }
        };
        let fits = |row: &&Row| {
            let its_kind = answer::kind(row);
            let its_name = if its_kind == "server" { text(row, "svname") } else { text(row, "pxname") };
            kind.is_none_or(|kind| kind == its_kind)
                && name.is_none_or(|name| name == its_name)
                && parent.is_none_or(|parent| its_kind != "server" || parent == text(row, "pxname"))
        };
        let found: Vec<Value> = rows.iter().filter(fits).map(answer::counters).collect();
        let mut object = json!({ "runtimeAPI": runtime });
        // Nothing found: the member is missing, not empty.
        if let (false, Value::Object(fields)) = (found.is_empty(), &mut object) {
            fields.insert("stats".to_owned(), found.into());
        }
        (200, answer::collection(release, object))
    }

    fn servers(&self, asked: &Asked, backend: &str, rest: &[&str], entry: &Entry) -> Answer {
        match (asked.method.as_str(), rest) {
            ("GET", []) => self.list(backend),
            ("GET", [server]) => match self.row(backend, server) {
                Some(row) => (200, self.shown(&row)),
                None => (404, no_data(404, backend, Some(server))),
            },
            ("PUT", [server]) => self.change(asked, backend, server, entry),
            (method, [] | [_]) => {
                (405, answer::error(405, &format!("method {method} is not allowed, but [GET,PUT] are")))
            }
            _ => unknown_path(asked),
        }
    }

    fn list(&self, backend: &str) -> Answer {
        // The real client takes every trouble of the socket for "no data".
        match self.backend.servers(backend) {
            Ok(Some(rows)) => (200, rows.iter().map(|row| self.shown(row)).collect()),
            Ok(None) | Err(Gone(_)) => match self.options.release.list_without_data() {
                None => (200, json!([])),
                Some(status) => (status, no_data(status, backend, None)),
            },
        }
    }

    fn row(&self, backend: &str, server: &str) -> Option<Row> {
        let rows = self.backend.servers(backend).ok().flatten()?;
        find(&rows, server).cloned()
    }

    fn shown(&self, row: &Row) -> Value {
        answer::server(row, self.options.release, self.options.decoding)
    }

    fn change(&self, asked: &Asked, backend: &str, server: &str, entry: &Entry) -> Answer {
        let kind = asked.headers.get("content-type").map_or("", String::as_str);
        if !kind.starts_with("application/json") {
            let words = format!("unsupported media type \"{kind}\", only [application/json] are allowed");
            return (415, answer::error(415, &words));
        }
        let Ok(Value::Object(wanted)) = serde_json::from_str(&asked.body) else {
            return (
                400,
                answer::error(400, "parsing data body from \"\" failed, because it is not a JSON object"),
            );
        };
        for (field, words) in [
            ("admin_state", &["ready", "maint", "drain"]),
            ("operational_state", &["up", "down", "stopping"]),
        ] {
            let given = wanted.get(field);
            let allowed = given.is_none_or(|value| value.as_str().is_some_and(|word| words.contains(&word)));
            if !allowed {
                let message = format!("{field} in body should be one of {words:?}").replace(['"', ','], "");
                return (422, answer::error(self.options.release.invalid_value_code(), &message));
            }
        }
        let Some(row) = self.row(backend, server) else {
            let status = self.options.release.change_without_data();
            return (status, no_data(status, backend, Some(server)));
        };
        let mut done: Vec<Order> = vec![];
        for order in self.differences(&row, &wanted) {
            if let Err(refusal) = self.backend.set(backend, server, order.what, &order.value) {
                for earlier in done.iter().rev() {
                    // The real one undoes without looking at the answers either.
                    if self.backend.set(backend, server, earlier.what, &earlier.before).is_ok() {
                        entry.add(|call| {
                            call.effects.push(effect(backend, server, earlier.what, &earlier.before))
                        });
                    }
                }
                let (Refusal::Gone(words) | Refusal::Words(words)) = refusal;
                return (500, answer::error(500, &words));
            }
            entry.add(|call| call.effects.push(effect(backend, server, order.what, &order.value)));
            done.push(order);
        }
        match self.row(backend, server) {
            Some(row) => (200, self.shown(&row)),
            None => (500, no_data(500, backend, Some(server))),
        }
    }

    /// What has to be sent: only what differs from what the API believes, health first.
    fn differences(&self, row: &Row, wanted: &serde_json::Map<String, Value>) -> Vec<Order> {
        let mask = u32::try_from(integer(row, "srv_admin_state")).unwrap_or(0);
        let mut orders = vec![];
        let mut compare = |what, before: &str, value: Option<String>| {
            if let Some(value) = value.filter(|value| value != before) {
                orders.push(Order { what, value, before: before.to_owned() });
            }
        };
        let word = |field: &str| wanted.get(field).and_then(Value::as_str).map(str::to_owned);
        compare("health", operational_state(integer(row, "srv_op_state")), word("operational_state"));
        compare("state", self.options.decoding.admin_state(mask), word("admin_state"));
        if self.options.release.whole_objects() {
            let weight = wanted.get("weight").and_then(Value::as_u64).map(|weight| weight.to_string());
            compare("weight", text(row, "srv_uweight"), weight);
            let place = |address: &str, port: &str| format!("{address} port {port}");
            let (address, port) = (word("address"), wanted.get("port").and_then(Value::as_u64));
            let asked = (address.is_some() || port.is_some()).then(|| {
                let port = port.map_or_else(|| text(row, "srv_port").to_owned(), |port| port.to_string());
                place(address.as_deref().unwrap_or(text(row, "srv_addr")), &port)
            });
            compare("addr", &place(text(row, "srv_addr"), text(row, "srv_port")), asked);
        }
        orders
    }
}

/// One order to the socket, and what undoes it.
struct Order {
    what: &'static str,
    value: String,
    before: String,
}

fn effect(backend: &str, server: &str, what: &str, value: &str) -> String {
    format!("set server {backend}/{server} {what} {value}")
}

fn no_data(status: u16, backend: &str, server: Option<&str>) -> Value {
    let of = server.map_or_else(|| backend.to_owned(), |server| format!("{backend}/{server}"));
    answer::error(status, &format!("no data for {of}: not found"))
}

fn unknown_path(asked: &Asked) -> Answer {
    let path = asked.path.split('?').next().unwrap_or_default();
    (404, answer::error(404, &format!("path {path} was not found")))
}

/// `user:password` out of base64.
fn basic(text: &str) -> Option<String> {
    let mut bytes = vec![];
    let (mut bits, mut held) = (0_u32, 0_u32);
    for character in text.trim_end_matches('=').bytes() {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).ok()?);
        }
    }
    String::from_utf8(bytes).ok()
}
