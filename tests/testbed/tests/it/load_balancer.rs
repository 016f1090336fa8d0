//! HAProxy, the application and the clients together: what draining keeps and a reload forgets.

use manent_testbed::app::{Behaviour, Host};
use manent_testbed::haproxy::{Config, Haproxy, Server};
use manent_testbed::load::{self, Load};
use manent_testbed::process::until;
use manent_testbed::socket::Admin;
use manent_testbed::{Folder, Result, http};
use std::time::Duration;

struct Pair {
    hosts: Vec<Host>,
    haproxy: Haproxy,
    _folder: Folder,
}

fn pair(behaviour: &Behaviour) -> Result<Pair> {
    let folder = Folder::new("lb")?;
    let hosts =
        ["h1", "h2"].iter().map(|name| Host::create(&folder, name, behaviour)).collect::<Result<Vec<_>>>()?;
    for host in &hosts {
        host.install("1.0.0")?;
        host.service("start")?;
    }
    let servers = hosts.iter().map(|host| Server::new(&host.name, host.address)).collect();
    let haproxy = Haproxy::start(&folder, "lb", &Config::new(servers))?;
    Ok(Pair { hosts, haproxy, _folder: folder })
}

fn clients(pair: &Pair) -> Load {
    Load::start(load::Config { slow_every: 2, ..load::Config::new(vec![pair.haproxy.frontend()]) })
}

fn is_up(pair: &Pair, name: &str) -> Option<()> {
    pair.haproxy.socket().truth("shop").ok()?.get(name).filter(|truth| truth.up).map(|_| ())
}

#[test]
fn a_drain_keeps_slow_requests_and_loses_none() {
    let pair = pair(&Behaviour::default()).unwrap();
    let socket = pair.haproxy.socket();
    let load = clients(&pair);
    std::thread::sleep(Duration::from_millis(700));
    for host in &pair.hosts {
        socket.set_state("shop", &host.name, "drain").unwrap();
        until("no sessions", Duration::from_secs(5), || {
            let truth = socket.truth("shop").ok()?.remove(&host.name)?;
            assert_eq!(truth.admin, Admin::Drain);
            (truth.sessions == 0).then_some(())
        })
        .unwrap();
        host.install("2.0.0").unwrap();
        host.service("restart").unwrap();
        socket.order(&format!("set server shop/{} health down", host.name)).unwrap();
        until("up again", Duration::from_secs(5), || is_up(&pair, &host.name)).unwrap();
        socket.set_state("shop", &host.name, "ready").unwrap();
    }
    std::thread::sleep(Duration::from_millis(300));
    let report = load.stop();
    assert!(report.failures().is_empty(), "{}", report.summary());
    assert!(report.total() > 50);
    assert_eq!(report.by_release().keys().collect::<Vec<_>>(), ["1.0.0", "2.0.0"]);
    assert_eq!(pair.hosts[0].starts(), ["1.0.0", "2.0.0"]);
    assert_eq!(pair.hosts[0].running_release().as_deref(), Some("2.0.0"));
}

#[test]
fn without_a_drain_an_ungraceful_restart_cuts_requests() {
    let pair = pair(&Behaviour::default()).unwrap();
    let load = clients(&pair);
    std::thread::sleep(Duration::from_millis(700));
    pair.hosts[0].service("restart").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let report = load.stop();
    assert!(!report.failures().is_empty(), "{}", report.summary());
    let cut = pair.hosts[0].events().into_iter().find(|event| event.what == "cut").unwrap();
    assert!(cut.in_flight > 0, "slow requests were in flight");
}

#[test]
fn a_graceful_stop_finishes_what_is_in_flight() {
    let behaviour = Behaviour { stop_signal: "QUIT".to_owned(), ..Behaviour::default() };
    let pair = pair(&behaviour).unwrap();
    let address = pair.hosts[0].address;
    let slow = std::thread::spawn(move || http::get(address, "/?ms=400"));
    std::thread::sleep(Duration::from_millis(100));
    pair.hosts[0].service("stop").unwrap();
    assert_eq!(slow.join().unwrap().unwrap().status, 200);
    let last = pair.hosts[0].events().pop().unwrap();
    assert_eq!(last.what, "stop");
    assert!(http::get(address, "/").is_err(), "nothing listens any more");
}

#[test]
fn a_reload_forgets_the_drain() {
    let mut pair = pair(&Behaviour::default()).unwrap();
    pair.haproxy.socket().set_state("shop", "h2", "drain").unwrap();
    let before = pair.haproxy.socket().truth("shop").unwrap();
    assert_eq!(before["h2"].admin, Admin::Drain);
    let worker = pair.haproxy.worker().unwrap();
    pair.haproxy.reload().unwrap();
    let after = pair.haproxy.socket().truth("shop").unwrap();
    assert_eq!(after["h2"].admin, Admin::Ready);
    assert_ne!(pair.haproxy.worker().unwrap(), worker);
    assert_eq!(http::get(pair.haproxy.frontend(), "/").unwrap().status, 200);
}

#[test]
fn a_broken_release_never_becomes_healthy_and_a_late_one_does() {
    let behaviour = Behaviour { start_delay: Duration::from_millis(400), ..Behaviour::default() };
    let pair = pair(&behaviour).unwrap();
    pair.hosts[0].install("3.0.0-bad").unwrap();
    pair.hosts[0].service("restart").unwrap();
    assert_eq!(http::get(pair.hosts[0].address, "/healthz").unwrap().status, 500);
    until("down", Duration::from_secs(3), || is_up(&pair, "h1").is_none().then_some(())).unwrap();
    assert!(is_up(&pair, "h2").is_some());
}

#[test]
fn a_cookie_leads_clients_round_a_drain() {
    let folder = Folder::new("sticky").unwrap();
    let hosts: Vec<Host> =
        ["h1", "h2"].iter().map(|name| Host::create(&folder, name, &Behaviour::default()).unwrap()).collect();
    for host in &hosts {
        host.install("1.0.0").unwrap();
        host.service("start").unwrap();
    }
    let servers = hosts.iter().map(|host| Server::new(&host.name, host.address)).collect();
    let config = Config { sticky: true, ..Config::new(servers) };
    let haproxy = Haproxy::start(&folder, "lb", &config).unwrap();
    let ask = |cookie: &str| {
        let headers = [("Cookie", cookie)];
        let request = http::Request {
            method: "GET",
            path: "/",
            headers: &headers,
            body: "",
            timeout: Duration::from_secs(2),
        };
        http::send(haproxy.frontend(), &request).unwrap().header("x-host").unwrap().to_owned()
    };
    haproxy.socket().set_state("shop", "h1", "drain").unwrap();
    assert_eq!(ask("SRV=h1"), "h1");
    haproxy.socket().set_state("shop", "h1", "maint").unwrap();
    assert_eq!(ask("SRV=h1"), "h2");
}

#[test]
fn a_second_haproxy_on_the_same_port_is_refused() {
    let folder = Folder::new("twice").unwrap();
    let config = Config { reloadable: false, ..Config::new(vec![]) };
    let first = Haproxy::start(&folder, "lb", &config).unwrap();
    let configuration = folder.path().join("lb/haproxy.cfg");
    let again =
        std::process::Command::new("/usr/sbin/haproxy").arg("-db").arg("-f").arg(configuration).output();
    let again = again.unwrap();
    assert!(!again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("cannot bind socket"));
    drop(first);
}
