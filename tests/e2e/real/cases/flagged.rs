//! A load balancer without an API: the delay after the flag is all there is, and it holds across a crash.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use manent_testbed::site::{Plan, Site};

use super::flags::{Flags, PORT};
use super::{ENV, apply, base, end_of, journal, none_failed, run, start, status, until, whole};

const TOKEN: &str = "flag-token-71c0";

/// Three hosts with an endpoint each; the load balancers notice a flag after 700 ms, the delay is 1500 ms.
fn site() -> (Site, Flags) {
    let site = Site::start(Plan { ssh: false, hosts: 3, rollout: base(), ..Plan::default() }).unwrap();
    let flags = Flags::start(&site, TOKEN, Duration::from_millis(700));
    let file = site.root().join("envconfig/shop/shop/prod.yml");
    let text = std::fs::read_to_string(&file).unwrap();
    let before = text.split_once("traffic:").unwrap().0;
    let pool = format!(
        "traffic:\n  pool:\n    provider: health-flag\n    member: \"{{label.name}}\"\n    drain_timeout: 6s\n    \
         restore_timeout: 6s\n    poll_interval: 150ms\n    settings:\n      mode: http\n      \
         drain_url: \"http://{{host}}:{PORT}/flag\"\n      token_secret: flag\n      \
         health_url: \"http://{{host}}:{PORT}/health\"\n      drain_delay: 1500ms\n\
         secrets:\n  - {{name: flag, ref: \"file:secrets/flag\"}}\n"
    );
    std::fs::write(&file, format!("{before}{pool}")).unwrap();
    let secret = site.root().join("secrets/flag");
    std::fs::write(&secret, TOKEN).unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    (site, flags)
}

fn last_start(site: &Site, host: &str) -> u64 {
    site.host(host).unwrap().events().into_iter().rfind(|event| event.what == "start").unwrap().at_ms
}

/// O-02: nobody is restarted before the balancer noticed, and no request is lost.
#[test]
fn a_flagged_host_is_touched_only_after_the_delay() {
    let (site, flags) = site();
    let load = site.load();
    std::thread::sleep(Duration::from_millis(400));
    apply(&site, "2.0.0").exits(0);
    std::thread::sleep(Duration::from_millis(900));
    let report = load.stop();
    whole(&site, "2.0.0");
    none_failed(&report);
    assert_eq!(flags.flagged(), [""; 0]);
    assert!(flags.asked().iter().all(|asked| asked.allowed), "a request came without its token");
    for host in ["h1", "h2", "h3"] {
        let waited = last_start(&site, host) - flags.time_of(host, "PUT").unwrap();
        assert!((1_490..3_500).contains(&waited), "{host} was restarted {waited} ms after its flag");
    }
    let plan = run(&site, &["plan", ENV]).exits(0).out;
    assert!(plan.to_lowercase().contains("capacity is not checked"), "{plan}");
}

/// O-02: killed in the middle of the delay, the rest of it is waited: neither nothing nor all of it again.
#[test]
fn the_delay_goes_on_while_the_program_is_dead() {
    let (site, flags) = site();
    let load = site.load();
    let mut child = start(&site, &["apply", ENV, "--release", "2.0.0", "--yes"]);
    let begun =
        until("the flag of h2", || flags.time_of("h2", "PUT").and_then(|_| journal::runs(&site).pop()));
    std::thread::sleep(Duration::from_millis(600));
    child.kill().unwrap();
    child.wait().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(status(&site)["state"], "interrupted");
    end_of(start(&site, &["resume", &begun])).exits(0);
    std::thread::sleep(Duration::from_millis(900));
    none_failed(&load.stop());
    whole(&site, "2.0.0");
    let puts = flags.asked().iter().filter(|one| one.host == "h2" && one.method == "PUT").count();
    assert_eq!(puts, 1, "the flag was set again, and the delay with it");
    let waited = last_start(&site, "h2") - flags.time_of("h2", "PUT").unwrap();
    assert!((1_490..2_600).contains(&waited), "restarted {waited} ms after its flag");
}

/// What cannot be promised with this provider is said before.
#[test]
fn a_floor_and_no_delay_are_warned_of() {
    let (site, _flags) = site();
    let file = site.root().join("envconfig/shop/shop/prod.yml");
    let text = std::fs::read_to_string(&file).unwrap();
    let doubtful = text
        .replace("    restore_timeout: 6s\n", "    restore_timeout: 6s\n    min_healthy: \"2\"\n")
        .replace("drain_delay: 1500ms", "drain_delay: 0s");
    std::fs::write(&file, doubtful).unwrap();
    let findings = run(&site, &["lint", "--json"]).exits(0).json();
    let warned = findings.to_string();
    assert!(warned.contains("min_healthy") && warned.contains("drain_delay"), "{warned}");
    assert!(findings.as_array().unwrap().iter().all(|one| one["severity"] == "warning"), "{warned}");
}
