//! Real OpenSSH on both sides.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use manent_plan::{Connection, Plan, Ssh, TargetIx, fixtures};

use super::super::suite::{self, MINUTE, argv, exited, keyed, script};
use super::super::{Exec, Executed, LedgerEntry, Transports};
use super::server::{PORT, Server, keygen, me};
use crate::secrets::Secrets;

const CANARY: &str = "CANARY-71b3e9aa04c6d2f8 pw:'\"$x";

/// A directory with a key that is a secret, and what the plan declares.
struct Bed {
    place: tempfile::TempDir,
}

impl Bed {
    fn new() -> Bed {
        let place = tempfile::tempdir().unwrap();
        keygen(&place.path().join("id"));
        Bed { place }
    }

    fn at(&self) -> &Path {
        self.place.path()
    }

    fn secrets(&self) -> Secrets {
        let declared = [("key", "file:id"), ("pass", "file:pass"), ("locked", "file:locked")]
            .map(|(name, reference)| (name.to_owned(), reference.to_owned()));
        Secrets::new(self.at(), &BTreeMap::from(declared))
    }

    fn ssh() -> Ssh {
        Ssh {
            user: Some(me()),
            port: Some(PORT),
            key_secret: Some(String::from("key")),
            password_secret: None,
            known_hosts: Some(String::from("known_hosts")),
            jump: None,
        }
    }

    fn plan(servers: &[&Server], ssh: Ssh) -> Plan {
        let mut plan = fixtures::four_targets();
        plan.connections = vec![Connection::Ssh(ssh)];
        plan.targets.truncate(servers.len());
        for (target, server) in plan.targets.iter_mut().zip(servers) {
            target.host.clone_from(&server.host);
            target.connection = 0;
        }
        plan
    }

    fn transports(&self, servers: &[&Server], ssh: Ssh) -> Transports {
        let plan = Bed::plan(servers, ssh);
        Transports::new(&plan, self.at(), &self.at().join("state"), self.secrets()).unwrap()
    }
}

fn read(words: &[&str]) -> Exec {
    Exec { key: None, command: argv(words), deadline: MINUTE }
}

async fn reason(transports: &Transports) -> String {
    match transports.of(TargetIx(0)).await.unwrap().exec(&keyed("r1/1.0", argv(&["true"]))).await {
        Executed::NotStarted { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn commands_reach_a_host_as_they_are() {
    let bed = Bed::new();
    let server = Server::start(bed.at());
    let transports = bed.transports(&[&server], Bed::ssh());
    let transport = transports.of(TargetIx(0)).await.unwrap();
    suite::commands(transport.as_ref(), bed.at()).await;
    suite::once(Arc::clone(&transport), bed.at()).await;
    suite::uploads(transport.as_ref(), bed.at()).await;
    suite::deadline(transport.as_ref(), bed.at()).await;
    assert_eq!((transports.opened(), server.logins()), (1, 1));
    assert!(server.place.join("home/.local/state/manent/r1/1.0").exists());
}

#[tokio::test]
async fn a_hundred_commands_share_one_connection_and_hosts_have_one_each() {
    let bed = Bed::new();
    let (first, second) = (Server::start(bed.at()), Server::start(bed.at()));
    let transports = Arc::new(bed.transports(&[&first, &second, &first], Bed::ssh()));
    let all = [TargetIx(0), TargetIx(1), TargetIx(2)];
    transports.warm(&all).await;
    assert_eq!(transports.opened(), 2, "two targets are on one host");
    for round in 0..20 {
        let mut running = tokio::task::JoinSet::new();
        for at in 0..5_u32 {
            let transports = Arc::clone(&transports);
            running.spawn(async move {
                let transport = transports.of(TargetIx(at % 3)).await.unwrap();
                let key = format!("r1/{round}.{at}");
                assert_eq!(
                    transport.exec(&keyed(&key, argv(&["echo", &key]))).await,
                    exited(0, &format!("{key}\n"), "")
                );
            });
        }
        while let Some(done) = running.join_next().await {
            done.unwrap();
        }
    }
    assert_eq!(transports.opened(), 2);
    assert_eq!((first.logins(), second.logins()), (1, 1));
    drop(transports);
    suite::until("closed connections", async || {
        [&first, &second].iter().all(|server| {
            server.log().contains("Disconnected from") || server.log().contains("Received disconnect")
        })
    })
    .await;
}

#[tokio::test]
async fn the_longest_unused_connection_makes_room() {
    let bed = Bed::new();
    let servers: Vec<Server> = (0..3).map(|_| Server::start(bed.at())).collect();
    let plan = Bed::plan(&servers.iter().collect::<Vec<_>>(), Bed::ssh());
    let transports = Transports::within(&plan, bed.at(), bed.at(), bed.secrets(), 2).unwrap();
    for (target, opened) in [(0, 1), (1, 2), (0, 2), (2, 3), (0, 3), (1, 4), (0, 4), (2, 5)] {
        let transport = transports.of(TargetIx(target)).await.unwrap();
        assert_eq!(transport.read_only(&read(&["true"])).await, exited(0, "", ""));
        assert_eq!(transports.opened(), opened, "after {target}");
    }
}

#[tokio::test]
async fn unknown_changed_and_revoked_host_keys_are_refused_before_a_byte_is_sent() {
    let bed = Bed::new();
    let mut server = Server::start(bed.at());
    let known = bed.at().join("known_hosts");
    let entry = std::fs::read_to_string(&known).unwrap();

    std::fs::write(&known, "").unwrap();
    let unknown = reason(&bed.transports(&[&server], Bed::ssh())).await;
    assert!(unknown.contains("is not in `") && unknown.contains("known_hosts`"), "{unknown}");
    assert_eq!(std::fs::read_to_string(&known).unwrap(), "", "no trust on first use");

    std::fs::write(&known, format!("@revoked {entry}")).unwrap();
    let revoked = reason(&bed.transports(&[&server], Bed::ssh())).await;
    assert!(revoked.contains("revoked"), "{revoked}");

    // Known by a key of another type only.
    std::fs::write(&known, "").unwrap();
    let rsa = bed.at().join("rsa");
    std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "rsa", "-N", "", "-f"])
        .arg(&rsa)
        .status()
        .unwrap();
    let other = std::fs::read_to_string(bed.at().join("rsa.pub")).unwrap();
    let other: Vec<&str> = other.split_whitespace().take(2).collect();
    std::fs::write(&known, format!("[{}]:{PORT} {}\n", server.host, other.join(" "))).unwrap();
    let typed = reason(&bed.transports(&[&server], Bed::ssh())).await;
    assert!(typed.contains("host key"), "{typed}");

    std::fs::write(&known, &entry).unwrap();
    server.change_key(bed.at());
    let changed = reason(&bed.transports(&[&server], Bed::ssh())).await;
    assert!(changed.contains("is not the one in"), "{changed}");
    assert_eq!(server.logins(), 0);
    assert!(!server.place.join("home/.local").exists(), "nothing reached the host");

    // Names may be hashed.
    std::fs::write(&known, "").unwrap();
    server.make_known(bed.at());
    let hashed =
        std::process::Command::new("ssh-keygen").args(["-q", "-H", "-f"]).arg(&known).output().unwrap();
    assert!(hashed.status.success() && std::fs::read_to_string(&known).unwrap().starts_with("|1|"));
    let transports = bed.transports(&[&server], Bed::ssh());
    let transport = transports.of(TargetIx(0)).await.unwrap();
    assert_eq!(transport.exec(&keyed("r1/1.0", argv(&["true"]))).await, exited(0, "", ""));
}

#[tokio::test]
async fn a_lost_connection_kills_no_command_and_none_runs_twice() {
    let bed = Bed::new();
    let mut server = Server::start(bed.at());
    let transports = Arc::new(bed.transports(&[&server], Bed::ssh()));
    let transport = transports.of(TargetIx(0)).await.unwrap();
    let log = bed.at().join("effects");
    let text = "echo effect >> \"$LOG\"; sleep 3; echo finished; echo late >> \"$LOG\"";
    let exec = keyed("r1/5.0", script(text, &[("LOG", log.to_str().unwrap())]));
    let asking = tokio::spawn({
        let (transport, exec) = (Arc::clone(&transport), exec.clone());
        async move { transport.exec(&exec).await }
    });
    suite::until("the command", async || log.exists()).await;
    server.restart(bed.at());
    let lost = asking.await.unwrap();
    assert!(matches!(lost, Executed::Lost { .. }), "{lost:?}");
    assert_eq!(transport.probe("r1/5.0").await, LedgerEntry::Running);
    // Asked again, also by another process, it waits for the first one.
    let again = bed.transports(&[&server], Bed::ssh());
    let other = again.of(TargetIx(0)).await.unwrap();
    let (one, two) = tokio::join!(transport.exec(&exec), other.exec(&exec));
    assert_eq!((one, two), (exited(0, "finished\n", ""), exited(0, "finished\n", "")));
    assert_eq!(transport.probe("r1/5.0").await, LedgerEntry::Ended(exited(0, "finished\n", "")));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "effect\nlate\n");
}

#[tokio::test]
async fn an_owner_that_was_killed_is_told_from_one_that_works() {
    let bed = Bed::new();
    let server = Server::start(bed.at());
    let transports = bed.transports(&[&server], Bed::ssh());
    let transport = transports.of(TargetIx(0)).await.unwrap();
    let ledger = server.place.join("home/.local/state/manent/r1");
    let pid_file = bed.at().join("pid");
    let exec =
        keyed("r1/1.0", script("echo $$ > \"$PID\"; sleep 60", &[("PID", pid_file.to_str().unwrap())]));
    let asking = tokio::spawn({
        let (transport, exec) = (Arc::clone(&transport), exec.clone());
        async move { transport.exec(&exec).await }
    });
    suite::until("the command", async || {
        std::fs::read_to_string(&pid_file).is_ok_and(|text| text.ends_with('\n'))
    })
    .await;
    let owner = std::fs::read_to_string(ledger.join("1.0")).unwrap();
    let owner = owner.split(' ').next().unwrap();
    let signal = |pid: &str| {
        assert!(std::process::Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
    };
    signal(owner);
    asking.await.unwrap();
    assert_eq!(transport.probe("r1/1.0").await, LedgerEntry::Running, "the command itself is still there");
    // The command, its `sleep`, and what is left of the watch.
    let group = std::process::Command::new("kill").args(["-9", "--", &format!("-{owner}")]).status().unwrap();
    assert!(group.success());
    suite::until("its death", async || transport.probe("r1/1.0").await == LedgerEntry::Died).await;
    let again = transport.exec(&exec).await;
    assert!(
        matches!(&again, Executed::Lost { reason } if reason.contains("gone without a result")),
        "{again:?}"
    );

    // Another process that got the number since, or a number from before the machine started again, is not the owner.
    let (us, boot) =
        (std::process::id(), std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap());
    for (at, line) in [format!("{us} 1 {boot} {us}"), format!("{us} 1 0-0-0 {us}\n")].iter().enumerate() {
        std::fs::write(ledger.join(format!("2.{at}")), line.replace(&boot, boot.trim())).unwrap();
    }
    assert_eq!(transport.probe("r1/2.1").await, LedgerEntry::Died);
    // Just created and not written yet.
    std::fs::write(ledger.join("3.0"), "").unwrap();
    assert_eq!(transport.probe("r1/3.0").await, LedgerEntry::Running);
}

#[tokio::test]
async fn a_broken_connection_is_replaced_without_a_word() {
    let bed = Bed::new();
    let mut server = Server::start(bed.at());
    let transports = bed.transports(&[&server], Bed::ssh());
    let transport = transports.of(TargetIx(0)).await.unwrap();
    assert_eq!(transport.read_only(&read(&["echo", "1"])).await, exited(0, "1\n", ""));
    server.restart(bed.at());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(transport.exec(&keyed("r1/1.0", argv(&["echo", "2"]))).await, exited(0, "2\n", ""));
    assert_eq!(transports.opened(), 2);
}

#[tokio::test]
async fn a_jump_host_is_gone_through_and_as_strictly_known() {
    let bed = Bed::new();
    let (gate, server) = (Server::start(bed.at()), Server::start(bed.at()));
    let mut ssh = Bed::ssh();
    ssh.jump = Some(format!("{}@{}:{PORT}", me(), gate.host));
    let transports = bed.transports(&[&server], ssh.clone());
    let transport = transports.of(TargetIx(0)).await.unwrap();
    assert_eq!(
        transport.exec(&keyed("r1/1.0", argv(&["echo", "through"]))).await,
        exited(0, "through\n", "")
    );
    assert_eq!((gate.logins(), server.logins()), (1, 1));
    drop((transport, transports));

    let known = bed.at().join("known_hosts");
    let without: String = std::fs::read_to_string(&known)
        .unwrap()
        .lines()
        .filter(|line| !line.contains(&gate.host))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(&known, without).unwrap();
    let said = reason(&bed.transports(&[&server], ssh)).await;
    assert!(said.contains("host key"), "{said}");
    assert_eq!((gate.logins(), server.logins()), (1, 1));
}

#[tokio::test]
async fn hosts_that_cannot_be_reached_are_told_and_nothing_was_begun() {
    let bed = Bed::new();
    let mut server = Server::start(bed.at());
    for (host, words) in
        [("-oProxyCommand=touch evil", "cannot be the host"), ("127.99.99.99", "cannot be reached over ssh")]
    {
        let was = std::mem::replace(&mut server.host, host.to_owned());
        let reason = reason(&bed.transports(&[&server], Bed::ssh())).await;
        assert!(reason.contains(words), "{reason}");
        server.host = was;
    }
    let mut ssh = Bed::ssh();
    ssh.user = Some(String::from("nobody-of-that-name"));
    let denied = reason(&bed.transports(&[&server], ssh)).await;
    assert!(denied.contains("refused the login"), "{denied}");
    assert_eq!(server.logins(), 0);
}

#[tokio::test]
async fn a_key_that_cannot_be_used_is_named_and_not_shown() {
    let bed = Bed::new();
    let server = Server::start(bed.at());
    let locked = bed.at().join("locked");
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "long enough", "-f"])
        .arg(&locked)
        .status();
    assert!(made.unwrap().success());
    let mut ssh = Bed::ssh();
    ssh.key_secret = Some(String::from("locked"));
    let said = reason(&bed.transports(&[&server], ssh.clone())).await;
    assert!(said.contains("secret `locked`") && said.contains("passphrase"), "{said}");
    let body = "Q0FOQVJZLTVkMmY4YTcxYzBlOTRiNmY";
    std::fs::write(
        &locked,
        format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{body}\n-----END OPENSSH PRIVATE KEY-----\n"),
    )
    .unwrap();
    let said = reason(&bed.transports(&[&server], ssh)).await;
    assert!(said.contains("does not accept the private key"), "{said}");
    assert!(!(0..body.len() - 5).any(|at| said.contains(&body[at..at + 6])), "{said}");
}

/// Everything that other users of this machine could see, looked at for as long as `work` takes.
async fn watched(work: impl Future<Output = ()>, place: &Path) {
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let looking = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            let mut looks = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                for process in std::fs::read_dir("/proc").unwrap().flatten() {
                    for file in ["cmdline", "environ"] {
                        let seen = std::fs::read(process.path().join(file)).unwrap_or_default();
                        let seen = String::from_utf8_lossy(&seen);
                        assert!(!seen.contains("CANARY-71b3"), "{:?} {file}", process.path());
                    }
                }
                looks += 1;
                std::thread::sleep(Duration::from_millis(5));
            }
            looks
        }
    });
    work.await;
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(looking.join().unwrap() > 3);
    let found =
        std::process::Command::new("grep").args(["-rlaF", "CANARY-71b3"]).arg(place).output().unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    assert_eq!(
        found.trim(),
        place.join("pass").to_str().unwrap(),
        "only the file of the secret itself holds it"
    );
}

/// An account with a password, taken away again.
struct Account;

impl Account {
    const NAME: &'static str = "manent-pass";

    fn make() -> Account {
        assert!(
            rustix::process::geteuid().is_root(),
            "a login by password needs an account with one: run this test as root"
        );
        let _ = std::process::Command::new("useradd")
            .args(["-M", "-d", "/", "-s", "/bin/sh", Account::NAME])
            .output()
            .unwrap();
        let mut child =
            std::process::Command::new("chpasswd").stdin(std::process::Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(
            child.stdin.as_mut().unwrap(),
            format!("{}:{CANARY}\n", Account::NAME).as_bytes(),
        )
        .unwrap();
        assert!(child.wait().unwrap().success());
        Account
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let _ = std::process::Command::new("userdel").arg(Account::NAME).output();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_lets_in_and_shows_nowhere() {
    use std::os::unix::fs::PermissionsExt;
    let account = Account::make();
    let bed = Bed::new();
    let server = Server::start(bed.at());
    let pass = bed.at().join("pass");
    std::fs::write(&pass, format!("{CANARY}\n")).unwrap();
    std::fs::set_permissions(&pass, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::set_permissions(bed.at(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(server.place.join("home"), std::fs::Permissions::from_mode(0o777)).unwrap();
    let mut ssh = Bed::ssh();
    ssh.user = Some(String::from(Account::NAME));
    ssh.key_secret = None;
    ssh.password_secret = Some(String::from("pass"));
    watched(
        async {
            let transports = bed.transports(&[&server], ssh.clone());
            let transport = transports.of(TargetIx(0)).await.unwrap();
            let who = keyed("r1/1.0", argv(&["id", "-un"]));
            assert_eq!(transport.exec(&who).await, exited(0, "manent-pass\n", ""));
            let env = transport.read_only(&read(&["env"])).await;
            assert!(matches!(&env, Executed::Exited { stdout, .. } if !stdout.contains("CANARY")), "{env:?}");
        },
        bed.at(),
    )
    .await;
    assert_eq!(server.logins(), 1);
    std::fs::write(&pass, "wrong CANARY-ffff0000").unwrap();
    let denied = reason(&bed.transports(&[&server], ssh)).await;
    assert!(denied.contains("refused the login") && !denied.contains("CANARY"), "{denied}");
    drop(account);
}

#[tokio::test]
async fn a_private_agent_ends_with_its_pool() {
    let bed = Bed::new();
    let server = Server::start(bed.at());
    let transports = bed.transports(&[&server], Bed::ssh());
    let transport = transports.of(TargetIx(0)).await.unwrap();
    assert_eq!(transport.read_only(&read(&["true"])).await, exited(0, "", ""));
    let ours = |process: &std::fs::DirEntry| {
        let seen = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let seen = String::from_utf8_lossy(&seen).into_owned();
        let parent = std::fs::read_to_string(process.path().join("environ")).unwrap_or_default();
        seen.contains("ssh-agent") && !parent.is_empty() && seen.contains("manent-")
    };
    let agents = || std::fs::read_dir("/proc").unwrap().flatten().filter(|process| ours(process)).count();
    let before = agents();
    assert!(before >= 1);
    drop((transport, transports));
    suite::until("the agent's end", async || agents() < before).await;
}

/// Figures for the goals of exec round trips; run by hand: `cargo test --release -p manent-runtime round_trips -- --nocapture`.
#[tokio::test]
async fn round_trips_stay_near_those_of_the_bare_connection() {
    let bed = Bed::new();
    let server = Server::start(bed.at());
    let transports = bed.transports(&[&server], Bed::ssh());
    let transport = transports.of(TargetIx(0)).await.unwrap();
    assert_eq!(transport.exec(&keyed("r1/0.0", argv(&["true"]))).await, exited(0, "", ""));
    let pool_settings = Arc::new(super::Settings {
        user: Some(me()),
        port: Some(PORT),
        jump: None,
        known_hosts: Some(bed.at().join("known_hosts")),
        key_secret: Some(String::from("key")),
        password_secret: None,
        number: 0,
    });
    let pool = super::Pool::new(bed.secrets(), 1, 2);
    let (bare, _) = pool.connection(&server.host, &pool_settings).await.unwrap();
    let (mut raw, mut read_only, mut ledger) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..40 {
        let since = Instant::now();
        assert!(bare.raw_command("true").output().await.unwrap().status.success());
        raw.push(since.elapsed());
        let since = Instant::now();
        assert_eq!(transport.read_only(&read(&["true"])).await, exited(0, "", ""));
        read_only.push(since.elapsed());
        let since = Instant::now();
        assert_eq!(
            transport.exec(&keyed(&format!("r1/1.{round}"), argv(&["true"]))).await,
            exited(0, "", "")
        );
        ledger.push(since.elapsed());
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    let (raw, read_only, ledger) = (median(&mut raw), median(&mut read_only), median(&mut ledger));
    println!("bare {raw:?}, read {read_only:?}, with ledger {ledger:?}");
    // Generous: tests of many crates share the machine. The benchmark holds the goal.
    assert!(ledger < raw * 4 + Duration::from_millis(20), "bare {raw:?}, with ledger {ledger:?}");
}
