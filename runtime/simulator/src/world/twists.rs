//! What befalls the world from outside: crashes of applications, hands of other people, reloads, broken lines. It must
//! not know of runs.

use manent_engine::{Change, Procedure};

use super::balancer::{Owner, State};
use super::host::Standing;
use super::{Happening, Late, World};
use crate::facts::{Blame, Happened};
use crate::setup::{FOR_EVER, Quality, Reach, What, When};

impl World {
    /// Twists that wait for a procedure on a target.
    pub(super) fn wake_on_run(&mut self, procedure: Procedure, target: u32, nth: u32) {
        self.wake(|when| match when {
            When::OnRun { procedure: wanted, target: at, nth: count, after } => {
                (wanted == procedure && at == target && count == nth).then_some((after, true))
            }
            When::At(_) | When::OnChange { .. } => None,
        });
    }

    /// Twists that wait for a change of a target; each such change counts once.
    pub(super) fn wake_on_change(&mut self, change: Change, target: u32) {
        for (twist, _) in &mut self.waiting {
            if let When::OnChange { change: wanted, target: at, nth, after } = &mut twist.when
                && *wanted == change
                && *at == target
            {
                if *nth == 0 {
                    // Due now: marked by a time of its own.
                    twist.when = When::At(*after);
                } else {
                    *nth -= 1;
                }
            }
        }
        self.wake(|when| match when {
            When::At(after) => Some((after, true)),
            When::OnRun { .. } | When::OnChange { .. } => None,
        });
    }

    fn wake(&mut self, due: impl Fn(When) -> Option<(u64, bool)>) {
        if self.waiting.is_empty() {
            return;
        }
        let mut ready = Vec::new();
        self.waiting.retain(|(twist, at)| match due(twist.when) {
            Some((after, _)) => {
                ready.push((after, *at));
                false
            }
            None => true,
        });
        for (after, at) in ready {
            self.push(self.now + after, Happening::Late(at));
        }
    }

    pub(super) fn befall(&mut self, at: Late) {
        let Some(what) = self.what(at) else { return };
        self.record(Happened::Befell(what));
        let lasts = match what {
            What::AppDown { member, ms } => {
                self.change_app(member, Blame::Outside, |host| host.down += 1);
                ms
            }
            What::PathDown { instance, member, ms } => {
                self.path(instance, member, false);
                ms
            }
            What::HandDrain { instance, member } => return self.by_hand(instance, member, true),
            What::HandRestore { instance, member } => return self.by_hand(instance, member, false),
            What::Reload { instance } => return self.reload(instance),
            What::Api { instance, reach, ms } => {
                self.set_reach(instance, reach);
                ms
            }
            What::HostGone { target, ms } => {
                self.cut(target);
                self.set_reachable(target, false);
                ms
            }
            What::Reboot { target, ms } => {
                self.reboot(target);
                ms
            }
            What::CutConnection { target } => return self.cut(target),
            What::Fail { procedure, target, stage } => {
                if let Some(host) = self.hosts.get_mut(target as usize) {
                    host.failures.push((procedure, stage));
                }
                return;
            }
        };
        if lasts < FOR_EVER {
            self.push(self.now + lasts, Happening::Pass(at));
        }
    }

    pub(super) fn pass(&mut self, at: Late) {
        let Some(what) = self.what(at) else { return };
        self.record(Happened::Passed(what));
        match what {
            What::AppDown { member, .. } => {
                self.change_app(member, Blame::Outside, |host| host.down = host.down.saturating_sub(1));
            }
            What::PathDown { instance, member, .. } => self.path(instance, member, true),
            What::Api { instance, .. } => self.set_reach(instance, Reach::Well),
            What::HostGone { target, .. } => self.set_reachable(target, true),
            What::Reboot { target, .. } => {
                self.set_reachable(target, true);
                if self.quality(target) == Quality::NeverUp {
                    return;
                }
                self.start_app(target);
            }
            What::HandDrain { .. }
            | What::HandRestore { .. }
            | What::Reload { .. }
            | What::CutConnection { .. }
            | What::Fail { .. } => {}
        }
    }

    fn path(&mut self, instance: u32, member: u32, open: bool) {
        self.settle(member);
        let entry = self.balancers.get_mut(instance as usize);
        if let Some(entry) = entry.and_then(|one| one.entries.get_mut(member as usize)) {
            entry.path = open;
        }
        self.expose(member, Blame::Outside);
    }

    fn by_hand(&mut self, instance: u32, member: u32, drain: bool) {
        self.settle(member);
        let (sessions, sticky) = self.sessions_of(instance, member);
        let entry = self.balancers.get_mut(instance as usize);
        if let Some(entry) = entry.and_then(|one| one.entries.get_mut(member as usize)) {
            match (drain, entry.state) {
                (true, State::Ready) => {
                    entry.state = State::Drain;
                    entry.owner = Owner::Hand;
                    entry.sessions.extend(sessions);
                    entry.sticky = sticky;
                }
                (false, State::Drain | State::Maint) => {
                    entry.state = State::Ready;
                    entry.owner = Owner::Nobody;
                }
                (true, State::Drain | State::Maint) | (false, State::Ready) => {}
            }
        }
        self.expose(member, Blame::Outside);
    }

    fn reload(&mut self, instance: u32) {
        self.settle_all();
        let now = self.now;
        if let Some(one) = self.balancers.get_mut(instance as usize) {
            one.process += 1;
            for entry in &mut one.entries {
                entry.reload(now);
            }
        }
        for member in 0..self.setup.members() {
            self.expose(member, Blame::Outside);
        }
    }

    fn set_reach(&mut self, instance: u32, reach: Reach) {
        if let Some(one) = self.balancers.get_mut(instance as usize) {
            one.reach = reach;
        }
    }

    fn set_reachable(&mut self, target: u32, reachable: bool) {
        if let Some(host) = self.hosts.get_mut(target as usize) {
            host.reachable = reachable;
        }
    }

    fn reboot(&mut self, target: u32) {
        self.cut(target);
        self.change_app(target, Blame::Outside, |host| {
            host.running = false;
            host.generation += 1;
            host.boot += 1;
            host.reachable = false;
            for entry in host.ledger.values_mut() {
                if entry.standing == Standing::Running {
                    entry.standing = Standing::Died;
                }
            }
        });
    }
}
