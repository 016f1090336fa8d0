//! What is true of the world, whatever anybody was told: who serves, who is out and by whose hand, which client requests
//! could not be answered. It changes nothing but the settling of checks.

use crate::facts::{Blame, Happened, Truth};
use crate::setup::Kind;

use super::balancer::{Owner, State};
use super::{Happening, World};

/// One client request a member and instance in so many ms.
const REQUEST_EVERY_MS: u64 = 50;

impl World {
    /// Brings the checks of all instances for a member up to now.
    pub(super) fn settle(&mut self, member: u32) {
        let Some(host) = self.hosts.get(member as usize) else { return };
        let answers = host.able;
        let healthy = answers && !host.flagged;
        let (now, checks) = (self.now, self.setup.checks);
        for instance in 0..self.balancers.len() {
            let Some(entry) =
                self.balancers.get_mut(instance).and_then(|one| one.entries.get_mut(member as usize))
            else {
                continue;
            };
            let pass = healthy && entry.path;
            let crossed = entry.settle(now, pass, checks);
            if let Some(at) = crossed {
                self.close(member, instance, at);
            }
        }
    }

    pub(super) fn settle_all(&mut self) {
        for member in 0..self.setup.members() {
            self.settle(member);
        }
    }

    /// Traffic begins or ceases to go to a member that cannot answer; `blame` is for what begins now.
    pub(super) fn expose(&mut self, member: u32, blame: Blame) {
        let Some(able) = self.hosts.get(member as usize).map(|host| host.able) else { return };
        let now = self.now;
        for instance in 0..self.balancers.len() {
            let Some(entry) =
                self.balancers.get_mut(instance).and_then(|one| one.entries.get_mut(member as usize))
            else {
                continue;
            };
            let bad = entry.routed() && !(able && entry.path);
            if bad && entry.exposed.is_none() {
                entry.exposed = Some((now, blame));
            } else if !bad && entry.exposed.is_some() {
                self.close(member, instance, now);
            }
        }
    }

    fn close(&mut self, member: u32, instance: usize, at: u64) {
        let entry = self.balancers.get_mut(instance).and_then(|one| one.entries.get_mut(member as usize));
        let Some((from, blame)) = entry.and_then(|entry| entry.exposed.take()) else { return };
        let requests = (at / REQUEST_EVERY_MS).saturating_sub(from / REQUEST_EVERY_MS);
        if requests > 0 {
            self.requests_lost += requests;
            let instance = u32::try_from(instance).unwrap_or(u32::MAX);
            self.record(Happened::Lost { member, instance, from, requests, blame });
        }
    }

    /// Closes the books: requests that are being lost now are counted.
    pub(crate) fn close_books(&mut self) {
        self.settle_all();
        let now = self.now;
        for member in 0..self.setup.members() {
            for instance in 0..self.balancers.len() {
                self.close(member, instance, now);
            }
        }
    }

    /// The application of a member begins or ceases to run, or something from outside begins or ceases to keep it down.
    pub(super) fn change_app(
        &mut self,
        member: u32,
        blame: Blame,
        change: impl FnOnce(&mut super::host::Host),
    ) {
        self.settle(member);
        if let Some(host) = self.hosts.get_mut(member as usize) {
            change(host);
            host.able = host.running && host.down == 0;
        }
        self.expose(member, blame);
    }

    /// Healthy and in service on all instances, in truth.
    fn serves(&self, member: usize) -> bool {
        let able = self.hosts.get(member).is_some_and(|host| host.able && !host.flagged);
        able && self
            .balancers
            .iter()
            .all(|one| one.entries.get(member).is_some_and(|entry| entry.routed() && entry.path))
    }

    /// Members that are healthy and in service on all instances, in truth.
    pub fn healthy(&mut self) -> u32 {
        self.settle_all();
        let members = 0..self.hosts.len();
        u32::try_from(members.filter(|member| self.serves(*member)).count()).unwrap_or(u32::MAX)
    }

    /// Whether a member receives traffic on every instance.
    #[must_use]
    pub fn in_service(&self, member: u32) -> bool {
        let host = self.hosts.get(member as usize);
        let flagged = host.is_none_or(|host| host.flagged);
        !flagged
            && self
                .balancers
                .iter()
                .all(|one| one.entries.get(member as usize).is_some_and(|entry| entry.state == State::Ready))
    }

    /// Whether the application of a member answers.
    #[must_use]
    pub fn answers(&self, member: u32) -> bool {
        self.hosts.get(member as usize).is_some_and(|host| host.able)
    }

    /// The release on a target's disk.
    #[must_use]
    pub fn release(&self, target: u32) -> Option<String> {
        self.hosts.get(target as usize).and_then(|host| host.disk.clone())
    }

    /// Whether the member is out on some instance by the hand of a run.
    #[must_use]
    pub fn out_by(&self, run: u32, member: u32) -> bool {
        let flagged =
            self.setup.kind == Kind::Flag && self.hosts.get(member as usize).is_some_and(|host| host.flagged);
        flagged
            || self.balancers.iter().any(|one| {
                one.entries.get(member as usize).is_some_and(|entry| entry.owner == Owner::Run(run))
            })
    }

    /// What is true of all targets, for a run.
    #[must_use]
    pub fn truth(&self, run: u32) -> Vec<Truth> {
        let each = (0..self.setup.targets).map(|target| Truth {
            out: self.out_by(run, target),
            in_service: self.in_service(target),
            release: self.release(target),
        });
        each.collect()
    }

    /// How often each procedure was begun and how often it ended well on a target.
    #[must_use]
    pub fn executions(&self, target: u32) -> Vec<(String, u32)> {
        let Some(host) = self.hosts.get(target as usize) else { return Vec::new() };
        let each = host.done.iter().filter(|(procedure, _)| {
            !matches!(procedure, manent_engine::Procedure::Current | manent_engine::Procedure::PostTest)
        });
        each.map(|(procedure, times)| (format!("{procedure:?}"), *times)).collect()
    }

    /// The application of a host starts, unless something overtook it.
    pub(super) fn app_started(&mut self, member: u32, generation: u32) {
        let Some(host) = self.hosts.get(member as usize) else { return };
        if host.generation == generation {
            self.change_app(member, Blame::Outside, |host| host.running = true);
            self.after_start(member, generation);
        }
    }

    /// A release that turns bad after a while.
    fn after_start(&mut self, member: u32, generation: u32) {
        let quality = self.quality(member);
        if let crate::setup::Quality::RedAfter(ms) = quality {
            self.push(self.now + ms, Happening::TurnsRed(member, generation));
        }
    }

    pub(super) fn turns_red(&mut self, member: u32, generation: u32) {
        if self.hosts.get(member as usize).is_some_and(|host| host.generation == generation && host.running) {
            // Nobody could have known: the release was healthy until now.
            self.record(Happened::Befell(crate::setup::What::AppDown { member, ms: crate::setup::FOR_EVER }));
            self.change_app(member, Blame::Outside, |host| host.running = false);
        }
    }

    pub(super) fn quality(&self, member: u32) -> crate::setup::Quality {
        let disk = self.hosts.get(member as usize).and_then(|host| host.disk.clone());
        let found = disk.and_then(|release| self.setup.quality.get(&(member, release)));
        found.copied().unwrap_or(crate::setup::Quality::Good)
    }
}
