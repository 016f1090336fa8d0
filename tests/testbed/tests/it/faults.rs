//! Faults strike the calls that they were ordered for, before or after the effect.

use crate::bridge::{LOGIN, call};
use manent_testbed::Result;
use manent_testbed::dataplane::{Bridge, Fault, Kind, Options, Scripted};
use manent_testbed::http::Response;
use std::time::{Duration, Instant};

const WEB1: &str = "/v3/services/haproxy/runtime/backends/shop/servers/web1";
const DRAIN: &str = r#"{"admin_state":"drain"}"#;

fn bridge() -> (Bridge, Scripted) {
    let world = Scripted::new("shop", &["web1"]);
    (Bridge::over(world.clone(), Options::default()).unwrap(), world)
}

fn drain(bridge: &Bridge) -> Result<Response> {
    call(bridge, "PUT", WEB1, DRAIN, LOGIN)
}

fn is_drained(world: &Scripted) -> bool {
    world.member("web1").unwrap().mask == 8
}

#[test]
fn a_status_strikes_as_often_as_told_and_has_no_effect() {
    let (bridge, world) = bridge();
    bridge.fault(Fault::next_change(Kind::Status(503)).times(2));
    assert_eq!(drain(&bridge).unwrap().status, 503);
    assert_eq!(call(&bridge, "GET", WEB1, "", LOGIN).unwrap().status, 200, "only changes are struck");
    assert_eq!(drain(&bridge).unwrap().status, 503);
    assert!(!is_drained(&world));
    assert_eq!(drain(&bridge).unwrap().status, 200);
    assert!(is_drained(&world));
}

#[test]
fn a_lost_answer_leaves_its_effect() {
    let (bridge, world) = bridge();
    bridge.fault(Fault::next_change(Kind::Drop).after_effect());
    assert!(drain(&bridge).is_err());
    assert!(is_drained(&world));
    let lost = bridge.changes().remove(0);
    assert_eq!((lost.effects.len(), lost.status), (1, 0));
    assert!(lost.fault.unwrap().contains("Drop"));
}

#[test]
fn a_dropped_request_has_no_effect() {
    let (bridge, world) = bridge();
    bridge.fault(Fault::next(Kind::Drop));
    assert!(drain(&bridge).is_err());
    assert!(!is_drained(&world));
}

#[test]
fn answers_can_be_cut_late_hung_and_spoiled() {
    let (bridge, _world) = bridge();
    let get = || call(&bridge, "GET", WEB1, "", LOGIN);
    bridge.fault(Fault::next(Kind::CutAfter(60)));
    assert!(get().is_err());
    let began = Instant::now();
    bridge.fault(Fault::next(Kind::Slow(Duration::from_millis(300))));
    assert_eq!(get().unwrap().status, 200);
    assert!(began.elapsed() >= Duration::from_millis(300));
    bridge.fault(Fault::next(Kind::Hang));
    assert!(get().is_err(), "the client's patience ends");
    bridge.fault(Fault::next(Kind::Oversized(9 << 20)));
    assert!(get().unwrap().body.len() > 9 << 20);
    bridge.fault(Fault::next(Kind::Nested(100)));
    assert!(get().unwrap().body.starts_with("[[[["));
    bridge.fault(Fault::next(Kind::Body("<html>".to_owned())));
    assert_eq!(get().unwrap().body, "<html>");
    bridge.fault(Fault::next(Kind::Redirect("http://127.0.0.1:9/".to_owned())));
    let redirect = get().unwrap();
    assert_eq!((redirect.status, redirect.header("location")), (307, Some("http://127.0.0.1:9/")));
    assert_eq!(get().unwrap().status, 200);
}

#[test]
fn a_fault_waits_for_its_path_and_turn() {
    let (bridge, _world) = bridge();
    bridge.fault(Fault::next(Kind::Status(500)).on("/stats/").after_calls(1));
    let stats = || call(&bridge, "GET", "/v3/services/haproxy/stats/native", "", LOGIN).unwrap().status;
    assert_eq!(call(&bridge, "GET", WEB1, "", LOGIN).unwrap().status, 200);
    assert_eq!([stats(), stats(), stats()], [200, 500, 200]);
}

#[test]
fn a_refusing_api_comes_back_with_its_record() {
    let (mut bridge, _world) = bridge();
    drain(&bridge).unwrap();
    bridge.refuse();
    assert!(drain(&bridge).is_err());
    bridge.accept().unwrap();
    assert_eq!(drain(&bridge).unwrap().status, 200);
    assert_eq!(bridge.changes().len(), 2);
}

#[test]
fn the_record_is_also_a_file() {
    let folder = manent_testbed::Folder::new("record").unwrap();
    let record = folder.path().join("calls");
    let options = Options { record: Some(record.clone()), ..Options::default() };
    let bridge = Bridge::over(Scripted::new("shop", &["web1"]), options).unwrap();
    drain(&bridge).unwrap();
    drop(bridge);
    let text = std::fs::read_to_string(record).unwrap();
    let call: manent_testbed::dataplane::Call = serde_json::from_str(text.trim()).unwrap();
    assert_eq!(call.effects, ["set server shop/web1 state drain"]);
}
