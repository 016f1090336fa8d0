//! Scripted worlds give exact sequences of reads, and otherwise behave as HAProxy does.

use crate::bridge::{LOGIN, call};
use manent_testbed::dataplane::{Bridge, Change, Member, Options, Pace, Scripted, Trigger};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

const SERVERS: &str = "/v3/services/haproxy/runtime/backends/shop/servers";

fn change(change: impl Fn(&mut Member) + Send + Sync + 'static) -> Change {
    Arc::new(change)
}

/// Administrative state, operational state, sessions and status text of `w2`: the list first, then the counters.
fn read(bridge: &Bridge) -> (String, String, u64, String) {
    let json = |path: &str| -> Value {
        serde_json::from_str(&call(bridge, "GET", path, "", LOGIN).unwrap().body).unwrap()
    };
    let server = json(SERVERS)[0].clone();
    let stats =
        json("/v3/services/haproxy/stats/native?type=server&parent=shop")["stats"][0]["stats"].clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (admin, op) = (text(&server["admin_state"]), text(&server["operational_state"]));
    (admin, op, stats["scur"].as_u64().unwrap(), text(&stats["status"]))
}

fn put(bridge: &Bridge, body: &str) {
    assert_eq!(call(bridge, "PUT", &format!("{SERVERS}/w2"), body, LOGIN).unwrap().status, 200);
}

#[test]
fn a_drain_lost_between_two_reads() {
    let world = Scripted::new("shop", &["w2"]);
    let bridge = Bridge::over(world.clone(), Options::default()).unwrap();
    world.change("w2", |w2| w2.scur = 12);
    let lost = change(|w2| (w2.mask, w2.scur) = (0, 7));
    let rest = change(|w2| w2.scur = 3);
    let none = change(|w2| w2.scur = 0);
    // A change reads twice by itself, before and after: reads of the test are told apart by time here.
    put(&bridge, r#"{"admin_state":"drain"}"#);
    assert_eq!(read(&bridge), ("drain".into(), "up".into(), 12, "DRAIN".into()));
    world.script(
        "w2",
        Trigger::Now,
        vec![(Pace::NextRead, lost), (Pace::NextRead, rest), (Pace::NextRead, none)],
    );
    assert_eq!(read(&bridge), ("ready".into(), "up".into(), 7, "UP".into()));
    assert_eq!(read(&bridge).2, 3);
    assert_eq!(read(&bridge).2, 0);
    assert_eq!(read(&bridge).2, 0, "the last state stays");
}

#[test]
fn scripts_wait_for_their_order_and_their_time() {
    let world = Scripted::new("shop", &["w2"]);
    let bridge = Bridge::over(world.clone(), Options::default()).unwrap();
    let late = (Pace::After(Duration::from_millis(300)), change(|w2| w2.op = 2));
    let down = (Pace::After(Duration::ZERO), change(|w2| w2.op = 0));
    world.script("w2", Trigger::Restored, vec![down, late]);
    put(&bridge, r#"{"admin_state":"drain"}"#);
    assert_eq!(read(&bridge).1, "up");
    put(&bridge, r#"{"admin_state":"ready"}"#);
    assert_eq!(read(&bridge), ("ready".into(), "down".into(), 0, "DOWN".into()));
    std::thread::sleep(Duration::from_millis(310));
    assert_eq!(read(&bridge).1, "up");
}

#[test]
fn a_member_forced_down_recovers_by_its_checks_while_drained() {
    let world = Scripted::new("shop", &["w2"]);
    let bridge = Bridge::over(world.clone(), Options::default()).unwrap();
    world.change("w2", |w2| w2.recovery = Duration::from_millis(200));
    put(&bridge, r#"{"admin_state":"drain"}"#);
    put(&bridge, r#"{"operational_state":"down"}"#);
    assert_eq!(read(&bridge), ("drain".into(), "down".into(), 0, "DOWN".into()));
    std::thread::sleep(Duration::from_millis(210));
    assert_eq!(read(&bridge), ("drain".into(), "up".into(), 0, "DRAIN".into()));
    world.reload();
    assert_eq!(read(&bridge).0, "ready", "a reload forgets");
}

#[test]
fn deaf_members_accept_and_do_nothing_and_dead_worlds_have_no_data() {
    let world = Scripted::new("shop", &["w2"]);
    let bridge = Bridge::over(world.clone(), Options::default()).unwrap();
    world.change("w2", |w2| w2.deaf = true);
    put(&bridge, r#"{"admin_state":"drain"}"#);
    assert_eq!(read(&bridge).0, "ready");
    world.set_dead(true);
    assert_eq!(call(&bridge, "GET", SERVERS, "", LOGIN).unwrap().status, 404);
}
