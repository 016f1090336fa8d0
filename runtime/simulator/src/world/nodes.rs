//! Commands on targets: they arrive or not, run once under their number, go on without the connection, and are found
//! again in the ledger. Post-tests are reads of the application.

use manent_engine::{Answer, Ledger, Probed, Procedure, Ran};

use super::host::{Act, Entry, Key, Standing, script};
use super::{Arrival, Happening, World};
use crate::facts::{Blame, Happened};
use crate::random::draw_between;
use crate::setup::{Quality, Stage};

/// Until a connection to a target that cannot be reached is given up, in ms.
const CONNECT_MS: u64 = 2_000;
/// Between two tries of a post-test, in ms.
const TEST_EVERY_MS: u64 = 1_000;
/// A post-test has to pass within, in ms.
const TEST_WITHIN_MS: u64 = 60_000;

impl World {
    /// A call sets out for its target.
    pub(super) fn set_out(&mut self, arrival: Arrival) {
        let way = self.latency(arrival.key, 400);
        self.push(self.now + way, Happening::Arrive(arrival));
    }

    pub(super) fn arrive(&mut self, mut arrival: Arrival) {
        let Some(host) = self.hosts.get(arrival.target as usize) else { return };
        if arrival.procedure == Procedure::PostTest && arrival.probe_of.is_none() {
            self.begun(&arrival);
            let limit = self.now + TEST_WITHIN_MS;
            return self.test(arrival, 0, limit);
        }
        if !host.reachable && !arrival.reached {
            // It is asked until the connection is given up.
            arrival.reached = true;
            return self.push(self.now + CONNECT_MS, Happening::Arrive(arrival));
        }
        if !host.reachable {
            let reason = String::from("no connection");
            let answer = match arrival.probe_of {
                Some(_) => Answer::Probed(Probed { ledger: Ledger::Unreachable { reason }, release: None }),
                None => Answer::Ran(Ran::Failed { begun: false, reason }),
            };
            return self.deliver(self.now, arrival.key, arrival.process, answer);
        }
        match arrival.probe_of {
            Some(of) => self.probe(&arrival, of),
            None if arrival.procedure == Procedure::Current => {
                let output = host.disk.clone();
                self.begun(&arrival);
                let back = self.now + self.latency(arrival.key, 401);
                self.deliver(back, arrival.key, arrival.process, Answer::Ran(Ran::Done { output }));
            }
            None => self.ask(arrival),
        }
    }

    fn begun(&mut self, arrival: &Arrival) {
        let nth = match self.hosts.get_mut(arrival.target as usize) {
            Some(host) => {
                let times = host.executions.entry(arrival.procedure).or_insert(0);
                *times += 1;
                *times - 1
            }
            None => 0,
        };
        self.record(Happened::Executed {
            run: arrival.key.0,
            no: arrival.key.1,
            procedure: arrival.procedure,
            target: arrival.target,
        });
        self.wake_on_run(arrival.procedure, arrival.target, nth);
    }

    fn probe(&mut self, arrival: &Arrival, of: u64) {
        let Some(host) = self.hosts.get(arrival.target as usize) else { return };
        let ledger = match host.ledger.get(&(arrival.key.0, of)).map(|entry| &entry.standing) {
            None => Ledger::Absent,
            Some(Standing::Running) => Ledger::Running,
            Some(Standing::Partial) => Ledger::Partial,
            Some(Standing::Ended(ran)) => Ledger::Ended(ran.clone()),
            Some(Standing::Died) => Ledger::Died,
        };
        let recipe = matches!(arrival.procedure, Procedure::Apply | Procedure::Undo);
        let release = recipe.then(|| host.disk.clone());
        let back = self.now + self.latency(arrival.key, 402);
        self.deliver(back, arrival.key, arrival.process, Answer::Probed(Probed { ledger, release }));
    }

    /// A command under its number: begun, taken up where it stopped, waited for, or answered from the ledger.
    fn ask(&mut self, arrival: Arrival) {
        let (target, key, now) = (arrival.target, arrival.key, self.now);
        let Some(host) = self.hosts.get_mut(target as usize) else { return };
        let boot = host.boot;
        match host.ledger.get_mut(&key) {
            None => {
                let failure = host.failures.iter().position(|(procedure, _)| *procedure == arrival.procedure);
                let failure = failure.map(|at| host.failures.remove(at).1);
                if failure == Some(Stage::NotStarted) {
                    let reason = String::from("the shell could not be started");
                    let answer = Answer::Ran(Ran::Failed { begun: false, reason });
                    return self.deliver(now, key, arrival.process, answer);
                }
                let (low, high) = self.setup.command_ms;
                let takes = draw_between((self.setup.seed, 500, u64::from(key.0), key.1), low, high);
                let entry = Entry {
                    procedure: arrival.procedure,
                    standing: Standing::Running,
                    left: script(arrival.procedure, &arrival.release, takes, failure),
                    waiter: Some(arrival.process),
                    until: arrival.until,
                };
                host.ledger.insert(key, entry);
                self.begun(&arrival);
                self.next_act(target, key, boot);
            }
            Some(entry) => {
                entry.waiter = Some(arrival.process);
                entry.until = arrival.until;
                match entry.standing.clone() {
                    Standing::Partial => {
                        entry.standing = Standing::Running;
                        self.record(Happened::WentOn { run: key.0, no: key.1, target });
                        self.next_act(target, key, boot);
                    }
                    Standing::Running => {}
                    Standing::Ended(ran) => self.deliver(now, key, arrival.process, Answer::Ran(ran)),
                    Standing::Died => {
                        let reason = String::from("it was begun before and is gone without a result");
                        self.deliver(now, key, arrival.process, Answer::Ran(Ran::Unknown { reason }));
                    }
                }
            }
        }
        self.push(arrival.until.max(now), Happening::GiveUp(target, key, arrival.process));
    }

    fn next_act(&mut self, target: u32, key: Key, boot: u32) {
        let entry = self.hosts.get(target as usize).and_then(|host| host.ledger.get(&key));
        if let Some((takes, _)) = entry.and_then(|entry| entry.left.front()) {
            self.push(self.now + takes, Happening::Act(target, key, boot));
        }
    }

    pub(super) fn act(&mut self, target: u32, key: Key, boot: u32) {
        let Some(host) = self.hosts.get_mut(target as usize) else { return };
        if host.boot != boot {
            return;
        }
        let Some(entry) = host.ledger.get_mut(&key).filter(|entry| entry.standing == Standing::Running)
        else {
            return;
        };
        let Some((_, act)) = entry.left.pop_front() else { return };
        match act {
            Act::Switch(release) => host.disk = release,
            Act::Boundary => {
                if entry.waiter.is_none() {
                    entry.standing = Standing::Partial;
                    return;
                }
            }
            Act::Restart => self.restart(target, key),
            Act::Finish(ran) => {
                entry.standing = Standing::Ended(ran.clone());
                let procedure = entry.procedure;
                if let Some(process) = entry.waiter.take() {
                    let back = self.now + self.latency(key, 403);
                    self.deliver(back, key, process, Answer::Ran(ran.clone()));
                }
                if let (Ran::Done { .. }, Some(host)) = (&ran, self.hosts.get_mut(target as usize)) {
                    *host.done.entry(procedure).or_insert(0) += 1;
                }
                return;
            }
        }
        self.next_act(target, key, boot);
    }

    /// The application stops and starts again: with the release that is on disk.
    fn restart(&mut self, target: u32, (run, no): Key) {
        let before = self.healthy();
        let now = self.now;
        let entries = || self.balancers.iter().filter_map(|one| one.entries.get(target as usize));
        let routed = (0_u32..).zip(entries()).filter(|(_, entry)| entry.routed());
        let routed = routed.map(|(instance, _)| instance).collect();
        let sessions = entries().map(|entry| entry.shown(now)).sum::<u64>();
        let sessions = u32::try_from(sessions).unwrap_or(u32::MAX);
        self.change_app(target, Blame::Stop { run, no }, |host| {
            host.running = false;
            host.generation += 1;
        });
        for one in &mut self.balancers {
            if let Some(entry) = one.entries.get_mut(target as usize) {
                entry.sessions.clear();
                entry.hidden.clear();
            }
        }
        let after = self.healthy();
        self.record(Happened::Stopped { run, no, target, routed, sessions, before, after });
        self.start_app(target);
    }

    /// The application starts, if its release can.
    pub(super) fn start_app(&mut self, target: u32) {
        let generation = self.hosts.get(target as usize).map_or(0, |host| host.generation);
        if self.quality(target) != Quality::NeverUp {
            let (low, high) = self.setup.startup_ms;
            let key = (self.setup.seed, 600, u64::from(target), u64::from(generation));
            self.push(self.now + draw_between(key, low, high), Happening::AppStarted(target, generation));
        }
    }

    /// Whoever waits for a command does so no longer; the command goes on.
    pub(super) fn give_up(&mut self, target: u32, key: Key, process: u32) {
        let entry = self.hosts.get_mut(target as usize).and_then(|host| host.ledger.get_mut(&key));
        let Some(entry) = entry else { return };
        if entry.waiter == Some(process) && entry.until <= self.now {
            entry.waiter = None;
            let reason = String::from("no end within its time");
            self.deliver(self.now, key, process, Answer::Ran(Ran::Unknown { reason }));
        }
    }

    /// The connection of whatever runs on a target breaks.
    pub(super) fn cut(&mut self, target: u32) {
        let Some(host) = self.hosts.get_mut(target as usize) else { return };
        let mut heard = Vec::new();
        for (key, entry) in &mut host.ledger {
            if let Some(process) = entry.waiter.take() {
                heard.push((*key, process));
            }
        }
        for (key, process) in heard {
            let reason = String::from("the connection was reset");
            self.deliver(self.now, key, process, Answer::Ran(Ran::Unknown { reason }));
        }
    }

    /// One try of a post-test.
    pub(super) fn test(&mut self, arrival: Arrival, passed: u32, limit: u64) {
        let Some(host) = self.hosts.get(arrival.target as usize) else { return };
        let well = host.able && host.reachable && self.quality(arrival.target) != Quality::FailsTest;
        let passed = if well { passed + 1 } else { 0 };
        let back = self.latency(arrival.key, 404);
        if passed >= 1 {
            let ran = Ran::Done { output: None };
            self.deliver(self.now + back, arrival.key, arrival.process, Answer::Ran(ran));
        } else if self.now >= limit {
            let ran = Ran::Failed { begun: false, reason: String::from("status 503, not 200, within 1m") };
            self.deliver(self.now + back, arrival.key, arrival.process, Answer::Ran(ran));
        } else {
            self.push((self.now + TEST_EVERY_MS).min(limit), Happening::Test(arrival, passed, limit));
        }
    }
}
