//! Records and the chain of checksums that joins them, from the head of a run to its newest record.
//! It must not know where records are stored.

use manent_engine::{Event, Timestamp};
use sha2::{Digest, Sha256};

use super::{Cut, JournalError, NewRun, Past, RunId};

/// A checksum over a record and everything before it.
pub(super) type Checksum = [u8; 32];

/// Something to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What kind of thing, for people who look into the database.
    pub kind: String,
    /// JSON.
    pub body: Vec<u8>,
}

impl Entry {
    /// An event, with the name of its variant as the kind.
    pub(super) fn of_event(event: &Event) -> Result<Entry, serde_json::Error> {
        let body = serde_json::to_vec(event)?;
        // `"interrupted"` or `{"began":…}`: either way the first text in quotes.
        let kind = body.split(|byte| *byte == b'"').nth(1).unwrap_or_default();
        Ok(Entry { kind: String::from_utf8_lossy(kind).into_owned(), body })
    }
}

/// What was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its number in the run, from 1 and without gaps.
    pub seq: u64,
    /// When it was appended.
    pub at: Timestamp,
    /// What kind of thing.
    pub kind: String,
    /// JSON.
    pub body: Vec<u8>,
}

/// A record with what holds it in the chain.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub record: Record,
    /// Numbers of the first and the last record of its commit: commits are whole or not there.
    pub commit: (u64, u64),
    /// Length of the body when it was written.
    pub length: u64,
    pub checksum: Vec<u8>,
}

/// The end of a chain: where the next record joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tail {
    pub seq: u64,
    pub checksum: Checksum,
}

/// The newest commit, kept apart from the records: without it, records lost at the end would not be missed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tip {
    /// Number of the first record of the newest commit.
    pub first: u64,
    /// Number of the newest record.
    pub seq: u64,
    /// Its checksum.
    pub checksum: Vec<u8>,
}

impl Tip {
    /// Of a run that has no record yet.
    pub(super) fn start(head: &Checksum) -> Tip {
        Tip { first: 1, seq: 0, checksum: head.to_vec() }
    }

    /// After a commit that joined the chain at `before`.
    pub(super) fn after(before: &Tail, now: &Tail) -> Tip {
        Tip { first: before.seq.saturating_add(1), seq: now.seq, checksum: now.checksum.to_vec() }
    }

    /// When the commit after `tail` was cut off.
    pub(super) fn cut_at(tail: &Tail) -> Tip {
        Tip { first: tail.seq.saturating_add(1), seq: tail.seq, checksum: tail.checksum.to_vec() }
    }
}

/// Where the chain of a run begins: nothing of its head or its plan can be changed either.
pub(super) fn head(run: &NewRun, plan: &[u8]) -> Checksum {
    let mut hash = Sha256::new();
    feed(&mut hash, b"manent run");
    for text in [run.id.as_str(), &run.environment, &run.release, &run.by, &run.host] {
        feed(&mut hash, text.as_bytes());
    }
    feed(&mut hash, &run.started_at.0.to_be_bytes());
    feed(&mut hash, &run.pid.to_be_bytes());
    feed(&mut hash, plan);
    hash.finalize().into()
}

/// The records of one commit, joined to the chain, and its new end.
pub(super) fn join(run: &RunId, mut tail: Tail, at: Timestamp, entries: &[Entry]) -> (Vec<Link>, Tail) {
    let count = u64::try_from(entries.len()).unwrap_or(u64::MAX);
    let commit = (tail.seq.saturating_add(1), tail.seq.saturating_add(count));
    let mut links = Vec::with_capacity(entries.len());
    for entry in entries {
        let seq = tail.seq.saturating_add(1);
        let record = Record { seq, at, kind: entry.kind.clone(), body: entry.body.clone() };
        let length = u64::try_from(record.body.len()).unwrap_or(u64::MAX);
        let checksum = next(run, &tail.checksum, &record, commit, length);
        tail = Tail { seq, checksum };
        links.push(Link { record, commit, length, checksum: checksum.to_vec() });
    }
    (links, tail)
}

/// Checks the links of a run against its chain. A last commit that does not hold is left out; anything else that does
/// not hold is an error.
pub(super) fn check(
    run: &RunId,
    head: Checksum,
    tip: &Tip,
    links: impl Iterator<Item = Result<Link, JournalError>>,
) -> Result<(Past, Tail), JournalError> {
    let mut records: Vec<Record> = Vec::new();
    let mut tail = Tail { seq: 0, checksum: head };
    let mut whole = tail;
    let mut broken: Option<Broken> = None;
    for link in links {
        let link = link?;
        if let Some(broken) = &broken {
            // A record of a later commit: what is broken is not the end.
            if link.commit.0 > broken.seq {
                return Err(damaged(run, broken));
            }
            continue;
        }
        let expected = tail.seq.saturating_add(1);
        match fault(run, &tail, &link) {
            None => {
                tail = Tail { seq: expected, checksum: link.checksum.try_into().unwrap_or_default() };
                if link.commit.1 == expected {
                    whole = tail;
                }
                records.push(link.record);
            }
            // A hole is never a torn end: something after it was written.
            Some(what) if link.record.seq != expected => {
                return Err(damaged(run, &Broken { seq: expected, what }));
            }
            Some(what) => broken = Some(Broken { seq: expected, what }),
        }
    }
    if broken.is_none() && tail == whole && tip.seq == tail.seq && tip.checksum == tail.checksum {
        return Ok((Past { records, cut: None }, whole));
    }
    // The last commit alone can be torn.
    if whole.seq.saturating_add(1) != tip.first || tip.seq <= whole.seq {
        let what = "the records do not lead to the newest one";
        return Err(damaged(run, &broken.unwrap_or(Broken { seq: tail.seq.saturating_add(1), what })));
    }
    // The part of it that holds goes, too.
    records.truncate(usize::try_from(whole.seq).unwrap_or(usize::MAX));
    let cut = Cut { seq: tip.first, records: tip.seq.saturating_sub(whole.seq) };
    Ok((Past { records, cut: Some(cut) }, whole))
}

struct Broken {
    seq: u64,
    what: &'static str,
}

fn damaged(run: &RunId, broken: &Broken) -> JournalError {
    JournalError::Damaged { run: run.clone(), seq: broken.seq, what: broken.what }
}

fn fault(run: &RunId, tail: &Tail, link: &Link) -> Option<&'static str> {
    if link.record.seq != tail.seq.saturating_add(1) {
        return Some("a record is missing");
    }
    if u64::try_from(link.record.body.len()) != Ok(link.length) {
        return Some("its length is wrong");
    }
    let expected = next(run, &tail.checksum, &link.record, link.commit, link.length);
    (expected.as_slice() != link.checksum).then_some("its checksum does not match")
}

fn next(run: &RunId, before: &Checksum, record: &Record, commit: (u64, u64), length: u64) -> Checksum {
    let mut hash = Sha256::new();
    feed(&mut hash, before);
    feed(&mut hash, run.as_str().as_bytes());
    for number in [record.seq, commit.0, commit.1, record.at.0, length] {
        feed(&mut hash, &number.to_be_bytes());
    }
    feed(&mut hash, record.kind.as_bytes());
    feed(&mut hash, &record.body);
    hash.finalize().into()
}

/// Each part with its length, so that no two lists of parts give the same bytes.
fn feed(hash: &mut Sha256, part: &[u8]) {
    hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
    hash.update(part);
}
