//! The record of calls that a judge reads: what was asked, what it did, what was answered.
//! Credentials are never in it.

use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

/// One call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// When it came, in ms since the Unix epoch.
    pub at_ms: u64,
    /// `GET`, `PUT`.
    pub method: String,
    /// Path and query as sent.
    pub path: String,
    /// The body as sent.
    pub body: String,
    /// Orders that took effect behind the API, such as `set server shop/h2 state drain`.
    pub effects: Vec<String>,
    /// The status answered; 0 when no answer was given.
    pub status: u16,
    /// The fault that struck it.
    pub fault: Option<String>,
}

impl Call {
    /// Whether it is a change.
    pub fn is_change(&self) -> bool {
        self.method != "GET"
    }
}

/// All calls so far, in memory and, where wanted, one JSON object a line in a file.
#[derive(Default)]
pub(super) struct Ledger {
    calls: Mutex<Vec<Call>>,
    file: Option<PathBuf>,
}

/// The open record of a call; it is closed when dropped, also when the client gave up.
pub(super) struct Entry {
    ledger: Arc<Ledger>,
    place: usize,
}

impl Ledger {
    pub(super) fn new(file: Option<PathBuf>) -> Ledger {
        Ledger { calls: Mutex::default(), file }
    }

    /// Opens the record of a call as it arrives.
    pub(super) fn open(self: &Arc<Self>, call: Call) -> Arc<Entry> {
        let place = self.calls.lock().map_or(usize::MAX, |mut calls| {
            calls.push(call);
            calls.len() - 1
        });
        Arc::new(Entry { ledger: Arc::clone(self), place })
    }

    pub(super) fn all(&self) -> Vec<Call> {
        self.calls.lock().map(|calls| calls.clone()).unwrap_or_default()
    }

    fn write(&self, call: &Call) {
        let (Some(path), Ok(line)) = (&self.file, serde_json::to_string(call)) else { return };
        let file = std::fs::File::options().create(true).append(true).open(path);
        // The record in memory stays whole; a full disk shows in the test's own files too.
        let _ = file.and_then(|mut file| writeln!(file, "{line}"));
    }
}

impl Entry {
    pub(super) fn add(&self, note: impl FnOnce(&mut Call)) {
        if let Ok(mut calls) = self.ledger.calls.lock()
            && let Some(call) = calls.get_mut(self.place)
        {
            note(call);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Ok(calls) = self.ledger.calls.lock()
            && let Some(call) = calls.get(self.place)
        {
            self.ledger.write(call);
        }
    }
}

/// Now, in ms since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
