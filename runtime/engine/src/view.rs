//! What a read of the pool showed, small enough for a journal: only members that are not plainly healthy and in service
//! are listed. It must not know providers; whatever a provider could not see is `Unknown`, never a guess.

use std::collections::BTreeMap;

use manent_plan::TargetIx;
use serde::{Deserialize, Serialize};

/// One read of the whole pool over all instances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolView {
    /// Distinct members over all instances that answered (backup members left out). Targets that no instance knows are
    /// not counted.
    pub total: u32,
    /// Every instance of the pool, always in the same order.
    pub instances: Vec<InstanceView>,
    /// Targets that are not plainly healthy and in service on every instance that answered: one `Seen` an instance, in
    /// the order of `instances`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub targets: BTreeMap<TargetIx, Vec<Seen>>,
    /// The same for members that are no targets of the plan, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, Vec<Seen>>,
    /// Targets for which an instance has more than one member, or with another problem of identity, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// One load balancer in a read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceView {
    /// Its name for people.
    pub name: String,
    /// Identity of the process that answered, where it can be seen; a change means a reload or restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Why it did not answer; `None` when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// No repetition can help (refused credentials, unknown backend).
    pub permanent: bool,
    /// In words, without any secret.
    pub reason: String,
}

/// One member as one instance shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Whether it receives new traffic.
    pub admin: Admin,
    /// Its health.
    pub health: Health,
    /// Connections that it still serves (queued ones included); `None` when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    /// The state in the load balancer's own words, for people: `drain/up`, `maint/down`.
    pub words: String,
}

/// Whether a member receives new traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Admin {
    /// It does.
    In,
    /// Taken out by an administrative state: proof of a drain.
    Out,
    /// It receives none now, but not because of an administrative state (weight 0, not yet registered).
    Idle,
    /// The instance does not have it.
    Absent,
    /// Could not be seen.
    Unknown,
}

/// Health of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// A check says so.
    Up,
    /// A check says so, or the check has not passed yet.
    Down,
    /// The load balancer does not check it.
    Unchecked,
    /// Could not be seen.
    Unknown,
}

impl Seen {
    /// What stands for a member that is not in a read's list: plainly healthy and in service.
    #[must_use]
    pub fn plain() -> Seen {
        Seen { admin: Admin::In, health: Health::Up, connections: None, words: String::from("in service") }
    }

    /// What stands for every member of an instance that did not answer.
    #[must_use]
    pub fn unknown() -> Seen {
        Seen {
            admin: Admin::Unknown,
            health: Health::Unknown,
            connections: None,
            words: String::from("unknown"),
        }
    }

    /// Healthy and in service on this instance. Without checks, being in service is all that can be seen.
    #[must_use]
    pub fn serves(&self) -> bool {
        self.admin == Admin::In && matches!(self.health, Health::Up | Health::Unchecked)
    }
}

impl PoolView {
    /// Whether every instance answered.
    #[must_use]
    pub fn complete(&self) -> bool {
        !self.instances.is_empty() && self.instances.iter().all(|instance| instance.failure.is_none())
    }

    /// The first instance that refused for good.
    #[must_use]
    pub fn refused(&self) -> Option<(&InstanceView, &Failure)> {
        self.instances.iter().find_map(|instance| {
            instance.failure.as_ref().filter(|failure| failure.permanent).map(|failure| (instance, failure))
        })
    }

    /// A target as one instance shows it.
    #[must_use]
    pub fn seen(&self, target: TargetIx, instance: usize) -> Seen {
        match self.instances.get(instance) {
            Some(view) if view.failure.is_none() => {
                let listed = self.targets.get(&target).and_then(|seen| seen.get(instance));
                listed.cloned().unwrap_or_else(Seen::plain)
            }
            Some(_) | None => Seen::unknown(),
        }
    }

    /// A target on all instances.
    pub fn seen_everywhere(&self, target: TargetIx) -> impl Iterator<Item = Seen> + '_ {
        (0..self.instances.len()).map(move |instance| self.seen(target, instance))
    }

    /// Healthy and in service on every instance, all of which answered.
    #[must_use]
    pub fn serves(&self, target: TargetIx) -> bool {
        self.complete() && self.seen_everywhere(target).all(|seen| seen.serves())
    }

    /// Certainly receives no new traffic from an instance, or is certainly not healthy there: taking it out lowers nothing.
    /// What is unknown may be serving.
    #[must_use]
    pub fn surely_lost(&self, target: TargetIx) -> bool {
        self.seen_everywhere(target).any(|seen| match seen.admin {
            Admin::Out | Admin::Idle | Admin::Absent => true,
            Admin::In => seen.health == Health::Down,
            Admin::Unknown => false,
        })
    }

    /// Out on every instance, all of which answered.
    #[must_use]
    pub fn out(&self, target: TargetIx) -> bool {
        self.complete() && self.seen_everywhere(target).all(|seen| seen.admin == Admin::Out)
    }

    /// Out on at least one instance that answered.
    #[must_use]
    pub fn out_somewhere(&self, target: TargetIx) -> bool {
        self.seen_everywhere(target).any(|seen| seen.admin == Admin::Out)
    }

    /// Members that are healthy and in service on every instance; 0 while an instance does not answer, since what is
    /// not seen does not count.
    #[must_use]
    pub fn healthy(&self) -> u32 {
        if !self.complete() {
            return 0;
        }
        let serves = |seen: &&Vec<Seen>| seen.iter().all(Seen::serves);
        let absent = |seen: &&Vec<Seen>| seen.iter().all(|seen| seen.admin == Admin::Absent);
        let listed = self.targets.values().chain(self.others.values());
        let lost = listed.filter(|seen| !serves(seen) && !absent(seen)).count();
        self.total.saturating_sub(u32::try_from(lost).unwrap_or(u32::MAX))
    }
}
