//! `manent demo`, played as anybody would: what it promises, what it shows without draining, and that nothing is left.
//! These tests must not look at how the demo is made; they read its objects.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::world::World;

/// A demo that was played to its end.
struct Played {
    code: i32,
    scenes: Vec<Value>,
    last: Value,
}

/// Plays a demo in a folder of its own, of which nothing may be left.
#[track_caller]
fn play(args: &[&str]) -> Played {
    let world = World::new();
    let output = command(&world, args).output().expect("the program starts");
    let said = world.said(&output);
    let mut objects: Vec<Value> =
        said.out.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
    let last = objects.pop().unwrap_or_else(|| panic!("no object:\n{}", said.err));
    assert!(last["failed"].is_u64() && last["requests"].is_u64(), "{last}");
    assert_eq!(leftovers(world.root()), Vec::<String>::new());
    Played { code: said.code, scenes: objects, last }
}

fn command(world: &World, args: &[&str]) -> Command {
    let mut command = world.command(&[&["demo", "--json"], args].concat());
    command.env("TMPDIR", world.root());
    command
}

impl Played {
    #[track_caller]
    fn ends(&self, code: i32, outcome: &str) {
        assert_eq!((self.code, self.last["outcome"].as_str()), (code, Some(outcome)), "{:#}", self.last);
    }

    /// No scene may show more than one of the four members out of service: the floor is 75%.
    #[track_caller]
    fn keeps_the_floor(&self) {
        for scene in &self.scenes {
            let members = scene["members"].as_array().expect("the load balancer answers");
            let in_service =
                |member: &&Value| member["admin_state"] == "ready" && member["operational_state"] == "up";
            assert!(members.iter().filter(in_service).count() >= 3, "{scene:#}");
        }
    }

    /// The releases that the last scene shows.
    fn releases(&self) -> Vec<&str> {
        let members = self.scenes.last().and_then(|scene| scene["members"].as_array());
        members.into_iter().flatten().filter_map(|member| member["release"].as_str()).collect()
    }
}

/// What is left in a folder, and the processes that have its path in their command.
fn leftovers(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path().display().to_string());
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let command = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        command.contains(&*folder.to_string_lossy()).then_some(command)
    });
    files.chain(processes).collect()
}

#[test]
fn a_release_fails_no_request() {
    let played = play(&[]);
    played.ends(0, "succeeded");
    assert_eq!(played.last["failed"], 0, "{:#}", played.last);
    assert!(played.last["requests"].as_u64() > Some(100), "{:#}", played.last);
    assert!(played.last["would_have_cut"]["in_flight"].as_u64() > Some(0), "nothing was at stake");
    assert_eq!(played.releases(), ["2.0.0"; 4]);
    assert_eq!(played.last["restarts"], 4);
    played.keeps_the_floor();
}

#[test]
fn the_same_restarts_without_draining_cut_requests() {
    let played = play(&["--no-drain"]);
    played.ends(1, "succeeded");
    assert!(played.last["failed"].as_u64() > Some(0), "the demo proves nothing: {:#}", played.last);
    let failures = played.last["failures"].as_array().unwrap();
    assert!(failures.iter().all(|failure| failure["error"].is_string() && failure["at_ms"].is_u64()));
}

#[test]
fn a_broken_release_goes_back_without_a_failed_request() {
    let played = play(&["--break"]);
    played.ends(0, "rolled_back");
    assert_eq!(played.last["failed"], 0, "{:#}", played.last);
    assert_eq!(played.releases(), ["1.0.0"; 4]);
    // Three servers were updated before the third failed its test, and the same three went back.
    assert_eq!(played.last["restarts"], 6);
    played.keeps_the_floor();
}

#[test]
fn a_killed_run_is_resumed_without_a_failed_request() {
    let played = play(&["--crash"]);
    played.ends(0, "succeeded");
    assert_eq!(played.last["killed"], 1);
    assert_eq!(played.last["failed"], 0, "{:#}", played.last);
    assert_eq!(played.releases(), ["2.0.0"; 4]);
    // No server was restarted twice.
    assert_eq!(played.last["restarts"], 4);
    played.keeps_the_floor();
}

#[test]
fn an_interrupt_leaves_nothing() {
    let world = World::new();
    let mut child = command(&world, &[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while leftovers(world.root()).len() < 5 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(leftovers(world.root()).len() >= 5, "a folder and four servers");
    std::thread::sleep(Duration::from_secs(2));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    // A command of the recipe that was under way ends by itself.
    let until = Instant::now() + Duration::from_secs(5);
    while !leftovers(world.root()).is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(leftovers(world.root()), Vec::<String>::new());
}
