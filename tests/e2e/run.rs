//! A run from its beginning to its end on this machine: applied, looked at, interrupted, taken up again, returned.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::world::World;

const ENV: &str = "example/hello/local";

/// The tree of `examples/local`, with its two "servers" inside the test's own folder.
pub(crate) fn hello() -> World {
    let world = World::copy_of("examples/local");
    let envconfig = world.read("envconfig/example/hello/local.yml");
    let folder = world.path("servers");
    world.write(
        "envconfig/example/hello/local.yml",
        &envconfig.replace("/tmp/manent-hello", folder.to_str().unwrap()),
    );
    world
}

/// The same with a step that takes its time on each target.
fn slow_hello(seconds: &str) -> World {
    let world = hello();
    let descriptor = world.read("descriptors/hello.yml");
    let run = format!("steps:\n  - {{name: settle, run: [sleep, \"{seconds}\"], undo: [\"true\"]}}\n");
    world.write("descriptors/hello.yml", &(descriptor + &run));
    world
}

pub(crate) fn apply(world: &World, release: &str) -> crate::world::Said {
    world.run(&["apply", ENV, "--release", release, "--yes"])
}

pub(crate) fn release_on(world: &World, port: &str) -> String {
    std::fs::read_to_string(world.path("servers").join(port).join("release"))
        .unwrap_or_default()
        .trim()
        .to_owned()
}

pub(crate) fn status(world: &World) -> Value {
    world.run(&["status", "--json"]).exits(0).json()
}

/// Waits for something to become true; fails with what was seen last.
fn until(what: &str, mut seen: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(20);
    while !seen() {
        assert!(Instant::now() < limit, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(30));
    }
}

fn start(world: &World, args: &[&str]) -> Child {
    world.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_release_is_applied_told_and_not_done_twice() {
    let world = hello();
    let said = apply(&world, "1.0.0").exits(0);
    assert!(said.out.contains("succeeded"), "{}", said.out);
    assert_eq!(release_on(&world, "8081"), "1.0.0");
    assert_eq!(release_on(&world, "8082"), "1.0.0");

    let status = status(&world);
    assert_eq!(status["state"], "succeeded");
    assert_eq!(status["environment"], ENV);
    assert_eq!(status["targets"][0]["release"], "1.0.0");

    let said = apply(&world, "1.0.0").exits(0);
    assert!(said.out.contains("already") || said.out.contains("nothing"), "{}", said.out);

    let history = world.run(&["history", ENV, "--json"]).exits(0).json();
    let runs = history.as_array().unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[1]["release"], "1.0.0");
    assert_eq!(runs[1]["state"], "succeeded");
}

#[test]
fn without_a_terminal_and_without_yes_nothing_begins() {
    let world = hello();
    let said = world.run(&["apply", ENV, "--release", "1.0.0"]).exits(1);
    assert!(said.err.contains("--yes"), "{}", said.err);
    assert!(!world.path("servers").exists());
    assert_eq!(world.run(&["history", ENV, "--json"]).exits(0).json(), serde_json::json!([]));
}

#[test]
fn a_dry_run_walks_every_step_and_touches_nothing() {
    let world = hello();
    let said = world.run(&["apply", ENV, "--release", "1.0.0", "--dry-run", "--json"]).exits(0).json();
    assert_eq!(said["outcome"], "succeeded");
    let ids: Vec<&str> =
        said["steps"].as_array().unwrap().iter().map(|step| step["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"deploy@canary#0") && ids.contains(&"post-test@rest#0"), "{ids:?}");
    assert!(!world.path("servers").exists());
    assert!(!world.path(".manent").exists());
}

#[test]
fn a_failed_release_is_rolled_back_to_what_was_there() {
    let world = hello();
    apply(&world, "1.0.0").exits(0);
    let descriptor = world.read("descriptors/hello.yml");
    // Fails for 2.0.0 on the second target alone, so that the first one has to be returned.
    let test = "  - {run: [sh, -c, '! test \"$1-$2\" = 2.0.0-8082', test, \"{release}\", \"{port}\"], within: 100ms}\n";
    world.write("descriptors/hello.yml", &(descriptor + test));
    let said = apply(&world, "2.0.0").exits(3);
    assert!(said.out.contains("rolled back"), "{}", said.out);
    assert_eq!(release_on(&world, "8081"), "1.0.0");
    assert_eq!(release_on(&world, "8082"), "1.0.0");
    assert_eq!(status(&world)["state"], "rolled_back");
}

#[test]
fn a_killed_run_is_resumed_and_nothing_is_done_twice() {
    let world = slow_hello("1");
    let mut child = start(&world, &["apply", ENV, "--release", "1.0.0", "--yes"]);
    until("the first target has the release", || release_on(&world, "8081") == "1.0.0");
    child.kill().unwrap();
    child.wait().unwrap();

    let seen = status(&world);
    assert_eq!(seen["state"], "interrupted");
    let run = seen["run"].as_str().unwrap().to_owned();
    assert!(seen["next"].to_string().contains(&format!("manent resume {run}")), "{}", seen["next"]);

    let refused = apply(&world, "1.1.0").exits(1);
    assert!(refused.err.contains(&format!("manent resume {run}")), "{}", refused.err);

    world.run(&["resume", &run]).exits(0);
    assert_eq!(release_on(&world, "8082"), "1.0.0");
    assert_eq!(status(&world)["state"], "succeeded");
}

#[test]
fn the_first_signal_leaves_a_resumable_run() {
    let world = slow_hello("1");
    let child = start(&world, &["apply", ENV, "--release", "1.0.0", "--yes"]);
    until("the first target has the release", || release_on(&world, "8081") == "1.0.0");
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let said = world.said(&child.wait_with_output().unwrap()).exits(130);
    assert!(said.err.contains("manent resume"), "{}", said.err);
    let run = status(&world)["run"].as_str().unwrap().to_owned();
    world.run(&["resume", &run, "--json"]).exits(0);
    assert_eq!(release_on(&world, "8082"), "1.0.0");
}

#[test]
fn two_runs_of_one_environment_never_meet() {
    let world = slow_hello("1");
    let mut child = start(&world, &["apply", ENV, "--release", "1.0.0", "--yes"]);
    until("the first target has the release", || release_on(&world, "8081") == "1.0.0");
    let refused = apply(&world, "1.1.0").exits(7);
    assert!(refused.err.contains("held"), "{}", refused.err);
    assert!(child.wait().unwrap().success());
    let history = world.run(&["history", ENV, "--json"]).exits(0).json();
    assert_eq!(history.as_array().unwrap().len(), 1, "a refusal leaves nothing behind");
}

#[test]
fn a_run_is_paused_continued_and_cancelled_from_outside() {
    let world = slow_hello("0.3");
    let mut child = start(&world, &["apply", ENV, "--release", "1.0.0", "--yes"]);
    until("the first target has the release", || release_on(&world, "8081") == "1.0.0");
    let run = status(&world)["run"].as_str().unwrap().to_owned();
    world.run(&["pause", &run]).exits(0);
    until("the run is paused", || status(&world)["state"] == "paused");
    world.run(&["cancel", &run, "--rollback"]).exits(0);
    world.run(&["continue", &run]).exits(0);
    assert_eq!(child.wait().unwrap().code(), Some(4), "there was no release to return to");
}

#[test]
fn a_saved_plan_is_applied_once() {
    let world = hello();
    world.run(&["plan", ENV, "--release", "1.0.0", "--out", "first.plan"]).exits(0);
    world.run(&["apply", "first.plan", "--yes"]).exits(0);
    let said = world.run(&["apply", "first.plan", "--yes"]).exits(5);
    assert!(said.err.contains("was applied"), "{}", said.err);
    world.run(&["plan", "first.plan"]).exits(0);

    // With the journal lost the plan cannot be known, but what it finds tells.
    std::fs::remove_dir_all(world.path(".manent")).unwrap();
    let said = world.run(&["apply", "first.plan", "--yes"]).exits(5);
    assert!(said.err.contains("stale"), "{}", said.err);
}

#[test]
fn a_saved_plan_is_stale_after_another_run() {
    let world = hello();
    world.run(&["plan", ENV, "--release", "1.0.0", "--out", "first.plan"]).exits(0);
    apply(&world, "0.9.0").exits(0);
    let said = world.run(&["apply", "first.plan", "--yes"]).exits(5);
    assert!(said.err.contains("another run"), "{}", said.err);
    assert_eq!(release_on(&world, "8081"), "0.9.0");
}

#[test]
fn rollback_returns_to_the_release_before() {
    let world = hello();
    apply(&world, "1.0.0").exits(0);
    apply(&world, "2.0.0").exits(0);
    let said = world.run(&["rollback", ENV, "--yes"]).exits(0);
    assert!(said.out.contains("1.0.0"), "{}", said.out);
    assert_eq!(release_on(&world, "8081"), "1.0.0");
    world.run(&["rollback", ENV, "--to", "2.0.0", "--yes"]).exits(0);
    assert_eq!(release_on(&world, "8082"), "2.0.0");
}

#[test]
fn doctor_names_what_a_dead_run_left() {
    let world = slow_hello("1");
    world.run(&["doctor", ENV]).exits(0);
    let mut child = start(&world, &["apply", ENV, "--release", "1.0.0", "--yes"]);
    until("the first target has the release", || release_on(&world, "8081") == "1.0.0");
    child.kill().unwrap();
    child.wait().unwrap();
    let run = status(&world)["run"].as_str().unwrap().to_owned();
    let said = world.run(&["doctor", ENV]).exits(0);
    assert!(said.out.contains(&format!("manent resume {run}")), "{}", said.out);
}

#[test]
fn a_plan_without_changes_is_told_by_the_exit_code() {
    let world = hello();
    world.run(&["plan", ENV, "--release", "1.0.0", "--detailed-exitcode"]).exits(2);
    apply(&world, "1.0.0").exits(0);
    world.run(&["plan", ENV, "--release", "1.0.0", "--detailed-exitcode"]).exits(0);
    world.run(&["plan", ENV, "--release", "1.1.0", "--detailed-exitcode"]).exits(2);
}

#[test]
fn hostile_output_of_a_target_reaches_no_terminal_raw() {
    let world = hello();
    let descriptor = world.read("descriptors/hello.yml");
    let hostile = "steps:\n  - {name: evil, run: [sh, -c, 'printf \"\\033[2J\\033]0;owned\\007\\r2026 all fine\\n\" >&2; exit 1'], undo: [\"true\"]}\n";
    world.write("descriptors/hello.yml", &(descriptor + hostile));
    let said = apply(&world, "1.0.0");
    assert!(said.code == 3 || said.code == 4, "{}", said.all());
    let shown = world.run(&["status"]).exits(0);
    let doctor = world.run(&["doctor", ENV]).exits(0);
    for text in [&said.out, &said.err, &shown.out, &doctor.out] {
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    }
    assert!(said.out.contains("\\u{1b}[2J") || said.err.contains("\\u{1b}[2J"), "{}", said.all());
}

#[test]
fn a_changed_plan_file_is_refused() {
    let world = hello();
    world.run(&["plan", ENV, "--release", "1.0.0", "--out", "first.plan"]).exits(0);
    let plan = world.read("first.plan");
    world.write("first.plan", &plan.replacen("1.0.0", "1.0.1", 1));
    let said = world.run(&["apply", "first.plan", "--yes"]).exits(2);
    assert!(said.err.contains("changed"), "{}", said.err);
    world.write("first.plan", &plan.replacen("\"format\": 1", "\"format\": 2", 1));
    let said = world.run(&["plan", "first.plan"]).exits(2);
    assert!(said.err.contains("format 2"), "{}", said.err);
}

#[test]
fn a_gate_waits_until_somebody_opens_it() {
    let world = hello();
    let file = "envconfig/example/hello/local.yml";
    let gated = world.read(file).replace("select: stage=canary}", "select: stage=canary, approval: true}");
    world.write(file, &gated);
    let mut child = start(&world, &["apply", ENV, "--release", "1.0.0", "--yes"]);
    until("the run waits", || world.run(&["status", "--json"]).out.contains("approve@canary"));
    until("the gate is reached", || {
        let seen = world.run(&["status", "--json"]);
        seen.code == 0 && seen.json()["next"].to_string().contains("manent approve")
    });
    let seen = status(&world);
    let run = seen["run"].as_str().unwrap().to_owned();
    assert_eq!(seen["state"], "waiting");
    let said = world.run(&["approve", &run, "approve@rest"]).exits(2);
    assert!(said.err.contains("approve@canary"), "{}", said.err);
    world.run(&["approve", &run, "approve@canary"]).exits(0);
    assert!(child.wait().unwrap().success());
    assert_eq!(release_on(&world, "8082"), "1.0.0");
}

#[test]
fn a_watched_run_is_one_value_a_line_until_its_end() {
    let world = slow_hello("0.5");
    let mut child = start(&world, &["apply", ENV, "--release", "1.0.0", "--yes"]);
    until("the run is there", || world.run(&["status", "--json"]).code == 0);
    let said = world.run(&["status", "--watch", "--json"]).exits(0);
    let values: Vec<Value> = said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(values.len() > 1, "{}", said.out);
    assert_eq!(values.last().unwrap()["state"], "succeeded");
    assert!(child.wait().unwrap().success());
}

#[test]
fn cancel_takes_up_a_dead_run_and_turns_it_back() {
    let world = hello();
    apply(&world, "1.0.0").exits(0);
    let descriptor = world.read("descriptors/hello.yml");
    let slow = "steps:\n  - {name: settle, run: [sleep, \"1\"], undo: [\"true\"]}\n";
    world.write("descriptors/hello.yml", &(descriptor + slow));
    let mut child = start(&world, &["apply", ENV, "--release", "2.0.0", "--yes"]);
    until("the first target has the release", || release_on(&world, "8081") == "2.0.0");
    child.kill().unwrap();
    child.wait().unwrap();
    let run = status(&world)["run"].as_str().unwrap().to_owned();
    let refused = world.run(&["pause", &run]).exits(1);
    assert!(refused.err.contains("manent resume"), "{}", refused.err);
    world.run(&["cancel", &run, "--rollback"]).exits(3);
    assert_eq!(release_on(&world, "8081"), "1.0.0");
    assert_eq!(status(&world)["state"], "rolled_back");
}

#[test]
fn preflight_refuses_what_does_not_answer_and_nothing_is_touched() {
    let world = World::copy_of("examples/haproxy");
    let file = "envconfig/shop/shop/prod.yml";
    let text = world.read(file);
    let text = text
        .replace("https://lb1.shop.example:5555,https://lb2.shop.example:5555", "https://127.0.0.1:1")
        .replace("ssh: {user: deploy}", "local: {}")
        .replace("env:SHOP_DATAPLANE_CREDENTIALS", "file:secrets/dataplane");
    world.write(file, &text).write("dist/shop-1.0.0.tar.gz", "an artifact");
    let apply = ["apply", "shop/shop/prod", "--release", "1.0.0", "--yes"];

    let said = world.run(&apply).exits(1);
    assert!(said.err.contains("dataplane") && said.err.contains("nothing was touched"), "{}", said.err);
    assert!(!world.path(".manent/journal.db").exists(), "a refusal leaves no run behind");

    world.write("secrets/dataplane", "admin:canary-4f1d2c");
    world.private("secrets/dataplane");
    let said = world.run(&["preflight", "shop/shop/prod", "--json"]).exits(6);
    assert_eq!(said.json()["verdict"], "refused");
    assert_eq!(said.json()["instances"][0]["answers"], false);
    let said = world.run(&["preflight", "shop/shop/prod"]).exits(6);
    assert!(said.out.contains("would be refused"), "{}", said.out);
    assert!(!world.path(".manent/journal.db").exists());

    let said = world.run(&apply).exits(6);
    assert!(said.out.contains("nothing was touched"), "{}", said.out);
    assert!(!said.all().contains("canary-4f1d2c"));
    let journal = std::fs::read(world.path(".manent/journal.db")).unwrap();
    assert!(!journal.windows(13).any(|part| part == b"canary-4f1d2c"));
}

#[test]
fn a_stopped_run_is_mended_or_returned() {
    let world = hello();
    apply(&world, "1.0.0").exits(0);
    let file = "envconfig/example/hello/local.yml";
    world.write(file, &world.read(file).replace("onFailure: rollback", "onFailure: stop"));
    let descriptor = world.read("descriptors/hello.yml");
    let gate = world.path("ready");
    let test = format!("  - {{run: [test, -e, {}], within: 100ms}}\n", gate.display());
    world.write("descriptors/hello.yml", &(descriptor + &test));

    let said = apply(&world, "2.0.0").exits(4);
    assert!(said.out.contains("1 on 1.0.0, 1 on 2.0.0"), "{}", said.out);
    let run = status(&world)["run"].as_str().unwrap().to_owned();
    let said = world.run(&["resume", &run]).exits(1);
    assert!(said.err.contains("--retry-failed"), "{}", said.err);

    world.write("ready", "");
    world.run(&["resume", &run, "--retry-failed"]).exits(0);
    assert_eq!(release_on(&world, "8082"), "2.0.0");

    std::fs::remove_file(&gate).unwrap();
    apply(&world, "3.0.0").exits(4);
    assert_eq!(release_on(&world, "8081"), "3.0.0");
    let run = status(&world)["run"].as_str().unwrap().to_owned();
    world.write("ready", "");
    world.run(&["cancel", &run, "--rollback"]).exits(3);
    assert_eq!(release_on(&world, "8081"), "2.0.0");
    assert_eq!(status(&world)["state"], "rolled_back");
}
