//! Looks into the journal of a site while the program writes it, to know where to strike and what was recorded.
//! It must not write, and must not use the program's own reader.

use std::collections::BTreeSet;

use manent_testbed::site::Site;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use serde_json::Value;

/// A record of a run.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// Its number, from 1.
    pub(super) seq: u64,
    /// When, in ms since the Unix epoch.
    pub(super) at_ms: u64,
    /// What kind of event.
    pub(super) kind: String,
    /// The event.
    pub(super) event: Value,
}

/// The journal of a site, when there is one yet.
fn open(site: &Site) -> Option<Connection> {
    let path = site.root().join(".manent/journal.db");
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()
}

/// All runs, the oldest first.
pub(super) fn runs(site: &Site) -> Vec<String> {
    let Some(journal) = open(site) else { return Vec::new() };
    let Ok(mut all) = journal.prepare("SELECT run FROM runs ORDER BY started_at, run") else {
        return Vec::new();
    };
    let rows = all.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// The run that is not among `old`, once it has a record, with the number of its newest one.
pub(super) fn progress(site: &Site, old: &BTreeSet<String>) -> Option<(String, u64)> {
    let journal = open(site)?;
    let newest =
        "SELECT tips.run, seq FROM tips JOIN runs USING (run) ORDER BY started_at DESC, run DESC LIMIT 1";
    let found = journal.query_row(newest, [], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?))).optional();
    let (run, seq): (String, i64) = found.ok()??;
    (!old.contains(&run)).then_some((run, u64::try_from(seq).unwrap()))
}

/// All records of a run.
pub(super) fn records(site: &Site, run: &str) -> Vec<Record> {
    let journal = open(site).expect("a journal");
    let mut all =
        journal.prepare("SELECT seq, at, kind, body FROM records WHERE run = ?1 ORDER BY seq").unwrap();
    let rows = all
        .query_map([run], |row| {
            let (seq, at, body): (i64, i64, Vec<u8>) = (row.get(0)?, row.get(1)?, row.get(3)?);
            Ok(Record {
                seq: u64::try_from(seq).unwrap(),
                at_ms: u64::try_from(at).unwrap(),
                kind: row.get(2)?,
                event: serde_json::from_slice(&body).unwrap(),
            })
        })
        .unwrap();
    rows.map(Result::unwrap).collect()
}

/// The ids of a run's steps, by their number.
pub(super) fn steps(site: &Site, run: &str) -> Vec<String> {
    let journal = open(site).expect("a journal");
    let plan: Vec<u8> =
        journal.query_row("SELECT plan FROM runs WHERE run = ?1", [run], |row| row.get(0)).unwrap();
    let plan: Value = serde_json::from_slice(&plan).unwrap();
    plan["steps"].as_array().unwrap().iter().map(|step| step["id"].as_str().unwrap().to_owned()).collect()
}

/// Where a run stands after its newest record: `deploy@rest#0, intended run apply (80)`.
pub(super) fn place(site: &Site, run: &str) -> String {
    let records = records(site, run);
    let steps = steps(site, run);
    let step = records.iter().rev().find_map(|record| record.event["began"]["step"].as_u64());
    let step = step.map_or("nothing", |step| steps[usize::try_from(step).unwrap()].as_str());
    let Some(last) = records.last() else { return step.to_owned() };
    let call = &last.event["intended"]["call"];
    let what = match (&call["change"]["change"], &call["run"]["procedure"]) {
        (Value::Null, Value::Null) if call["read_pool"].is_object() => " read".to_owned(),
        (Value::Null, procedure) => format!(" {procedure}"),
        (change, _) => format!(" {change}"),
    };
    format!("{step}, {}{what} ({})", last.kind, last.seq)
}

/// Whether a run has begun a step: true from then on, however late it is asked.
pub(super) fn reached(site: &Site, run: &str, step: &str) -> bool {
    let Some(number) = steps(site, run).iter().position(|id| id == step) else { return false };
    records(site, run)
        .iter()
        .any(|record| record.event["began"]["step"].as_u64() == u64::try_from(number).ok())
}

/// Whether the recipe was intended to be applied so many times.
pub(super) fn deploying(site: &Site, run: &str, times: usize) -> bool {
    let apply = |record: &Record| record.event["intended"]["call"]["run"]["procedure"] == "apply";
    records(site, run).iter().filter(|record| apply(record)).count() >= times
}

/// When the first record of a kind came whose event satisfies a condition.
pub(super) fn time_of(site: &Site, run: &str, kind: &str, wanted: impl Fn(&Value) -> bool) -> Option<u64> {
    let found = records(site, run).into_iter().find(|record| record.kind == kind && wanted(&record.event));
    found.map(|record| record.at_ms)
}
