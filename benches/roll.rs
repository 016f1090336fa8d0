//! The rolling release against its lower bound: `cargo bench --bench roll`. Real HAProxys with a Data Plane API in front,
//! real sshds, an application that starts in 0.5 s, steady requests. The lower bound is one loop on the admin sockets and
//! the hosts' own scripts, with a 2 ms poll and no orchestration at all; the control restarts without draining. All
//! three run in turn on the same site. `ROUNDS=10` changes the number of rounds.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark that cannot run has nothing to say"
)]

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use manent_testbed::site::{Plan, Rollout, Site};

const RELEASES: [&str; 2] = ["1.0.0", "2.0.0"];

fn main() {
    let rounds: usize = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(5);
    let mut plan = Plan::default();
    plan.behaviour.start_delay = Duration::from_millis(500);
    let rollout = Rollout {
        poll_interval: "5s".into(),
        drain_timeout: "60s".into(),
        restore_timeout: "60s".into(),
        ..plan.rollout.clone()
    };
    plan.rollout = rollout.clone();
    let site = Site::start(plan).unwrap();
    let mut releases = RELEASES.into_iter().rev().cycle();
    let mut ratios = Vec::new();
    let (mut ours_lost, mut control_lost, mut requests) = (0, 0, 0);
    for round in 1..=rounds {
        let bound = bound(&site, releases.next().unwrap());
        let load = site.load();
        let ours = manent(&site, releases.next().unwrap());
        let report = load.stop();
        requests += report.total();
        ours_lost += report.failures().len();
        let ratio = ours.as_secs_f64() / bound.as_secs_f64();
        println!(
            "round {round}: lower bound {:.2}s, manent {:.2}s, {ratio:.3}x; {}",
            bound.as_secs_f64(),
            ours.as_secs_f64(),
            report.summary()
        );
        ratios.push(ratio);
    }
    site.write_tree(&Rollout { traffic: false, ..rollout.clone() }).unwrap();
    let load = site.load();
    manent(&site, releases.next().unwrap());
    control_lost += load.stop().failures().len();
    ratios.sort_by(f64::total_cmp);
    println!(
        "median {:.3}x the lower bound; {ours_lost} of {requests} requests failed; the control without draining lost {control_lost}",
        ratios[ratios.len() / 2]
    );
    assert!(control_lost > 0, "the control lost nothing, so this run proves nothing");
}

/// The least that has to happen, for each host: drained, empty, updated, healthy by a new check, back.
fn bound(site: &Site, release: &str) -> Duration {
    let begun = Instant::now();
    let artifact = site.pack(release).unwrap();
    let each = |line: &str| {
        for haproxy in &site.haproxies {
            haproxy.socket().order(line).unwrap();
        }
    };
    for host in &site.hosts {
        let name = &host.name;
        each(&format!("set server shop/{name} state drain"));
        until(|| site.pool().unwrap().iter().all(|instance| instance[name].sessions == 0));
        host.install_artifact(release, &artifact).unwrap();
        host.service("restart").unwrap();
        until(|| host.running_release().as_deref() == Some(release));
        each(&format!("set server shop/{name} health down"));
        until(|| site.pool().unwrap().iter().all(|instance| instance[name].up));
        each(&format!("set server shop/{name} state ready"));
    }
    begun.elapsed()
}

fn until(done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it takes too long");
        sleep(Duration::from_millis(2));
    }
}

fn manent(site: &Site, release: &str) -> Duration {
    let begun = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_manent"))
        .args(["apply", site.environment(), "--release", release, "--yes", "--root"])
        .arg(site.root())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    begun.elapsed()
}
