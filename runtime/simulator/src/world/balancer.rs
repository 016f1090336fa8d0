//! One load balancer as HAProxy behaves: administrative states, health checks with rise and fall, what a reload forgets.
//! Checks are not events: an entry is settled up to a time when somebody looks. It must not know who changes it.

use crate::facts::Blame;
use crate::setup::{Checks, Reach};

/// An instance.
#[derive(Debug, Clone)]
pub(crate) struct Balancer {
    pub name: String,
    /// Its process; a reload starts another.
    pub process: u32,
    pub reach: Reach,
    /// One a member.
    pub entries: Vec<Entry>,
}

/// Administrative state of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    Drain,
    Maint,
}

/// Who took an entry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Nobody,
    Run(u32),
    Hand,
}

/// A member on one instance.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub state: State,
    pub owner: Owner,
    pub checked: bool,
    pub up: bool,
    /// No check has been made by this process yet.
    pub initial: bool,
    /// Checks in a row that speak against `up`.
    pub streak: u32,
    /// Up to when checks are settled.
    pub settled: u64,
    /// Time of the first check.
    pub phase: u64,
    /// This instance reaches the member.
    pub path: bool,
    /// Ends of sessions that the process shows.
    pub sessions: Vec<u64>,
    /// Ends of sessions of an older process.
    pub hidden: Vec<u64>,
    /// Persistent clients reach it while drained, until then.
    pub sticky: u64,
    /// Traffic goes here although it cannot be answered: since when, and through whom.
    pub exposed: Option<(u64, Blame)>,
}

impl Entry {
    pub(crate) fn new(at: u64, phase: u64, checked: bool) -> Entry {
        Entry {
            state: State::Ready,
            owner: Owner::Nobody,
            checked,
            up: true,
            initial: false,
            streak: 0,
            settled: at,
            phase,
            path: true,
            sessions: Vec::new(),
            hidden: Vec::new(),
            sticky: 0,
            exposed: None,
        }
    }

    /// Traffic is sent here.
    pub(crate) fn routed(&self) -> bool {
        self.state == State::Ready && self.up
    }

    /// Makes the checks between the last look and `now`, all of which `pass` or fail. Returns when the entry went down.
    pub(crate) fn settle(&mut self, now: u64, pass: bool, checks: Checks) -> Option<u64> {
        let last = self.settled;
        self.settled = now.max(last);
        if now <= last || !self.checked || self.state == State::Maint {
            return None;
        }
        let every = checks.every_ms.max(1);
        let before = last.saturating_sub(self.phase) / every;
        let made = u32::try_from((now.saturating_sub(self.phase) / every).saturating_sub(before))
            .unwrap_or(u32::MAX);
        if made == 0 {
            return None;
        }
        self.initial = false;
        if pass == self.up {
            self.streak = 0;
            return None;
        }
        let needed = if pass { checks.rise } else { checks.fall };
        let missing = needed.saturating_sub(self.streak).max(1);
        if made < missing {
            self.streak = self.streak.saturating_add(made);
            return None;
        }
        self.up = pass;
        self.streak = 0;
        let crossed = self.phase.saturating_add((before + u64::from(missing)).saturating_mul(every));
        (!pass).then_some(crossed)
    }

    /// Sessions that the process shows.
    pub(crate) fn shown(&self, now: u64) -> u64 {
        let sticky = self.state == State::Drain && now < self.sticky;
        let visible = self.sessions.iter().filter(|end| **end > now).count() as u64;
        visible + u64::from(sticky)
    }

    /// A reload: a new process that knows no state, trusts every server, and sees no old session.
    pub(crate) fn reload(&mut self, now: u64) {
        self.state = State::Ready;
        self.owner = Owner::Nobody;
        self.up = true;
        self.initial = self.checked;
        self.streak = 0;
        self.settled = now;
        let old = std::mem::take(&mut self.sessions);
        self.hidden.retain(|end| *end > now);
        self.hidden.extend(old.into_iter().filter(|end| *end > now));
    }
}
