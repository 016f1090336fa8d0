//! Who counts as in service: forwards, backwards, and when somebody else takes members out.

use manent_testbed::process::Signal;
use manent_testbed::site::{Plan, Rollout, Site};

use super::{ENV, Watch, apply, base, drained, end_of, journal, run, start, status, until, whole, with_warm};

/// O-08: drained on one load balancer by an operator is out.
#[test]
fn a_member_on_its_way_out_does_not_count() {
    let rollout = Rollout { max_unavailable: "2".to_owned(), drain_timeout: "20s".to_owned(), ..base() };
    let site = Site::start(Plan { ssh: false, rollout, ..Plan::default() }).unwrap();
    let hand = |state: &str| site.haproxies[0].socket().set_state("shop", "h4", state).unwrap();
    hand("drain");
    let watch = Watch::start(&site);
    let child = start(&site, &["apply", ENV, "--release", "2.0.0", "--yes"]);
    // The first batch fits: 3 count, 2 stay. The second does not: 3 count, 1 would stay.
    let seen = until("the second batch to be postponed", || {
        let said = run(&site, &["status", "--json"]);
        let seen: serde_json::Value = serde_json::from_str(&said.out).ok()?;
        (seen["blocked"]["attempt"].as_u64()? >= 2).then_some(seen)
    });
    assert_eq!(seen["blocked"]["batch"], serde_json::json!(["h2", "h3"]));
    assert_eq!((seen["blocked"]["have"].as_u64(), seen["blocked"]["need"].as_u64()), (Some(3), Some(2)));
    assert_eq!(site.running()["h1"].as_deref(), Some("2.0.0"));
    assert_eq!(site.starts()["h2"], ["1.0.0"]);
    hand("ready");
    end_of(child).exits(0);
    whole(&site, "2.0.0");
    let watched = watch.stop();
    assert!(watched.fewest >= 2, "{watched:?}");
}

/// O-08, and nobody sets it ready again: it is updated, left out, and said so.
#[test]
fn a_member_that_somebody_else_took_out_stays_out() {
    let site = Site::start(Plan { ssh: false, rollout: base(), ..Plan::default() }).unwrap();
    for haproxy in &site.haproxies {
        haproxy.socket().set_state("shop", "h4", "maint").unwrap();
    }
    let said = apply(&site, "2.0.0").exits(0);
    assert_eq!(site.in_service().unwrap(), ["h1", "h2", "h3"]);
    assert_eq!(site.running()["h4"].as_deref(), Some("2.0.0"));
    let seen = status(&site);
    assert_eq!(drained(&seen), [""; 0], "it is not out by manent's hand");
    assert!(seen["targets"][3]["remarks"].to_string().contains("somebody else"), "{}", seen["targets"][3]);
    assert_eq!(seen["targets"][3]["in_service"], false);
    assert!(said.out.contains("h4"), "{}", said.out);
}

/// A site in which the last but one host fails, and the last one is ill at that moment.
fn failing_late(drain_timeout: &str) -> (Site, std::process::Child, String) {
    let rollout = Rollout {
        min_healthy: "3".to_owned(),
        on_failure: "rollback".to_owned(),
        drain_timeout: drain_timeout.to_owned(),
        ..base()
    };
    let site = Site::start(Plan { ssh: false, rollout: rollout.clone(), ..Plan::default() }).unwrap();
    site.write_tree(&with_warm(&site, rollout)).unwrap();
    let h3 = site.host("h3").unwrap();
    h3.set_hanging("warm", true).unwrap();
    let child = start(&site, &["apply", ENV, "--release", "2.0.0", "--yes"]);
    let begun = until("the step of h3", || {
        let begun = journal::runs(&site).pop()?;
        journal::place(&site, &begun).starts_with("warm@rest#1, intended").then_some(begun)
    });
    // Frozen, it answers no check.
    site.host("h4").unwrap().signal(Signal::STOP).unwrap();
    until("h4 down", || {
        let pool = site.pool().unwrap();
        pool.iter().all(|instance| !instance["h4"].up).then_some(())
    });
    h3.set_failing("warm", true).unwrap();
    h3.set_hanging("warm", false).unwrap();
    (site, child, begun)
}

/// O-09: the way back keeps the floor, too.
#[test]
fn the_way_back_waits_for_capacity() {
    let (site, child, begun) = failing_late("20s");
    let seen = until("a postponed compensation", || {
        let seen = status(&site);
        (seen["blocked"]["attempt"].as_u64()? >= 2).then_some(seen)
    });
    assert_eq!(seen["state"], "rolling_back");
    assert_eq!(seen["blocked"]["batch"], serde_json::json!(["h2"]), "{}", seen["blocked"]);
    assert_eq!((seen["blocked"]["have"].as_u64(), seen["blocked"]["need"].as_u64()), (Some(3), Some(3)));
    assert!(seen["blocked"]["out"].to_string().contains("h4"), "{}", seen["blocked"]);
    assert_eq!(seen["targets"][3]["in_service"], false, "down is not in service");
    // The one that failed is back first.
    assert_eq!(site.in_service().unwrap(), ["h1", "h2", "h3"]);
    let answers = |host: &str| site.host(host).unwrap().running_release();
    assert_eq!(answers("h3").as_deref(), Some("1.0.0"));
    assert_eq!(answers("h2").as_deref(), Some("2.0.0"));
    site.host("h4").unwrap().signal(Signal::CONT).unwrap();
    site.all_in_service().unwrap();
    let watch = Watch::start(&site);
    end_of(child).exits(3);
    whole(&site, "1.0.0");
    let watched = watch.stop();
    assert!(watched.fewest >= 3, "{watched:?}");
    assert_eq!(site.starts()["h4"], ["1.0.0"]);
    let undone: Vec<u64> = ["h3", "h2", "h1"]
        .iter()
        .map(|host| {
            site.host(host).unwrap().events().iter().rfind(|event| event.what == "start").unwrap().at_ms
        })
        .collect();
    assert!(undone.is_sorted(), "the order of the way back: {undone:?}");
    assert_eq!(journal::runs(&site), [begun]);
}

/// O-09, variant: the member never returns; nothing is forced, and the run says who runs what.
#[test]
fn a_way_back_without_capacity_stops_and_can_be_taken_up() {
    let (site, child, begun) = failing_late("1500ms");
    let said = end_of(child).exits(4);
    let seen = status(&site);
    assert_eq!(seen["state"], "stopped");
    let releases: Vec<_> =
        seen["targets"].as_array().unwrap().iter().map(|one| one["release"].clone()).collect();
    assert_eq!(releases, ["2.0.0", "2.0.0", "1.0.0", "1.0.0"]);
    assert_eq!(drained(&seen), [""; 0]);
    assert_eq!(site.in_service().unwrap(), ["h1", "h2", "h3"]);
    assert!(said.out.contains(&format!("manent resume {begun}")), "{}", said.out);
    site.host("h4").unwrap().signal(Signal::CONT).unwrap();
    site.all_in_service().unwrap();
    run(&site, &["resume", &begun]).exits(3);
    whole(&site, "1.0.0");
}
