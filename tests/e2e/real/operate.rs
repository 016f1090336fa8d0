//! What a person does with a run over a real site: pauses it, goes on, cancels it, opens its gate, waits for its lock,
//! returns it, and asks what is left of it.

use std::collections::BTreeSet;
use std::process::Child;

use manent_testbed::site::{Plan, Rollout, Site};

use super::watch::Watch;
use super::{ENV, apply, drained, end_of, journal, none_failed, run, start, status, until, whole};

/// Three hosts on this machine with a countable step after the deployment.
fn site(rollout: Rollout) -> Site {
    let site = Site::start(Plan { ssh: false, hosts: 3, ..Plan::default() }).unwrap();
    let note = format!("{}/hosts/{{host}}/bin/note", site.folder().display());
    let steps = format!("steps:\n  - {{name: warm, run: [\"{note}\", warm], undo: [\"{note}\", cool]}}\n");
    site.write_tree(&Rollout { more_descriptor: steps, ..rollout }).unwrap();
    site
}

/// A run whose first batch is in its step `warm` and stays there until told to go on.
fn in_hand(site: &Site, release: &str) -> (Child, String) {
    site.host("h1").unwrap().set_hanging("warm", true).unwrap();
    let old: BTreeSet<String> = journal::runs(site).into_iter().collect();
    let child = start(site, &["apply", ENV, "--release", release, "--yes"]);
    let begun = until("the step `warm`", || {
        let (run, _) = journal::progress(site, &old)?;
        journal::place(site, &run).starts_with("warm@canary#0, intended").then_some(run)
    });
    (child, begun)
}

fn go_on(site: &Site) {
    site.host("h1").unwrap().set_hanging("warm", false).unwrap();
}

#[test]
fn a_paused_run_begins_nothing_new_until_it_is_continued() {
    let site = site(Rollout::default());
    let load = site.load();
    let (child, begun) = in_hand(&site, "2.0.0");
    run(&site, &["pause", &begun]).exits(0);
    go_on(&site);
    until("the pause", || (status(&site)["state"] == "paused").then_some(()));
    until("the step's end", || (site.host("h1").unwrap().notes() == ["warm"]).then_some(()));
    let before: Vec<usize> = site.bridges.iter().map(|bridge| bridge.changes().len()).collect();
    std::thread::sleep(std::time::Duration::from_millis(700));
    let after: Vec<usize> = site.bridges.iter().map(|bridge| bridge.changes().len()).collect();
    assert_eq!(before, after, "a paused run changed something");
    let seen = status(&site);
    assert_eq!(drained(&seen), ["h1"]);
    assert!(seen["next"].to_string().contains(&format!("manent continue {begun}")), "{}", seen["next"]);
    run(&site, &["continue", &begun]).exits(0);
    end_of(child).exits(0);
    whole(&site, "2.0.0");
    none_failed(&load.stop());
}

#[test]
fn a_cancelled_run_stops_where_it_is_and_doctor_says_what_mends_it() {
    let site = site(Rollout::default());
    let load = site.load();
    let (child, begun) = in_hand(&site, "2.0.0");
    run(&site, &["cancel", &begun]).exits(0);
    go_on(&site);
    end_of(child).exits(4);
    let seen = status(&site);
    assert_eq!(seen["state"], "stopped");
    assert_eq!(drained(&seen), ["h1"]);
    assert_eq!(site.in_service().unwrap(), ["h2", "h3"]);

    let found = run(&site, &["doctor", ENV, "--json"]).exits(0).json();
    let finding = &found["findings"][0];
    assert_eq!(finding["members"], serde_json::json!(["h1"]), "{found}");
    let back = format!("manent cancel {begun} --rollback");
    assert!(finding["commands"].as_array().unwrap().iter().any(|command| *command == *back), "{found}");
    let text = run(&site, &["doctor", ENV]).exits(0).out;
    assert!(text.contains("h1") && text.contains(&back), "{text}");

    // The command that was named mends it.
    run(&site, &["cancel", &begun, "--rollback"]).exits(3);
    whole(&site, "1.0.0");
    assert_eq!(site.host("h1").unwrap().notes(), ["warm", "cool"]);
    assert_eq!(run(&site, &["doctor", ENV, "--json"]).exits(0).json()["findings"], serde_json::json!([]));
    none_failed(&load.stop());
}

#[test]
fn a_stopped_run_is_taken_up_where_it_failed() {
    let site = site(Rollout { on_failure: "stop".to_owned(), ..Rollout::default() });
    let load = site.load();
    site.host("h2").unwrap().set_failing("warm", true).unwrap();
    apply(&site, "2.0.0").exits(4);
    let seen = status(&site);
    assert_eq!(drained(&seen), ["h2"]);
    let begun = seen["run"].as_str().unwrap().to_owned();
    let again = format!("manent resume {begun} --retry-failed");
    assert!(seen["next"].to_string().contains(&again), "{}", seen["next"]);
    let doctor = run(&site, &["doctor", ENV]).exits(0).out;
    assert!(doctor.contains("h2") && doctor.contains(&again), "{doctor}");
    site.host("h2").unwrap().set_failing("warm", false).unwrap();
    run(&site, &["resume", &begun, "--retry-failed"]).exits(0);
    whole(&site, "2.0.0");
    for starts in site.starts().values() {
        assert_eq!(starts, &["1.0.0", "2.0.0"]);
    }
    none_failed(&load.stop());
}

#[test]
fn a_run_cancelled_with_rollback_leaves_nothing_of_itself() {
    let site = site(Rollout::default());
    let load = site.load();
    let (child, begun) = in_hand(&site, "2.0.0");
    run(&site, &["cancel", &begun, "--rollback"]).exits(0);
    go_on(&site);
    end_of(child).exits(3);
    whole(&site, "1.0.0");
    assert_eq!(site.starts()["h1"], ["1.0.0", "2.0.0", "1.0.0"]);
    assert_eq!(site.starts()["h2"], ["1.0.0"]);
    assert_eq!(status(&site)["state"], "rolled_back");
    none_failed(&load.stop());
}

#[test]
fn a_gate_holds_the_second_wave_with_everything_in_service() {
    let site = site(Rollout::default());
    let file = site.root().join("envconfig/shop/shop/prod.yml");
    let text = std::fs::read_to_string(&file).unwrap();
    let gated = text.replace("select: \"canary=true\"}", "select: \"canary=true\", approval: true}");
    assert_ne!(text, gated);
    std::fs::write(&file, gated).unwrap();
    let child = start(&site, &["apply", ENV, "--release", "2.0.0", "--yes"]);
    let begun = until("the gate", || {
        let said = run(&site, &["status", "--json"]);
        let seen: serde_json::Value = serde_json::from_str(&said.out).ok()?;
        let asks = seen["next"].to_string().contains("manent approve");
        asks.then(|| seen["run"].as_str().unwrap().to_owned())
    });
    assert_eq!(site.in_service().unwrap(), ["h1", "h2", "h3"]);
    assert_eq!(site.running()["h1"].as_deref(), Some("2.0.0"));
    assert_eq!(site.running()["h2"].as_deref(), Some("1.0.0"));
    run(&site, &["approve", &begun, "approve@canary"]).exits(0);
    end_of(child).exits(0);
    whole(&site, "2.0.0");
}

#[test]
fn a_second_run_is_refused_or_waits() {
    let site = site(Rollout::default());
    let (child, begun) = in_hand(&site, "2.0.0");
    site.pack("2.1.0").unwrap();
    let refused = apply(&site, "2.1.0").exits(7);
    assert!(refused.err.contains(&begun), "it does not say who holds it: {}", refused.err);
    let waiting = start(&site, &["apply", ENV, "--release", "2.1.0", "--yes", "--lock-wait", "30s"]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    go_on(&site);
    end_of(child).exits(0);
    end_of(waiting).exits(0);
    whole(&site, "2.1.0");
    let history = run(&site, &["history", ENV, "--json"]).exits(0).json();
    let history = history.as_array().unwrap();
    let releases: Vec<&str> = history.iter().map(|one| one["release"].as_str().unwrap()).collect();
    assert_eq!(releases, ["2.1.0", "2.0.0"], "a refusal leaves nothing behind");
}

#[test]
fn a_release_is_returned_through_the_pool() {
    let site = site(Rollout::default());
    let load = site.load();
    let watch = Watch::start(&site);
    apply(&site, "2.0.0").exits(0);
    whole(&site, "2.0.0");
    let said = run(&site, &["rollback", ENV, "--to", "1.0.0", "--yes"]).exits(0);
    assert!(said.all().contains("1.0.0"), "{}", said.all());
    whole(&site, "1.0.0");
    run(&site, &["rollback", ENV, "--yes"]).exits(0);
    whole(&site, "2.0.0");
    let seen = watch.stop();
    assert!(seen.fewest >= 2, "{seen:?}");
    none_failed(&load.stop());

    let history = run(&site, &["history", ENV, "--json"]).exits(0).json();
    let runs = history.as_array().unwrap();
    let told: Vec<_> =
        runs.iter().map(|one| (one["release"].as_str().unwrap(), one["state"].as_str().unwrap())).collect();
    assert_eq!(told, [("2.0.0", "succeeded"), ("1.0.0", "succeeded"), ("2.0.0", "succeeded")]);
    for one in runs {
        assert!(one["run"].is_string() && one["by"].is_string(), "{one}");
        assert!(one["started_at"].as_str() < one["ended_at"].as_str(), "{one}");
    }
    let text = run(&site, &["history", ENV]).exits(0).out;
    assert!(text.contains("2.0.0") && text.contains("succeeded"), "{text}");
}
