//! The provider over the test bed's Data Plane API: in front of a real HAProxy, and of scripted worlds.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddrV4, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use manent_engine::call::{Change, InstanceAnswer};
use manent_engine::view::{Admin, Health, Seen};
use manent_plan::Pool;
use manent_testbed::dataplane::{Bridge, Decoding, Fault, Kind, Options, Release, Scripted};
use manent_testbed::haproxy::{Config, Haproxy as Real, Server};
use manent_testbed::{Folder, address};

use super::super::tests::{built, pool, wanted};
use super::super::{Limits, Members, Provider, Refusal, Wanted};
use super::{answers, instances};

const RELEASES: [Release; 4] = [Release::V2_9, Release::V3_0, Release::V3_2, Release::V3_3_6];

type Settings = BTreeMap<String, String>;

fn settings(urls: &str, api: &str) -> Settings {
    let pairs = [
        ("dataplane_urls", urls),
        ("backend", "shop"),
        ("credentials_secret", "lb"),
        ("api_version", api),
        ("allow_http", "true"),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn build(settings: &Settings, secret: &str) -> Result<Box<dyn Provider>, Refusal> {
    let limits =
        Limits { header: Duration::from_millis(1500), answer: Duration::from_secs(2), ..Limits::default() };
    built(&Pool { settings: settings.clone(), ..pool("haproxy", &[]) }, secret, limits)
}

fn over(bridge: &Bridge, api: &str) -> Box<dyn Provider> {
    build(&settings(&bridge.url(), api), bridge.credentials()).unwrap()
}

async fn members(provider: &dyn Provider) -> Members {
    provider.read(&[]).await.remove(0).outcome.unwrap()
}

async fn seen(provider: &dyn Provider, member: &str) -> Seen {
    members(provider).await.seen.remove(member).unwrap()
}

async fn change(provider: &dyn Provider, change: Change, member: &str) -> InstanceAnswer {
    provider.change(change, 0, &[wanted(member)]).await
}

async fn accepted(provider: &dyn Provider, wish: Change, member: &str) {
    assert_eq!(change(provider, wish, member).await, InstanceAnswer::Accepted, "{wish:?} {member}");
}

/// Reads until the member is as wanted.
async fn until(provider: &dyn Provider, member: &str, admin: Admin, health: Health) -> Seen {
    let began = Instant::now();
    loop {
        let now = seen(provider, member).await;
        if now.admin == admin && now.health == health {
            return now;
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{member} is still {now:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// An application with a health endpoint, and `/slow`, which answers when it is let go.
struct App {
    at: SocketAddrV4,
    well: Arc<AtomicBool>,
    held: Arc<AtomicBool>,
}

impl App {
    fn start() -> App {
        let at = SocketAddrV4::new(address::fresh().unwrap(), address::APP_PORT);
        let listener = TcpListener::bind(at).unwrap();
        let (well, held) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(true)));
        let (is_well, is_held) = (Arc::clone(&well), Arc::clone(&held));
        std::thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                let (is_well, is_held) = (Arc::clone(&is_well), Arc::clone(&is_held));
                std::thread::spawn(move || {
                    let mut request = [0; 2048];
                    let length = client.read(&mut request).unwrap_or(0);
                    while request[..length].starts_with(b"GET /slow") && is_held.load(Ordering::SeqCst) {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    let status = if is_well.load(Ordering::SeqCst) { "200 OK" } else { "503 No" };
                    let _ =
                        write!(client, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                });
            }
        });
        App { at, well, held }
    }
}

/// A real HAProxy behind a Data Plane API.
struct Bed {
    bridge: Bridge,
    haproxy: Real,
    app: App,
    _folder: Folder,
}

fn server(name: &str, at: SocketAddrV4, checks: bool, extra: &str) -> Server {
    Server { checks, extra: extra.to_owned(), ..Server::new(name, at) }
}

/// `web` is checked, `bare` is not, `off` was disabled, `tail` tracks `web`, `spare` is a backup, `idle` weighs nothing.
fn bed(release: Release, decoding: Decoding, level: &str) -> Bed {
    let (app, folder) = (App::start(), Folder::new("providers").unwrap());
    let servers = vec![
        server("web", app.at, true, ""),
        server("bare", app.at, false, ""),
        server("off", app.at, true, "disabled"),
        server("tail", app.at, false, "track shop/web"),
        server("spare", app.at, true, "backup"),
        server("idle", app.at, true, "weight 0"),
    ];
    let config = Config { level: level.to_owned(), ..Config::new(servers) };
    let haproxy = Real::start(&folder, "lb", &config).unwrap();
    let options = Options { release, decoding, ..Options::default() };
    let bridge = Bridge::start(haproxy.socket(), options).unwrap();
    Bed { bridge, haproxy, app, _folder: folder }
}

fn scripted(release: Release, members: &[&str]) -> (Scripted, Bridge) {
    let world = Scripted::new("shop", members);
    let bridge = Bridge::over(world.clone(), Options { release, ..Options::default() }).unwrap();
    (world, bridge)
}

#[tokio::test]
async fn a_member_leaves_and_comes_back_on_every_release() {
    for release in RELEASES {
        for decoding in [Decoding::Hexadecimal, Decoding::Right] {
            let bed = bed(release, decoding, "admin");
            let lb = over(&bed.bridge, release.api());
            until(lb.as_ref(), "web", Admin::In, Health::Up).await;

            // A request that is still served counts while its server drains.
            let front = bed.haproxy.frontend();
            let slow: Vec<_> = (0..8)
                .map(|_| {
                    std::thread::spawn(move || manent_testbed::http::get(front, "/slow").unwrap().status)
                })
                .collect();
            while seen(lb.as_ref(), "web").await.connections == Some(0) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            accepted(lb.as_ref(), Change::Drain, "web").await;
            let draining = until(lb.as_ref(), "web", Admin::Out, Health::Up).await;
            assert!(draining.connections > Some(0), "{draining:?}");
            bed.app.held.store(false, Ordering::SeqCst);
            for request in slow {
                assert_eq!(request.join().unwrap(), 200);
            }
            assert_eq!(until(lb.as_ref(), "web", Admin::Out, Health::Up).await.connections, Some(0));

            // It is still out while it is down, where the statistics say `DOWN` and nothing of a drain.
            bed.app.well.store(false, Ordering::SeqCst);
            until(lb.as_ref(), "web", Admin::Out, Health::Down).await;
            bed.app.well.store(true, Ordering::SeqCst);
            until(lb.as_ref(), "web", Admin::Out, Health::Up).await;

            // Its health is forgotten, and comes back by a check that is newer.
            bed.app.well.store(false, Ordering::SeqCst);
            accepted(lb.as_ref(), Change::ForceDown, "web").await;
            until(lb.as_ref(), "web", Admin::Out, Health::Down).await;
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert_eq!(seen(lb.as_ref(), "web").await.health, Health::Down, "no check passes meanwhile");
            bed.app.well.store(true, Ordering::SeqCst);
            until(lb.as_ref(), "web", Admin::Out, Health::Up).await;
            accepted(lb.as_ref(), Change::Restore, "web").await;
            until(lb.as_ref(), "web", Admin::In, Health::Up).await;
        }
    }
}

#[tokio::test]
async fn odd_members_are_seen_as_they_are() {
    for decoding in [Decoding::Hexadecimal, Decoding::Right] {
        let bed = bed(Release::V3_2, decoding, "admin");
        let lb = over(&bed.bridge, "v3");
        until(lb.as_ref(), "web", Admin::In, Health::Up).await;
        let all = members(lb.as_ref()).await;
        assert_eq!(all.backup.iter().collect::<Vec<_>>(), ["spare"]);
        assert!(!all.seen.contains_key("spare"), "backups count for nothing");
        let state = |name: &str| (all.seen[name].admin, all.seen[name].health);
        assert_eq!(state("bare"), (Admin::In, Health::Unchecked));
        assert_eq!(state("tail"), (Admin::In, Health::Unchecked));
        assert_eq!(state("off"), (Admin::Out, Health::Unknown));
        assert_eq!(state("idle").0, Admin::Idle);

        // Disabled in the configuration: ready (mask 4), drained (12, read as `maint`), down and drained.
        accepted(lb.as_ref(), Change::ForceDown, "off").await;
        until(lb.as_ref(), "off", Admin::Out, Health::Up).await;
        accepted(lb.as_ref(), Change::Restore, "off").await;
        until(lb.as_ref(), "off", Admin::In, Health::Up).await;
        accepted(lb.as_ref(), Change::Drain, "off").await;
        until(lb.as_ref(), "off", Admin::Out, Health::Up).await;
        bed.app.well.store(false, Ordering::SeqCst);
        until(lb.as_ref(), "off", Admin::Out, Health::Down).await;
        bed.app.well.store(true, Ordering::SeqCst);

        // Without checks of their own they would stay down for ever: they are left alone.
        for name in ["bare", "tail"] {
            accepted(lb.as_ref(), Change::Drain, name).await;
            until(lb.as_ref(), name, Admin::Out, Health::Unchecked).await;
            accepted(lb.as_ref(), Change::ForceDown, name).await;
            until(lb.as_ref(), name, Admin::Out, Health::Unchecked).await;
            accepted(lb.as_ref(), Change::Restore, name).await;
            until(lb.as_ref(), name, Admin::In, Health::Unchecked).await;
        }
    }
}

#[tokio::test]
async fn a_hardened_member_is_softened_before_its_health_is_forgotten() {
    let bed = bed(Release::V3_2, Decoding::Hexadecimal, "admin");
    let lb = over(&bed.bridge, "v3");
    until(lb.as_ref(), "web", Admin::In, Health::Up).await;
    accepted(lb.as_ref(), Change::Drain, "web").await;
    accepted(lb.as_ref(), Change::Harden, "web").await;
    assert_eq!(seen(lb.as_ref(), "web").await.words, "maint/down");
    let before = bed.bridge.changes().len();
    accepted(lb.as_ref(), Change::Drain, "web").await;
    assert_eq!(bed.bridge.changes().len(), before, "what is out is not drained again: that would lift it");
    bed.app.well.store(false, Ordering::SeqCst);
    accepted(lb.as_ref(), Change::ForceDown, "web").await;
    let bodies: Vec<String> = bed.bridge.changes().into_iter().skip(before).map(|call| call.body).collect();
    assert_eq!(bodies, [r#"{"admin_state":"drain"}"#, r#"{"operational_state":"down"}"#]);
    assert_eq!(seen(lb.as_ref(), "web").await.words, "drain/down");
    bed.app.well.store(true, Ordering::SeqCst);
    until(lb.as_ref(), "web", Admin::Out, Health::Up).await;
}

#[tokio::test]
async fn health_is_left_alone_in_service() {
    let bed = bed(Release::V3_2, Decoding::Hexadecimal, "admin");
    let lb = over(&bed.bridge, "v3");
    until(lb.as_ref(), "web", Admin::In, Health::Up).await;
    let answer = change(lb.as_ref(), Change::ForceDown, "web").await;
    let InstanceAnswer::Unsure { reason } = answer else { panic!("{answer:?}") };
    assert_eq!(reason, "`web` is not out (ready/up); its health is left alone");
    assert!(bed.bridge.changes().is_empty());
}

#[tokio::test]
async fn a_reload_shows_as_another_process_and_a_lost_drain() {
    let mut bed = bed(Release::V2_9, Decoding::Hexadecimal, "admin");
    let lb = over(&bed.bridge, "v2");
    until(lb.as_ref(), "web", Admin::In, Health::Up).await;
    accepted(lb.as_ref(), Change::Drain, "web").await;
    let before = lb.read(&[]).await.remove(0).identity.unwrap();
    assert_eq!(lb.read(&[]).await.remove(0).identity.unwrap(), before);
    bed.haproxy.reload().unwrap();
    assert_ne!(lb.read(&[]).await.remove(0).identity.unwrap(), before);
    until(lb.as_ref(), "web", Admin::In, Health::Up).await;
}

#[tokio::test]
async fn nothing_to_show_is_never_an_empty_pool() {
    for release in RELEASES {
        let (world, bridge) = scripted(release, &["web"]);
        let failure = |provider: Box<dyn Provider>| async move {
            provider.read(&[]).await.remove(0).outcome.unwrap_err()
        };
        let with = |name: &str, value: &str| {
            let mut changed = settings(&bridge.url(), release.api());
            changed.insert(name.to_owned(), value.to_owned());
            build(&changed, bridge.credentials()).unwrap()
        };
        let unknown = failure(with("backend", "nope")).await;
        assert!(unknown.permanent, "{release:?}");
        assert_eq!(unknown.reason, "backend `nope` is unknown or has no servers: check `backend`");

        let other = if release.api() == "v2" { "v3" } else { "v2" };
        let version = failure(with("api_version", other)).await;
        assert!(version.permanent, "{release:?}");
        let meant = format!("set `api_version: \"{}\"`", release.api());
        assert!(version.reason.ends_with(&meant), "{release:?}: {}", version.reason);

        let nobody = build(&settings(&bridge.url(), release.api()), "admin:wrong").unwrap();
        let nobody = failure(nobody).await;
        assert!(nobody.permanent && nobody.reason.contains("check `credentials_secret`"), "{nobody:?}");

        let missing = change(over(&bridge, release.api()).as_ref(), Change::Drain, "web9").await;
        let InstanceAnswer::Refused { reason } = missing else { panic!("{missing:?}") };
        assert_eq!(reason, "backend `shop` has no server `web9`; it has: `web`");

        world.set_dead(true);
        let dead = failure(over(&bridge, release.api())).await;
        assert!(!dead.permanent, "{release:?}");
        assert!(dead.reason.starts_with("the Data Plane API does not reach its HAProxy"), "{}", dead.reason);
        let dead = change(over(&bridge, release.api()).as_ref(), Change::Drain, "web").await;
        assert!(matches!(dead, InstanceAnswer::Unsure { .. }), "{release:?}: {dead:?}");
    }
}

#[tokio::test]
async fn a_socket_without_the_right_level_is_named() {
    let bed = bed(Release::V3_2, Decoding::Hexadecimal, "operator");
    let lb = over(&bed.bridge, "v3");
    let answer = change(lb.as_ref(), Change::Drain, "web").await;
    let InstanceAnswer::Refused { reason } = answer else { panic!("{answer:?}") };
    assert!(reason.contains("level admin"), "{reason}");
}

/// Case O-03: the word is always `maint`, the statistics say that it serves.
#[tokio::test]
async fn a_word_that_the_statistics_belie_proves_nothing() {
    let (world, bridge) = scripted(Release::V3_2, &["w1", "w2", "w3"]);
    let lb = over(&bridge, "v3");
    for name in ["w1", "w2", "w3"] {
        world.change(name, |member| (member.mask, member.scur) = (64, 9));
    }
    world.change("w3", |member| (member.op, member.well) = (0, false));
    let all = members(lb.as_ref()).await;
    for name in ["w1", "w2", "w3"] {
        assert_eq!(all.seen[name].admin, Admin::Unknown, "{name}");
        assert_eq!(all.seen[name].connections, Some(9));
    }
    assert_eq!(all.seen["w1"].words, "maint/up (UP)");
}

/// Mask 40: the API takes it for ready, and would not send `ready` again.
#[tokio::test]
async fn a_drained_member_without_an_address_is_put_back_all_the_same() {
    let (world, bridge) = scripted(Release::V3_2, &["w1"]);
    let lb = over(&bridge, "v3");
    world.change("w1", |w1| (w1.mask, w1.op, w1.well) = (32, 0, false));
    assert_eq!(seen(lb.as_ref(), "w1").await.admin, Admin::Idle, "nobody took it out");
    accepted(lb.as_ref(), Change::Drain, "w1").await;
    assert_eq!(world.member("w1").unwrap().mask, 40);
    assert_eq!(seen(lb.as_ref(), "w1").await.admin, Admin::Out);
    accepted(lb.as_ref(), Change::Restore, "w1").await;
    assert_eq!(world.member("w1").unwrap().mask, 32);
}

#[tokio::test]
async fn a_change_stops_at_the_first_failure_but_a_restore_goes_on() {
    let (_, bridge) = scripted(Release::V3_2, &["w1", "w2", "w3"]);
    let lb = over(&bridge, "v3");
    let all: Vec<Wanted> = ["w1", "w2", "w3"].map(wanted).into();
    bridge.fault(Fault::next_change(Kind::Status(503)).on("w2"));
    let answer = lb.change(Change::Drain, 0, &all).await;
    assert!(matches!(answer, InstanceAnswer::Unsure { .. }), "{answer:?}");
    let asked = |from: usize| -> Vec<String> {
        let last = |call: manent_testbed::dataplane::Call| call.path.rsplit('/').next().unwrap().to_owned();
        bridge.changes().into_iter().skip(from).map(last).collect()
    };
    assert_eq!(asked(0), ["w1", "w2"]);
    assert_eq!(lb.change(Change::Drain, 0, &all).await, InstanceAnswer::Accepted);
    assert_eq!(asked(2), ["w2", "w3"], "what is drained is not drained again");
    bridge.fault(Fault::next_change(Kind::Status(503)).on("w2"));
    assert!(matches!(lb.change(Change::Restore, 0, &all).await, InstanceAnswer::Unsure { .. }));
    assert_eq!(asked(4), ["w1", "w2", "w3"]);
}

#[tokio::test]
async fn instances_are_read_side_by_side_and_keep_their_places() {
    let (_, hanging) = scripted(Release::V3_2, &["w1"]);
    let (world, well) = scripted(Release::V3_2, &["w1", "w2"]);
    hanging.fault(Fault::next(Kind::Hang).times(100));
    let urls = format!("{}, {}", hanging.url(), well.url());
    let lb = build(&settings(&urls, "v3"), well.credentials()).unwrap();
    world.change("w2", |w2| w2.qcur = 3);
    let reads = lb.read(&[]).await;
    let names: Vec<&str> = reads.iter().map(|read| read.name.as_str()).collect();
    assert_eq!(names, lb.instances());
    let failure = reads[0].outcome.as_ref().unwrap_err();
    assert!(!failure.permanent && failure.reason.ends_with("no answer within 1500 ms"), "{failure:?}");
    let members = reads[1].outcome.as_ref().unwrap();
    assert_eq!(members.seen["w2"].connections, Some(3), "who waits in a queue is not gone");
    accepted_on(lb.as_ref(), 1, "w1").await;
    assert!(hanging.changes().is_empty());
}

async fn accepted_on(provider: &dyn Provider, instance: usize, member: &str) {
    let answer = provider.change(Change::Drain, instance, &[wanted(member)]).await;
    assert_eq!(answer, InstanceAnswer::Accepted);
}

#[test]
fn a_process_that_began_anew_under_its_old_id_is_another() {
    let instance = instances("https://lb", false).unwrap().remove(0);
    let first = instance.identity(vec![8], 100);
    assert_eq!(instance.identity(vec![8], 160), first);
    let second = instance.identity(vec![8], 3);
    assert_ne!(second, first);
    assert_eq!(instance.identity(vec![8], 9), second);
    assert_ne!(instance.identity(vec![9], 10), second);
}

/// A null entry is a line that the API could not parse: its server exists, and nothing is known of it but the statistics.
#[test]
fn null_entries_are_members_nevertheless() {
    let list = r#"[null, {"name":"w1","admin_state":"ready","operational_state":"up"}]"#;
    let stats = r#"[{"stats":[
        {"name":"w1","type":"server","backend_name":"shop","stats":{"status":"UP","scur":1,"qcur":2,"check_status":"L7OK"}},
        {"name":"w2","type":"server","backend_name":"shop","stats":{"status":"UP","scur":0,"qcur":0}},
        {"name":"w3","type":"server","backend_name":"other","stats":{"status":"UP","scur":0,"qcur":0}},
        {"stats":{"scur":5}}]}]"#;
    let collections: answers::Many<answers::Collection> = serde_json::from_str(stats).unwrap();
    let all = answers::combined("shop", serde_json::from_str(list).unwrap(), collections.into_vec()).unwrap();
    let seen: Vec<(&str, Admin, Option<u64>)> = all
        .iter()
        .map(|(name, facts)| (name.as_str(), facts.judge(false).admin, facts.connections))
        .collect();
    assert_eq!(seen, [("w1", Admin::In, Some(3)), ("w2", Admin::Unknown, Some(0))]);
}

#[test]
fn settings_that_cannot_work_are_refused_before_any_call() {
    let table = [
        ("dataplane_urls", "", "is required"),
        ("dataplane_urls", "https://a:1,,https://b:1", "empty address"),
        ("dataplane_urls", "https://a:1,https://a:1/", "stands there twice"),
        ("dataplane_urls", "https://a:1/v3", "leave `/v3` away"),
        ("dataplane_urls", "https://u:hunter2@a:1", "declare a secret"),
        ("dataplane_urls", "ftp://a:1", "no scheme"),
        ("dataplane_urls", "a b", "no address"),
        ("allow_http", "True", "use https"),
        ("allow_http", "yes", "use https"),
        ("backend", "", "is required"),
        ("backend", "a;b", "cannot be the name"),
        ("api_version", "3", "is not `v2` or `v3`"),
        ("credentials_secret", "", "is required"),
        ("ca_file", "none/such.pem", "cannot be read"),
    ];
    for (name, value, expected) in table {
        let mut settings = settings("http://127.0.0.1:1", "v3");
        settings.insert(name.to_owned(), value.to_owned());
        let refusal = build(&settings, "user:pass").err().unwrap().to_string();
        assert!(refusal.contains(expected), "{name}={value}: {refusal}");
        assert!(!refusal.contains("hunter2"), "{refusal}");
    }
    for secret in ["", "user", ":pass", "user:pa\nss"] {
        let refusal = build(&settings("http://127.0.0.1:1", "v3"), secret).err().unwrap().to_string();
        assert!(refusal.contains("`user:password`"), "{secret:?}: {refusal}");
    }
}

/// Threat T17: names from the balancer are compared, never used.
#[tokio::test]
async fn names_from_the_balancer_never_reach_a_request() {
    let hostile = ["../../evil", "a/../b", "%2e%2e", "web;id", "ordinary", "x?y=z", "web\u{1b}[2J"];
    for name in hostile {
        let (_, bridge) = scripted(Release::V3_2, &["w1", name]);
        let lb = over(&bridge, "v3");
        let read = lb.read(&[]).await.remove(0);
        let _ = change(lb.as_ref(), Change::Drain, "w1").await;
        let _ = change(lb.as_ref(), Change::Restore, "w1").await;
        for call in bridge.calls() {
            let known = ["/servers", "/servers/w1", "/stats/native", "/runtime/info"];
            let path = call.path.split('?').next().unwrap();
            assert!(known.iter().any(|end| path.ends_with(end)), "{name}: {path}");
        }
        if let Err(failure) = read.outcome {
            assert!(!failure.reason.contains('\u{1b}'), "{failure:?}");
        }
    }
}

#[tokio::test]
async fn a_name_cannot_add_a_segment_to_the_path() {
    let (_, bridge) = scripted(Release::V3_2, &["a/b?c%2e"]);
    let lb = over(&bridge, "v3");
    accepted(lb.as_ref(), Change::Drain, "a/b?c%2e").await;
    assert!(bridge.changes()[0].path.ends_with("/servers/a%2Fb%3Fc%252e"), "{}", bridge.changes()[0].path);
}
