//! What every transport keeps, tried on this machine; the ssh tests run it over real servers, too.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Command, Exec, Executed, LedgerEntry, Local, Transport};

pub(super) const MINUTE: Duration = Duration::from_secs(60);

pub(super) fn argv(words: &[&str]) -> Command {
    Command::Argv(words.iter().map(|word| (*word).to_owned()).collect())
}

pub(super) fn script(text: &str, env: &[(&str, &str)]) -> Command {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Command::Script { text: text.to_owned(), env }
}

pub(super) fn keyed(key: &str, command: Command) -> Exec {
    Exec { key: Some(key.to_owned()), command, deadline: MINUTE }
}

pub(super) fn exited(code: i32, stdout: &str, stderr: &str) -> Executed {
    Executed::Exited { code, stdout: stdout.to_owned(), stderr: stderr.to_owned() }
}

/// Waits for something to become true.
pub(super) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let since = Instant::now();
    while !holds().await {
        assert!(since.elapsed() < MINUTE, "waited too long for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The commands of a transport whose commands see the same files as this test, below `place`.
pub(super) async fn commands(transport: &dyn Transport, place: &Path) {
    let echo = keyed("r1/1.0", argv(&["printf", "%s|", "a b", "it's", "$HOME", "", "é"]));
    assert_eq!(transport.exec(&echo).await, exited(0, "a b|it's|$HOME||é|", ""));

    let both = keyed("r1/2.0", script("printf out; printf err >&2; exit 3", &[]));
    assert_eq!(transport.exec(&both).await, exited(3, "out", "err"));

    let hostile = "a\n$(touch evil)`touch evil`'\"\\ ;touch evil";
    let env = keyed("r1/3.0", script("printf %s \"$VALUE\"", &[("VALUE", hostile)]));
    assert_eq!(transport.exec(&env).await, exited(0, hostile, ""));

    // Names of shell words are names of programs, not of the shell that runs them.
    for (at, word) in ["exit", "manent_tell", "set", "A=b", "return"].iter().enumerate() {
        let builtin = keyed(&format!("r1/4.{at}"), argv(&[word, "0"]));
        let Executed::Exited { code: 127, .. } = transport.exec(&builtin).await else { panic!("{word}") };
    }
    for signal in ["KILL", "TERM"] {
        let killed = keyed(&format!("r1/5.{signal}"), script(&format!("kill -s {signal} $$"), &[]));
        let expected = if signal == "KILL" { 137 } else { 143 };
        let Executed::Exited { code, .. } = transport.exec(&killed).await else { panic!("{signal}") };
        assert_eq!(code, expected);
    }
    let input = keyed("r1/6.0", argv(&["cat"]));
    assert_eq!(transport.exec(&input).await, exited(0, "", ""), "there is nothing to read");

    let read = Exec { key: None, command: script("echo $((6 * 7)); exit 4", &[]), deadline: MINUTE };
    assert_eq!(transport.read_only(&read).await, exited(4, "42\n", ""));
    let missing = Exec { key: None, command: argv(&["/no/such/program"]), deadline: MINUTE };
    let Executed::Exited { code: 127, .. } = transport.read_only(&missing).await else { panic!() };
    assert!(!place.join("evil").exists());
}

/// A command is executed once, whoever asks and however often.
pub(super) async fn once(transport: Arc<dyn Transport>, place: &Path) {
    let log = place.join("once.log");
    let text = "echo begun >> \"$LOG\"; sleep 1; echo done";
    let exec = keyed("r2/7.0", script(text, &[("LOG", log.to_str().unwrap())]));
    assert_eq!(transport.probe("r2/7.0").await, LedgerEntry::Absent);
    let askers: Vec<_> = (0..8)
        .map(|_| {
            let (transport, exec) = (Arc::clone(&transport), exec.clone());
            tokio::spawn(async move { transport.exec(&exec).await })
        })
        .collect();
    until("the command", async || log.exists()).await;
    assert_eq!(transport.probe("r2/7.0").await, LedgerEntry::Running);
    for asker in askers {
        assert_eq!(asker.await.unwrap(), exited(0, "done\n", ""));
    }
    assert_eq!(transport.exec(&exec).await, exited(0, "done\n", ""));
    assert_eq!(transport.probe("r2/7.0").await, LedgerEntry::Ended(exited(0, "done\n", "")));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "begun\n");
}

/// A command whose time is over is ended with all that it started.
pub(super) async fn deadline(transport: &dyn Transport, place: &Path) {
    let left = place.join("left");
    let text = "echo first; (sleep 5; echo > \"$LEFT\") & sleep 30; echo second";
    let mut exec = keyed("r3/1.0", script(text, &[("LEFT", left.to_str().unwrap())]));
    exec.deadline = Duration::from_secs(1);
    let since = Instant::now();
    let expected = Executed::TimedOut { stdout: String::from("first\n"), stderr: String::new() };
    assert_eq!(transport.exec(&exec).await, expected);
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    assert_eq!(transport.probe("r3/1.0").await, LedgerEntry::Ended(expected));
    let mut read = Exec { key: None, command: argv(&["sleep", "30"]), deadline: Duration::from_millis(300) };
    assert!(matches!(transport.read_only(&read).await, Executed::TimedOut { .. }));
    read.deadline = Duration::ZERO;
    assert!(!matches!(transport.read_only(&read).await, Executed::Exited { .. }));
    tokio::time::sleep(Duration::from_secs(5).saturating_sub(since.elapsed())).await;
    assert!(!left.exists(), "a child outlived its deadline");
}

/// Files arrive whole or not at all.
pub(super) async fn uploads(transport: &dyn Transport, place: &Path) {
    let from = place.join("from it's");
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
    std::fs::write(&from, &bytes).unwrap();
    let to = place.join("to $(x) 'y' \\z");
    let to_text = to.to_str().unwrap();
    assert_eq!(transport.upload(&from, to_text, None, MINUTE).await, exited(0, "sent", ""));
    assert!(std::fs::read(&to).unwrap() == bytes);
    std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o640)).unwrap();
    let first = to.metadata().unwrap().ino();
    assert_eq!(transport.upload(&from, to_text, None, MINUTE).await, exited(0, "it is there already", ""));
    assert_eq!(to.metadata().unwrap().ino(), first, "nothing was written");

    std::fs::write(&from, b"").unwrap();
    assert_eq!(transport.upload(&from, to_text, None, MINUTE).await, exited(0, "sent", ""));
    assert_eq!(to.metadata().unwrap().len(), 0);
    assert_eq!(to.metadata().unwrap().mode() & 0o777, 0o640, "the mode is kept");

    let wrong = transport.upload(&from, to_text, Some(&"0".repeat(64)), MINUTE).await;
    assert!(matches!(&wrong, Executed::NotStarted { reason } if reason.contains("sha256")), "{wrong:?}");
    let gone = transport.upload(&place.join("gone"), to_text, None, MINUTE).await;
    assert!(matches!(&gone, Executed::NotStarted { .. }), "{gone:?}");

    let refused = async |to: &Path, words: &str| match transport
        .upload(&from, to.to_str().unwrap(), None, MINUTE)
        .await
    {
        Executed::Exited { code: 1, stderr, .. } => assert!(stderr.contains(words), "{stderr}"),
        other => panic!("{other:?}"),
    };
    let link = place.join("link");
    symlink(place.join("elsewhere"), &link).unwrap();
    refused(&link, "is a link there").await;
    refused(place, "is a directory there").await;
    refused(&place.join("no/such/file"), "there is no directory").await;
    assert!(!place.join("elsewhere").exists());
    let left: Vec<_> = std::fs::read_dir(place)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".tmp"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

fn local(place: &Path) -> Local {
    Local::new(place, &place.join("state"))
}

#[tokio::test]
async fn commands_reach_this_machine_as_they_are() {
    let place = tempfile::tempdir().unwrap();
    commands(&local(place.path()), place.path()).await;
    assert_eq!(place.path().join("state/manent").metadata().unwrap().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn a_key_is_executed_once() {
    let place = tempfile::tempdir().unwrap();
    once(Arc::new(local(place.path())), place.path()).await;
}

#[tokio::test]
async fn a_deadline_ends_everything_that_was_started() {
    let place = tempfile::tempdir().unwrap();
    deadline(&local(place.path()), place.path()).await;
}

#[tokio::test]
async fn files_arrive_whole_or_not_at_all() {
    let place = tempfile::tempdir().unwrap();
    uploads(&local(place.path()), place.path()).await;
}

/// What is sent to execute `touch FILE` under a key.
fn sent(state: &Path, file: &Path) -> String {
    let call = super::quote::words([state.to_str().unwrap(), "r1", "1.0"]).unwrap();
    let command = super::quote::words(["touch", file.to_str().unwrap()]).unwrap();
    super::posix::whole(super::ledger::LEDGER, &format!("manent_exec {call} 60 {command}"))
}

fn feed(shell: &str, text: &[u8]) -> String {
    use std::io::Write;
    let mut child = std::process::Command::new(shell)
        .arg("-s")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap_or_else(|error| {
            panic!("`{shell}` is needed for this test: install the package {shell} ({error})")
        });
    child.stdin.take().unwrap().write_all(text).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn a_sentence_that_breaks_off_executes_nothing() {
    for shell in ["dash", "bash"] {
        let place = tempfile::tempdir().unwrap();
        let (state, file) = (place.path().join("state"), place.path().join("effect"));
        let text = sent(&state, &file);
        // Every byte of the end, where the command stands, and a sample of what is before.
        let end = text.len() - 2;
        for cut in (0..end).filter(|cut| cut % 61 == 0 || *cut > end - 120) {
            feed(shell, &text.as_bytes()[..cut]);
            assert!(!state.exists() && !file.exists(), "{shell} executed a part of {cut} bytes");
        }
        assert_eq!(feed(shell, text.as_bytes()), "manent-ledger ended 0\n", "{shell}");
        assert!(file.exists());
        std::fs::remove_file(&file).unwrap();
        assert_eq!(feed(shell, text.as_bytes()), "manent-ledger ended 0\n", "{shell}");
        assert!(!file.exists(), "{shell} executed it twice");
    }
}

#[tokio::test]
async fn a_command_that_never_stops_talking_fills_no_disk() {
    let place = tempfile::tempdir().unwrap();
    let transport = local(place.path());
    let text = "head -c 40000000 /dev/zero | tr '\\0' x; sleep 4; printf end; head -c 100000 /dev/zero | tr '\\0' e >&2";
    let executed = transport.exec(&keyed("r1/1.0", script(text, &[]))).await;
    let Executed::Exited { code: 0, stdout, stderr } = executed else {
        panic!("{}", &format!("{executed:?}")[..300])
    };
    assert!(stdout.ends_with("xxxend") && stdout.len() <= super::KEPT, "{}", stdout.len());
    assert_eq!(stderr.len(), super::KEPT);
    let kept = place.path().join("state/manent/r1/1.0.out").metadata().unwrap().len();
    assert!(kept < 1_000_000, "{kept}");
}

#[tokio::test]
async fn what_runs_of_long_ago_left_is_removed() {
    let place = tempfile::tempdir().unwrap();
    let transport = local(place.path());
    let ledger = place.path().join("state/manent");
    assert_eq!(transport.exec(&keyed("old/1.0", argv(&["true"]))).await, exited(0, "", ""));
    assert_eq!(transport.exec(&keyed("young/1.0", argv(&["true"]))).await, exited(0, "", ""));
    let long_ago =
        std::process::Command::new("touch").args(["-d", "9 days ago"]).arg(ledger.join("old")).status();
    assert!(long_ago.unwrap().success());
    assert_eq!(transport.exec(&keyed("young/2.0", argv(&["true"]))).await, exited(0, "", ""));
    assert!(ledger.join("old").exists(), "only a new run tidies up");
    assert_eq!(transport.exec(&keyed("new/1.0", argv(&["true"]))).await, exited(0, "", ""));
    assert!(!ledger.join("old").exists() && ledger.join("young").exists());
}

#[tokio::test]
async fn what_cannot_be_begun_is_told_apart_from_what_may_have_been() {
    let place = tempfile::tempdir().unwrap();
    let transport = local(place.path());
    let long = "x".repeat(200_000);
    for (key, command, words) in [
        ("r1", argv(&["true"]), "is no key"),
        ("../r1/1", argv(&["true"]), "is no key"),
        ("r1/../../x", argv(&["true"]), "is no key"),
        ("r1/1;true", argv(&["true"]), "is no key"),
        ("r1/1.0", argv(&[]), "the command is empty"),
        ("r1/1.0", argv(&["-x"]), "cannot be the name of a program"),
        ("r1/1.0", argv(&["echo", "a\0b"]), "NUL byte"),
        ("r1/1.0", script("true", &[("A B", "x")]), "cannot be the name of a variable"),
        ("r1/1.0", script("true", &[("A;touch x", "x")]), "cannot be the name of a variable"),
        ("r1/1.0", argv(&["echo", &long]), "is longer than"),
    ] {
        let executed = transport.exec(&keyed(key, command)).await;
        assert!(
            matches!(&executed, Executed::NotStarted { reason } if reason.contains(words)),
            "{words}: {executed:?}"
        );
    }
    assert!(!place.path().join("state").exists());
    std::fs::write(place.path().join("state"), "in the way").unwrap();
    let executed = transport.exec(&keyed("r1/1.0", argv(&["true"]))).await;
    assert!(
        matches!(&executed, Executed::NotStarted { reason } if reason.contains("cannot be made there")),
        "{executed:?}"
    );
    assert_eq!(transport.probe("r1/1.0").await, LedgerEntry::Absent);
}
