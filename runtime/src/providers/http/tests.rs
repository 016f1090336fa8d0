//! What a client keeps to itself: credentials, and where it goes.

use manent_engine::call::{Change, InstanceAnswer};
use reqwest::{Method, Url};

use super::super::Provider;
use super::super::tests::rogue::{Plot, Rogue, Then, Wrong, answer};
use super::super::tests::{built, pool, wanted};
use super::{Client, Limits, Login};
use crate::secrets::Secret;

const PASSWORD: &str = "c4n4ry\"pa ss%wörd";

fn nothing(_: &str) -> String {
    "{}".to_owned()
}

fn haproxy(base: &str) -> Box<dyn Provider> {
    let settings =
        [("dataplane_urls", base), ("backend", "shop"), ("credentials_secret", "lb"), ("allow_http", "true")];
    built(&pool("haproxy", &settings), &format!("admin:{PASSWORD}"), Limits::default()).unwrap()
}

/// A server that repeats what it was sent, in every form, in errors of every kind.
#[tokio::test]
async fn an_answer_that_repeats_the_login_leaks_nothing() {
    let code =
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, format!("admin:{PASSWORD}"));
    let json = serde_json::to_string(PASSWORD).unwrap();
    let percent = crate::providers::url::encoded(PASSWORD);
    let forms = [PASSWORD, &json, &percent, &code, &format!("Authorization: Basic {code}")];
    for status in ["307 Moved", "400 No", "401 No", "403 No", "404 No", "422 No", "500 No", "503 No"] {
        let all = forms.join(" | ");
        {
            let message = serde_json::json!({ "message": all, "error": all }).to_string();
            for body in [all, message] {
                let head = format!("Location: http://127.0.0.1:1/?token={percent}&{code}\r\n");
                let wrong = Wrong::Bytes(answer(status, &head, &body), Then::Close);
                let server = Rogue::start(Plot { on: String::new(), wrong, right: nothing }).await;
                let provider = haproxy(&format!("http://{}", server.at));
                let read = provider.read(&[]).await.remove(0).outcome.unwrap_err().reason;
                let (InstanceAnswer::Refused { reason } | InstanceAnswer::Unsure { reason }) =
                    provider.change(Change::Drain, 0, &[wanted("web")]).await
                else {
                    panic!("{status}")
                };
                for reason in [read, reason] {
                    for secret in ["c4n4ry", code.as_str()] {
                        assert!(!reason.contains(secret), "{status}, {body}: {reason}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn words_of_an_answer_are_one_bounded_line() {
    let hostile = "\u{1b}]0;x\u{7}\r\nforged line\u{202e}".repeat(2000);
    let wrong = Wrong::Bytes(answer("503 No", "", &hostile), Then::Close);
    let server = Rogue::start(Plot { on: String::new(), wrong, right: nothing }).await;
    let reason =
        haproxy(&format!("http://{}", server.at)).read(&[]).await.remove(0).outcome.unwrap_err().reason;
    assert!(reason.chars().all(|c| !c.is_control() && c != '\u{202e}'), "{reason}");
    assert!(reason.len() < 2000, "{}", reason.len());
}

#[tokio::test]
async fn requests_say_who_asks_and_what_they_take() {
    let server = Rogue::start(Plot { on: "nothing".to_owned(), wrong: Wrong::No, right: nothing }).await;
    let client =
        Client::new(None, Limits::default(), Login::bearer(&Secret::new("t0ken".to_owned())).unwrap())
            .unwrap();
    let url: Url = format!("http://{}/flag", server.at).parse().unwrap();
    let _ = client.ask(Method::PUT, url, Some("{}".to_owned())).await.map(|answer| answer.status);
    let head = server.asked()[0].head.to_lowercase();
    for line in [
        concat!("user-agent: manent/", env!("CARGO_PKG_VERSION")),
        "accept: application/json",
        "content-type: application/json",
        "authorization: bearer t0ken",
    ] {
        assert!(head.lines().any(|have| have == line), "{line}: {head}");
    }
    assert!(!head.contains("accept-encoding"), "nothing packed is asked for: {head}");
}

#[tokio::test]
async fn connections_are_kept_between_reads() {
    let server = Rogue::start(Plot { on: "nothing".to_owned(), wrong: Wrong::No, right: nothing }).await;
    let provider = haproxy(&format!("http://{}", server.at));
    for _ in 0..20 {
        let _ = provider.read(&[]).await;
    }
    assert_eq!(server.asked().len(), 40);
    // The two requests of a read go at the same time.
    assert!(server.connections() <= 2, "{}", server.connections());
}

/// Threat T18. The test runs itself again in an environment that names a proxy, a trap.
#[test]
fn a_proxy_of_the_environment_is_ignored() {
    const SERVER: &str = "MANENT_TEST_SERVER";
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    if let Ok(server) = std::env::var(SERVER) {
        let read = runtime.block_on(haproxy(&server).read(&[])).remove(0).outcome;
        assert!(read.unwrap_err().reason.contains("not of the documented form"));
        return;
    }
    let plot = || Plot { on: "nothing".to_owned(), wrong: Wrong::No, right: nothing };
    let (server, trap) = runtime.block_on(async { (Rogue::start(plot()).await, Rogue::start(plot()).await) });
    let proxy = format!("http://{}", trap.at);
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "providers::http::tests::a_proxy_of_the_environment_is_ignored"]);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        child.env(name, &proxy);
    }
    let done = child.env(SERVER, format!("http://{}", server.at)).env_remove("no_proxy").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    assert_eq!(server.asked().len(), 2, "the list and the statistics");
    assert!(trap.asked().is_empty(), "{:?}", trap.asked());
}
