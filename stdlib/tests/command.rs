//! The recipe `command`: the user's argument lists arrive as they are.
//! It must not know how a connection runs actions.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::World;

fn world() -> World {
    let mut world = World::new("command");
    world.pack("unused", None);
    let script = "printf '%s' \"$2\" > \"$1\"";
    let file = world.path("release file").to_str().unwrap().to_owned();
    world.set_argv("run", &["sh", "-c", script, "bring", &file, "{release}"]);
    world.set_argv("current", &["cat", &file]);
    world
}

#[test]
fn without_an_undo_the_command_itself_returns_to_the_release() {
    let world = world();
    world.perform("apply", "two 'words' $x", "").unwrap();
    assert_eq!(world.perform("current", "", "").unwrap(), "two 'words' $x");
    world.perform("undo", "one", "two 'words' $x").unwrap();
    assert_eq!(world.perform("current", "", "").unwrap(), "one");
    world.perform("retain", "one", "").unwrap();
}

#[test]
fn an_undo_of_its_own_knows_both_releases() {
    let mut world = world();
    let file = world.path("release file").to_str().unwrap().to_owned();
    let script = "printf '%s' \"$2 from $3\" > \"$1\"";
    world.set_argv("undo", &["sh", "-c", script, "undo", &file, "{release}", "{from}"]);
    world.perform("undo", "one", "two").unwrap();
    assert_eq!(world.perform("current", "", "").unwrap(), "one from two");
}

#[test]
fn a_current_that_fails_is_unknown() {
    let world = world();
    assert!(world.perform("current", "", "").unwrap_err().stderr.contains("release file"));
}
