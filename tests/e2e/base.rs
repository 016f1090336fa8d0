//! What holds for every verb: arguments, help, `--json`, colours, closed pipes; and the verbs that need no environment.

use std::io::Read;
use std::process::Stdio;

use crate::world::World;

#[test]
fn help_of_every_verb_has_examples() {
    let world = World::new();
    let help = world.run(&["--help"]).exits(0).out;
    for verb in [
        "init",
        "lint",
        "show",
        "plan",
        "preflight",
        "apply",
        "status",
        "resume",
        "pause",
        "continue",
        "cancel",
        "approve",
        "rollback",
        "history",
        "doctor",
        "explain",
        "completions",
    ] {
        assert!(help.contains(&format!("\n  {verb}")), "{verb} is missing:\n{help}");
        let help = world.run(&[verb, "--help"]).exits(0).out;
        assert!(help.contains("Examples:") && help.contains("--root <DIR>"), "{help}");
    }
}

#[test]
fn wrong_arguments_are_wrong_input() {
    let world = World::new();
    let said = world.run(&["aply"]).exits(2);
    assert!(said.err.contains("apply"), "{}", said.err);
    assert_eq!(said.out, "");
}

#[test]
fn init_writes_a_tree_and_never_overwrites() {
    let world = World::new();
    let said = world.run(&["init"]).exits(0);
    assert!(said.out.contains("manent plan example/hello/local"), "{}", said.out);
    let before = world.read("descriptors/hello.yml");
    world.write("descriptors/hello.yml", "mine");
    let said = world.run(&["init"]).exits(1);
    assert!(said.err.contains("`descriptors/hello.yml`"), "{}", said.err);
    assert_eq!(world.read("descriptors/hello.yml"), "mine");
    assert!(before.contains("app: hello"));
}

#[test]
fn init_goes_where_root_says() {
    let world = World::new();
    let said = world.run(&["init", "--root", "tree", "--json"]).exits(0);
    let value = said.json();
    assert_eq!(value["environments"][0], "example/hello/local");
    for file in value["files"].as_array().unwrap() {
        world.read(&format!("tree/{}", file.as_str().unwrap()));
    }
}

#[test]
fn completions_are_printed_for_each_shell() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let said = world.run(&["completions", shell]).exits(0);
        assert!(said.out.contains("manent"), "{shell}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let world = World::new();
    let mut child = world
        .command(&["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{err}");
    assert_eq!(err, "");
}

#[test]
fn without_a_tree_the_way_to_one_is_told() {
    let world = World::new();
    let said = world.run(&["lint"]).exits(1);
    assert!(said.err.contains("manent init"), "{}", said.err);
    let said = world.run(&["lint", "--json"]).exits(1);
    assert_eq!(said.json()["error"]["exit_code"], 1);
}

#[test]
fn colours_are_for_terminals_unless_asked_for() {
    let world = World::copy_of("examples/local");
    let plain = world.run(&["explain"]).exits(0);
    assert!(!plain.out.contains('\u{1b}'));
    let coloured = world.run(&["explain", "--color", "always"]).exits(0);
    assert!(coloured.out.contains("\u{1b}["));
    let never = world.run(&["plan", "nothing", "--color", "never"]).exits(2);
    assert!(!never.err.contains('\u{1b}'));
}
