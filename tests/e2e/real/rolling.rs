//! The main job: a release over two load balancers and four hosts under load, and its ways to fail, without a cut request.
//! It must not retry a request: what the clients lost, they lost.

use std::time::Duration;

use manent_testbed::dataplane::{Decoding, Options, Release};
use manent_testbed::site::{Plan, Rollout, Site};

use super::{apply, drained, none_failed, status, whole};

/// Lets the clients meet the site before and after.
fn breathe() {
    std::thread::sleep(Duration::from_millis(700));
}

fn site(rollout: Rollout) -> Site {
    Site::start(Plan { rollout, ..Plan::default() }).unwrap()
}

#[test]
fn a_rolling_release_under_load_fails_no_request() {
    let site = site(Rollout::default());
    let load = site.load();
    breathe();
    let said = apply(&site, "2.0.0");
    breathe();
    let report = load.stop();
    said.exits(0);
    none_failed(&report);
    whole(&site, "2.0.0");
    assert_eq!(report.by_host().len(), 4);
    for starts in site.starts().values() {
        assert_eq!(starts, &["1.0.0", "2.0.0"]);
    }
    let seen = status(&site);
    assert_eq!(seen["state"], "succeeded");
    assert_eq!(drained(&seen), [""; 0]);
    assert_eq!(report.failures().len(), 0);
}

#[test]
fn the_same_release_without_draining_cuts_requests() {
    let site = site(Rollout { traffic: false, ..Rollout::default() });
    let load = site.load();
    breathe();
    let said = apply(&site, "2.0.0");
    breathe();
    let report = load.stop();
    said.exits(0);
    assert!(!report.failures().is_empty(), "the control lost nothing: {}", report.summary());
    assert_eq!(site.running()["h4"].as_deref(), Some("2.0.0"));
}

#[test]
fn a_broken_release_is_rolled_back_and_fails_no_request() {
    let site = site(Rollout::default());
    let load = site.load();
    breathe();
    let said = apply(&site, "3.0.0-bad");
    breathe();
    let report = load.stop();
    said.exits(3);
    none_failed(&report);
    whole(&site, "1.0.0");
    assert_eq!(site.starts()["h1"], ["1.0.0", "3.0.0-bad", "1.0.0"]);
    for untouched in ["h2", "h3", "h4"] {
        assert_eq!(site.starts()[untouched], ["1.0.0"]);
    }
    assert_eq!(status(&site)["state"], "rolled_back");
}

#[test]
fn a_release_that_breaks_late_is_rolled_back_everywhere() {
    // The first three hosts take the release; the custom step fails on the last one.
    let more = "steps:\n  - {name: warm, run: [\"{note}\", warm], undo: [\"{note}\", cool]}\n";
    let mut site = site(Rollout::default());
    let note = format!("{}/hosts/{{host}}/bin/note", site.folder().display());
    let rollout = Rollout { more_descriptor: more.replace("{note}", &note), ..Rollout::default() };
    site.write_tree(&rollout).unwrap();
    site.plan.rollout = rollout;
    site.host("h4").unwrap().set_failing("warm", true).unwrap();
    let load = site.load();
    breathe();
    let said = apply(&site, "2.0.0");
    breathe();
    let report = load.stop();
    said.exits(3);
    none_failed(&report);
    whole(&site, "1.0.0");
    for starts in site.starts().values() {
        assert_eq!(starts, &["1.0.0", "2.0.0", "1.0.0"]);
    }
    assert_eq!(site.host("h2").unwrap().notes(), ["warm", "cool"]);
}

#[test]
fn a_broken_release_that_stops_leaves_one_member_out_and_names_it() {
    let site = site(Rollout { on_failure: "stop".to_owned(), ..Rollout::default() });
    let load = site.load();
    breathe();
    let said = apply(&site, "3.0.0-bad");
    breathe();
    let report = load.stop();
    let said = said.exits(4);
    none_failed(&report);
    assert_eq!(site.in_service().unwrap(), ["h2", "h3", "h4"]);
    for instance in site.pool().unwrap() {
        assert!(!instance["h1"].in_service());
    }
    let seen = status(&site);
    assert_eq!(seen["state"], "stopped");
    assert_eq!(drained(&seen), ["h1"]);
    assert_eq!(seen["targets"][0]["in_service"], false);
    assert_eq!(seen["targets"][0]["release"], "3.0.0-bad");
    assert!(said.out.contains("h1"), "{}", said.out);
    for untouched in ["h2", "h3", "h4"] {
        assert_eq!(site.starts()[untouched], ["1.0.0"]);
        assert_eq!(site.releases()[untouched].as_deref(), Some("1.0.0"));
    }
}

#[test]
fn members_with_persistent_clients_are_hardened_and_the_release_finishes() {
    let rollout = Rollout {
        drain_timeout: "1500ms".to_owned(),
        on_timeout: "proceed".to_owned(),
        ..Rollout::default()
    };
    let site = Site::start(Plan { sticky: true, hosts: 3, rollout, ..Plan::default() }).unwrap();
    let mut config = site.load_config();
    (config.keep_cookies, config.slow_every) = (true, 2);
    let load = manent_testbed::load::Load::start(config);
    breathe();
    let said = apply(&site, "2.0.0");
    breathe();
    let report = load.stop();
    said.exits(0);
    whole(&site, "2.0.0");
    // Clients that a cookie binds go elsewhere once the member is in maintenance; what they had in flight then is
    // cut, and counted.
    let hardened = |bridge: &manent_testbed::dataplane::Bridge| {
        bridge.changes().iter().any(|call| call.effects.iter().any(|order| order.ends_with("state maint")))
    };
    assert!(site.bridges.iter().any(hardened), "no member was hardened");
    assert!(report.by_release().contains_key("2.0.0"));
}

#[test]
fn servers_without_checks_are_released_too() {
    let site = Site::start(Plan { checks: false, hosts: 3, ..Plan::default() }).unwrap();
    let load = site.load();
    breathe();
    let said = apply(&site, "2.0.0");
    breathe();
    let report = load.stop();
    let said = said.exits(0);
    none_failed(&report);
    whole(&site, "2.0.0");
    assert!(said.all().contains("check"), "it is not said that nobody checks health: {}", said.all());
}

#[test]
fn every_dialect_of_the_api_is_spoken() {
    for (release, decoding) in [
        (Release::V2_9, Decoding::Hexadecimal),
        (Release::V3_0, Decoding::Hexadecimal),
        (Release::V3_2, Decoding::Right),
        (Release::V3_3_6, Decoding::Hexadecimal),
        (Release::V3_3_6, Decoding::Right),
    ] {
        let api = Options { release, decoding, ..Options::default() };
        let plan = Plan { api, hosts: 3, ssh: false, ..Plan::default() };
        let site = Site::start(plan).unwrap();
        let load = site.load();
        let said = apply(&site, "2.0.0");
        let report = load.stop();
        assert_eq!(said.code, 0, "{release:?} {decoding:?}: {}", said.all());
        assert!(report.failures().is_empty(), "{release:?} {decoding:?}: {}", report.summary());
        whole(&site, "2.0.0");
    }
}
