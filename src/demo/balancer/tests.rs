//! The load balancer over real sockets: what manent relies on when it drives it, and what must be seen when a server cuts.

use std::net::Ipv4Addr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::sleep;

use super::checks::INTERVAL;
use super::*;
use crate::demo::client::{self, Answer};

const PATIENCE: Duration = Duration::from_secs(5);

/// How a server behaves from now on.
#[derive(Clone, Copy, PartialEq)]
enum Mood {
    Well,
    Unwell,
    /// Requests, not checks, are closed without an answer.
    Cuts,
    /// Half an answer, then the end.
    Breaks,
}

struct World {
    front: SocketAddr,
    api: SocketAddr,
    moods: Vec<watch::Sender<Mood>>,
    balancer: Arc<Balancer>,
}

impl World {
    async fn new(count: usize) -> World {
        let open = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let (mut members, mut moods) = (vec![], vec![]);
        for number in 1..=count {
            let (listener, (mood, seen)) = (open().await.unwrap(), watch::channel(Mood::Well));
            members.push((format!("shop{number}"), listener.local_addr().unwrap()));
            moods.push(mood);
            tokio::spawn(serve(listener, format!("shop{number}"), seen));
        }
        let (requests, api) = (open().await.unwrap(), open().await.unwrap());
        let (front, address) = (requests.local_addr().unwrap(), api.local_addr().unwrap());
        let balancer = Balancer::start(&members, requests, api, "demo:secret");
        let world = World { front, api: address, moods, balancer };
        for number in 1..=count {
            world.until(&format!("shop{number}"), "UP").await;
        }
        world
    }

    async fn get(&self, path: &str) -> Result<Answer, String> {
        client::get(self.front, path, PATIENCE).await
    }

    async fn ask(&self, path: &str) -> (u16, Value) {
        let answer = client::get_as(self.api, path, &authorization("demo:secret"), PATIENCE).await.unwrap();
        (answer.status, serde_json::from_str(&answer.body).unwrap())
    }

    async fn put(&self, server: &str, body: &str) -> (u16, Value) {
        let request = format!(
            "PUT {} HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            path(server),
            authorization("demo:secret"),
            body.len()
        );
        let answer = client::send(self.api, &request, PATIENCE).await.unwrap();
        (answer.status, serde_json::from_str(&answer.body).unwrap())
    }

    async fn counters(&self, server: &str) -> (String, u64) {
        let query = format!("/v3/services/haproxy/stats/native?type=server&parent=shop&name={server}");
        let (_, answer) = self.ask(&query).await;
        let stats = &answer["stats"][0]["stats"];
        (stats["status"].as_str().unwrap().to_owned(), stats["scur"].as_u64().unwrap())
    }

    async fn until(&self, server: &str, status: &str) {
        for _ in 0..200 {
            if self.counters(server).await.0 == status {
                return;
            }
            sleep(Duration::from_millis(25)).await;
        }
        panic!("{server} never was {status}, but {:?}", self.counters(server).await);
    }
}

fn path(server: &str) -> String {
    format!("/v3/services/haproxy/runtime/backends/shop/servers/{server}")
}

async fn serve(listener: TcpListener, name: String, mood: watch::Receiver<Mood>) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let (name, mood) = (name.clone(), *mood.borrow());
        tokio::spawn(async move {
            let mut bytes = vec![0; 4096];
            let read = stream.read(&mut bytes).await.unwrap_or(0);
            let request = String::from_utf8_lossy(&bytes[..read]).into_owned();
            let check = request.starts_with("GET /healthz");
            if request.starts_with("GET /slow") {
                sleep(Duration::from_millis(600)).await;
            }
            let status = if check && mood == Mood::Unwell { "500 Unwell" } else { "200 OK" };
            let body = if mood == Mood::Breaks && !check { "go" } else { "good" };
            let answer = format!("HTTP/1.1 {status}\r\nX-Member: {name}\r\nContent-Length: 4\r\n\r\n{body}");
            if mood != Mood::Cuts || check {
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
    }
}

#[tokio::test]
async fn requests_go_round() {
    let world = World::new(3).await;
    let mut seen = vec![];
    for _ in 0..6 {
        seen.push(world.get("/").await.unwrap().header("x-member").unwrap().to_owned());
    }
    assert_eq!(seen[..3], seen[3..]);
    seen.sort();
    seen.dedup();
    assert_eq!(seen, ["shop1", "shop2", "shop3"]);
}

#[tokio::test]
async fn a_drain_keeps_what_is_in_flight_and_gives_nothing_new() {
    let world = World::new(2).await;
    let front = world.front;
    let slow: Vec<_> =
        (0..2).map(|_| tokio::spawn(async move { client::get(front, "/slow", PATIENCE).await })).collect();
    sleep(Duration::from_millis(200)).await;
    assert_eq!(world.put("shop1", r#"{"admin_state":"drain"}"#).await.1["admin_state"], "drain");
    assert_eq!(world.counters("shop1").await, ("DRAIN".to_owned(), 1));
    assert_eq!(world.balancer.in_flight_when_taken_out(), 1);
    for _ in 0..4 {
        assert_eq!(world.get("/").await.unwrap().header("x-member"), Some("shop2"));
    }
    for answer in slow {
        assert_eq!(answer.await.unwrap().unwrap().status, 200);
    }
    sleep(Duration::from_millis(50)).await;
    assert_eq!(world.counters("shop1").await, ("DRAIN".to_owned(), 0));
    world.put("shop2", r#"{"admin_state":"drain"}"#).await;
    assert_eq!(world.get("/").await.unwrap().status, 503);
}

#[tokio::test]
async fn forced_down_it_comes_up_again_by_checks_alone() {
    let world = World::new(1).await;
    world.moods[0].send_replace(Mood::Unwell);
    world.put("shop1", r#"{"admin_state":"drain"}"#).await;
    let (status, server) = world.put("shop1", r#"{"operational_state":"down"}"#).await;
    assert_eq!(
        (status, &server["operational_state"], &server["admin_state"]),
        (200, &"down".into(), &"drain".into())
    );
    sleep(INTERVAL * 4).await;
    assert_eq!(world.ask(&path("shop1")).await.1["operational_state"], "down");
    world.moods[0].send_replace(Mood::Well);
    world.until("shop1", "DRAIN").await;
    assert_eq!(world.put("shop1", r#"{"admin_state":"ready"}"#).await.1["operational_state"], "up");
    assert_eq!(world.counters("shop1").await.0, "UP");
}

#[tokio::test]
async fn what_a_server_cuts_is_seen_as_cut_and_never_sent_again() {
    let world = World::new(2).await;
    world.moods[0].send_replace(Mood::Cuts);
    world.moods[1].send_replace(Mood::Breaks);
    let mut seen = vec![];
    for _ in 0..2 {
        seen.push(match world.get("/").await {
            Ok(answer) => format!("{} of {}", answer.status, answer.header("x-member").unwrap()),
            Err(error) => error,
        });
    }
    seen.sort();
    assert_eq!(seen, ["502 of shop1", "the answer was cut"]);
    let given: u64 = world.balancer.members().iter().map(|member| member.given).sum();
    assert_eq!(given, 2);
}

#[tokio::test]
async fn the_api_refuses_as_the_real_one_does() {
    let world = World::new(1).await;
    let answer = client::get(world.api, "/v3/info", PATIENCE).await.unwrap();
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Basic realm=\"API\"")));
    assert_eq!(world.ask("/v2/info").await.0, 404);
    let (status, error) = world.ask("/v3/services/haproxy/runtime/backends/other/servers").await;
    assert_eq!((status, &error["message"]), (404, &"no data for other: not found".into()));
    assert_eq!(world.put("shop9", r#"{"admin_state":"drain"}"#).await.0, 404);
    assert_eq!(world.put("shop1", r#"{"admin_state":"gone"}"#).await.0, 422);
    let (_, none) = world.ask("/v3/services/haproxy/stats/native?type=server&parent=other").await;
    assert!(none.get("stats").is_none());
}
