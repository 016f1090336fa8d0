//! The flag's contract with the application.

use manent_engine::call::{Change, InstanceAnswer};
use manent_engine::view::{Admin, Health};

use super::super::tests::rogue::{Plot, Rogue, Then, Wrong, answer};
use super::super::tests::{built, pool, wanted};
use super::super::{Limits, Provider, Refusal, Wanted};

fn nothing(_: &str) -> String {
    String::new()
}

async fn server(on: &str, status: &str) -> Rogue {
    let wrong = Wrong::Bytes(answer(status, "", ""), Then::Stay);
    Rogue::start(Plot { on: on.to_owned(), wrong, right: nothing }).await
}

fn flag(settings: &[(&str, &str)]) -> Result<Box<dyn Provider>, Refusal> {
    let mut all = vec![("drain_url", "http://{host}:{port}/flag/{label.app}")];
    all.extend_from_slice(settings);
    built(&pool("health-flag", &all), "t0ken", Limits::default())
}

fn target(name: &str, server: &Rogue) -> Wanted {
    let labels = [("app".to_owned(), "shop/eu".to_owned())].into();
    Wanted { host: server.at.ip().to_string(), port: Some(server.at.port()), labels, ..wanted(name) }
}

fn lines(server: &Rogue) -> Vec<String> {
    server.asked().into_iter().map(|asked| asked.line).collect()
}

#[tokio::test]
async fn each_target_is_told_on_its_own_host() {
    let (w1, w2) = (server("nothing", "").await, server("nothing", "").await);
    let provider = flag(&[("token_secret", "token"), ("health_url", "http://{host}:{port}/health")]).unwrap();
    assert_eq!(provider.instances(), ["application flag"]);
    let targets = [target("w1", &w1), target("w2", &w2)];
    for change in [Change::Drain, Change::Restore] {
        assert_eq!(provider.change(change, 0, &targets).await, InstanceAnswer::Accepted);
    }
    let members = provider.read(&targets).await.remove(0).outcome.unwrap();
    for (name, server) in [("w1", &w1), ("w2", &w2)] {
        assert_eq!(lines(server), ["PUT /flag/shop%2Feu", "DELETE /flag/shop%2Feu", "GET /health"]);
        assert_eq!((members.seen[name].admin, members.seen[name].health), (Admin::Unknown, Health::Up));
        let token = |asked: &super::super::tests::rogue::Asked| asked.head.contains("Bearer t0ken");
        let sent: Vec<bool> = server.asked().iter().map(token).collect();
        assert_eq!(sent, [true, true, false], "the token goes with the changes only");
    }
}

#[tokio::test]
async fn a_flag_that_was_gone_already_is_removed() {
    let gone = server("/flag", "404 Not Found").await;
    let provider = flag(&[]).unwrap();
    let targets = [target("w1", &gone)];
    assert_eq!(provider.change(Change::Restore, 0, &targets).await, InstanceAnswer::Accepted);
    let drained = provider.change(Change::Drain, 0, &targets).await;
    let InstanceAnswer::Refused { reason } = drained else { panic!("{drained:?}") };
    assert_eq!(reason, "`w1`: 404 not found: check `drain_url` and the application");
    let posting = flag(&[("restore_method", "POST")]).unwrap();
    let posted = posting.change(Change::Restore, 0, &targets).await;
    assert!(matches!(posted, InstanceAnswer::Refused { .. }), "only a DELETE may find nothing: {posted:?}");
}

#[tokio::test]
async fn one_of_several_that_fails_is_named_and_leaves_doubt() {
    let (good, bad, last) =
        (server("nothing", "").await, server("/flag", "403 No").await, server("nothing", "").await);
    let provider = flag(&[]).unwrap();
    let targets = [target("w1", &good), target("w2", &bad), target("w3", &last)];
    let drained = provider.change(Change::Drain, 0, &targets).await;
    let InstanceAnswer::Unsure { reason } = drained else { panic!("{drained:?}") };
    assert!(reason.starts_with("`w2`: 403 forbidden"), "{reason}");
    assert!(lines(&last).is_empty(), "a drain stops there");
    assert!(matches!(provider.change(Change::Restore, 0, &targets).await, InstanceAnswer::Unsure { .. }));
    assert_eq!(lines(&last).len(), 1, "a restore goes on");
}

#[tokio::test]
async fn without_a_health_address_nothing_is_known() {
    let provider = flag(&[]).unwrap();
    let members = provider.read(&[wanted("w1")]).await.remove(0).outcome.unwrap();
    assert!(!members.whole);
    assert_eq!((members.seen["w1"].admin, members.seen["w1"].health), (Admin::Unknown, Health::Unknown));
}

#[tokio::test]
async fn only_200_is_healthy() {
    for (status, health) in [
        ("200 OK", Health::Up),
        ("204 None", Health::Down),
        ("302 Found", Health::Down),
        ("404 No", Health::Down),
        ("503 No", Health::Down),
    ] {
        let server = server("/health", status).await;
        let provider = flag(&[("health_url", "http://{host}:{port}/health")]).unwrap();
        let members = provider.read(&[target("w1", &server)]).await.remove(0).outcome.unwrap();
        assert_eq!(members.seen["w1"].health, health, "{status}");
    }
}

#[tokio::test]
async fn it_neither_hardens_nor_forgets_health() {
    let server = server("nothing", "").await;
    let provider = flag(&[]).unwrap();
    for change in [Change::Harden, Change::ForceDown] {
        let answer = provider.change(change, 0, &[target("w1", &server)]).await;
        assert!(matches!(answer, InstanceAnswer::Refused { .. }), "{answer:?}");
    }
    assert!(lines(&server).is_empty());
}

#[test]
fn settings_that_cannot_work_are_refused() {
    for (name, value, expected) in [
        ("drain_url", "", "is required"),
        ("drain_url", "https://lb.example/{host}", "has to be `{host}`"),
        ("health_url", "https://lb.example/", "has to be `{host}`"),
        ("drain_method", "TRACE", "is not `PUT`"),
        ("restore_method", "delete", "is not `PUT`"),
        ("mode", "ftp", "is not `http` or `file`"),
        ("mode", "file", "its runtime comes later"),
    ] {
        let refusal = flag(&[(name, value)]).err().unwrap().to_string();
        assert!(refusal.contains(expected), "{name}={value}: {refusal}");
    }
}
