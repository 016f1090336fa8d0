//! Capacity: a member taken out by hand postpones a drain; `status` has the arithmetic; nothing is touched meanwhile.
//! The clock of the postponement is the run's, not the process's.

use std::collections::BTreeSet;
use std::time::Duration;

use manent_testbed::site::{Plan, Rollout, Site};
use serde_json::Value;

use super::watch::Watch;
use super::{ENV, apply, end_of, journal, run, start, status, until, whole};

/// Four members, three of which have to stay, and `h4` taken out on one load balancer only.
fn short_of_one(drain_timeout: &str) -> Site {
    let rollout = Rollout {
        min_healthy: "3".to_owned(),
        drain_timeout: drain_timeout.to_owned(),
        ..Rollout::default()
    };
    let site = Site::start(Plan { ssh: false, rollout, ..Plan::default() }).unwrap();
    hand(&site, "drain");
    site
}

fn hand(site: &Site, state: &str) {
    site.haproxies[0].socket().set_state("shop", "h4", state).unwrap();
}

/// Nothing was asked to change, and no host was touched.
fn untouched(site: &Site) {
    for bridge in &site.bridges {
        assert_eq!(bridge.changes(), [], "a load balancer was changed");
    }
    for host in &site.hosts {
        assert_eq!(host.starts(), ["1.0.0"], "{} was touched", host.name);
        assert_eq!(host.release().as_deref(), Some("1.0.0"), "{} was touched", host.name);
    }
}

#[test]
fn a_drain_is_postponed_until_a_member_returns() {
    let site = short_of_one("20s");
    let watch = Watch::start(&site);
    let child = start(&site, &["apply", ENV, "--release", "2.0.0", "--yes"]);
    let seen = until("three attempts", || {
        let said = run(&site, &["status", "--json"]);
        let seen: Value = serde_json::from_str(&said.out).ok()?;
        (seen["blocked"]["attempt"].as_u64()? >= 3).then_some(seen)
    });
    let blocked = &seen["blocked"];
    assert_eq!(blocked["by"], "floor", "{blocked}");
    assert_eq!((blocked["have"].as_u64(), blocked["need"].as_u64()), (Some(3), Some(3)), "{blocked}");
    assert_eq!(blocked["healthy"], serde_json::json!(["h1", "h2", "h3"]));
    assert_eq!(blocked["batch"], serde_json::json!(["h1"]));
    let out = blocked["out"].as_array().unwrap();
    assert!(out.len() == 1 && out[0].as_str().unwrap().contains("h4"), "{blocked}");
    assert!(out[0].as_str().unwrap().contains("drain"), "how each load balancer shows it: {blocked}");
    assert!(blocked["next_attempt_at"].as_str().unwrap().ends_with('Z'), "{blocked}");
    assert_eq!(seen["state"], "waiting");
    let step = &seen["passes"][0]["batches"][0]["steps"][0];
    assert_eq!(step["id"], "drain@canary#0");
    assert_eq!(step["attempt"], blocked["attempt"]);
    assert_eq!(super::drained(&seen), [""; 0]);

    let text = run(&site, &["status"]).exits(0).out;
    let sum = "3 healthy in service, 1 of them in the batch: 2 would stay, the floor is 3";
    assert!(text.contains(sum), "{text}");
    assert!(text.contains("h4") && text.contains("drain@canary#0"), "{text}");
    untouched(&site);

    hand(&site, "ready");
    let said = end_of(child);
    said.exits(0);
    whole(&site, "2.0.0");
    let watched = watch.stop();
    assert!(watched.fewest >= 3, "{watched:?}");

    // One attempt a poll, numbered from 1 without a gap.
    let begun = journal::runs(&site).pop().unwrap();
    let postponed: Vec<_> =
        journal::records(&site, &begun).into_iter().filter(|record| record.kind == "postponed").collect();
    let numbers: Vec<u64> =
        postponed.iter().map(|record| record.event["postponed"]["attempt"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    for pair in postponed.windows(2) {
        let apart = pair[1].at_ms - pair[0].at_ms;
        assert!((195..700).contains(&apart), "attempts {apart} ms apart, with a poll interval of 200 ms");
    }
}

#[test]
fn a_drain_that_never_fits_fails_and_nothing_was_touched() {
    let site = short_of_one("1500ms");
    let said = apply(&site, "2.0.0").exits(3);
    assert!(said.out.contains("2 would stay, the floor is 3"), "{}", said.all());
    untouched(&site);
    let seen = status(&site);
    assert_eq!(seen["state"], "failed");
    assert_eq!(seen["blocked"], Value::Null);
    assert_eq!(super::drained(&seen), [""; 0]);
    assert_eq!(site.in_service().unwrap(), ["h1", "h2", "h3"]);
}

#[test]
fn the_clock_of_a_postponed_drain_goes_on_while_the_program_is_dead() {
    let site = short_of_one("3s");
    let mut child = start(&site, &["apply", ENV, "--release", "2.0.0", "--yes"]);
    let begun = until("a postponed drain", || {
        let (run, _) = journal::progress(&site, &BTreeSet::new())?;
        journal::records(&site, &run).iter().any(|record| record.kind == "postponed").then_some(run)
    });
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(400));
        child.kill().unwrap();
        child.wait().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        child = start(&site, &["resume", &begun]);
    }
    let said = end_of(child);
    assert_eq!(said.code, 3, "{}", said.all());
    let steps = journal::steps(&site, &begun);
    let is_drain = |step: &Value| {
        steps[usize::try_from(step["began"]["step"].as_u64().unwrap()).unwrap()] == "drain@canary#0"
    };
    let from = journal::time_of(&site, &begun, "began", is_drain).unwrap();
    let failed =
        journal::time_of(&site, &begun, "ended", |event| event["ended"]["end"]["failed"].is_object());
    let took = failed.unwrap() - from;
    assert!((3_000..3_800).contains(&took), "given up after {took} ms");
    untouched(&site);
}

#[test]
fn a_plan_that_can_never_fit_is_refused_before_anything_is_asked() {
    let rollout = Rollout { min_healthy: "4".to_owned(), ..Rollout::default() };
    let site = Site::start(Plan { ssh: false, rollout, ..Plan::default() }).unwrap();
    let said = apply(&site, "2.0.0").exits(2);
    assert!(said.all().contains("floor-unreachable"), "{}", said.all());
    for bridge in &site.bridges {
        assert_eq!(bridge.calls(), []);
    }
    untouched(&site);
}
