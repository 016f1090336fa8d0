//! What HAProxy's two accounts of a server, the Data Plane API's words and the statistics, prove when taken together.
//! Pure: it must not know how either was fetched, and it never guesses; what the two do not prove is `Unknown`.
//!
//! Why two accounts are needed. HAProxy prints a server's administrative bits as a decimal number, and the API reads
//! the digits as hexadecimal: a drained server that was once `disabled` (bits 12) reads `maint`, one that tracks a drained
//! server (16) too, a ready one whose name was set at run time (64) as well, and a drained one whose name does not resolve
//! (40) reads `ready`. The statistics name the real state of a server that is up, but a drained server that is down
//! reads `DOWN` there. What stays undecided: a server whose name was set at run time reads `maint` while it is up, so it is
//! never counted as in service and cannot be a target of such an API. The table is `truth.txt`, beside this file; a test walks every combination of both, for every
//! mask and both ways of reading it.

use manent_engine::view::{Admin, Health, Seen};

use crate::providers::text::shown;

/// A server as one instance shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// `admin_state` of the API; absent when its entry was null.
    pub(super) admin: Option<String>,
    /// `operational_state` of the API.
    pub(super) oper: Option<String>,
    /// `status` of the statistics.
    pub(super) status: Option<String>,
    /// Effective weight.
    pub(super) weight: Option<u64>,
    /// Result of the last health check, in HAProxy's code; absent without checks and while they are paused.
    pub(super) check: Option<String>,
    /// The same of the agent check.
    pub(super) agent: Option<String>,
    /// Sessions and queued requests.
    pub(super) connections: Option<u64>,
    /// Whether it serves only when all others are gone.
    pub(super) backup: bool,
}

/// The statistics' free text, as far as it matters. Unknown texts are `Other`, never an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    /// `UP`
    Up,
    /// `UP 1/3`: a check failed, or none has passed since maintenance ended.
    UpPartly,
    /// `no check`
    NoCheck,
    /// `DOWN`, `DOWN 1/2`, `DOWN (agent)`
    Down,
    /// `NOLB`: the application asked by 404 for no more clients.
    Nolb,
    /// `DRAIN`, `DRAIN (agent)`
    Drain,
    /// `DRAIN 1/3`
    DrainPartly,
    /// `MAINT`, `MAINT (via shop/web2)`
    Maint,
    /// `MAINT (resolution)`: its name does not resolve; it comes back by itself when it does.
    Unresolved,
    /// Anything else, or no row.
    Other,
}

impl Status {
    pub(super) fn of(text: Option<&str>) -> Status {
        let text = text.unwrap_or_default().trim();
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let partly = rest.starts_with(|c: char| c.is_ascii_digit());
        match word {
            "UP" if partly => Status::UpPartly,
            "UP" => Status::Up,
            "no" if rest == "check" => Status::NoCheck,
            "DOWN" => Status::Down,
            "NOLB" => Status::Nolb,
            "DRAIN" if partly => Status::DrainPartly,
            "DRAIN" => Status::Drain,
            "MAINT" if rest == "(resolution)" => Status::Unresolved,
            "MAINT" => Status::Maint,
            _ => Status::Other,
        }
    }

    /// Up, by the statistics, and taken out by nobody.
    fn serves(self) -> bool {
        matches!(self, Status::Up | Status::UpPartly | Status::NoCheck)
    }
}

impl Facts {
    pub(super) fn status(&self) -> Status {
        Status::of(self.status.as_deref())
    }

    /// Whether a check decides its health. Not known in maintenance, where checks are paused.
    pub(super) fn checked(&self) -> bool {
        self.check.is_some() || self.agent.is_some()
    }

    /// The API says `maint`, the statistics that it serves: the word `maint` is not to be trusted here.
    pub(super) fn belies_maint(&self) -> bool {
        self.admin.as_deref() == Some("maint") && self.status().serves()
    }

    /// What the two accounts prove. `doubted`: the same read of the instance showed `maint` belied for some server.
    pub(super) fn judge(&self, doubted: bool) -> Seen {
        Seen {
            admin: self.admin(doubted),
            health: self.health(),
            connections: self.connections,
            words: self.words(),
        }
    }

    fn admin(&self, doubted: bool) -> Admin {
        let proven = proof(self.admin.as_deref().unwrap_or_default(), self.status(), doubted);
        // Weight 0 takes no new traffic, yet shows neither in the state nor in the status.
        if proven == Admin::In && self.weight == Some(0) { Admin::Idle } else { proven }
    }

    fn health(&self) -> Health {
        let up = self.oper.as_deref() == Some("up");
        match self.status() {
            Status::NoCheck if up => Health::Unchecked,
            Status::Up | Status::Drain if up && !self.checked() => Health::Unchecked,
            // Nothing has been checked yet: a process that was just loaded counts every server as up.
            Status::Up | Status::Drain if up && self.initial() => Health::Unknown,
            Status::Up | Status::Drain if up => Health::Up,
            Status::UpPartly | Status::DrainPartly | Status::Down | Status::Nolb => Health::Down,
            // Checks pause in maintenance; and an `up` that the other account denies is none.
            Status::Up
            | Status::Drain
            | Status::NoCheck
            | Status::Maint
            | Status::Unresolved
            | Status::Other => Health::Unknown,
        }
    }

    fn initial(&self) -> bool {
        // `* ` stands before the last result while the next check runs.
        let check = self.check.as_deref().map(|check| check.trim_start_matches("* "));
        self.agent.is_none() && check == Some("INI")
    }

    /// Both accounts in HAProxy's own words: `drain/up`, and the status where it says more.
    fn words(&self) -> String {
        let admin = self.admin.as_deref().unwrap_or("unknown");
        let oper = self.oper.as_deref().unwrap_or("unknown");
        let expected = match (admin, oper) {
            ("ready", "up") => ["UP", "no check"],
            ("drain", "up") => ["DRAIN", "DRAIN"],
            ("ready" | "drain", "down") => ["DOWN", "DOWN"],
            ("maint", _) => ["MAINT", "MAINT"],
            _ => ["", ""],
        };
        let mut words = format!("{admin}/{oper}");
        match self.status.as_deref() {
            Some(status) if expected.contains(&status) => {}
            Some(status) => words.push_str(&format!(" ({status})")),
            None => words.push_str(" (no statistics)"),
        }
        if self.weight == Some(0) {
            words.push_str(", weight 0");
        }
        shown(&words, 100)
    }
}

/// The administrative state that the API's word and the status prove together: `truth.txt` as code.
fn proof(admin: &str, status: Status, doubted: bool) -> Admin {
    match (admin, status) {
        // No mask that is not drained or in maintenance reads `drain`. Beside a serving status it is a contradiction:
        // the accounts come from two processes, in the middle of a reload.
        ("drain", status) if status.serves() => Admin::Unknown,
        ("drain", Status::Other) => Admin::Unknown,
        ("drain", _) => Admin::Out,
        // `maint` may be anything, so the statistics decide. For a server that is down they cannot; then the word counts,
        // unless the same read shows it to be a lie elsewhere.
        ("maint", Status::Drain | Status::DrainPartly | Status::Maint) => Admin::Out,
        ("maint", Status::Down | Status::Nolb) if !doubted => Admin::Out,
        // It comes back by itself as soon as its name resolves: no proof of a drain.
        ("maint", Status::Unresolved) => Admin::Idle,
        ("maint", _) => Admin::Unknown,
        ("ready", status) if status.serves() => Admin::In,
        ("ready", Status::Down) => Admin::In,
        ("ready", Status::Nolb) => Admin::Idle,
        // Mask 40: drained, and its name does not resolve.
        ("ready", Status::Unresolved) => Admin::Out,
        // The middle of a reload again: the word is of the new process, the status of the old one.
        ("ready", _) => Admin::Unknown,
        // No word (a null entry): the statistics alone can prove that it is out.
        (_, Status::Drain | Status::DrainPartly | Status::Maint) => Admin::Out,
        (_, _) => Admin::Unknown,
    }
}

#[cfg(test)]
mod tests;
