//! A command on a target against a bare one: `cargo bench --bench ssh`. The floor is `true` through one open multiplexed
//! connection of the `openssh` crate to the same real sshd, and two SQLite commits; manent's way adds the ledger on the
//! target, without which a command could run twice.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark that cannot run has nothing to say"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use manent_plan::fixtures::PlanBuilder;
use manent_plan::{Connection, Ssh, TargetIx};
use manent_runtime::secrets::Secrets;
use manent_runtime::transport::{Command, Exec, Executed, Transports};
use manent_testbed::site::{Plan, Site};

const ROUNDS: usize = 200;

fn main() {
    let site = Site::start(Plan { hosts: 1, instances: 1, ..Plan::default() }).unwrap();
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    tokio.block_on(measure(&site));
}

async fn measure(site: &Site) {
    let ip = site.hosts[0].address.ip().to_string();
    let session = openssh::SessionBuilder::default()
        .known_hosts_check(openssh::KnownHosts::Strict)
        .user_known_hosts_file(site.client.known_hosts())
        .keyfile(site.client.key())
        .user(site.client.user().to_owned())
        .port(manent_testbed::address::SSH_PORT)
        .connect_mux(&ip)
        .await
        .unwrap();
    let mut plan = PlanBuilder::new().targets(1).without_pool().build();
    plan.targets[0].host = ip;
    plan.secrets = [(String::from("key"), String::from("file:secrets/ssh-key"))].into();
    plan.connections = vec![Connection::Ssh(Ssh {
        user: Some(site.client.user().to_owned()),
        port: Some(manent_testbed::address::SSH_PORT),
        key_secret: Some("key".into()),
        known_hosts: Some(site.client.known_hosts().display().to_string()),
        jump: None,
        password_secret: None,
    })];
    let state = tempfile::tempdir().unwrap();
    let secrets = Secrets::new(&site.root(), &plan.secrets);
    let transports = Arc::new(Transports::new(&plan, &site.root(), state.path(), secrets).unwrap());
    let transport = transports.of(TargetIx(0)).await.unwrap();
    let (mut bare, mut ours, mut reads) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let begun = Instant::now();
        assert!(session.command("true").status().await.unwrap().success());
        bare.push(begun.elapsed());
        let exec = Exec {
            key: Some(format!("bench/{round}.0")),
            command: Command::Argv(vec!["true".into()]),
            deadline: Duration::from_secs(60),
        };
        let begun = Instant::now();
        assert!(matches!(transport.exec(&exec).await, Executed::Exited { code: 0, .. }));
        ours.push(begun.elapsed());
        let begun = Instant::now();
        assert!(matches!(transport.read_only(&exec).await, Executed::Exited { code: 0, .. }));
        reads.push(begun.elapsed());
    }
    let commit = commit();
    let (bare, ours, reads) = (median(bare), median(ours), median(reads));
    let floor = bare + commit * 2;
    println!("bare exec {:.2} ms, one commit {:.2} ms", ms(bare), ms(commit));
    println!("read-only command {:.2} ms = {:.2}x bare", ms(reads), ms(reads) / ms(bare));
    println!("exactly-once command {:.2} ms = {:.2}x bare", ms(ours), ms(ours) / ms(bare));
    println!(
        "host-step {:.2} ms = {:.2}x (bare exec + 2 commits)",
        ms(ours + commit * 2),
        ms(ours + commit * 2) / ms(floor)
    );
    println!("connections opened: {} for {} commands on 1 host", transports.opened(), 2 * ROUNDS);
}

fn commit() -> Duration {
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let database = rusqlite::Connection::open(disk.path().join("floor.db")).unwrap();
    database
        .execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE record (body BLOB)")
        .unwrap();
    let mut all = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        database.execute("INSERT INTO record VALUES (?1)", [&[7_u8; 256][..]]).unwrap();
        all.push(begun.elapsed());
    }
    median(all)
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
