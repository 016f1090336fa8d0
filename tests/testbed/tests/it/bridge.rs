//! The Data Plane API before a real HAProxy: shapes, statuses and decoding by release.

use manent_testbed::dataplane::{Bridge, Decoding, Options, Release};
use manent_testbed::haproxy::{Config, Haproxy, Server};
use manent_testbed::http::{Request, Response, send};
use manent_testbed::{Folder, Result};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

/// `admin:s3cret`.
pub(crate) const LOGIN: &str = "Basic YWRtaW46czNjcmV0";

struct Bed {
    bridge: Bridge,
    haproxy: Haproxy,
    _folder: Folder,
}

/// Servers that nobody runs: nothing here needs an application. `web3` is declared disabled.
fn bed(release: Release, decoding: Decoding) -> Result<Bed> {
    let folder = Folder::new("bridge")?;
    let nobody = SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, 1), 9);
    let server = |name: &str, checks, extra: &str| Server {
        checks,
        extra: extra.to_owned(),
        ..Server::new(name, nobody)
    };
    let servers =
        vec![server("web1", true, ""), server("web2", false, ""), server("web3", false, "disabled")];
    let haproxy = Haproxy::start(&folder, "lb", &Config { reloadable: false, ..Config::new(servers) })?;
    let options = Options { release, decoding, ..Options::default() };
    let bridge = Bridge::start(haproxy.socket(), options)?;
    Ok(Bed { bridge, haproxy, _folder: folder })
}

pub(crate) fn call(bridge: &Bridge, method: &str, path: &str, body: &str, login: &str) -> Result<Response> {
    let headers = [("Authorization", login), ("Content-Type", "application/json")];
    let timeout = Duration::from_secs(3);
    send(bridge.address(), &Request { method, path, headers: &headers, body, timeout })
}

fn get(bridge: &Bridge, path: &str) -> (u16, Value) {
    let answer = call(bridge, "GET", path, "", LOGIN).unwrap();
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

fn put(bridge: &Bridge, path: &str, body: &str) -> (u16, Value) {
    let answer = call(bridge, "PUT", path, body, LOGIN).unwrap();
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

fn list(release: Release, backend: &str) -> String {
    match release {
        Release::V2_9 => format!("/v2/services/haproxy/runtime/servers?backend={backend}"),
        _ => format!("/v3/services/haproxy/runtime/backends/{backend}/servers"),
    }
}

fn one(release: Release, backend: &str, server: &str) -> String {
    match release {
        Release::V2_9 => format!("/v2/services/haproxy/runtime/servers/{server}?backend={backend}"),
        _ => format!("/v3/services/haproxy/runtime/backends/{backend}/servers/{server}"),
    }
}

#[test]
fn errors_follow_the_release() {
    let table = [
        (Release::V2_9, 200, 500, 606),
        (Release::V3_0, 500, 500, 606),
        (Release::V3_2, 404, 404, 606),
        (Release::V3_3_6, 404, 404, 422),
    ];
    for (release, unknown_list, unknown_change, invalid_code) in table {
        let mut bed = bed(release, Decoding::Hexadecimal).unwrap();
        let (status, body) = get(&bed.bridge, &list(release, "nope"));
        assert_eq!(status, unknown_list, "{release:?}");
        if release == Release::V2_9 {
            assert_eq!(body, json!([]));
        } else {
            assert_eq!(body, json!({"code": unknown_list, "message": "no data for nope: not found"}));
        }
        let (status, body) = get(&bed.bridge, &one(release, "shop", "web9"));
        assert_eq!((status, &body["message"]), (404, &json!("no data for shop/web9: not found")));
        let drain = r#"{"admin_state":"drain"}"#;
        let (status, _) = put(&bed.bridge, &one(release, "shop", "web9"), drain);
        assert_eq!(status, unknown_change, "{release:?}");
        let (status, body) = put(&bed.bridge, &one(release, "shop", "web1"), r#"{"admin_state":"gone"}"#);
        assert_eq!((status, &body["code"]), (422, &json!(invalid_code)));
        let other = if release == Release::V2_9 { Release::V3_2 } else { Release::V2_9 };
        assert_eq!(get(&bed.bridge, &list(other, "shop")).0, 404, "the other version's paths are unknown");

        bed.haproxy.stop().unwrap();
        assert_eq!(get(&bed.bridge, &list(release, "shop")).0, unknown_list, "a dead HAProxy looks the same");
        assert_eq!(get(&bed.bridge, &one(release, "shop", "web1")).0, 404);
        assert_eq!(put(&bed.bridge, &one(release, "shop", "web1"), drain).0, unknown_change);
        let (status, body) = get(&bed.bridge, &format!("/{}/services/haproxy/stats/native", release.api()));
        let body = if release == Release::V2_9 { body[0].clone() } else { body };
        assert_eq!(status, 500);
        assert!(body["error"].as_str().unwrap().starts_with("dial unix"), "{body}");
        let health = get(&bed.bridge, &format!("/{}/health", release.api()));
        assert_eq!(health, (200, json!({"haproxy": "down"})));
    }
}

#[test]
fn lists_have_six_fields_or_all() {
    let bed = bed(Release::V3_2, Decoding::Hexadecimal).unwrap();
    let (_, body) = get(&bed.bridge, &list(Release::V3_2, "shop"));
    assert_eq!(
        body[1],
        json!({"address":"127.0.0.1","admin_state":"ready","id":"2","name":"web2","operational_state":"up","port":9})
    );
    let bed = self::bed(Release::V3_3_6, Decoding::Hexadecimal).unwrap();
    let (_, body) = get(&bed.bridge, &list(Release::V3_3_6, "shop"));
    assert_eq!(body[1].as_object().unwrap().len(), 26);
    assert_eq!((&body[1]["weight"], &body[1]["backend_name"]), (&json!(1), &json!("shop")));
}

#[test]
fn a_change_sends_only_what_differs_health_first() {
    let bed = bed(Release::V3_2, Decoding::Hexadecimal).unwrap();
    let path = one(Release::V3_2, "shop", "web2");
    let (status, body) = put(&bed.bridge, &path, r#"{"admin_state":"drain"}"#);
    assert_eq!(
        (status, &body["admin_state"], &body["operational_state"]),
        (200, &json!("drain"), &json!("up"))
    );
    put(&bed.bridge, &path, r#"{"admin_state":"drain"}"#);
    put(&bed.bridge, &path, r#"{"admin_state":"ready","operational_state":"down"}"#);
    let effects: Vec<_> = bed.bridge.changes().into_iter().map(|call| call.effects).collect();
    assert_eq!(
        effects,
        [
            vec!["set server shop/web2 state drain"],
            vec![],
            vec!["set server shop/web2 health down", "set server shop/web2 state ready"]
        ]
    );
    assert!(!bed.haproxy.socket().truth("shop").unwrap()["web2"].up);
    let calls = bed.bridge.calls();
    assert_eq!(
        (calls[0].method.as_str(), calls[0].path.as_str(), calls[0].status),
        ("PUT", path.as_str(), 200)
    );
}

#[test]
fn a_disabled_server_that_is_drained_reads_maint() {
    for (decoding, shown) in [(Decoding::Hexadecimal, "maint"), (Decoding::Right, "drain")] {
        let bed = bed(Release::V3_2, decoding).unwrap();
        let path = one(Release::V3_2, "shop", "web3");
        assert_eq!(get(&bed.bridge, &path).1["admin_state"], "maint", "mask 5");
        assert_eq!(put(&bed.bridge, &path, r#"{"admin_state":"ready"}"#).1["admin_state"], "ready", "mask 4");
        assert_eq!(put(&bed.bridge, &path, r#"{"admin_state":"drain"}"#).1["admin_state"], shown, "mask 12");
    }
}

#[test]
fn logins_are_checked_and_never_recorded() {
    let bed = bed(Release::V3_2, Decoding::Hexadecimal).unwrap();
    let path = list(Release::V3_2, "shop");
    for wrong in ["", "Basic YWRtaW46d3Jvbmc=", "Bearer x"] {
        let answer = call(&bed.bridge, "GET", &path, "", wrong).unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (401, r#"{"code":401,"message":"unauthorized"}"#));
        assert_eq!(answer.header("www-authenticate"), Some("Basic realm=\"API\""));
    }
    get(&bed.bridge, &path);
    let record = format!("{:?}", bed.bridge.calls());
    assert!(!record.contains("s3cret") && !record.contains("YWRtaW4"));
}

#[test]
fn counters_have_the_shape_of_the_version() {
    for release in [Release::V2_9, Release::V3_2] {
        let bed = bed(release, Decoding::Hexadecimal).unwrap();
        let of_version = |body: Value| if release == Release::V2_9 { body[0].clone() } else { body };
        let base = format!("/{}/services/haproxy/stats/native", release.api());
        let (status, body) = get(&bed.bridge, &format!("{base}?type=server&parent=shop"));
        let body = of_version(body);
        assert_eq!((status, body["stats"].as_array().unwrap().len()), (200, 3));
        let web2 = &body["stats"][1];
        assert_eq!(
            (&web2["name"], &web2["backend_name"], &web2["type"]),
            (&json!("web2"), &json!("shop"), &json!("server"))
        );
        assert_eq!((&web2["stats"]["scur"], &web2["stats"]["status"]), (&json!(0), &json!("no check")));
        assert_eq!(web2["stats"].get("slim"), None, "an empty column is left out");
        let (status, body) = get(&bed.bridge, &format!("{base}?type=server&parent=nope"));
        assert_eq!((status, of_version(body).get("stats").cloned()), (200, None), "no match: no member");
        assert_eq!(get(&bed.bridge, &format!("{base}?name=web2")).0, 400);
        assert_eq!(get(&bed.bridge, &format!("{base}?type=server&name=web2")).0, 400);
        let (_, body) = get(&bed.bridge, &format!("/{}/services/haproxy/runtime/info", release.api()));
        assert_eq!(of_version(body)["info"]["pid"], bed.haproxy.worker().unwrap());
    }
}

#[test]
fn a_socket_without_admin_level_refuses_changes() {
    let folder = Folder::new("operator").unwrap();
    let nobody = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9);
    let config = Config { level: "operator".to_owned(), ..Config::new(vec![Server::new("web1", nobody)]) };
    let haproxy = Haproxy::start(&folder, "lb", &config).unwrap();
    let bridge = Bridge::start(haproxy.socket(), Options::default()).unwrap();
    let (status, body) = put(&bridge, &one(Release::V3_2, "shop", "web1"), r#"{"admin_state":"drain"}"#);
    assert_eq!(status, 500);
    assert!(body["message"].as_str().unwrap().contains("Permission denied"), "{body}");
    assert!(bridge.changes()[0].effects.is_empty());
}
