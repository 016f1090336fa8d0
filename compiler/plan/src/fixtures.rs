//! Plans for the tests of other crates: the four targets that the field cases start from, and a builder for others. They
//! are laid out as compiled ones are. It must not know any document, and nothing outside tests should use it.

use std::collections::BTreeMap;

pub use manent_grammar::Quantity;
use manent_grammar::Template;

use crate::ids::TargetIx;
use crate::model::{
    Action, Artifact, Basis, Capabilities, Connection, Custom, Floor, Input, OnFailure, OnTimeout, Plan,
    Pool, Procedures, Recipe, Rollout, Ssh, Target, Test, Warning, Wave,
};
use crate::steps::lay_out;

/// The plan that field cases start from; see [`base`].
#[must_use]
pub fn four_targets() -> Plan {
    base().build()
}

/// Targets `w1` to `w4` behind HAProxy, wave `canary` with the first and `rest` with the others, one out at a time, a floor
/// of 2, two clocks of 60s, reads at most 5s apart, `on_timeout: fail`, `onFailure: stop`, release `r2`.
#[must_use]
pub fn base() -> PlanBuilder {
    PlanBuilder::new()
        .wave("canary", 1, 1)
        .wave("rest", 3, 1)
        .floor(Quantity::Count(2))
        .on_failure(OnFailure::Stop)
        .on_timeout(OnTimeout::Fail)
        .clocks(60_000, 60_000, 5_000)
}

/// Builds a plan; what is not said is small and usual: four targets in one wave, one at a time, a floor of 1, rollback.
#[derive(Debug, Clone)]
pub struct PlanBuilder {
    targets: u32,
    waves: Vec<(String, u32, u32)>,
    gates: BTreeMap<String, (Option<u64>, bool)>,
    max_unavailable: Option<Quantity>,
    batch: u32,
    floor: Quantity,
    members: Option<u32>,
    pool: Option<Pool>,
    on_failure: OnFailure,
    min_ready_ms: u64,
    parallelism: u32,
    release: Option<String>,
    artifact: Option<String>,
    port: Option<u16>,
    post_test: bool,
    steps: Vec<Custom>,
    activate: Vec<Custom>,
    warnings: Vec<Warning>,
}

impl Default for PlanBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl PlanBuilder {
    /// Four targets behind HAProxy in one wave.
    #[must_use]
    pub fn new() -> Self {
        Self {
            targets: 4,
            waves: Vec::new(),
            gates: BTreeMap::new(),
            max_unavailable: None,
            batch: 1,
            floor: Quantity::Count(1),
            members: None,
            pool: Some(haproxy()),
            on_failure: OnFailure::Rollback,
            min_ready_ms: 0,
            parallelism: 32,
            release: Some("r2".into()),
            artifact: None,
            port: None,
            post_test: true,
            steps: Vec::new(),
            activate: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// How many targets there are, `w1` and up.
    #[must_use]
    pub fn targets(mut self, count: u32) -> Self {
        self.targets = count;
        self
    }

    /// Adds a wave over the next `targets` targets in batches of `batch`. Without any there is one wave `all`.
    #[must_use]
    pub fn wave(mut self, name: &str, targets: u32, batch: u32) -> Self {
        self.waves.push((name.into(), targets, batch));
        self
    }

    /// Batch size of the one wave `all`.
    #[must_use]
    pub fn batches(mut self, of: u32) -> Self {
        self.batch = of;
        self
    }

    /// `maxUnavailable` as written; the largest batch without it.
    #[must_use]
    pub fn max_unavailable(mut self, quantity: Quantity) -> Self {
        self.max_unavailable = Some(quantity);
        self
    }

    /// A wait after a wave.
    #[must_use]
    pub fn bake(mut self, wave: &str, ms: u64) -> Self {
        self.gates.entry(wave.into()).or_default().0 = Some(ms);
        self
    }

    /// An approval after a wave.
    #[must_use]
    pub fn approval(mut self, wave: &str) -> Self {
        self.gates.entry(wave.into()).or_default().1 = true;
        self
    }

    /// `min_healthy` as written.
    #[must_use]
    pub fn floor(mut self, quantity: Quantity) -> Self {
        self.floor = quantity;
        self
    }

    /// How many members the pool has, where others than the targets serve from it.
    #[must_use]
    pub fn members(mut self, count: u32) -> Self {
        self.members = Some(count);
        self
    }

    /// `drain_timeout`, `restore_timeout` and `poll_interval`.
    #[must_use]
    pub fn clocks(self, drain_ms: u64, restore_ms: u64, poll_ms: u64) -> Self {
        self.with_pool(|pool| {
            pool.drain_timeout_ms = drain_ms;
            pool.restore_timeout_ms = restore_ms;
            pool.poll_interval_ms = poll_ms;
        })
    }

    /// What happens to connections left at the end of a drain.
    #[must_use]
    pub fn on_timeout(self, on_timeout: OnTimeout) -> Self {
        self.with_pool(|pool| pool.on_timeout = on_timeout)
    }

    /// What the provider can see and do.
    #[must_use]
    pub fn capabilities(self, capabilities: Capabilities) -> Self {
        self.with_pool(|pool| pool.capabilities = capabilities)
    }

    /// Changes the pool, if there is one.
    #[must_use]
    pub fn with_pool(mut self, change: impl FnOnce(&mut Pool)) -> Self {
        if let Some(pool) = &mut self.pool {
            change(pool);
        }
        self
    }

    /// A provider that sees neither members nor health nor connections, and waits 30s instead.
    #[must_use]
    pub fn health_flag(mut self) -> Self {
        self.pool = Some(health_flag());
        self
    }

    /// Nothing is drained.
    #[must_use]
    pub fn without_pool(mut self) -> Self {
        self.pool = None;
        self
    }

    /// What a failure leads to.
    #[must_use]
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = on_failure;
        self
    }

    /// How long a restored member stays healthy before it counts.
    #[must_use]
    pub fn min_ready(mut self, ms: u64) -> Self {
        self.min_ready_ms = ms;
        self
    }

    /// Tasks at once inside a batch.
    #[must_use]
    pub fn parallelism(mut self, tasks: u32) -> Self {
        self.parallelism = tasks;
        self
    }

    /// The release to bring; `None` for a plan that is only read.
    #[must_use]
    pub fn release(mut self, release: Option<&str>) -> Self {
        self.release = release.map(Into::into);
        self
    }

    /// Uploads an artifact.
    #[must_use]
    pub fn artifact(mut self, path: &str) -> Self {
        self.artifact = Some(path.into());
        self
    }

    /// The port of all targets.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Leaves the post-test out.
    #[must_use]
    pub fn without_post_test(mut self) -> Self {
        self.post_test = false;
        self
    }

    /// Adds a custom step; without an undo it is a pivot.
    #[must_use]
    pub fn custom(mut self, name: &str, undo: bool) -> Self {
        self.steps.push(custom(name, undo));
        self
    }

    /// Adds a step after the batch is back in service; without an undo it is a pivot.
    #[must_use]
    pub fn activate(mut self, name: &str, undo: bool) -> Self {
        self.activate.push(custom(name, undo));
        self
    }

    /// Adds a warning.
    #[must_use]
    pub fn warning(mut self, code: &str, message: &str) -> Self {
        self.warnings.push(Warning { code: code.into(), message: message.into() });
        self
    }

    /// The plan.
    #[must_use]
    pub fn build(self) -> Plan {
        let cuts = match self.waves.as_slice() {
            [] => vec![("all".to_owned(), self.targets, self.batch)],
            waves => waves.to_vec(),
        };
        let waves = self.waves_of(&cuts);
        let count = waves.iter().flat_map(|wave| &wave.batches).map(Vec::len).sum::<usize>();
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let largest = Quantity::Count(cuts.iter().map(|(_, _, batch)| *batch).max().unwrap_or(1));
        let max_unavailable = self.max_unavailable.unwrap_or(largest);
        let members = self.members.unwrap_or(count);
        let floor = Floor {
            wanted: self.floor,
            members,
            members_declared: self.members.is_some(),
            need: self.floor.round_up(members),
        };
        let procedures = Procedures {
            deploy: deploy(self.artifact.is_some()),
            post_test: if self.post_test { vec![post_test(self.port)] } else { Vec::new() },
            steps: self.steps,
            activate: self.activate,
        };
        let (steps, edges) = lay_out(&waves, &procedures, self.pool.is_some());
        let digest = |of: &str| hex::encode(<sha2::Sha256 as sha2::Digest>::digest(of));
        let released = self.release.is_some();
        let secrets = self.pool.iter().filter(|pool| pool.settings.contains_key("credentials_secret"));
        Plan {
            environment: "shop/shop/prod".into(),
            app: "shop".into(),
            inputs: ["envconfig/shop/shop/prod.yml", "descriptors/shop.yml"]
                .map(|path| Input { path: path.into(), sha256: digest(path) })
                .into(),
            artifact: self.artifact.map(|path| Artifact {
                sha256: released.then(|| digest(&path)),
                bytes: released.then_some(48_213_504),
                path,
            }),
            release: self.release,
            connections: vec![Connection::Ssh(Ssh { user: Some("deploy".into()), ..Ssh::default() })],
            targets: (1..=count).map(|number| target(number, self.port)).collect(),
            secrets: secrets.map(|_| ("lb".to_owned(), "env:LB_CREDENTIALS".to_owned())).collect(),
            pool: self.pool.map(|pool| Pool { floor, ..pool }),
            rollout: Rollout {
                max_unavailable,
                max_unavailable_count: max_unavailable.round_down(count).max(1),
                order: None,
                on_failure: self.on_failure,
                min_ready_ms: self.min_ready_ms,
                parallelism: self.parallelism,
                waves,
            },
            procedures,
            steps,
            edges,
            warnings: self.warnings,
            basis: Basis::default(),
        }
    }

    fn waves_of(&self, cuts: &[(String, u32, u32)]) -> Vec<Wave> {
        let mut next = 0_u32;
        let mut waves = Vec::new();
        for (name, targets, batch) in cuts {
            let all: Vec<TargetIx> = (next..next.saturating_add(*targets)).map(TargetIx).collect();
            next = next.saturating_add(*targets);
            let (bake_ms, approval) = self.gates.get(name).copied().unwrap_or_default();
            waves.push(Wave {
                name: name.clone(),
                select: (!self.waves.is_empty()).then(|| format!("wave={name}")),
                max_unavailable: *batch,
                bake_ms,
                approval,
                batches: all.chunks((*batch as usize).max(1)).map(<[TargetIx]>::to_vec).collect(),
            });
        }
        waves
    }
}

fn target(number: u32, port: Option<u16>) -> Target {
    let host = format!("w{number}");
    Target { member: host.clone(), host, port, labels: BTreeMap::new(), connection: 0 }
}

fn template(text: &str) -> Template {
    Template::parse(text).unwrap_or_else(|_| Template::literal(text))
}

fn run(argv: &[&str]) -> Action {
    Action::Run { argv: argv.iter().map(|text| template(text)).collect(), timeout_ms: 600_000 }
}

fn deploy(upload: bool) -> Recipe {
    let upload = upload.then(|| Action::Upload {
        from: template("dist/shop-{release}.tar.gz"),
        to: template("/srv/shop/incoming/{release}.tar.gz"),
        sha256: None,
        timeout_ms: 600_000,
    });
    Recipe {
        name: "command".into(),
        apply: upload.into_iter().chain([run(&["/srv/shop/deploy", "{release}"])]).collect(),
        undo: vec![run(&["/srv/shop/deploy", "{release}"])],
        current: vec![run(&["/srv/shop/current"])],
        retain: Vec::new(),
    }
}

fn post_test(port: Option<u16>) -> Test {
    let url = if port.is_some() { "http://{host}:{port}/healthz" } else { "http://{host}:8080/healthz" };
    Test {
        action: Action::Http { method: "GET".into(), url: template(url), expect: 200, timeout_ms: 30_000 },
        within_ms: 60_000,
        consecutive: 1,
        every_ms: 1_000,
    }
}

fn custom(name: &str, undo: bool) -> Custom {
    let undo = undo.then(|| vec![run(&["/srv/shop/bin/undo", name])]);
    Custom { name: name.into(), run: vec![run(&["/srv/shop/bin/do", name])], undo }
}

fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn haproxy() -> Pool {
    Pool {
        provider: "haproxy".into(),
        settings: settings(&[
            ("dataplane_urls", "https://lb1.test:5555,https://lb2.test:5555"),
            ("backend", "shop"),
            ("credentials_secret", "lb"),
            ("api_version", "v3"),
            ("allow_http", "false"),
        ]),
        capabilities: Capabilities {
            sees_members: true,
            sees_health: true,
            sees_connections: true,
            checks_while_out: true,
            can_harden: true,
            drain_delay_ms: None,
            first_poll_ms: 50,
        },
        promises: vec![
            "A server counts as healthy and in service only when every instance shows it so.".into(),
            "A server with health checks is put back only after a new check found it healthy.".into(),
        ],
        drain_timeout_ms: 300_000,
        restore_timeout_ms: 300_000,
        poll_interval_ms: 5_000,
        on_timeout: OnTimeout::Proceed,
        floor: Floor { wanted: Quantity::Count(1), members: 0, members_declared: false, need: 1 },
    }
}

fn health_flag() -> Pool {
    Pool {
        provider: "health-flag".into(),
        settings: settings(&[
            ("mode", "http"),
            ("drain_url", "http://{host}:8080/drain"),
            ("drain_method", "PUT"),
            ("restore_method", "DELETE"),
            ("drain_delay", "30s"),
        ]),
        capabilities: Capabilities {
            sees_members: false,
            sees_health: false,
            sees_connections: false,
            checks_while_out: false,
            can_harden: false,
            drain_delay_ms: Some(30_000),
            first_poll_ms: 50,
        },
        promises: vec![
            "The load balancer is not asked: each target is trusted to fail its own health check.".into(),
        ],
        ..haproxy()
    }
}
