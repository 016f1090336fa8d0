//! Reads and changes of the pool, as a Data Plane API (or an application flag) answers them: instance by instance, late,
//! lost or refused. A drain stops at the first instance that does not accept it, as the runtime does.

use std::collections::BTreeMap;

use manent_engine::view::Failure;
use manent_engine::{
    Admin, Answer, Change, Health, InstanceAnswer, InstanceChange, InstanceView, PoolView, Seen,
};
use manent_plan::TargetIx;

use super::balancer::{Entry, Owner, State};
use super::host::Key;
use super::{Happening, World};
use crate::facts::{Blame, Happened};
use crate::random::{draw, draw_between};
use crate::setup::{Kind, Reach};

/// Until a request to an instance that cannot be reached is given up, in ms.
const CONNECT_MS: u64 = 3_000;
/// Until a request whose answer was lost is given up, in ms.
const ANSWER_MS: u64 = 10_000;

/// A read under way.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    instances: Vec<Option<(InstanceView, Vec<Shown>)>>,
}

/// A member as an instance shows it, small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shown {
    admin: Admin,
    health: Health,
    connections: u64,
    words: &'static str,
}

/// A change under way.
#[derive(Debug, Clone)]
pub(super) struct Changing {
    change: Change,
    on: Vec<InstanceChange>,
    answers: Vec<InstanceAnswer>,
    pub(super) orphan: bool,
}

impl World {
    pub(super) fn begin_read(&mut self, key: Key, process: u32) {
        let count = match self.setup.kind {
            Kind::Haproxy => self.setup.instances.max(1),
            Kind::Flag => 1,
        };
        self.reads.insert((key, process), Reading { instances: vec![None; count as usize] });
        for instance in 0..count {
            let way = self.latency(key, 100 + u64::from(instance));
            let at = self.now + way + self.delay(instance, false);
            self.push(at, Happening::Sample(key, process, instance));
        }
    }

    /// How much longer than usual an instance takes.
    fn delay(&self, instance: u32, change: bool) -> u64 {
        if self.setup.kind == Kind::Flag {
            return 0;
        }
        match self.reach(instance) {
            Reach::Unreachable => CONNECT_MS,
            Reach::Slow(ms) => ms,
            Reach::LosesAnswers if change => 0,
            Reach::Well
            | Reach::LosesAnswers
            | Reach::Errors
            | Reach::Ignores
            | Reach::Refuses
            | Reach::RefusesChanges
            | Reach::SaysMaint => 0,
        }
    }

    fn reach(&self, instance: u32) -> Reach {
        self.balancers.get(instance as usize).map_or(Reach::Unreachable, |one| one.reach)
    }

    pub(super) fn sample(&mut self, key: Key, process: u32, instance: u32) {
        self.settle_all();
        let now = self.now;
        let shown = match self.setup.kind {
            Kind::Flag => Some(self.flags()),
            Kind::Haproxy => self.instance(instance),
        };
        let Some(reading) = self.reads.get_mut(&(key, process)) else { return };
        if let Some(slot) = reading.instances.get_mut(instance as usize) {
            *slot = shown;
        }
        if reading.instances.iter().all(Option::is_some) {
            let back = self.latency(key, 200);
            self.push(now + back, Happening::ReadDone(key, process));
        }
    }

    /// Targets by their own word.
    fn flags(&self) -> (InstanceView, Vec<Shown>) {
        let view = InstanceView { name: "application flag".into(), identity: None, failure: None };
        let shown = self.hosts.iter().take(self.setup.targets as usize).map(|host| Shown {
            admin: Admin::Unknown,
            health: if host.able && !host.flagged { Health::Up } else { Health::Down },
            connections: u64::MAX,
            words: if host.able { "healthy (200)" } else { "not healthy" },
        });
        (view, shown.collect())
    }

    fn instance(&self, at: u32) -> Option<(InstanceView, Vec<Shown>)> {
        let one = self.balancers.get(at as usize)?;
        let failure = |permanent, reason: &str| Some(Failure { permanent, reason: reason.to_owned() });
        let failure = match one.reach {
            Reach::Unreachable => failure(false, "connection timed out"),
            Reach::Refuses => failure(true, "401 unauthorized"),
            Reach::Well
            | Reach::Slow(_)
            | Reach::LosesAnswers
            | Reach::Errors
            | Reach::Ignores
            | Reach::RefusesChanges
            | Reach::SaysMaint => None,
        };
        let identity = failure.is_none().then(|| format!("process {}", one.process));
        let says_maint = one.reach == Reach::SaysMaint;
        let shown = match failure {
            Some(_) => Vec::new(),
            None => one.entries.iter().map(|entry| shown(entry, self.now, says_maint)).collect(),
        };
        Some((InstanceView { name: one.name.clone(), identity, failure }, shown))
    }

    pub(super) fn read_done(&mut self, key: Key, process: u32) {
        let Some(reading) = self.reads.remove(&(key, process)) else { return };
        let view = view(&reading, self.setup.targets);
        self.deliver(self.now, key, process, Answer::Pool(view));
    }

    pub(super) fn begin_change(&mut self, key: Key, process: u32, change: Change, on: &[InstanceChange]) {
        let changing = Changing { change, on: on.to_vec(), answers: Vec::new(), orphan: false };
        self.changes.insert((key, process), changing);
        self.next_change(key, process, 0);
    }

    /// The request to the next instance is on its way, or all are answered.
    fn next_change(&mut self, key: Key, process: u32, after: u64) {
        let Some(changing) = self.changes.get(&(key, process)) else { return };
        let at = changing.answers.len();
        let way = self.latency(key, 300 + at as u64);
        match changing.on.get(at) {
            Some(_) if changing.orphan => {
                self.changes.remove(&(key, process));
            }
            Some(on) => {
                let instance = on.instance;
                self.push(
                    self.now + after + way + self.delay(instance, true),
                    Happening::ChangeStep(key, process),
                );
            }
            None => self.push(self.now + after + way, Happening::ChangeDone(key, process)),
        }
    }

    pub(super) fn change_step(&mut self, key: Key, process: u32) {
        let Some(changing) = self.changes.get(&(key, process)) else { return };
        let (change, orphan) = (changing.change, changing.orphan);
        let Some(on) = changing.on.get(changing.answers.len()) else { return };
        let (instance, mut targets) = (on.instance, on.targets.clone());
        if orphan {
            // The process died while it changed member by member: some of them were changed.
            let some = draw(self.setup.seed, 7, u64::from(key.0), key.1) % (targets.len() as u64 + 1);
            targets.truncate(usize::try_from(some).unwrap_or(0));
        }
        let (answer, waits) = self.change_on(key, instance, change, &targets);
        let stop = change == Change::Drain && answer != InstanceAnswer::Accepted;
        if let Some(changing) = self.changes.get_mut(&(key, process)) {
            changing.answers.push(answer);
            while stop && changing.answers.len() < changing.on.len() {
                let reason = "not asked, since an instance before it did not accept".to_owned();
                changing.answers.push(InstanceAnswer::Unsure { reason });
            }
        }
        self.next_change(key, process, waits);
    }

    pub(super) fn change_done(&mut self, key: Key, process: u32) {
        if let Some(changing) = self.changes.remove(&(key, process)) {
            self.deliver(self.now, key, process, Answer::Changed(changing.answers));
        }
    }

    /// What one instance makes of a change, and how long the caller waits for its word.
    fn change_on(
        &mut self,
        key: Key,
        instance: u32,
        change: Change,
        targets: &[TargetIx],
    ) -> (InstanceAnswer, u64) {
        let unsure = |reason: &str| InstanceAnswer::Unsure { reason: reason.to_owned() };
        let refused = || InstanceAnswer::Refused { reason: "403 forbidden".to_owned() };
        let reach = if self.setup.kind == Kind::Flag { Reach::Well } else { self.reach(instance) };
        match reach {
            Reach::Unreachable => (unsure("connection timed out"), 0),
            Reach::Errors => (unsure("500 internal server error"), 0),
            Reach::Refuses | Reach::RefusesChanges => (refused(), 0),
            Reach::Ignores => (InstanceAnswer::Accepted, 0),
            Reach::Well | Reach::Slow(_) | Reach::SaysMaint => {
                (self.effect(key, instance, change, targets), 0)
            }
            Reach::LosesAnswers => {
                self.effect(key, instance, change, targets);
                (unsure("no answer within 10s"), ANSWER_MS)
            }
        }
    }

    fn effect(&mut self, key: Key, instance: u32, change: Change, targets: &[TargetIx]) -> InstanceAnswer {
        let before = self.healthy();
        let mut answer = InstanceAnswer::Accepted;
        let mut changed = Vec::new();
        for target in targets {
            let done = match self.setup.kind {
                Kind::Flag => self.flag(target.0, change),
                Kind::Haproxy => self.set(key, instance, target.0, change),
            };
            match done {
                Ok(()) => changed.push(target.0),
                Err(reason) => {
                    answer = InstanceAnswer::Unsure { reason };
                    break;
                }
            }
        }
        let after = self.healthy();
        let targets = changed.clone();
        self.record(Happened::Effect { run: key.0, no: key.1, instance, change, targets, before, after });
        for target in changed {
            let blame = match change {
                Change::Restore => Blame::Restore { run: key.0, no: key.1 },
                Change::Drain | Change::Harden | Change::ForceDown => Blame::Outside,
            };
            self.expose(target, blame);
            self.wake_on_change(change, target);
        }
        answer
    }

    fn flag(&mut self, target: u32, change: Change) -> Result<(), String> {
        let host = self.hosts.get_mut(target as usize).filter(|host| host.able);
        let Some(host) = host else { return Err(String::from("connection refused")) };
        host.flagged = match change {
            Change::Drain => true,
            Change::Restore => false,
            Change::Harden | Change::ForceDown => {
                return Err(String::from("an application flag only drains and restores"));
            }
        };
        Ok(())
    }

    fn set(&mut self, key: Key, instance: u32, target: u32, change: Change) -> Result<(), String> {
        let now = self.now;
        let (sessions, sticky) = self.sessions_of(instance, target);
        let entry = self.balancers.get_mut(instance as usize);
        let entry = entry.and_then(|one| one.entries.get_mut(target as usize));
        let Some(entry) = entry else { return Err(String::from("no such member")) };
        match change {
            // A drain would lift the maintenance of one that is out already.
            Change::Drain if entry.state == State::Ready => {
                entry.state = State::Drain;
                entry.owner = Owner::Run(key.0);
                entry.sessions.extend(sessions);
                entry.sticky = sticky;
            }
            Change::Drain => {}
            Change::Harden => {
                entry.state = State::Maint;
                entry.owner = Owner::Run(key.0);
                entry.up = entry.up && !entry.checked;
                entry.streak = 0;
            }
            Change::ForceDown if entry.state == State::Ready => {
                return Err(String::from("it is not out; its health is left alone"));
            }
            Change::ForceDown => {
                entry.state = State::Drain;
                entry.settled = now;
                entry.up = !entry.checked;
                entry.initial = false;
                entry.streak = 0;
            }
            Change::Restore if entry.state == State::Ready => {}
            Change::Restore => {
                // Out of maintenance a server counts as up at once, before any check.
                if entry.state == State::Maint {
                    entry.up = true;
                    entry.streak = 0;
                    entry.settled = now;
                }
                entry.state = State::Ready;
                entry.owner = Owner::Nobody;
            }
        }
        Ok(())
    }

    /// Sessions that a member has when it leaves the rotation of an instance, and until when persistent clients come.
    pub(super) fn sessions_of(&self, instance: u32, member: u32) -> (Vec<u64>, u64) {
        let seed = self.setup.seed;
        let place = u64::from(instance) << 32 | u64::from(member);
        let count = draw_between((seed, 11, place, self.now), 0, u64::from(self.setup.sessions));
        let ends = (0..count)
            .map(|one| self.now + draw_between((seed, 12 + one, place, self.now), 0, self.setup.longest_ms));
        let sticky = self.setup.sticky.get(&member).map_or(0, |ms| self.now + ms);
        (ends.collect(), sticky)
    }
}

fn shown(entry: &Entry, now: u64, says_maint: bool) -> Shown {
    if says_maint {
        let health = if entry.up { Health::Up } else { Health::Down };
        return Shown { admin: Admin::Unknown, health, connections: entry.shown(now), words: "maint/up" };
    }
    let admin = match entry.state {
        State::Ready => Admin::In,
        State::Drain | State::Maint => Admin::Out,
    };
    let health = match (entry.state, entry.checked, entry.up) {
        (State::Maint, _, _) => Health::Unknown,
        (_, false, _) => Health::Unchecked,
        (_, true, true) if entry.initial => Health::Unknown,
        (_, true, true) if entry.streak > 0 && entry.state == State::Ready => Health::Up,
        (_, true, true) => Health::Up,
        (_, true, false) => Health::Down,
    };
    let words = match (entry.state, entry.up) {
        (State::Ready, true) => "ready/up",
        (State::Ready, false) => "ready/down",
        (State::Drain, true) => "drain/up",
        (State::Drain, false) => "drain/down",
        (State::Maint, _) => "maint/down",
    };
    Shown { admin, health, connections: entry.shown(now), words }
}

/// All that is not plain, as the runtime compresses it.
fn view(reading: &Reading, targets: u32) -> PoolView {
    let instances: Vec<&(InstanceView, Vec<Shown>)> = reading.instances.iter().flatten().collect();
    let members = instances.iter().map(|(_, shown)| shown.len()).max().unwrap_or(0);
    let mut view = PoolView {
        total: u32::try_from(members).unwrap_or(u32::MAX),
        instances: instances.iter().map(|(view, _)| view.clone()).collect(),
        targets: BTreeMap::new(),
        others: BTreeMap::new(),
        problems: Vec::new(),
    };
    for member in 0..members {
        let plain = instances.iter().filter(|(view, _)| view.failure.is_none()).all(|(_, shown)| {
            shown.get(member).is_some_and(|shown| shown.admin == Admin::In && shown.health == Health::Up)
        });
        if plain {
            continue;
        }
        let seen: Vec<Seen> = instances.iter().map(|(_, shown)| seen(shown.get(member))).collect();
        let at = u32::try_from(member).unwrap_or(u32::MAX);
        if at < targets {
            view.targets.insert(TargetIx(at), seen);
        } else {
            view.others.insert(format!("o{}", at - targets + 1), seen);
        }
    }
    view
}

fn seen(shown: Option<&Shown>) -> Seen {
    shown.map_or_else(Seen::unknown, |shown| Seen {
        admin: shown.admin,
        health: shown.health,
        connections: (shown.connections != u64::MAX).then_some(shown.connections),
        words: shown.words.to_owned(),
    })
}
