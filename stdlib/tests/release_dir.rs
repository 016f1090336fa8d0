//! The recipe `release-dir` on a real disk: every step, every place where it can be broken off, hostile names.
//! It must not know how a connection runs actions.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::process::Command;

use support::World;

const RECIPE: &str = "release-dir";

/// A target that can be restarted: the command writes what it was given.
fn world() -> World {
    prepared(World::new(RECIPE))
}

fn prepared(mut world: World) -> World {
    let log = world.path("restarts");
    let script = "printf '%s %s %s|' \"$RELEASE\" \"$STOP_SIGNAL\" \"$2\" >> \"$1\"; cat \"$ROOT/current/version\" >> \"$1\"";
    world.set_argv("restart", &["sh", "-c", script, "restart", log.to_str().unwrap(), "a 'b' $c"]);
    world.pack("one\n", None);
    world
}

fn restarts(world: &World) -> String {
    fs::read_to_string(world.path("restarts")).unwrap_or_default()
}

fn bring(world: &World, release: &str, text: &str) {
    world.pack(text, None);
    world.perform("apply", release, "").unwrap();
}

fn current(world: &World) -> String {
    world.perform("current", "", "").unwrap()
}

#[track_caller]
fn fails(world: &World, procedure: &str, release: &str, says: &str) {
    let failure = world.perform(procedure, release, "").unwrap_err();
    assert!(failure.stderr.contains(says), "{}", failure.stderr);
}

const AFTER_ONE: [&str; 7] = [
    ".release: r1",
    "current -> releases/r1",
    "releases/",
    "releases/r1/",
    "releases/r1/.manent-artifact",
    "releases/r1/.manent-completed: ",
    "releases/r1/version: one",
];

#[test]
fn every_step_leaves_what_it_should() {
    let world = world();
    assert_eq!(current(&world), "", "before the root is there");
    let after = |count: usize| {
        world.perform_first(count, "apply", "r1", "").unwrap();
        world.tree()
    };
    assert_eq!(after(1), ["releases/"]);
    assert_eq!(after(2), ["releases/", "releases/.r1.artifact"]);
    let unpacked = ["releases/", "releases/r1/", "releases/r1/.manent-artifact", "releases/r1/version: one"];
    assert_eq!(after(3), unpacked);
    assert_eq!(current(&world), "", "nothing is in use yet");
    let switched = [&[".release.next: r1", "current -> releases/r1"][..], &unpacked].concat();
    assert_eq!(after(4), switched);
    assert_eq!(restarts(&world), "");
    assert_eq!(after(5), switched);
    assert_eq!(restarts(&world), "r1 TERM a 'b' $c|one\n");
    assert_eq!(current(&world), "", "the first release is not complete");
    assert_eq!(after(6), AFTER_ONE);
    assert_eq!(current(&world), "r1\n");
}

#[test]
fn a_second_time_changes_nothing() {
    let world = world();
    bring(&world, "r1", "one\n");
    bring(&world, "r1", "one\n");
    assert_eq!(world.tree(), AFTER_ONE);
    for _ in 0..2 {
        world.perform("undo", "r1", "r2").unwrap();
        assert_eq!(world.tree(), AFTER_ONE);
    }
}

#[test]
fn broken_off_anywhere_it_can_be_finished_or_undone() {
    let count = world().actions("apply");
    for broken in 0..=count {
        for back in [false, true] {
            let world = world();
            bring(&world, "r1", "one\n");
            world.pack("two\n", None);
            world.perform_first(broken, "apply", "r2", "").unwrap();
            if back {
                world.perform("undo", "r1", "r2").unwrap();
            } else {
                world.perform("apply", "r2", "").unwrap();
            }
            let wanted = if back { "r1\n" } else { "r2\n" };
            assert_eq!(current(&world), wanted, "after {broken} actions, back {back}");
            assert!(restarts(&world).ends_with(if back { "|one\n" } else { "|two\n" }));
            world.perform("retain", "r2", "r1").unwrap();
            assert!(!world.tree().iter().any(|line| line.contains("/.r")), "{:?}", world.tree());
        }
    }
}

#[test]
fn undo_broken_off_anywhere_can_be_finished() {
    for broken in 0..=world().actions("undo") {
        let world = world();
        bring(&world, "r1", "one\n");
        bring(&world, "r2", "two\n");
        world.perform_first(broken, "undo", "r1", "r2").unwrap();
        world.perform("undo", "r1", "r2").unwrap();
        assert_eq!(current(&world), "r1\n", "after {broken} actions");
    }
}

#[test]
fn between_switch_and_marker_it_cannot_tell() {
    let world = world();
    bring(&world, "r1", "one\n");
    world.perform_first(4, "apply", "r2", "").unwrap();
    fails(&world, "current", "", "a change from `r1` to `r2` was begun and not completed");
    world.perform("undo", "r1", "r2").unwrap();
    world.perform_first(4, "apply", "r1", "").unwrap();
    fails(&world, "current", "", "a change from `r1` to `r1` was begun and not completed");
}

#[test]
fn a_failed_restart_leaves_no_complete_release() {
    let mut world = world();
    bring(&world, "r1", "one\n");
    world.set_argv("restart", &["sh", "-c", "echo no >&2; exit 3"]);
    let failure = world.perform("apply", "r2", "").unwrap_err();
    assert_eq!((failure.at, failure.stderr.as_str()), (4, "no\n"));
    fails(&world, "current", "", "not completed");
}

#[test]
fn an_empty_restart_restarts_nothing() {
    let mut world = world();
    world.set_argv("restart", &[]);
    bring(&world, "r1", "one\n");
    assert_eq!(current(&world), "r1\n");
}

const HOSTILE_ROOTS: [&str; 7] = [
    "a b/it's \"here\"",
    "new\nline\n/x",
    "$(touch pwned)/`touch pwned`",
    "*/?[a]",
    "-n/--help",
    "semi;colon&and|pipe:colon",
    "grün/\t\\n",
];
const HOSTILE_RELEASES: [&str; 7] =
    ["1 0 'rc' \"1\"", "$(touch pwned)", "`touch pwned`", "*", "a;b&c|d", "n\\n%s", "ü:1{x}"];

#[test]
fn hostile_names_are_only_names() {
    for (at, root) in HOSTILE_ROOTS.into_iter().enumerate() {
        for release in [HOSTILE_RELEASES[at], HOSTILE_RELEASES[(at + 3) % 7]] {
            let world = prepared(World::with_root(RECIPE, root));
            bring(&world, "r1", "one\n");
            bring(&world, release, "two\n");
            assert_eq!(current(&world), format!("{release}\n"), "{root}");
            world.perform("undo", "r1", release).unwrap();
            assert_eq!(current(&world), "r1\n", "{root}");
            world.perform("retain", "r1", release).unwrap();
            let home = world.root.join("releases").join(release);
            assert_eq!(fs::read_to_string(home.join("version")).unwrap(), "two\n");
            assert!(!world.tree().iter().any(|line| line.contains("pwned/")));
            assert!(!std::path::Path::new("pwned").exists());
        }
    }
}

#[test]
fn names_that_are_no_directory_are_refused_untouched() {
    for release in ["", ".", "..", "../x", "a/b", ".hidden", "-x", "a\nb", "a\n", "a\tb"] {
        let world = world();
        fails(&world, "apply", release, "cannot be the name of a directory");
        assert!(world.tree().is_empty(), "{release:?}");
        fails(&world, "undo", release, "cannot be the name of a directory");
    }
    let mut world = world();
    world.set("root", "srv/shop");
    fails(&world, "apply", "r1", "not an absolute path");
    fails(&world, "current", "", "not an absolute path");
}

#[test]
fn a_bad_artifact_leaves_everything_as_it_was() {
    let mut world = world();
    bring(&world, "r1", "one\n");
    let before = world.tree();
    let untouched = |world: &World| {
        assert_eq!(current(world), "r1\n");
        let left =
            world.tree().into_iter().filter(|line| line != "releases/.r2.artifact").collect::<Vec<_>>();
        assert_eq!(left, before);
    };

    world.digest = Some("00".repeat(32));
    fails(&world, "apply", "r2", "expected `0000");
    untouched(&world);

    world.digest = None;
    fs::write(&world.artifact, "not an archive").unwrap();
    let failure = world.perform("apply", "r2", "").unwrap_err();
    assert_eq!(failure.at, 2, "{}", failure.stderr);
    untouched(&world);

    world.digest = Some("00".repeat(32));
    fs::remove_file(&world.artifact).unwrap();
    assert_eq!(world.perform("apply", "r2", "").unwrap_err().at, 1);
    untouched(&world);
}

#[test]
fn a_vanished_upload_is_named() {
    let world = world();
    let fragment = world.scripts()[1].clone();
    fs::create_dir_all(world.root.join("releases")).unwrap();
    let output = Command::new("sh")
        .args(["-c", &fragment])
        .envs([("ROOT", world.root.to_str().unwrap()), ("RELEASE", "r1"), ("SHA256", "00"), ("STRIP", "0")])
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("is missing"));
}

#[test]
fn archives_may_be_packed_in_several_ways() {
    for packing in ["--gzip", "--no-auto-compress"] {
        let world = world();
        fs::write(world.path("version"), "one\n").unwrap();
        let made = Command::new("tar")
            .args(["-c", packing, "-f"])
            .arg(&world.artifact)
            .arg("-C")
            .arg(world.path(""))
            .arg("version")
            .status()
            .unwrap();
        assert!(made.success(), "{packing}");
        world.perform("apply", "r1", "").unwrap();
        assert_eq!(world.tree(), AFTER_ONE, "{packing}");
    }
}

#[test]
fn leading_directories_can_be_left_out() {
    let mut world = world();
    world.set("strip", "2");
    world.pack("one\n", Some("shop-1.0"));
    world.perform("apply", "r1", "").unwrap();
    assert_eq!(world.tree(), AFTER_ONE);
}

#[test]
fn other_content_under_a_name_replaces_only_what_is_not_in_use() {
    let world = world();
    bring(&world, "r1", "one\n");
    bring(&world, "r2", "two\n");
    world.perform("undo", "r1", "r2").unwrap();
    bring(&world, "r2", "two again\n");
    assert!(world.tree().contains(&"releases/r2/version: two again".to_owned()));
    world.pack("two once more\n", None);
    fails(&world, "apply", "r2", "release `r2` is in use here and was made from another artifact");
    assert_eq!(current(&world), "r2\n");
}

#[test]
fn directories_that_others_made_are_never_replaced_or_removed() {
    let world = world();
    fs::create_dir_all(world.root.join("releases/r1")).unwrap();
    fails(&world, "apply", "r1", "was not made by manent");
    for number in 2..9 {
        bring(&world, &format!("r{number}"), "x\n");
    }
    world.perform("retain", "r8", "r7").unwrap();
    assert!(world.root.join("releases/r1").is_dir());
}

#[test]
fn a_current_that_is_no_link_is_not_touched() {
    let world = world();
    fs::create_dir_all(world.root.join("current")).unwrap();
    fails(&world, "apply", "r1", "is not a link: move it away");
    assert!(world.root.join("current").is_dir());
}

#[test]
fn undo_needs_the_directory_of_the_release() {
    let world = world();
    bring(&world, "r1", "one\n");
    bring(&world, "r2", "two\n");
    fs::remove_dir_all(world.root.join("releases/r1")).unwrap();
    fails(&world, "undo", "r1", "of release `r1` is not there");
    assert_eq!(current(&world), "r2\n", "nothing was touched");
}

#[test]
fn what_disagrees_is_unknown_not_empty() {
    let disagree = |change: &dyn Fn(&World), says: &str| {
        let world = world();
        bring(&world, "r1", "one\n");
        bring(&world, "r2", "two\n");
        change(&world);
        fails(&world, "current", "", says);
    };
    let remove = |world: &World, name: &str| fs::remove_file(world.root.join(name)).unwrap();
    let link = |world: &World, to: &str| {
        remove(world, "current");
        std::os::unix::fs::symlink(to, world.root.join("current")).unwrap();
    };
    disagree(&|world| link(world, "releases/r1"), "the release completed last is `r2`");
    disagree(&|world| link(world, "elsewhere"), "leads to `elsewhere`");
    disagree(&|world| remove(world, ".release"), "no completed release is recorded");
    disagree(&|world| remove(world, "current"), "is gone");
    disagree(&|world| fs::write(world.root.join(".release"), "").unwrap(), "does not hold the name");
    disagree(&|world| fs::write(world.root.join(".release"), "r2\nr1\n").unwrap(), "does not hold the name");
    disagree(&|world| fs::remove_dir_all(world.root.join("releases/r2")).unwrap(), "of release `r2` is gone");
    let world = world();
    fs::create_dir_all(world.root.parent().unwrap()).unwrap();
    fs::write(&world.root, "a file").unwrap();
    fails(&world, "current", "", "is not a directory");
}

#[test]
fn an_absolute_link_of_an_older_tool_is_understood() {
    let world = world();
    let home = world.root.join("releases/0.9");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("version"), "old\n").unwrap();
    std::os::unix::fs::symlink(&home, world.root.join("current")).unwrap();
    fails(&world, "current", "", "write the name of the release that runs here");
    fs::write(world.root.join(".release"), "0.9\n").unwrap();
    assert_eq!(current(&world), "0.9\n");
    bring(&world, "r1", "one\n");
    world.perform("undo", "0.9", "r1").unwrap();
    assert_eq!(current(&world), "0.9\n");
}

fn kept(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.root.join("releases")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_last_good_releases_are_kept() {
    let mut world = world();
    world.set("keep", "3");
    for release in ["r1", "r2", "r3", "r4", "r5"] {
        bring(&world, release, release);
    }
    fs::write(world.root.join("releases/.r9.artifact"), "left over").unwrap();
    fs::create_dir(world.root.join("releases/.r9.tmp.17")).unwrap();
    for _ in 0..2 {
        world.perform("retain", "r5", "r4").unwrap();
        assert_eq!(kept(&world), ["r3", "r4", "r5"]);
    }
}

#[test]
fn what_is_in_use_is_kept_however_old() {
    let mut world = world();
    world.set("keep", "0");
    for release in ["r1", "r2", "r3", "r4"] {
        bring(&world, release, release);
    }
    world.perform("retain", "r4", "r1").unwrap();
    assert_eq!(kept(&world), ["r1", "r3", "r4"], "two at least, and the one that was left");
    world.perform("undo", "r1", "r4").unwrap();
    world.perform("retain", "r1", "r4").unwrap();
    assert_eq!(kept(&world), ["r1", "r4"]);
}

#[test]
fn releases_that_never_completed_do_not_count_as_good() {
    let mut world = world();
    world.set("keep", "2");
    bring(&world, "r1", "one\n");
    for failed in ["f1", "f2", "f3"] {
        world.pack(failed, None);
        world.perform_first(3, "apply", failed, "").unwrap();
    }
    bring(&world, "r2", "two\n");
    world.perform("retain", "r2", "").unwrap();
    assert_eq!(kept(&world), ["r1", "r2"]);
}

#[test]
fn directories_without_the_right_to_write_are_removed_too() {
    let mut world = world();
    world.set("keep", "2");
    for release in ["r1", "r2", "r3"] {
        bring(&world, release, release);
    }
    let locked = world.root.join("releases/r1");
    let mut rights = fs::metadata(&locked).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut rights, 0o555);
    fs::set_permissions(&locked, rights).unwrap();
    world.perform("retain", "r3", "r2").unwrap();
    assert_eq!(kept(&world), ["r2", "r3"]);
}

/// Starts a process that writes the signal it gets, and whether it ends then.
fn application(world: &mut World, ends: bool) -> std::process::Child {
    let pid_file = world.path("shop.pid");
    let script = format!(
        "trap 'echo QUIT > \"$0\"; {}' QUIT; echo $$ > \"$1\"; while :; do sleep 0.05; done",
        if ends { "exit 0" } else { ":" }
    );
    let child = Command::new("sh")
        .args(["-c", &script])
        .args([world.path("signal"), pid_file.clone()])
        .spawn()
        .unwrap();
    while fs::read_to_string(&pid_file).unwrap_or_default().trim().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    world.set("pid_file", pid_file.to_str().unwrap());
    world.set("stop_signal", "SIGQUIT");
    child
}

#[test]
fn the_application_is_asked_to_end_before_the_link_moves() {
    let mut world = world();
    let mut child = application(&mut world, true);
    bring(&world, "r1", "one\n");
    assert_eq!(fs::read_to_string(world.path("signal")).unwrap(), "QUIT\n");
    assert!(child.wait().unwrap().success());
    assert_eq!(restarts(&world), "r1 SIGQUIT a 'b' $c|one\n");
    bring(&world, "r1", "one\n");
    assert_eq!(current(&world), "r1\n", "a process id that is gone is fine");
}

#[test]
fn an_application_that_stays_fails_the_step_and_is_not_killed() {
    let mut world = world();
    bring(&world, "r1", "one\n");
    let mut child = application(&mut world, false);
    world.set("stop_seconds", "1");
    fails(&world, "apply", "r2", "still runs 1s after signal `SIGQUIT`");
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(fs::read_link(world.root.join("current")).unwrap().to_str().unwrap(), "releases/r1");
}

#[test]
fn a_process_file_that_is_nonsense_signals_nobody() {
    for text in ["", "0", "-1", "1", "01", "12 13", "$(id)"] {
        let mut world = world();
        let pid_file = world.path("pid file");
        fs::write(&pid_file, text).unwrap();
        world.set("pid_file", pid_file.to_str().unwrap());
        fails(&world, "apply", "r1", "does not hold the id of a process");
    }
}
