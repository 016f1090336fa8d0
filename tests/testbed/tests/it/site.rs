//! A whole site stands, and a release by hand over its real parts loses nothing.

use manent_testbed::process::until;
use manent_testbed::site::{Plan, Rollout, Site};
use manent_testbed::socket::Admin;
use std::time::Duration;

#[test]
fn a_release_by_hand_over_every_part_fails_no_request() {
    let site = Site::start(Plan::default()).unwrap();
    assert_eq!(site.in_service().unwrap(), ["h1", "h2", "h3", "h4"]);
    let load = site.load();
    std::thread::sleep(Duration::from_millis(500));
    let host = site.host("h2").unwrap();
    let everywhere = |order: &str| {
        for haproxy in &site.haproxies {
            haproxy.socket().order(&format!("set server shop/h2 {order}")).unwrap();
        }
    };
    everywhere("state drain");
    until("no sessions", Duration::from_secs(5), || {
        let pool = site.pool().unwrap();
        pool.iter().all(|instance| instance["h2"].sessions == 0).then_some(())
    })
    .unwrap();
    // What the recipe will do, by hand: unpack, switch, restart over ssh.
    let artifact = site.root().join("dist/shop-2.0.0.tar.gz");
    let root = host.root();
    let line = format!(
        "cd {root} && mkdir releases/2.0.0 && tar -xzf {artifact} -C releases/2.0.0 && \
         ln -s releases/2.0.0 next && mv -T next current && {service} restart",
        root = root.display(),
        artifact = artifact.display(),
        service = host.service_script().display(),
    );
    site.client.run(*host.address.ip(), &line).unwrap();
    everywhere("health down");
    until("up again", Duration::from_secs(5), || {
        site.pool().unwrap().iter().all(|instance| instance["h2"].up).then_some(())
    })
    .unwrap();
    everywhere("state ready");
    std::thread::sleep(Duration::from_millis(500));
    let report = load.stop();
    assert!(report.failures().is_empty(), "{}", report.summary());
    assert_eq!(report.by_host().len(), 4);
    assert_eq!(site.releases()["h2"].as_deref(), Some("2.0.0"));
    assert_eq!(site.running()["h2"].as_deref(), Some("2.0.0"));
    assert_eq!(site.starts()["h2"], ["1.0.0", "2.0.0"]);
    assert_eq!(site.pool().unwrap()[0]["h2"].admin, Admin::Ready);
}

#[test]
fn the_tree_has_no_secret_outside_its_files() {
    let site = Site::start(Plan { hosts: 2, instances: 1, ..Plan::default() }).unwrap();
    let holders = site.files_with("s3cret").unwrap();
    assert_eq!(holders, [site.root().join("secrets/lb")]);
    let text = std::fs::read_to_string(site.root().join("envconfig/shop/shop/prod.yml")).unwrap();
    assert!(text.contains("provider: haproxy") && text.contains("key_secret: ssh-key"));
    site.write_tree(&Rollout { traffic: false, ..Rollout::default() }).unwrap();
    let text = std::fs::read_to_string(site.root().join("envconfig/shop/shop/prod.yml")).unwrap();
    assert!(!text.contains("traffic:"));
}
