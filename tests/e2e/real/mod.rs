//! The program over real parts: HAProxy, ssh servers, a versioned application, clients. What is true is read from them.
//! It must not believe what the program says; tests compare the two.

mod capacity;
mod cases;
mod journal;
mod kill;
mod operate;
mod rolling;
mod watch;

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use manent_testbed::load::Report;
use manent_testbed::site::Site;
use serde_json::Value;

use crate::world::Said;

/// The environment of every site.
const ENV: &str = "shop/shop/prod";

/// The program, ready to be started in the site's tree.
fn command(site: &Site, args: &[&str]) -> Command {
    let home = site.folder().join("operator");
    std::fs::create_dir_all(&home).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_manent"));
    command
        .args(args)
        .current_dir(site.root())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("USER", "operator")
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

/// Runs the program to its end.
#[track_caller]
fn run(site: &Site, args: &[&str]) -> Said {
    said(&command(site, args).output().expect("the program starts"))
}

fn said(output: &std::process::Output) -> Said {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("output is UTF-8");
    Said { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
}

/// Starts the program and leaves it running; its output is kept.
fn start(site: &Site, args: &[&str]) -> Child {
    command(site, args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

/// What a started program said in the end.
fn end_of(child: Child) -> Said {
    said(&child.wait_with_output().expect("the program ends"))
}

/// `apply` of a release.
#[track_caller]
fn apply(site: &Site, release: &str) -> Said {
    run(site, &["apply", ENV, "--release", release, "--yes"])
}

/// `status --json` of the newest run.
#[track_caller]
fn status(site: &Site) -> Value {
    run(site, &["status", "--json"]).exits(0).json()
}

/// Waits for something to become true.
#[track_caller]
fn until<T>(what: &str, mut seen: impl FnMut() -> Option<T>) -> T {
    let limit = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = seen() {
            return found;
        }
        assert!(Instant::now() < limit, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(15));
    }
}

/// Every host has this release on its disk and answers with it, and every member is in service on every instance.
#[track_caller]
fn whole(site: &Site, release: &str) {
    let everywhere: BTreeMap<String, Option<String>> =
        site.hosts.iter().map(|host| (host.name.clone(), Some(release.to_owned()))).collect();
    assert_eq!(site.releases(), everywhere, "on disk");
    assert_eq!(site.running(), everywhere, "answering");
    let names: Vec<&str> = site.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(site.in_service().unwrap(), names, "in service: {:?}", site.pool().unwrap());
}

/// No request of the clients failed, and there were some of both kinds.
#[track_caller]
fn none_failed(report: &Report) {
    assert!(report.failures().is_empty(), "{}", report.summary());
    assert!(report.total() > 50 && report.sent.iter().any(|sent| sent.slow), "{}", report.summary());
}

/// Members that a pass of a `status --json` names as out.
fn drained(status: &Value) -> Vec<String> {
    let passes = status["passes"].as_array().unwrap();
    let named = passes.iter().flat_map(|pass| pass["drained"].as_array().unwrap());
    named.map(|member| member.as_str().unwrap().to_owned()).collect()
}
