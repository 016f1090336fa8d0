//! What a simulated world is like, and what befalls it. Values only: it must not know how the world moves.

use std::collections::{BTreeMap, BTreeSet};

use manent_engine::{Change, Procedure};

/// Virtual time at which every world begins, in ms.
pub const BEGINNING: u64 = 1_000_000;
/// As long as the world lasts.
pub const FOR_EVER: u64 = u64::MAX / 4;

/// A world before anything happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// Everything that is left to chance comes from here.
    pub seed: u64,
    /// Load balancers.
    pub instances: u32,
    /// Targets of the plan.
    pub targets: u32,
    /// Members of the pool that are no targets of the plan.
    pub others: u32,
    /// How members are taken out.
    pub kind: Kind,
    /// Health checks of the load balancers.
    pub checks: Checks,
    /// Members that the load balancers do not check.
    pub unchecked: BTreeSet<u32>,
    /// One way of a request takes from and up to this, in ms.
    pub latency: (u64, u64),
    /// Sessions that a member has when it is taken out, at most.
    pub sessions: u32,
    /// The longest of them, in ms.
    pub longest_ms: u64,
    /// Members that persistent clients still reach while drained, for so many ms.
    pub sticky: BTreeMap<u32, u64>,
    /// A command on a target takes from and up to this, in ms.
    pub command_ms: (u64, u64),
    /// An application needs from and up to this to start, in ms.
    pub startup_ms: (u64, u64),
    /// The release on each target before the run; `r1` where it is not said.
    pub before: BTreeMap<u32, Option<String>>,
    /// How releases are, on a target; good where it is not said.
    pub quality: BTreeMap<(u32, String), Quality>,
    /// What befalls the world.
    pub plot: Vec<Twist>,
}

/// How members are taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Administrative states on every instance.
    Haproxy,
    /// The application itself fails its health check; instances notice by their checks.
    Flag,
}

/// Health checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checks {
    /// Between two checks, in ms.
    pub every_ms: u64,
    /// Passes in a row until a member is up.
    pub rise: u32,
    /// Failures in a row until it is down.
    pub fall: u32,
}

/// How a release is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quality {
    /// It works.
    Good,
    /// It never answers.
    NeverUp,
    /// It answers, but its post-test fails.
    FailsTest,
    /// It answers for so many ms, then no more.
    RedAfter(u64),
}

/// Something that befalls the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twist {
    /// When.
    pub when: When,
    /// What.
    pub what: What,
}

/// When a twist comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// So many ms after the beginning.
    At(u64),
    /// When a procedure is executed on a target for the `nth` time (from 0), and `after` ms more.
    OnRun {
        /// Which.
        procedure: Procedure,
        /// Where.
        target: u32,
        /// From 0.
        nth: u32,
        /// In ms.
        after: u64,
    },
    /// When a change of a target reaches an instance for the `nth` time (from 0), and `after` ms more.
    OnChange {
        /// Which.
        change: Change,
        /// Of which target.
        target: u32,
        /// From 0.
        nth: u32,
        /// In ms.
        after: u64,
    },
}

/// What befalls the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A member's application dies and comes back.
    AppDown {
        /// Position of the member: targets first, then the others.
        member: u32,
        /// For so long.
        ms: u64,
    },
    /// One instance cannot reach a member.
    PathDown {
        /// The instance.
        instance: u32,
        /// The member.
        member: u32,
        /// For so long.
        ms: u64,
    },
    /// Somebody drains a member by hand, on one instance.
    HandDrain {
        /// The instance.
        instance: u32,
        /// The member.
        member: u32,
    },
    /// Somebody puts a member back by hand, on one instance.
    HandRestore {
        /// The instance.
        instance: u32,
        /// The member.
        member: u32,
    },
    /// An instance is reloaded: it forgets drains, trusts every server, and hides the sessions of its old process.
    Reload {
        /// The instance.
        instance: u32,
    },
    /// The interface of an instance behaves otherwise. Traffic goes on.
    Api {
        /// The instance.
        instance: u32,
        /// How it behaves.
        reach: Reach,
        /// For so long.
        ms: u64,
    },
    /// A target cannot be reached by manent. Its application goes on.
    HostGone {
        /// The target.
        target: u32,
        /// For so long.
        ms: u64,
    },
    /// A target restarts: what runs on it is cut off.
    Reboot {
        /// The target.
        target: u32,
        /// Until it is back.
        ms: u64,
    },
    /// The connection of a running command breaks. The command goes on.
    CutConnection {
        /// The target.
        target: u32,
    },
    /// The next execution of a procedure fails.
    Fail {
        /// Of which.
        procedure: Procedure,
        /// Where.
        target: u32,
        /// How far it gets.
        stage: Stage,
    },
}

/// How far a failing command gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It could not be started at all.
    NotStarted,
    /// It ends with an exit code before it changed anything.
    Early,
    /// After the release was switched, before the restart.
    Switched,
    /// After the restart.
    Restarted,
    /// It never ends.
    Hangs,
}

/// How the interface of an instance behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// As it should.
    Well,
    /// It cannot be reached.
    Unreachable,
    /// Every answer takes so many ms more.
    Slow(u64),
    /// Changes are made, but their answers are lost. Reads work.
    LosesAnswers,
    /// Changes are answered with 500 and not made. Reads work.
    Errors,
    /// Changes are accepted and not made. Reads work.
    Ignores,
    /// Everything is refused for good.
    Refuses,
    /// Changes are refused for good. Reads work.
    RefusesChanges,
    /// Reads say that every member is in maintenance, whatever its state.
    SaysMaint,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            seed: 1,
            instances: 2,
            targets: 4,
            others: 0,
            kind: Kind::Haproxy,
            checks: Checks { every_ms: 2_000, rise: 2, fall: 3 },
            unchecked: BTreeSet::new(),
            latency: (2, 2),
            sessions: 0,
            longest_ms: 0,
            sticky: BTreeMap::new(),
            command_ms: (900, 900),
            startup_ms: (1_500, 1_500),
            before: BTreeMap::new(),
            quality: BTreeMap::new(),
            plot: Vec::new(),
        }
    }
}

impl Setup {
    /// Members of the pool.
    #[must_use]
    pub fn members(&self) -> u32 {
        self.targets.saturating_add(self.others)
    }

    /// Something befalls the world at a time from its beginning.
    #[must_use]
    pub fn at(mut self, ms: u64, what: What) -> Setup {
        self.plot.push(Twist { when: When::At(ms), what });
        self
    }

    /// Something befalls the world when a procedure runs on a target for the first time, and `after` ms more.
    #[must_use]
    pub fn on_run(mut self, procedure: Procedure, target: u32, after: u64, what: What) -> Setup {
        self.plot.push(Twist { when: When::OnRun { procedure, target, nth: 0, after }, what });
        self
    }

    /// Something befalls the world when a change of a target first reaches an instance, and `after` ms more.
    #[must_use]
    pub fn on_change(mut self, change: Change, target: u32, after: u64, what: What) -> Setup {
        self.plot.push(Twist { when: When::OnChange { change, target, nth: 0, after }, what });
        self
    }

    /// A release is like this on a target.
    #[must_use]
    pub fn with_quality(mut self, target: u32, release: &str, quality: Quality) -> Setup {
        self.quality.insert((target, release.to_owned()), quality);
        self
    }
}
