//! kill -9 of the real program at many places of a run, and what `resume` makes of it: the same as without.
//! The application's own record counts what was done on a host; the journal only says where to strike.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Child;
use std::time::{Duration, Instant};

use manent_testbed::load::{Config, Load};
use manent_testbed::site::{Plan, Rollout, Site};

use super::watch::Watch;
use super::{ENV, apply, end_of, journal, run, start, status, until, whole};

/// What hosts did in one run, told by themselves: releases started, words noted.
type Deeds = BTreeMap<String, (Vec<String>, Vec<String>)>;

/// Two hosts, two load balancers, and clients that never leave.
struct Scene {
    site: Site,
    load: Load,
    watch: Watch,
    seen: BTreeMap<String, (usize, usize)>,
    places: BTreeSet<String>,
}

impl Scene {
    fn new(ssh: bool, rollout: Rollout) -> Scene {
        let rollout = Rollout { min_healthy: "1".to_owned(), ..rollout };
        let site = Site::start(Plan { ssh, hosts: 2, rollout, ..Plan::default() }).unwrap();
        let slow = Duration::from_millis(120);
        let load = Load::start(Config { rate: 30, slow_every: 3, slow, ..site.load_config() });
        let watch = Watch::start(&site);
        let mut scene = Scene { site, load, watch, seen: BTreeMap::new(), places: BTreeSet::new() };
        scene.deeds();
        scene
    }

    /// Custom steps that can be counted, beside the deployment.
    fn with_steps(self, more_rollout: &str) -> Scene {
        let note = format!("{}/hosts/{{host}}/bin/note", self.site.folder().display());
        let steps = format!(
            "steps:\n  - {{name: warm, run: [\"{note}\", warm], undo: [\"{note}\", cool]}}\n\
             activate:\n  - {{name: jobs, run: [\"{note}\", jobs-on], undo: [\"{note}\", jobs-off]}}\n"
        );
        let rollout = Rollout {
            more_descriptor: steps,
            more_rollout: more_rollout.to_owned(),
            ..self.site.plan.rollout.clone()
        };
        self.site.write_tree(&rollout).unwrap();
        self
    }

    /// What was done since the last time this was asked.
    fn deeds(&mut self) -> Deeds {
        let mut deeds = Deeds::new();
        for host in &self.site.hosts {
            let (starts, notes) = (host.starts(), host.notes());
            let (old_starts, old_notes) = self.seen.get(&host.name).copied().unwrap_or_default();
            self.seen.insert(host.name.clone(), (starts.len(), notes.len()));
            deeds.insert(host.name.clone(), (starts[old_starts..].to_vec(), notes[old_notes..].to_vec()));
        }
        deeds
    }

    /// Applies `release` and kills the program as soon as its run has `records` records, or a little later: before, in
    /// and after the call that was intended then. Answers the run, or nothing when it was over before.
    fn killed_after(&mut self, release: &str, records: u64) -> Option<String> {
        let later = Duration::from_millis(records % 4 * 4);
        let old: BTreeSet<String> = journal::runs(&self.site).into_iter().collect();
        self.site.pack(release).unwrap();
        let child = start(&self.site, &["apply", ENV, "--release", release, "--yes"]);
        strike(child, || journal::progress(&self.site, &old).is_some_and(|(_, seq)| seq >= records), later)?;
        let (run, _) = journal::progress(&self.site, &old).expect("a run");
        let over = journal::records(&self.site, &run).iter().any(|record| record.kind == "finished");
        (!over).then(|| {
            self.places.insert(journal::place(&self.site, &run));
            run
        })
    }

    fn end(self, places: usize) {
        let report = self.load.stop();
        assert!(report.failures().is_empty(), "{}", report.summary());
        let seen = self.watch.stop();
        assert!(seen.fewest >= 1 && seen.looks > 50, "{seen:?}");
        println!(
            "{} requests, {seen:?}, killed at {} places: {:#?}",
            report.total(),
            self.places.len(),
            self.places
        );
        assert!(self.places.len() >= places, "too few different places: {:#?}", self.places);
    }
}

/// Kills the child when `due`, and a little later; nothing when it ended before.
fn strike(mut child: Child, due: impl Fn() -> bool, later: Duration) -> Option<()> {
    let limit = Instant::now() + Duration::from_secs(30);
    loop {
        if due() {
            std::thread::sleep(later);
            let _ = child.kill();
            let by_itself = child.wait().unwrap().code().is_some();
            return (!by_itself).then_some(());
        }
        if let Ok(Some(_)) = child.try_wait() {
            return None;
        }
        assert!(Instant::now() < limit, "the place was never reached");
        std::thread::sleep(Duration::from_micros(300));
    }
}

fn bad(what: &str, place: u64, deeds: &Deeds, wanted: &Deeds) -> String {
    format!("killed after record {place} of {what}:\n{deeds:#?}\nwithout a kill:\n{wanted:#?}")
}

/// Replaces the name of a run's release, so that runs can be compared.
fn named(deeds: Deeds, release: &str, before: &str) -> Deeds {
    let rename = |word: String| match word {
        word if word == release => "NEW".to_owned(),
        word if word == before => "OLD".to_owned(),
        word => word,
    };
    let renamed = |words: Vec<String>| words.into_iter().map(rename).collect();
    deeds.into_iter().map(|(host, (starts, notes))| (host, (renamed(starts), notes))).collect()
}

/// One kill at each of several places of a good release.
fn way_there(ssh: bool, first: u64, distance: usize, places: usize) {
    let mut scene = Scene::new(ssh, Rollout::default()).with_steps("");
    apply(&scene.site, "2.0.0").exits(0);
    let wanted = named(scene.deeds(), "2.0.0", "1.0.0");
    let records = journal::progress(&scene.site, &BTreeSet::new()).unwrap().1;
    let mut before = "2.0.0".to_owned();
    for place in (first..=records).step_by(distance) {
        let release = format!("2.{place}.0");
        let killed = scene.killed_after(&release, place);
        if let Some(killed) = killed {
            let seen = status(&scene.site);
            assert_eq!((seen["state"].as_str(), seen["run"].as_str()), (Some("interrupted"), Some(&*killed)));
            run(&scene.site, &["resume", &killed]).exits(0);
        }
        assert_eq!(status(&scene.site)["state"], "succeeded");
        whole(&scene.site, &release);
        let deeds = named(scene.deeds(), &release, &before);
        assert_eq!(deeds, wanted, "{}", bad("a good release", place, &deeds, &wanted));
        before = release;
    }
    scene.end(places);
}

#[test]
fn killed_on_the_way_there_over_ssh() {
    way_there(true, 2, 12, 9);
}

#[test]
fn killed_on_the_way_there_on_this_machine() {
    way_there(false, 5, 7, 15);
}

/// One kill at each of several places of a release that fails late and is returned.
#[test]
fn killed_on_the_way_back() {
    let mut scene = Scene::new(false, Rollout::default()).with_steps("");
    scene.site.host("h2").unwrap().set_failing("warm", true).unwrap();
    apply(&scene.site, "2.0.0").exits(3);
    let wanted = named(scene.deeds(), "2.0.0", "1.0.0");
    let expected: Vec<&str> = wanted["h1"].1.iter().map(String::as_str).collect();
    assert_eq!(expected, ["warm", "jobs-on", "jobs-off", "cool"]);
    assert_eq!(wanted["h2"].0, ["NEW", "OLD"]);
    let run_of_reference = journal::runs(&scene.site).pop().unwrap();
    let turned = journal::records(&scene.site, &run_of_reference);
    let turned = turned.iter().find(|record| record.kind == "turned_back").unwrap().seq;
    let records = journal::progress(&scene.site, &BTreeSet::new()).unwrap().1;
    for place in (turned - 3..=records).step_by(8) {
        let release = format!("2.{place}.0");
        if let Some(killed) = scene.killed_after(&release, place) {
            assert_eq!(status(&scene.site)["state"], "interrupted");
            run(&scene.site, &["resume", &killed]).exits(3);
        }
        assert_eq!(status(&scene.site)["state"], "rolled_back");
        whole(&scene.site, "1.0.0");
        let deeds = named(scene.deeds(), &release, "1.0.0");
        assert_eq!(deeds, wanted, "{}", bad("a way back", place, &deeds, &wanted));
    }
    scene.end(10);
}

/// A deployment takes a while: the program is killed before it reached the target, in its middle, and at its end.
#[test]
fn killed_in_the_middle_of_a_deployment() {
    let mut scene = Scene::new(true, Rollout::default());
    let mut before = "1.0.0".to_owned();
    for wait in [0, 50, 100, 150, 200, 250] {
        let release = format!("2.{wait}.0");
        scene.site.pack(&release).unwrap();
        let old: BTreeSet<String> = journal::runs(&scene.site).into_iter().collect();
        let child = start(&scene.site, &["apply", ENV, "--release", &release, "--yes"]);
        let deploying = || {
            let Some((run, _)) = journal::progress(&scene.site, &old) else { return false };
            journal::deploying(&scene.site, &run, 2)
        };
        strike(child, deploying, Duration::from_millis(wait)).expect("it was killed");
        let killed = journal::progress(&scene.site, &old).unwrap().0;
        scene.places.insert(format!("{wait} ms after it: {}", journal::place(&scene.site, &killed)));
        run(&scene.site, &["resume", &killed]).exits(0);
        whole(&scene.site, &release);
        for (host, (starts, _)) in scene.deeds() {
            assert_eq!(
                starts,
                std::slice::from_ref(&release),
                "{host}, killed {wait} ms after the intent; before: {before}"
            );
        }
        before = release;
    }
    scene.end(6);
}

#[test]
fn killed_again_and_again_until_it_is_done() {
    let mut scene = Scene::new(false, Rollout::default()).with_steps("");
    apply(&scene.site, "2.0.0").exits(0);
    let wanted = named(scene.deeds(), "2.0.0", "1.0.0");
    let old: BTreeSet<String> = journal::runs(&scene.site).into_iter().collect();
    scene.site.pack("2.1.0").unwrap();
    let mut child = start(&scene.site, &["apply", ENV, "--release", "2.1.0", "--yes"]);
    let begun = until("a run", || journal::progress(&scene.site, &old).map(|(run, _)| run));
    let mut kills = 0;
    // A generator of its own: another sequence would do as well, the same one each time can be looked into.
    let mut random = 12_345_u64;
    // On a machine so busy that a process cannot even read twice in its time, it is given more: what is shown is that
    // kills lose nothing, not how fast the machine is.
    let (mut patience, mut place) = (0_u64, String::new());
    loop {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis(100 + patience + (random >> 33) % 200));
        if let Some(code) = child.try_wait().unwrap() {
            assert!(code.success(), "{}", end_of(child).all());
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        assert!(kills < 80, "no progress: {}", journal::place(&scene.site, &begun));
        let now = journal::place(&scene.site, &begun).split(',').next().unwrap_or_default().to_owned();
        patience = if now == place { (patience + 50).min(3_000) } else { 0 };
        place = now;
        child = start(&scene.site, &["resume", &begun]);
    }
    println!("done after {kills} kills");
    assert!(kills >= 3, "it was hardly killed");
    whole(&scene.site, "2.1.0");
    assert_eq!(named(scene.deeds(), "2.1.0", "2.0.0"), wanted);
    scene.end(0);
}

/// A request that stays at `h1` on both load balancers' account.
fn long_request(site: &Site, ms: u64) -> std::thread::JoinHandle<()> {
    let addresses: Vec<_> = site.haproxies.iter().map(|one| one.frontend()).collect();
    std::thread::spawn(move || {
        // Two hosts in turn: of four requests two are at `h1`.
        let ask = |to| {
            std::thread::spawn(move || {
                let path = format!("/?ms={ms}");
                let timeout = Duration::from_secs(30);
                let request = manent_testbed::http::Request {
                    method: "GET",
                    path: &path,
                    headers: &[],
                    body: "",
                    timeout,
                };
                let _ = manent_testbed::http::send(to, &request);
            })
        };
        let asked: Vec<_> = addresses.iter().flat_map(|to| [ask(*to), ask(*to)]).collect();
        for one in asked {
            let _ = one.join();
        }
    })
}

#[test]
fn the_clock_of_a_drain_goes_on_while_the_program_is_dead() {
    let rollout = Rollout {
        min_healthy: "1".to_owned(),
        drain_timeout: "4s".to_owned(),
        on_failure: "stop".to_owned(),
        ..Rollout::default()
    };
    let site = Site::start(Plan { ssh: false, hosts: 2, rollout, ..Plan::default() }).unwrap();
    let clients = long_request(&site, 12_000);
    until("a request at h1", || {
        let pool = site.pool().unwrap();
        pool.iter().all(|one| one["h1"].sessions > 0).then_some(())
    });
    let mut child = start(&site, &["apply", ENV, "--release", "2.0.0", "--yes"]);
    let begun = until("the drain-wait", || {
        let (run, _) = journal::progress(&site, &BTreeSet::new())?;
        journal::reached(&site, &run, "drain-wait@canary#0").then_some(run)
    });
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(500));
        child.kill().unwrap();
        child.wait().unwrap();
        std::thread::sleep(Duration::from_millis(400));
        child = start(&site, &["resume", &begun]);
    }
    let said = end_of(child);
    assert_eq!(said.code, 3, "{}", said.all());
    // The wait began when its step did, and not again with each process.
    let steps = journal::steps(&site, &begun);
    let is_wait = |step: &serde_json::Value| {
        steps[usize::try_from(step["began"]["step"].as_u64().unwrap()).unwrap()].starts_with("drain-wait")
    };
    let from = journal::time_of(&site, &begun, "began", is_wait).unwrap();
    let detour = journal::time_of(&site, &begun, "detoured", |_| true).unwrap();
    let took = detour - from;
    assert!((4_000..5_000).contains(&took), "given up after {took} ms");
    whole(&site, "1.0.0");
    assert_eq!(site.starts()["h1"], ["1.0.0"], "it was touched");
    let _ = clients.join();
}

#[test]
fn a_signal_leaves_a_run_that_can_be_resumed() {
    let rollout = Rollout { min_healthy: "1".to_owned(), ..Rollout::default() };
    let site = Site::start(Plan { hosts: 2, rollout, ..Plan::default() }).unwrap();
    for (signal, release) in [("INT", "2.0.0"), ("TERM", "2.1.0")] {
        site.pack(release).unwrap();
        let old: BTreeSet<String> = journal::runs(&site).into_iter().collect();
        let child = start(&site, &["apply", ENV, "--release", release, "--yes"]);
        until("the first deployment", || {
            let (run, _) = journal::progress(&site, &old)?;
            journal::deploying(&site, &run, 1).then_some(())
        });
        let id = child.id().to_string();
        assert!(
            std::process::Command::new("kill")
                .args([&format!("-{signal}"), &*id])
                .status()
                .unwrap()
                .success()
        );
        let said = end_of(child).exits(130);
        let seen = status(&site);
        assert_eq!(seen["state"], "interrupted");
        let begun = seen["run"].as_str().unwrap();
        assert!(said.err.contains(&format!("manent resume {begun}")), "{}", said.all());
        // The deployment in hand was finished before the program left.
        assert_eq!(site.releases()["h1"].as_deref(), Some(release));
        run(&site, &["resume", begun]).exits(0);
        whole(&site, release);
    }
    assert_eq!(site.starts()["h2"], ["1.0.0", "2.0.0", "2.1.0"]);
}
