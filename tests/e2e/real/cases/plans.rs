//! Plans that were applied already, and journals that a later version has to understand.

use super::{ENV, base, journal, run, whole};
use manent_testbed::site::{Plan, Site};

/// O-15: applied once, refused twice; also when the journal is gone.
#[test]
fn a_saved_plan_is_applied_once() {
    let site = Site::start(Plan { ssh: false, rollout: base(), ..Plan::default() }).unwrap();
    run(&site, &["plan", ENV, "--release", "2.0.0", "--out", "two.plan"]).exits(0);
    run(&site, &["apply", "two.plan", "--yes"]).exits(0);
    whole(&site, "2.0.0");
    let begun = journal::runs(&site).pop().unwrap();
    let calls: Vec<usize> = site.bridges.iter().map(|bridge| bridge.calls().len()).collect();

    let said = run(&site, &["apply", "two.plan", "--yes"]).exits(5);
    assert!(said.err.contains("was applied by run") && said.err.contains(&begun), "{}", said.err);
    let after: Vec<usize> = site.bridges.iter().map(|bridge| bridge.calls().len()).collect();
    assert_eq!(calls, after, "a refusal asked the load balancers");

    std::fs::remove_dir_all(site.root().join(".manent")).unwrap();
    let changes: Vec<usize> = site.bridges.iter().map(|bridge| bridge.changes().len()).collect();
    let said = run(&site, &["apply", "two.plan", "--yes"]).exits(5);
    assert!(said.err.contains("stale"), "{}", said.err);
    let after: Vec<usize> = site.bridges.iter().map(|bridge| bridge.changes().len()).collect();
    assert_eq!(changes, after);
    for starts in site.starts().values() {
        assert_eq!(starts, &["1.0.0", "2.0.0"]);
    }
    run(&site, &["plan", "two.plan"]).exits(0);
}
