//! Faults that a test orders: which call, before or after its effect, what goes wrong, how often.
//! It picks the fault; carrying it out is the service's work.

use std::sync::Mutex;
use std::time::Duration;

/// Where in a call a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before anything was done.
    Before,
    /// After the effect, so that only the answer is lost.
    After,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// This status, with the API's error body.
    Status(u16),
    /// No answer until the client gives up.
    Hang,
    /// The right answer, late.
    Slow(Duration),
    /// The connection ends without an answer.
    Drop,
    /// The connection ends after so many bytes of the answer.
    CutAfter(usize),
    /// 200 and a body of so many bytes.
    Oversized(usize),
    /// 200 and lists nested so deep.
    Nested(usize),
    /// 200 and this text in place of the answer.
    Body(String),
    /// A redirect (307) to this place.
    Redirect(String),
}

/// A fault that waits for its call.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Only calls with this method.
    pub method: Option<&'static str>,
    /// Only calls whose path and query contain this.
    pub path: String,
    /// So many matching calls pass unharmed first.
    pub skip: u32,
    /// So many are struck, then it is used up.
    pub times: u32,
    /// Before or after the effect.
    pub when: When,
    /// What goes wrong.
    pub kind: Kind,
}

impl Fault {
    /// Strikes the next call, whichever it is, before its effect.
    pub fn next(kind: Kind) -> Fault {
        Fault { method: None, path: String::new(), skip: 0, times: 1, when: When::Before, kind }
    }

    /// Strikes the next change.
    pub fn next_change(kind: Kind) -> Fault {
        Fault { method: Some("PUT"), ..Fault::next(kind) }
    }

    /// Strikes so many calls.
    pub fn times(self, times: u32) -> Fault {
        Fault { times, ..self }
    }

    /// Lets so many matching calls pass first.
    pub fn after_calls(self, skip: u32) -> Fault {
        Fault { skip, ..self }
    }

    /// Strikes only calls whose path and query contain `part`.
    pub fn on(self, part: &str) -> Fault {
        Fault { path: part.to_owned(), ..self }
    }

    /// Strikes after the effect.
    pub fn after_effect(self) -> Fault {
        Fault { when: When::After, ..self }
    }
}

/// The faults that are waiting.
#[derive(Default)]
pub(super) struct Faults(Mutex<Vec<Fault>>);

impl Faults {
    pub(super) fn add(&self, fault: Fault) {
        if let Ok(mut waiting) = self.0.lock() {
            waiting.push(fault);
        }
    }

    pub(super) fn clear(&self) {
        if let Ok(mut waiting) = self.0.lock() {
            waiting.clear();
        }
    }

    /// The fault that strikes this call, if any.
    pub(super) fn take(&self, method: &str, path: &str) -> Option<(When, Kind)> {
        let mut waiting = self.0.lock().ok()?;
        let matches = |fault: &Fault| {
            fault.times > 0
                && fault.method.is_none_or(|wanted| wanted == method)
                && path.contains(&fault.path)
        };
        let fault = waiting.iter_mut().find(|fault| matches(fault))?;
        if fault.skip > 0 {
            fault.skip -= 1;
            return None;
        }
        fault.times -= 1;
        Some((fault.when, fault.kind.clone()))
    }
}
