//! Capacity and rotation: I1a to I1d, I2a to I2c as far as load balancers are told something. It reads the book only.

use manent_engine::{Admin, Call, Change, Health, InstanceChange, Procedure};
use manent_plan::{OnTimeout, TargetIx};

use super::book::{Begun, Book, Known};
use super::{Outside, Violation};
use crate::facts::Blame;
use crate::setup::{BEGINNING, Setup, Twist, What, When};
use crate::world::World;

impl Book<'_> {
    pub(super) fn judge_call(
        &mut self,
        at: u64,
        no: u64,
        call: &Call,
        outside: &Outside<'_>,
        found: &mut Vec<Violation>,
    ) {
        match call {
            Call::ReadPool { .. } | Call::Probe { .. } => {}
            Call::Change { change: Change::Drain, on } => {
                self.judge_drain(at, no, on, found);
                self.judge_batch_order(at, no, on, outside, found);
                self.judge_limits(at, Some(no), outside, found);
            }
            Call::Change { change: Change::Restore, on } => {
                self.judge_restore(at, no, on, found);
                self.judge_limits(at, Some(no), outside, found);
            }
            Call::Change { change: Change::Harden | Change::ForceDown, .. } => {
                self.judge_limits(at, Some(no), outside, found);
            }
            Call::Run { procedure, target, release, .. } => {
                self.judge_run(at, no, (*procedure, target.0, release.as_ref()), found);
                if matches!(procedure, Procedure::Apply | Procedure::Undo) {
                    self.judge_gate(at, no, target.0, found);
                    self.judge_limits(at, Some(no), outside, found);
                }
            }
        }
    }

    /// I1a: the newest read, taken after all own changes, leaves the floor.
    fn judge_drain(&self, at: u64, no: u64, on: &[InstanceChange], found: &mut Vec<Violation>) {
        if !self.sees() {
            return;
        }
        let poll = self.plan.pool.as_ref().map_or(0, |pool| pool.poll_interval_ms);
        let Some(read) = &self.read else {
            found.push(self.violation("I1a", at, Some(no), String::from("a drain without any read")));
            return;
        };
        let mut targets: Vec<TargetIx> = on.iter().flat_map(|one| one.targets.clone()).collect();
        targets.sort();
        targets.dedup();
        // What an instance did not show may serve.
        let serves = |target: &&TargetIx| {
            read.view.seen_everywhere(**target).all(|seen| seen.serves() || seen.admin == Admin::Unknown)
        };
        // Members that the run has out already, and that an instance forgot, are told again (design 7.2).
        let new = |target: &&TargetIx| self.target(target.0).is_none_or(|book| book.drained.is_none());
        let taken = targets.iter().filter(serves).filter(new).count();
        let taken = u32::try_from(taken).unwrap_or(u32::MAX);
        let healthy = read.view.healthy();
        if taken > 0 && healthy.saturating_sub(taken) < self.need() {
            let says = format!(
                "the newest read showed {healthy} healthy, {taken} are taken, the floor is {}",
                self.need()
            );
            found.push(self.violation("I1a", at, Some(no), says));
        }
        if taken > 0 && (read.sent < self.changed || !self.open_changes.is_empty()) {
            let says = String::from("the newest read is older than an own change");
            found.push(self.violation("I1a", at, Some(no), says));
        }
        if taken > 0 && at.saturating_sub(read.at) > poll {
            let says = format!("the newest read is {}ms old", at.saturating_sub(read.at));
            found.push(self.violation("I1a", at, Some(no), says));
        }
    }

    /// I2b: everybody of the batches before was read healthy after the restore.
    fn judge_batch_order(
        &self,
        at: u64,
        no: u64,
        on: &[InstanceChange],
        _: &Outside<'_>,
        found: &mut Vec<Violation>,
    ) {
        if !self.sees() {
            return;
        }
        let mine = |target: u32| on.iter().any(|one| one.targets.contains(&TargetIx(target)));
        for (target, book) in (0_u32..).zip(&self.targets) {
            let matters = book.touched || book.served;
            if !book.returning.is_empty() && matters && !mine(target) {
                let says = format!("`{}` was put back and not read healthy since", self.name(target));
                found.push(self.violation("I2b", at, Some(no), says));
            }
        }
    }

    /// I2a: back only after deploy and tests, or untouched, or returned; and healthy by a check while still out.
    fn judge_restore(&self, at: u64, no: u64, on: &[InstanceChange], found: &mut Vec<Violation>) {
        let checks = self.plan.pool.as_ref().is_some_and(|pool| pool.capabilities.checks_while_out);
        for one in on {
            for target in &one.targets {
                // Nothing ran on it since it was taken out: it goes back as it was, well or not.
                let Some(book) = self.target(target.0).filter(|book| !book.as_it_was) else { continue };
                if let Some(says) = self.not_ready(book) {
                    let says = format!("`{}` goes back, but {says}", self.name(target.0));
                    found.push(self.violation("I2a", at, Some(no), says));
                }
                let Some(read) = self.read.as_ref().filter(|_| checks && book.touched) else { continue };
                let seen = read.view.seen(*target, one.instance as usize);
                let well = matches!(seen.health, Health::Up | Health::Unchecked) || seen.admin == Admin::In;
                // A restore that was accepted and skipped, or interrupted, is asked for again.
                let again = book.stack.last() == Some(&Begun::Restored);
                if !well && !again {
                    let says =
                        format!("`{}` goes back, but was last read {}", self.name(target.0), seen.words);
                    found.push(self.violation("I2a", at, Some(no), says));
                }
            }
        }
    }

    fn not_ready(&self, book: &super::book::Target) -> Option<String> {
        let last = book.last.as_ref()?;
        let untouched =
            last.outcome == Known::NotBegun && !book.stack.iter().any(|begun| matches!(begun, Begun::Ran(_)));
        if untouched {
            return None;
        }
        if last.outcome != Known::Done {
            return Some(format!("{:?} of it ended as {:?}", last.procedure, last.outcome));
        }
        if !self.plan.procedures.post_test.is_empty()
            && !book.tested
            && !matches!(last.procedure, Procedure::Custom(_))
        {
            return Some(String::from("no post-test passed since it was changed"));
        }
        let back = !book.stack.contains(&Begun::Ran(Procedure::Apply));
        let missing = (0_u32..).zip(&self.plan.procedures.steps).map(|(at, _)| Procedure::Custom(at));
        let mut missing = missing.filter(|step| !book.stack.contains(&Begun::Ran(*step)));
        match missing.next() {
            Some(step) if !back => Some(format!("{step:?} was left out")),
            Some(_) | None => None,
        }
    }

    /// Design 7.2: right before a node is touched the newest read shows it out, and it was seen empty or its time is over.
    fn judge_gate(&self, at: u64, no: u64, target: u32, found: &mut Vec<Violation>) {
        let (Some(pool), Some(book)) = (&self.plan.pool, self.target(target)) else { return };
        if let Some(delay) = pool.capabilities.drain_delay_ms {
            // The first command of an episode; later ones have no drain of their own.
            if let Some(drained) = book.drained
                && at < drained.saturating_add(delay)
            {
                let says =
                    format!("touched {}ms after its drain was sent, the delay is {delay}ms", at - drained);
                found.push(self.violation("drain", at, Some(no), says));
            }
            return;
        }
        if !self.sees() {
            return;
        }
        let Some(read) = &self.read else { return };
        if !read.view.out(TargetIx(target)) || at.saturating_sub(read.at) > pool.poll_interval_ms {
            let says = format!(
                "`{}` is touched, but the newest read ({}ms old) does not show it out",
                self.name(target),
                at.saturating_sub(read.at)
            );
            found.push(self.violation("gate", at, Some(no), says));
        }
        let Some(drained) = book.drained else { return };
        let over =
            at.saturating_sub(drained) >= pool.drain_timeout_ms && pool.on_timeout == OnTimeout::Proceed;
        if !book.emptied && !over {
            let says = format!("`{}` is touched, but was never read empty twice in a row", self.name(target));
            found.push(self.violation("drain", at, Some(no), says));
        }
    }

    /// I1b, I1c, I1d: what a change did to the pool.
    #[expect(clippy::too_many_arguments, reason = "a fact with all that surrounds it")]
    pub(super) fn judge_effect(
        &mut self,
        at: u64,
        no: u64,
        (change, targets): (Change, &[u32]),
        (before, after): (u32, u32),
        outside: &Outside<'_>,
        found: &mut Vec<Violation>,
    ) {
        if change == Change::Drain {
            let limit = targets.iter().map(|target| self.limit(*target)).max().unwrap_or(u32::MAX);
            let out = self.out_now();
            if out > limit {
                let says = format!("{out} members are out by the run's hand, at most {limit} may be");
                found.push(self.violation("I1d", at, Some(no), says));
            }
        }
        if self.sees() && change != Change::Restore {
            self.judge_capacity(at, no, targets, (before, after), outside, found);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a fact with all that surrounds it")]
    fn judge_capacity(
        &self,
        at: u64,
        no: u64,
        targets: &[u32],
        (before, after): (u32, u32),
        outside: &Outside<'_>,
        found: &mut Vec<Violation>,
    ) {
        let need = self.need();
        if after >= before || after >= need {
            return;
        }
        // The exemption of I1c: an outside fault fell between the read and the call.
        if outside.befell(self.run, self.last_look(), |_| true) {
            return;
        }
        // A drain that a reload made an instance forget is sent again there (design 7.2): the members are out by the run's
        // hand since they were admitted.
        let forgot = |what| matches!(what, What::Reload { .. });
        let admitted =
            targets.iter().filter_map(|target| self.target(*target)).filter_map(|book| book.drained).min();
        if admitted.is_some_and(|admitted| outside.befell(self.run, admitted, forgot)) {
            return;
        }
        // A node that dies falls, for a load balancer, when `fall` checks have failed: until then no read can show it.
        let noticed = u64::from(self.setup.checks.fall + 1) * self.setup.checks.every_ms;
        let dies = |what| matches!(what, What::AppDown { .. } | What::PathDown { .. } | What::Reboot { .. });
        if outside.befell(self.run, self.last_look().saturating_sub(noticed), dies) {
            return;
        }
        // A node that no load balancer checks is never noticed.
        let unseen =
            |what| matches!(what, What::AppDown { member, .. } if self.setup.unchecked.contains(&member));
        if outside.befell(self.run, 0, unseen) {
            return;
        }
        if before < need {
            let says =
                format!("{before} were healthy in service, the floor is {need}, and the call left {after}");
            found.push(self.violation("I1b", at, Some(no), says));
        } else if twin(self.setup, outside, at) >= need {
            let says = format!(
                "the call left {after} healthy in service, the floor is {need}; without the run there were enough"
            );
            found.push(self.violation("I1c", at, Some(no), says));
        }
    }

    /// A run stopped the application of a target.
    #[expect(clippy::too_many_arguments, reason = "a fact with all that surrounds it")]
    pub(super) fn judge_stop(
        &self,
        at: u64,
        no: u64,
        target: u32,
        (routed, before, after): (&[u32], u32, u32),
        outside: &Outside<'_>,
        found: &mut Vec<Violation>,
    ) {
        let back = |what: What| match what {
            What::Reload { .. } => true,
            What::HandRestore { member, .. } => member == target,
            What::AppDown { .. }
            | What::PathDown { .. }
            | What::HandDrain { .. }
            | What::Api { .. }
            | What::HostGone { .. }
            | What::Reboot { .. }
            | What::CutConnection { .. }
            | What::Fail { .. } => false,
        };
        if !routed.is_empty() && self.sees() && !outside.befell(self.run, self.last_look(), back) {
            let says =
                format!("`{}` was stopped while instances {routed:?} sent it traffic", self.name(target));
            found.push(self.violation("gate", at, Some(no), says));
        }
        if self.sees() && !outside.befell(self.run, self.last_look(), back) {
            self.judge_capacity(at, no, &[target], (before, after), outside, found);
        }
    }

    /// I2c: requests that went to a member that could not answer.
    pub(super) fn judge_lost(
        &self,
        at: u64,
        (member, instance, from, requests): (u32, u32, u64, u64),
        blame: Blame,
        outside: &Outside<'_>,
        found: &mut Vec<Violation>,
    ) {
        let (run, no, what) = match blame {
            Blame::Outside => return,
            Blame::Stop { run, no } => (run, no, "stopped"),
            Blame::Restore { run, no } => (run, no, "put back"),
        };
        let unchecked = self.setup.unchecked.contains(&member);
        let untouched = self.target(member).is_none_or(|book| !book.touched);
        // What a read could not show, since it happened after it or is not checked, nobody can heed.
        let hits = |what: What| match what {
            What::AppDown { member: hit, .. } | What::PathDown { member: hit, .. } => hit == member,
            What::Reboot { target, .. } => target == member,
            What::Reload { .. } => true,
            What::HandRestore { member: hit, .. } => hit == member,
            What::HandDrain { .. }
            | What::Api { .. }
            | What::HostGone { .. }
            | What::CutConnection { .. }
            | What::Fail { .. } => false,
        };
        let look = self.look_before(no);
        if run != self.run
            || unchecked
            || (untouched && what == "put back")
            || outside.befell(run, look, hits)
        {
            return;
        }
        let says = format!(
            "{requests} requests through instance {instance} from {from}ms on were lost: `{}` was {what} by the run",
            self.name(member)
        );
        found.push(self.violation("I2c", at, Some(no), says));
    }

    /// When the read before a call was sent; checks may be as old as a full round of them.
    fn look_before(&self, no: u64) -> u64 {
        let reads = self.calls.range(..no).rev().find(|(_, (_, call))| matches!(call, Call::ReadPool { .. }));
        let round = self.setup.checks.every_ms.saturating_mul(u64::from(self.setup.checks.fall) + 1);
        reads.map_or(0, |(_, (at, _))| at.saturating_sub(round))
    }

    fn limit(&self, target: u32) -> u32 {
        let holds = |wave: &&manent_plan::Wave| wave.batches.iter().flatten().any(|at| at.0 == target);
        self.plan.rollout.waves.iter().find(holds).map_or(u32::MAX, |wave| wave.max_unavailable)
    }
}

/// Healthy members in a second world with the same faults and without any run.
fn twin(setup: &Setup, outside: &Outside<'_>, at: u64) -> u32 {
    let plot = outside
        .faults()
        .map(|(time, what)| Twist { when: When::At(time.saturating_sub(BEGINNING)), what })
        .collect();
    let mut world = World::new(Setup { plot, ..setup.clone() });
    while world.next().is_some_and(|next| next <= at) {
        world.step();
    }
    world.sleep(at);
    world.healthy()
}
