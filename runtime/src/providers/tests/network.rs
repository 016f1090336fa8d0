//! Every network fault at every call of the two providers, against the table in `network.txt`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use manent_engine::call::{Change, InstanceAnswer};
use manent_engine::view::{Admin, Health};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::certificates::{Authority, secure};
use super::rogue::{Plot, Rogue, Then, Wrong, answer, ok};
use super::{built, pool, wanted};
use crate::providers::{Limits, Provider};

const TABLE: &str = include_str!("network.txt");

const COLUMNS: [&str; 8] = ["list", "stats", "process", "drain", "restore", "flag", "unflag", "health"];

/// Short limits where time is the fault; long ones elsewhere, so that a busy machine is no fault.
fn limits(fault: &str) -> Limits {
    let short = matches!(fault, "connect timeout" | "half-open" | "one byte at a time");
    let header = Duration::from_millis(if short { 2500 } else { 30_000 });
    Limits { header, answer: header + Duration::from_millis(500), body: 64 << 10, ..Limits::default() }
}

/// The right answers about a member that is in service.
fn ready(line: &str) -> String {
    world(line, "ready", "UP")
}

/// The right answers about a member that is drained.
fn drained(line: &str) -> String {
    world(line, "drain", "DRAIN")
}

fn world(line: &str, admin: &str, status: &str) -> String {
    if line.contains("/stats/native") {
        let stats =
            format!(r#""stats":{{"status":"{status}","scur":0,"qcur":0,"weight":1,"check_status":"L7OK"}}"#);
        format!(r#"{{"stats":[{{"name":"web","type":"server","backend_name":"shop",{stats}}}]}}"#)
    } else if line.contains("/runtime/info") {
        r#"{"info":{"pid":7,"uptime":9}}"#.to_owned()
    } else if line.ends_with("/servers") {
        format!(r#"[{{"name":"web","admin_state":"{admin}","operational_state":"up"}}]"#)
    } else {
        "{}".to_owned()
    }
}

/// Where a fault stands: behind an address, or in one call of a server that is right otherwise.
enum Fault {
    Address(String),
    Call(Wrong),
}

/// What a fault needs from outside.
struct Stage {
    trap: SocketAddr,
    full: SocketAddr,
    certificates: Certificates,
}

struct Certificates {
    good: SocketAddr,
    good_drained: SocketAddr,
    expired: SocketAddr,
    early: SocketAddr,
    other_name: SocketAddr,
    other_issuer: SocketAddr,
    own: SocketAddr,
    ca_file: PathBuf,
    _folder: tempfile::TempDir,
}

async fn certificates() -> Certificates {
    let folder = tempfile::tempdir().unwrap();
    let (ours, foreign) = (Authority::new(), Authority::new());
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, ours.pem()).unwrap();
    Certificates {
        good: secure(ours.issue("127.0.0.1", 2001, 2500), ready).await,
        good_drained: secure(ours.issue("127.0.0.1", 2001, 2500), drained).await,
        expired: secure(ours.issue("127.0.0.1", 2001, 2002), ready).await,
        early: secure(ours.issue("127.0.0.1", 2500, 2501), ready).await,
        other_name: secure(ours.issue("127.9.9.9", 2001, 2500), ready).await,
        other_issuer: secure(foreign.issue("127.0.0.1", 2001, 2500), ready).await,
        own: secure(Authority::alone("127.0.0.1"), ready).await,
        ca_file,
        _folder: folder,
    }
}

fn fault(name: &str, line: &str, stage: &Stage) -> Fault {
    let right = ready(line);
    let length = right.len();
    let body = |body: &str| Fault::Call(Wrong::Bytes(ok(body), Then::Stay));
    let bytes = |bytes: &[u8], then| Fault::Call(Wrong::Bytes(bytes.to_vec(), then));
    let https = |at: &SocketAddr| Fault::Address(format!("https://{at}"));
    let words: Vec<&str> = name.split(' ').collect();
    match words.as_slice() {
        ["name", "not", "found"] => Fault::Address("http://no-such-name.invalid:1".to_owned()),
        ["connect", "refused"] => Fault::Address("http://127.0.0.1:1".to_owned()),
        ["connect", "timeout"] => Fault::Address(format!("http://{}", stage.full)),
        ["reset", "before", ..] => bytes(b"", Then::Reset),
        ["reset", "during", ..] => bytes(&ok(&right)[..30], Then::Reset),
        ["effect", ..] => bytes(b"", Then::Close),
        ["half-open"] => bytes(b"", Then::Hang),
        ["one", "byte", ..] => Fault::Call(Wrong::Drip(ok(&right))),
        ["header", "flood"] => {
            Fault::Call(Wrong::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), b"X-A: b\r\n".to_vec()))
        }
        ["no", "http", ..] => bytes(b"SSH-2.0-OpenSSH_9.2\r\n", Then::Close),
        ["tls", "by", ..] => https(if line.starts_with("PUT") {
            &stage.certificates.good_drained
        } else {
            &stage.certificates.good
        }),
        ["tls", "expired"] => https(&stage.certificates.expired),
        ["tls", "not", ..] => https(&stage.certificates.early),
        ["tls", "wrong", ..] => https(&stage.certificates.other_name),
        ["tls", "unknown", ..] => https(&stage.certificates.other_issuer),
        ["tls", "self-signed"] => https(&stage.certificates.own),
        ["tls", "old", ..] | ["tls", "port", ..] => unreachable!("needs a server of its own"),
        ["redirect", code, place @ ..] => {
            let to = match place {
                ["same", "host"] => "/elsewhere".to_owned(),
                ["other", "host"] => format!("http://{}/taken", stage.trap),
                ["link-local"] => "http://169.254.169.254/latest/meta-data/".to_owned(),
                ["loop"] => line.split(' ').nth(1).unwrap().to_owned(),
                other => panic!("{other:?}"),
            };
            bytes(&answer(&format!("{code} Moved"), &format!("Location: {to}\r\n"), ""), Then::Stay)
        }
        ["status", code] if *code == "304" => bytes(b"HTTP/1.1 304 Not Modified\r\n\r\n", Then::Stay),
        ["status", code] => {
            bytes(&answer(&format!("{code} No"), "", r#"{"code":1,"message":"no"}"#), Then::Stay)
        }
        ["status", code, ..] => {
            bytes(&answer(&format!("{code} No"), "Retry-After: 60\r\n", "later"), Then::Stay)
        }
        ["empty", "body"] => body(""),
        ["malformed", "json"] => body(&right[..length.saturating_sub(1)]),
        ["wrong", "types"] => body(r#"[{"name":7,"stats":[{"stats":{"scur":"0"}}]}]"#),
        ["missing", "keys"] if line.ends_with("/servers") => body("[{}]"),
        ["missing", "keys"] => body("{}"),
        ["doubled", "keys"] => body(&right.replace(r#""name":"web""#, r#""name":"web","name":"web""#)),
        ["deep", "nesting"] => body(&format!("{}{}", "[".repeat(2000), "]".repeat(2000))),
        ["body", "without", "end"] => {
            let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n".to_vec();
            Fault::Call(Wrong::Endless(head, vec![b' '; 4096]))
        }
        ["compressed", "bomb"] => bytes(&answer("200 OK", "Content-Encoding: gzip\r\n", &right), Then::Stay),
        ["length", "too", "long"] => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{right}", length + 9);
            bytes(head.as_bytes(), Then::Close)
        }
        ["length", "too", "short"] => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{right}", length / 2);
            bytes(head.as_bytes(), Then::Stay)
        }
        ["answer", "of", ..] => {
            let right = right.replace(r#""name":"web""#, r#""name":"web","backend_name":"other""#);
            body(&right.replace(r#","backend_name":"shop""#, ""))
        }
        ["slow", ..] => Fault::Call(Wrong::Slow(Duration::from_millis(200))),
        other => panic!("no such fault: {other:?}"),
    }
}

/// The line of the call that a column stands for.
fn line(column: &str) -> &'static str {
    match column {
        "list" => "GET /v3/services/haproxy/runtime/backends/shop/servers",
        "stats" => "GET /v3/services/haproxy/stats/native?type=server&parent=shop",
        "process" => "GET /v3/services/haproxy/runtime/info",
        "drain" | "restore" => "PUT /v3/services/haproxy/runtime/backends/shop/servers/web",
        "flag" => "PUT /flag",
        "unflag" => "DELETE /flag",
        "health" => "GET /health",
        other => panic!("{other}"),
    }
}

/// What a cell came to.
async fn outcome(name: &str, column: &str, stage: &Stage) -> String {
    let line = line(column);
    let right = if column == "restore" { drained } else { ready };
    let plot = |wrong| Plot { on: line.to_owned(), wrong, right };
    let (base, server) = match name {
        "tls old version" => {
            // The alert of a server that knows no version that is offered.
            let alert = Wrong::Bytes(vec![0x15, 3, 1, 0, 2, 2, 70], Then::Close);
            (format!("https://{}", raw(alert).await), None)
        }
        "tls port without tls" => {
            let words = Wrong::Bytes(answer("400 Bad Request", "", ""), Then::Close);
            (format!("https://{}", raw(words).await), None)
        }
        _ => match fault(name, line, stage) {
            Fault::Address(base) => (base, None),
            Fault::Call(wrong) => {
                let server = Rogue::start(plot(wrong)).await;
                (format!("http://{}", server.at), Some(server))
            }
        },
    };
    let provider = provider(name, column, &base, &stage.certificates.ca_file);
    let host = base.split("://").nth(1).unwrap().rsplit_once(':').unwrap();
    let target = [super::Wanted { host: host.0.to_owned(), port: host.1.parse().ok(), ..wanted("web") }];
    let outcome = match column {
        "list" | "stats" | "process" => match provider.read(&target).await.remove(0).outcome {
            Ok(members) => {
                let web = &members.seen["web"];
                assert_eq!((web.admin, web.health), (Admin::In, Health::Up), "{name}, {column}");
                "ok"
            }
            Err(failure) if failure.permanent => "fail",
            Err(_) => "retry",
        },
        "health" => match provider.read(&target).await.remove(0).outcome.unwrap().seen["web"].health {
            Health::Up => "up",
            Health::Down => "down",
            Health::Unknown => "unknown",
            Health::Unchecked => "unchecked",
        },
        _ => {
            let change = if matches!(column, "drain" | "flag") { Change::Drain } else { Change::Restore };
            match provider.change(change, 0, &target).await {
                InstanceAnswer::Accepted => "ok",
                InstanceAnswer::Refused { reason } => {
                    assert!(!reason.is_empty() && !reason.contains("s3cret"), "{name}, {column}: {reason}");
                    "fail"
                }
                InstanceAnswer::Unsure { .. } => "retry",
            }
        }
    };
    // One try a call, whatever happens, and no call that nobody asked for.
    if let Some(server) = server {
        let tries = server.asked().iter().filter(|asked| asked.line == line).count();
        assert_eq!(tries, 1, "{name}, {column}");
        let strays = server.asked().iter().filter(|asked| asked.line.contains("elsewhere")).count();
        assert_eq!(strays, 0, "{name}, {column}");
    }
    outcome.to_owned()
}

fn provider(fault: &str, column: &str, base: &str, ca_file: &Path) -> Box<dyn Provider> {
    let scheme = base.split("://").next().unwrap();
    let (flag, health) =
        (format!("{scheme}://{{host}}:{{port}}/flag"), format!("{scheme}://{{host}}:{{port}}/health"));
    let ca_file = ca_file.display().to_string();
    let pool = match column {
        "flag" | "unflag" | "health" => {
            pool("health-flag", &[("drain_url", &flag), ("health_url", &health), ("token_secret", "token")])
        }
        _ => pool(
            "haproxy",
            &[
                ("dataplane_urls", base),
                ("backend", "shop"),
                ("credentials_secret", "lb"),
                ("allow_http", "true"),
                ("ca_file", &ca_file),
            ],
        ),
    };
    built(&pool, "admin:s3cret", limits(fault)).unwrap()
}

/// A port whose queue is full: whoever connects waits.
fn full() -> SocketAddr {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let at = listener.local_addr().unwrap();
    let mut queued = vec![];
    while let Ok(stream) = std::net::TcpStream::connect_timeout(&at, Duration::from_millis(100)) {
        queued.push(stream);
    }
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        drop((listener, queued));
    });
    at
}

/// A server that says its bytes before it was asked anything.
async fn raw(wrong: Wrong) -> SocketAddr {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let Wrong::Bytes(bytes, _) = wrong else { panic!("only bytes") };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let bytes = bytes.clone();
            tokio::spawn(async move {
                let mut hello = [0; 1024];
                let _ = stream.read(&mut hello).await;
                let _ = stream.write_all(&bytes).await;
                // The peer has to see the bytes, not a reset.
                let _ = stream.shutdown().await;
                let _ = stream.read(&mut hello).await;
            });
        }
    });
    at
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_at_every_call_is_what_was_written_down() {
    let trap = Rogue::start(Plot { on: "nothing".to_owned(), wrong: Wrong::No, right: ready }).await;
    let stage = Arc::new(Stage { trap: trap.at, full: full(), certificates: certificates().await });
    let gate = Arc::new(Semaphore::new(12));
    let mut cells = JoinSet::new();
    let mut expected = BTreeMap::new();
    for row in TABLE.lines().filter(|row| !row.starts_with('#') && !row.trim().is_empty()) {
        let mut fields = row.split('|').map(str::trim);
        let name = fields.next().unwrap();
        for (column, class) in COLUMNS.into_iter().zip(fields.by_ref()) {
            if class == "-" {
                continue;
            }
            let before = expected.insert((name, column), class);
            assert!(before.is_none(), "twice: {name}");
            let (stage, gate) = (Arc::clone(&stage), Arc::clone(&gate));
            cells.spawn(async move {
                let _turn = gate.acquire().await.unwrap();
                ((name, column), outcome(name, column, &stage).await)
            });
        }
        assert!(fields.next().is_none(), "too many cells: {name}");
    }
    let mut wrong = Vec::new();
    while let Some(cell) = cells.join_next().await {
        let (cell, got) = cell.unwrap();
        if expected[&cell] != got {
            wrong.push(format!("{cell:?}: expected {}, got {got}", expected[&cell]));
        }
    }
    wrong.sort();
    assert!(wrong.is_empty(), "{} of {} cells\n{}", wrong.len(), expected.len(), wrong.join("\n"));
    assert!(expected.len() > 400);
    assert!(trap.asked().is_empty(), "a redirect was followed: {:?}", trap.asked());
}
