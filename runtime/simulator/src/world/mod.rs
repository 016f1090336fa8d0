//! The simulated world: load balancers, hosts, clients and what befalls them, on a virtual clock. It does what calls ask
//! for, late, partly or not at all, and writes down everything. It must not know why anybody calls.

mod balancer;
mod host;
mod nodes;
mod pool;
mod truth;
mod twists;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use manent_engine::{Answer, Call};

use crate::facts::{Fact, Happened};
use crate::random::draw_between;
use crate::setup::{BEGINNING, Setup, Twist, What, When};
use balancer::{Balancer, Entry};
use host::{Host, Key};

/// A world.
#[derive(Debug, Clone)]
pub struct World {
    setup: Setup,
    now: u64,
    sequence: u64,
    queue: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    balancers: Vec<Balancer>,
    hosts: Vec<Host>,
    reads: BTreeMap<(Key, u32), pool::Reading>,
    changes: BTreeMap<(Key, u32), pool::Changing>,
    waiting: Vec<(Twist, u32)>,
    facts: Vec<Fact>,
    requests_lost: u64,
}

/// An answer on its way to a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Of which run.
    pub run: u32,
    /// Which process of that run had asked; another one does not hear it.
    pub process: u32,
    /// The number of the call.
    pub no: u64,
    /// The answer.
    pub answer: Answer,
}

/// Something that will happen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    /// A twist of the plot.
    Twist(u32),
    /// A twist that was waiting for something.
    Late(Late),
    /// The end of something that befell the world.
    Pass(Late),
    /// One instance answers a read.
    Sample(Key, u32, u32),
    /// A read is complete.
    ReadDone(Key, u32),
    /// A change reaches the next instance.
    ChangeStep(Key, u32),
    /// A change is answered.
    ChangeDone(Key, u32),
    /// A command reaches its target.
    Arrive(Arrival),
    /// The next act of a command.
    Act(u32, Key, u32),
    /// Whoever waits for a command gives up.
    GiveUp(u32, Key, u32),
    /// The application of a host has started.
    AppStarted(u32, u32),
    /// A release turns bad.
    TurnsRed(u32, u32),
    /// A post-test tries.
    Test(Arrival, u32, u64),
    /// An answer arrives at the process that asked.
    Deliver(Box<Parcel>),
}

/// A twist as a value of the queue.
type Late = u32;

/// A call on its way to a target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    key: Key,
    process: u32,
    target: u32,
    procedure: manent_engine::Procedure,
    release: Option<String>,
    until: u64,
    probe_of: Option<u64>,
    reached: bool,
}

/// An answer in the queue; ordered by its sequence number alone.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Parcel(Delivery);

impl PartialOrd for Parcel {
    fn partial_cmp(&self, other: &Parcel) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Parcel {
    fn cmp(&self, other: &Parcel) -> std::cmp::Ordering {
        (self.0.run, self.0.process, self.0.no).cmp(&(other.0.run, other.0.process, other.0.no))
    }
}

impl World {
    /// A world in which nothing has happened: everything is healthy and in service.
    #[must_use]
    pub fn new(setup: Setup) -> World {
        let members = setup.members();
        let entry = |instance: u32, member: u32| {
            let phase = draw_between(
                (setup.seed, 1, u64::from(instance), u64::from(member)),
                0,
                setup.checks.every_ms.max(1) - 1,
            );
            Entry::new(
                BEGINNING,
                BEGINNING - setup.checks.every_ms.max(1) + phase,
                !setup.unchecked.contains(&member),
            )
        };
        let balancers = (0..setup.instances.max(1))
            .map(|instance| Balancer {
                name: format!("lb{}", instance + 1),
                process: 1,
                reach: crate::setup::Reach::Well,
                entries: (0..members).map(|member| entry(instance, member)).collect(),
            })
            .collect();
        let hosts = (0..members)
            .map(|member| Host {
                disk: setup.before.get(&member).cloned().unwrap_or_else(|| Some("r1".to_owned())),
                able: true,
                running: true,
                reachable: true,
                ..Host::default()
            })
            .collect();
        let mut world = World {
            now: BEGINNING,
            sequence: 0,
            queue: BinaryHeap::new(),
            balancers,
            hosts,
            reads: BTreeMap::new(),
            changes: BTreeMap::new(),
            waiting: Vec::new(),
            facts: Vec::new(),
            requests_lost: 0,
            setup,
        };
        for (at, twist) in (0_u32..).zip(world.setup.plot.clone()) {
            match twist.when {
                When::At(ms) => world.push(BEGINNING + ms, Happening::Twist(at)),
                When::OnRun { .. } | When::OnChange { .. } => world.waiting.push((twist, at)),
            }
        }
        world
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// What the world is like.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Everything that has happened, in order.
    #[must_use]
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// Client requests that went to members that could not answer.
    #[must_use]
    pub fn requests_lost(&self) -> u64 {
        self.requests_lost
    }

    /// Writes down something that happened outside the world.
    pub(crate) fn record(&mut self, what: Happened) {
        self.facts.push(Fact { at: self.now, what });
    }

    /// When something happens next.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        self.queue.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Time goes on to `to`, if nothing happens before.
    pub fn sleep(&mut self, to: u64) {
        self.now = self.now.max(to);
    }

    /// Lets the next thing happen; an answer that arrives is returned.
    pub fn step(&mut self) -> Option<Delivery> {
        let Reverse((at, _, happening)) = self.queue.pop()?;
        self.now = self.now.max(at);
        match happening {
            Happening::Twist(at) | Happening::Late(at) => self.befall(at),
            Happening::Pass(at) => self.pass(at),
            Happening::Sample(key, process, instance) => self.sample(key, process, instance),
            Happening::ReadDone(key, process) => self.read_done(key, process),
            Happening::ChangeStep(key, process) => self.change_step(key, process),
            Happening::ChangeDone(key, process) => self.change_done(key, process),
            Happening::Arrive(arrival) => self.arrive(arrival),
            Happening::Act(target, key, boot) => self.act(target, key, boot),
            Happening::GiveUp(target, key, process) => self.give_up(target, key, process),
            Happening::AppStarted(member, generation) => self.app_started(member, generation),
            Happening::TurnsRed(member, generation) => self.turns_red(member, generation),
            Happening::Test(arrival, passed, limit) => self.test(arrival, passed, limit),
            Happening::Deliver(parcel) => {
                let Parcel(delivery) = *parcel;
                return Some(delivery);
            }
        }
        None
    }

    /// A process sends a call.
    pub fn send(&mut self, run: u32, process: u32, no: u64, call: &Call) {
        self.record(Happened::Sent { run, no, call: call.clone() });
        let key = (run, no);
        match call {
            Call::ReadPool { .. } => self.begin_read(key, process),
            Call::Change { change, on } => self.begin_change(key, process, *change, on),
            Call::Run { procedure, target, release, until, .. } => {
                self.set_out(Arrival {
                    key,
                    process,
                    target: target.0,
                    procedure: *procedure,
                    release: release.clone(),
                    until: until.0,
                    probe_of: None,
                    reached: false,
                });
            }
            Call::Probe { of, procedure, target, until } => {
                self.set_out(Arrival {
                    key,
                    process,
                    target: target.0,
                    procedure: *procedure,
                    release: None,
                    until: until.0,
                    probe_of: Some(of.0),
                    reached: false,
                });
            }
        }
    }

    /// A process is gone: what it had sent goes on, what it had not sent never comes.
    pub fn died(&mut self, run: u32) {
        let mine: Vec<_> = self.changes.keys().filter(|(key, _)| key.0 == run).copied().collect();
        for key in mine {
            if let Some(change) = self.changes.get_mut(&key) {
                change.orphan = true;
            }
        }
        for host in &mut self.hosts {
            for (key, entry) in &mut host.ledger {
                if key.0 == run {
                    entry.waiter = None;
                }
            }
        }
    }

    fn push(&mut self, at: u64, happening: Happening) {
        self.sequence += 1;
        self.queue.push(Reverse((at, self.sequence, happening)));
    }

    fn deliver(&mut self, at: u64, key: Key, process: u32, answer: Answer) {
        let delivery = Delivery { run: key.0, process, no: key.1, answer };
        self.push(at, Happening::Deliver(Box::new(Parcel(delivery))));
    }

    /// One way of a request.
    fn latency(&self, key: Key, what: u64) -> u64 {
        let (low, high) = self.setup.latency;
        if low >= high {
            return low;
        }
        draw_between((self.setup.seed, what, u64::from(key.0), key.1), low, high)
    }

    fn what(&self, at: Late) -> Option<What> {
        usize::try_from(at).ok().and_then(|at| self.setup.plot.get(at)).map(|twist| twist.what)
    }
}
