//! Hosts that fail, and hosts that are lost in the middle of a command.

use std::time::Duration;

use manent_testbed::process::Signal;
use manent_testbed::site::{Plan, Rollout, Site};

use super::{
    ENV, apply, base, drained, end_of, journal, orders, run, start, status, until, whole, with_warm,
};

/// O-10: after the failed step nothing follows, neither there nor elsewhere.
#[test]
fn a_failed_step_stops_everything() {
    let site = Site::start(Plan { rollout: base(), ..Plan::default() }).unwrap();
    site.write_tree(&with_warm(&site, base())).unwrap();
    site.host("h1").unwrap().set_failing("warm", true).unwrap();
    let said = apply(&site, "2.0.0").exits(4);
    let seen = status(&site);
    assert_eq!(drained(&seen), ["h1"]);
    let cause = seen["cause"].as_str().unwrap();
    assert!(cause.contains("warm@canary#0") && cause.contains('7'), "the step and its exit code: {cause}");
    assert!(cause.contains("warm was told to fail"), "what it printed: {cause}");
    assert!(said.out.contains("warm@canary#0"), "{}", said.out);
    for bridge in &site.bridges {
        assert_eq!(orders(bridge, "h1"), ["state drain"], "it was put back, or asked twice");
        for untouched in ["h2", "h3", "h4"] {
            assert_eq!(orders(bridge, untouched), [""; 0]);
        }
    }
    for untouched in ["h2", "h3", "h4"] {
        let host = site.host(untouched).unwrap();
        assert_eq!((host.starts(), host.notes().len()), (vec!["1.0.0".to_owned()], 0));
    }
    assert_eq!(site.running()["h1"].as_deref(), Some("2.0.0"));
}

/// A run in the middle of the deployment to `h2`, whose connection then breaks; every later one is refused.
fn lost_in_mid_command(site: &mut Site) -> (std::process::Child, String) {
    // The old process does not hear the signal to stop: the restart waits for it.
    site.host("h2").unwrap().signal(Signal::STOP).unwrap();
    let child = start(site, &["apply", ENV, "--release", "2.0.0", "--yes"]);
    let begun = until("the restart of h2", || {
        let begun = journal::runs(site).pop()?;
        let at_work = journal::place(site, &begun).starts_with("deploy@rest#0, intended \"apply\"");
        (at_work && site.host("h2").unwrap().release().as_deref() == Some("2.0.0")).then_some(begun)
    });
    std::thread::sleep(Duration::from_millis(200));
    site.sshds[1].kill().unwrap();
    (child, begun)
}

fn lossy_site() -> Site {
    // Health is not what this is about: `h2` may be down as long as it likes.
    Site::start(Plan { checks: false, rollout: base(), ..Plan::default() }).unwrap()
}

/// O-11: the host comes back in time. It is asked, and nothing is done twice.
#[test]
fn a_host_lost_in_mid_command_is_asked_before_anything_is_repeated() {
    let mut site = lossy_site();
    let (child, begun) = lost_in_mid_command(&mut site);
    std::thread::sleep(Duration::from_millis(2_500));
    let seen = status(&site);
    assert_eq!(drained(&seen), ["h2"], "it stays out");
    assert_eq!(seen["state"], "waiting", "{seen}");
    let why = seen["waiting"]["what"].as_str().unwrap();
    assert!(why.contains("what became of") && why.contains("cannot be asked"), "{why}");
    let text = run(&site, &["status"]).exits(0).out;
    assert!(text.contains("cannot be asked"), "{text}");
    for bridge in &site.bridges {
        assert_eq!(orders(bridge, "h3"), [""; 0], "the next host follows a lost one");
    }
    site.sshds[1].start_again().unwrap();
    site.host("h2").unwrap().signal(Signal::CONT).unwrap();
    end_of(child).exits(0);
    whole(&site, "2.0.0");
    assert_eq!(site.starts()["h2"], ["1.0.0", "2.0.0"]);
    assert_eq!(journal::runs(&site), [begun]);
}

/// O-11: the host does not come back in time. Its outcome is unknown, neither failed nor done.
#[test]
fn a_host_that_stays_lost_is_out_with_its_release_unknown() {
    let mut site = lossy_site();
    let note = format!("{}/hosts/{{host}}/bin/note", site.folder().display());
    let hosts = format!("{}/hosts", site.folder().display());
    // A recipe whose deadline a test can wait for.
    let descriptor = format!(
        "app: shop\ndeploy:\n  recipe: command\n  with:\n    run: [\"{note}\", deploy, \"{{release}}\"]\n    \
         current: [sh, -c, 'tail -n 1 {hosts}/\"$1\"/notes.log 2>/dev/null | cut -d \" \" -f 4 || true', current, \"{{host}}\"]\n    \
         timeout: 1s\npost-test:\n  - {{run: [\"true\"], within: 1s}}\n"
    );
    std::fs::write(site.root().join("descriptors/shop.yml"), descriptor).unwrap();
    for host in &site.hosts {
        let record = host.place().join("notes.log");
        std::fs::write(&record, "1 note deploy 1.0.0 0\n").unwrap();
        std::process::Command::new("chmod").arg("666").arg(&record).status().unwrap();
    }
    site.host("h2").unwrap().set_hanging("deploy", true).unwrap();
    let child = start(&site, &["apply", ENV, "--release", "2.0.0", "--yes"]);
    let begun = until("the command on h2", || {
        let begun = journal::runs(&site).pop()?;
        journal::place(&site, &begun).starts_with("deploy@rest#0, intended \"apply\"").then_some(begun)
    });
    std::thread::sleep(Duration::from_millis(300));
    site.sshds[1].kill().unwrap();
    let said = end_of(child).exits(4);
    let seen = status(&site);
    assert_eq!(seen["state"], "stopped");
    assert_eq!(drained(&seen), ["h2"]);
    let target = &seen["targets"][1];
    assert_eq!((target["release"].is_null(), &target["release_known"]), (true, &serde_json::json!(false)));
    assert_eq!(target["in_service"], false);
    assert!(target["remarks"].to_string().contains("unreachable since"), "{target}");
    assert!(said.out.contains("h2"), "{}", said.out);
    for bridge in &site.bridges {
        assert_eq!(orders(bridge, "h3"), [""; 0]);
    }
    // Taken up again, it asks first. The command was ended by its deadline meanwhile.
    site.sshds[1].start_again().unwrap();
    site.host("h2").unwrap().set_hanging("deploy", false).unwrap();
    let said = run(&site, &["resume", &begun]).exits(4);
    assert!(said.out.contains("did not end within 1s"), "{}", said.out);
    run(&site, &["resume", &begun, "--retry-failed"]).exits(0);
    let deployed = |host: &str| {
        let notes = site.host(host).unwrap().notes();
        notes.iter().filter(|note| *note == "deploy 2.0.0").count()
    };
    for host in ["h1", "h2", "h3", "h4"] {
        assert_eq!(deployed(host), 1, "{host}: {:?}", site.host(host).unwrap().notes());
    }
}

/// Rollouts need no load balancer's word to be repeated safely: the same key never runs a command twice.
#[test]
fn a_frozen_host_is_waited_for() {
    let rollout = Rollout { min_healthy: "1".to_owned(), ..base() };
    let site = Site::start(Plan { hosts: 2, rollout: rollout.clone(), ..Plan::default() }).unwrap();
    site.write_tree(&with_warm(&site, rollout)).unwrap();
    site.host("h1").unwrap().set_hanging("warm", true).unwrap();
    let child = start(&site, &["apply", ENV, "--release", "2.0.0", "--yes"]);
    until("the step `warm`", || {
        let begun = journal::runs(&site).pop()?;
        journal::place(&site, &begun).starts_with("warm@canary#0, intended").then_some(())
    });
    site.sshds[0].freeze().unwrap();
    site.host("h1").unwrap().set_hanging("warm", false).unwrap();
    std::thread::sleep(Duration::from_millis(1_000));
    site.sshds[0].thaw().unwrap();
    end_of(child).exits(0);
    whole(&site, "2.0.0");
    assert_eq!(site.host("h1").unwrap().notes(), ["warm"]);
}
