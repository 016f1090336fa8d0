//! What the judge remembers of one run while it reads: calls with their answers, the newest reads, and how each target
//! stands by the calls alone. It objects to nothing itself.

use std::collections::{BTreeMap, BTreeSet};

use manent_engine::{Admin, Answer, Call, Change, InstanceChange, Ledger, PoolView, Procedure, Ran};
use manent_plan::{Plan, TargetIx};

use super::{Circumstances, Outside, Violation};
use crate::facts::{Fact, Happened};
use crate::setup::{Setup, What};

/// One run as its calls tell it.
pub(super) struct Book<'p> {
    pub run: u32,
    pub plan: &'p Plan,
    pub setup: &'p Setup,
    pub around: Circumstances,
    /// Calls that were sent, with the time.
    pub calls: BTreeMap<u64, (u64, Call)>,
    /// The newest read that was answered.
    pub read: Option<Read>,
    /// The end of the newest change: its answer, or the death of the process.
    pub changed: u64,
    /// Changes without an answer.
    pub open_changes: BTreeSet<u64>,
    pub targets: Vec<Target>,
    /// Instances on which the run has a target out.
    pub out: BTreeMap<u32, BTreeSet<u32>>,
    /// Down since; the process is gone.
    pub down_since: Option<u64>,
    /// Times without a process.
    pub downtimes: Vec<(u64, u64)>,
    /// The longest that a call to the pool took.
    pub slowest: u64,
    /// Since when nothing but reads was done.
    pub idle: u64,
    pub ended: bool,
}

/// A read with its times.
pub(super) struct Read {
    pub sent: u64,
    pub at: u64,
    pub view: PoolView,
}

/// A target as the calls tell it.
#[derive(Debug, Clone, Default)]
pub(super) struct Target {
    /// The release found at the start.
    pub before: Option<Option<String>>,
    /// A command with an effect was begun on it.
    pub touched: bool,
    /// What was begun and not undone, in order.
    pub stack: Vec<Begun>,
    /// The newest command with an effect.
    pub last: Option<Command>,
    /// Since then it passed its post-test.
    pub tested: bool,
    /// It was taken out of service, and nothing ran on it since: put back, it is as it was.
    pub as_it_was: bool,
    /// Procedures that ended well, with the calls that did.
    pub done: BTreeMap<Procedure, BTreeSet<u64>>,
    /// The newest execution of each procedure, until the opposite one runs.
    pub executed: BTreeMap<Procedure, u64>,
    /// Calls that are known to have failed.
    pub failures: BTreeSet<(Procedure, u64)>,
    /// It was put back, and not yet read healthy: on these instances.
    pub returning: BTreeSet<u32>,
    /// When it was put back.
    pub returned: u64,
    /// It was healthy in service when it was first taken out.
    pub served: bool,
    /// When its drain was sent.
    pub drained: Option<u64>,
    /// When a read first showed it out everywhere after that.
    pub confirmed: Option<u64>,
    /// Reads in a row without connections.
    pub quiet: u32,
    /// Two reads in a row were quiet since it was taken out.
    pub emptied: bool,
    /// Processes of the instances in the newest read.
    pub processes: Vec<Option<String>>,
}

/// Something that was begun on a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begun {
    Drained,
    Ran(Procedure),
    Restored,
}

/// A command with an effect.
#[derive(Debug, Clone)]
pub(super) struct Command {
    pub no: u64,
    pub procedure: Procedure,
    pub outcome: Known,
    /// Its target's ledger was asked since the outcome became unknown.
    pub asked: Option<Ledger>,
}

/// What is known of the end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Nothing,
    Done,
    Failed,
    NotBegun,
}

impl<'p> Book<'p> {
    pub(super) fn new(run: u32, plan: &'p Plan, setup: &'p Setup, around: Circumstances) -> Book<'p> {
        Book {
            run,
            plan,
            setup,
            around,
            calls: BTreeMap::new(),
            read: None,
            changed: 0,
            open_changes: BTreeSet::new(),
            targets: vec![Target::default(); plan.targets.len()],
            out: BTreeMap::new(),
            down_since: None,
            downtimes: Vec::new(),
            slowest: 0,
            idle: crate::setup::BEGINNING,
            ended: false,
        }
    }

    /// Judges a fact, then remembers it.
    pub(super) fn read(&mut self, fact: &Fact, outside: &Outside<'_>, found: &mut Vec<Violation>) {
        let at = fact.at;
        match &fact.what {
            Happened::Sent { run, no, call } if *run == self.run => {
                self.judge_call(at, *no, call, outside, found);
                self.sent(at, *no, call);
            }
            Happened::Answered { run, no, answer } if *run == self.run => {
                self.answered(at, *no, answer);
            }
            Happened::Effect { run, no, instance, change, targets, before, after } if *run == self.run => {
                self.effect(*instance, *change, targets);
                self.judge_effect(at, *no, (*change, targets), (*before, *after), outside, found);
            }
            Happened::Executed { run, no, procedure, target } if *run == self.run => {
                self.judge_execution(at, *no, *procedure, *target, found);
            }
            Happened::Stopped { run, no, target, routed, before, after, .. } if *run == self.run => {
                self.judge_stop(at, *no, *target, (routed, *before, *after), outside, found);
            }
            Happened::Lost { member, instance, from, requests, blame } => {
                self.judge_lost(at, (*member, *instance, *from, *requests), *blame, outside, found);
            }
            Happened::Befell(what) => self.befell(*what),
            Happened::Crashed { run, report, truth } if *run == self.run => {
                self.down_since = Some(at);
                self.changed = self.changed.max(at);
                self.open_changes.clear();
                if let Some(report) = report {
                    self.judge_report(at, report, truth, outside, found);
                }
            }
            Happened::Resumed { run } if *run == self.run => {
                if let Some(since) = self.down_since.take() {
                    self.downtimes.push((since, at));
                } else {
                    self.downtimes.push((self.idle, at));
                }
                self.ended = false;
            }
            Happened::Ended { run, outcome, report, truth } if *run == self.run => {
                self.judge_end(at, outcome, report, truth, outside, found);
                self.ended = true;
            }
            Happened::Sent { .. }
            | Happened::Answered { .. }
            | Happened::Effect { .. }
            | Happened::Executed { .. }
            | Happened::WentOn { .. }
            | Happened::Stopped { .. }
            | Happened::Passed(_)
            | Happened::Crashed { .. }
            | Happened::Resumed { .. }
            | Happened::Ended { .. } => {}
        }
    }

    pub(super) fn violation(
        &self,
        invariant: &'static str,
        at: u64,
        call: Option<u64>,
        says: String,
    ) -> Violation {
        Violation { invariant, at, run: self.run, call, says }
    }

    pub(super) fn need(&self) -> u32 {
        self.plan.pool.as_ref().map_or(0, |pool| pool.floor.need)
    }

    pub(super) fn sees(&self) -> bool {
        self.plan.pool.as_ref().is_some_and(|pool| pool.capabilities.sees_members)
    }

    pub(super) fn target(&self, at: u32) -> Option<&Target> {
        self.targets.get(at as usize)
    }

    pub(super) fn name(&self, at: u32) -> &str {
        self.plan.member(TargetIx(at))
    }

    /// What may have happened outside counts from here: the newest read, or the beginning.
    pub(super) fn last_look(&self) -> u64 {
        self.read.as_ref().map_or(0, |read| read.sent)
    }

    fn sent(&mut self, at: u64, no: u64, call: &Call) {
        self.calls.insert(no, (at, call.clone()));
        match call {
            Call::ReadPool { .. } | Call::Probe { .. } => return,
            Call::Change { change, on } => {
                self.open_changes.insert(no);
                self.changed = at;
                self.change_sent(at, *change, on);
            }
            Call::Run { procedure, target, .. } => {
                let Some(book) = self.targets.get_mut(target.at()) else { return };
                if !super::nodes::changes(*procedure) {
                    return;
                }
                // Known to be not begun by an answer that the process did not live to record: then it begins now.
                let same =
                    book.last.as_ref().is_some_and(|last| last.no == no && last.outcome != Known::NotBegun);
                if !same {
                    super::nodes::begin(book, *procedure);
                }
                book.touched = true;
                book.as_it_was = false;
                book.tested = false;
                book.drained = None;
                book.last = Some(Command { no, procedure: *procedure, outcome: Known::Nothing, asked: None });
            }
        }
        self.idle = at;
    }

    fn change_sent(&mut self, at: u64, change: Change, on: &[InstanceChange]) {
        for one in on {
            for target in &one.targets {
                let serves = self.read.as_ref().is_some_and(|read| read.view.serves(*target));
                let Some(book) = self.targets.get_mut(target.at()) else { continue };
                match change {
                    Change::Drain => {
                        if book.stack.last() == Some(&Begun::Restored) {
                            book.stack.pop();
                            book.as_it_was = true;
                        } else if book.stack.is_empty() {
                            book.as_it_was = true;
                            book.stack.push(Begun::Drained);
                            book.served = serves;
                        }
                        book.returning.clear();
                        book.quiet = 0;
                        book.emptied = false;
                        if book.drained.is_none() {
                            book.drained = Some(at);
                            book.confirmed = None;
                        }
                    }
                    Change::Restore => {
                        match book.stack.last() {
                            Some(Begun::Drained) => {
                                book.stack.pop();
                            }
                            Some(Begun::Ran(_)) => book.stack.push(Begun::Restored),
                            Some(Begun::Restored) | None => {}
                        }
                        if !book.as_it_was {
                            book.returning.insert(one.instance);
                        }
                        book.returned = at;
                        book.drained = None;
                    }
                    Change::Harden | Change::ForceDown => {}
                }
            }
        }
    }

    fn answered(&mut self, at: u64, no: u64, answer: &Answer) {
        let Some((sent, call)) = self.calls.get(&no).cloned() else { return };
        match (&call, answer) {
            (Call::ReadPool { .. }, Answer::Pool(view)) => {
                self.slowest = self.slowest.max(at.saturating_sub(sent));
                self.look(at, sent, view);
            }
            (Call::Change { .. }, _) => {
                self.slowest = self.slowest.max(at.saturating_sub(sent));
                self.open_changes.remove(&no);
                self.changed = at;
                self.idle = at;
            }
            (Call::Run { procedure, target, .. }, Answer::Ran(ran)) => {
                self.idle = at;
                self.ran(no, *procedure, target.0, ran);
            }
            (Call::Probe { of, procedure, target, .. }, Answer::Probed(probed)) => {
                let back = *procedure == Procedure::Undo;
                let Some(book) = self.targets.get_mut(target.at()) else { return };
                let wanted = if back { book.before.clone() } else { Some(self.plan.release.clone()) };
                let there = wanted.is_some() && probed.release == wanted;
                if let Some(last) = book.last.as_mut().filter(|last| last.no == of.0) {
                    last.asked = Some(probed.ledger.clone());
                    let outcome = match &probed.ledger {
                        Ledger::Ended(Ran::Done { .. }) => Known::Done,
                        Ledger::Ended(Ran::Failed { begun: true, .. }) => Known::Failed,
                        Ledger::Ended(Ran::Failed { begun: false, .. }) => Known::NotBegun,
                        Ledger::Absent | Ledger::Died if there => Known::Done,
                        Ledger::Died => Known::Failed,
                        Ledger::Absent
                        | Ledger::Partial
                        | Ledger::Running
                        | Ledger::Ended(Ran::Unknown { .. })
                        | Ledger::Unreachable { .. } => Known::Nothing,
                    };
                    super::nodes::know(book, *procedure, outcome);
                }
            }
            (Call::ReadPool { .. } | Call::Run { .. } | Call::Probe { .. }, _) => {}
        }
    }

    fn ran(&mut self, no: u64, procedure: Procedure, target: u32, ran: &Ran) {
        let Some(book) = self.targets.get_mut(target as usize) else { return };
        match (procedure, ran) {
            (Procedure::Current, Ran::Done { output }) => {
                book.before.get_or_insert(output.clone());
            }
            (Procedure::PostTest, Ran::Done { .. }) => book.tested = true,
            (Procedure::PostTest | Procedure::Current, _) => {}
            (_, ran) => {
                if book.last.as_ref().is_some_and(|last| last.no == no) {
                    let outcome = match ran {
                        Ran::Done { .. } => Known::Done,
                        Ran::Failed { begun: true, .. } => Known::Failed,
                        Ran::Failed { begun: false, .. } => Known::NotBegun,
                        Ran::Unknown { .. } => Known::Nothing,
                    };
                    super::nodes::know(book, procedure, outcome);
                }
            }
        }
    }

    /// A read of the pool was answered.
    fn look(&mut self, at: u64, sent: u64, view: &PoolView) {
        let fresh = sent >= self.changed;
        let processes: Vec<Option<String>> = view.instances.iter().map(|one| one.identity.clone()).collect();
        let made = |target: TargetIx| self.out.get(&target.0).is_some_and(|instances| !instances.is_empty());
        for (target, book) in (0_u32..).map(TargetIx).zip(&mut self.targets) {
            // A drain that no instance made, and that a later read shows not to be there, leaves nothing behind.
            let inside = || view.seen_everywhere(target).all(|seen| seen.admin == Admin::In);
            if book.drained.is_some()
                && fresh
                && view.complete()
                && book.stack.last() == Some(&Begun::Drained)
                && !made(target)
                && inside()
            {
                book.stack.pop();
                book.drained = None;
            }
            // The same for a restore that its process did not live to send.
            if fresh && view.out(target) && book.stack.last() == Some(&Begun::Restored) {
                book.stack.pop();
                book.returning.clear();
            }
            if !book.returning.is_empty() && fresh {
                let seen = |instance: &u32| view.seen(target, *instance as usize).serves();
                if view.complete() && book.returning.iter().all(seen) {
                    book.returning.clear();
                    self.idle = at;
                }
            }
            if book.drained.is_some() {
                let out = view.out(target);
                if out && book.confirmed.is_none() {
                    book.confirmed = Some(at);
                }
                let empty = view.seen_everywhere(target).all(|seen| seen.connections == Some(0));
                let same = book.processes.is_empty() || book.processes == processes;
                book.quiet = if out && empty && same { book.quiet + 1 } else { 0 };
                book.emptied |= book.quiet >= 2;
                if !view.complete()
                    || !same
                    || view.seen_everywhere(target).any(|seen| seen.admin == Admin::In)
                {
                    book.emptied = false;
                }
            }
            if view.complete() {
                book.processes.clone_from(&processes);
            }
        }
        self.read = Some(Read { sent, at, view: view.clone() });
    }

    fn effect(&mut self, instance: u32, change: Change, targets: &[u32]) {
        for target in targets {
            let out = self.out.entry(*target).or_default();
            match change {
                Change::Drain | Change::Harden => out.insert(instance),
                Change::Restore => out.remove(&instance),
                Change::ForceDown => false,
            };
        }
    }

    fn befell(&mut self, what: What) {
        match what {
            What::Reload { instance } => {
                for out in self.out.values_mut() {
                    out.remove(&instance);
                }
            }
            What::HandRestore { instance, member } => {
                if let Some(out) = self.out.get_mut(&member) {
                    out.remove(&instance);
                }
            }
            What::AppDown { .. }
            | What::PathDown { .. }
            | What::HandDrain { .. }
            | What::Api { .. }
            | What::HostGone { .. }
            | What::Reboot { .. }
            | What::CutConnection { .. }
            | What::Fail { .. } => {}
        }
    }

    /// Targets out by the run's hand.
    pub(super) fn out_now(&self) -> u32 {
        u32::try_from(self.out.values().filter(|instances| !instances.is_empty()).count()).unwrap_or(u32::MAX)
    }
}
