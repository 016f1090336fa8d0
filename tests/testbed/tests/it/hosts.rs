//! Real ssh servers: strict keys, homes of their own, and the ways they fail.

use manent_testbed::app::{Behaviour, Host};
use manent_testbed::sshd::{Client, Sshd};
use manent_testbed::{Folder, Result};
use std::time::Duration;

struct Bed {
    sshd: Sshd,
    host: Host,
    client: Client,
    _folder: Folder,
}

fn bed() -> Result<Bed> {
    let folder = Folder::new("hosts")?;
    let client = Client::create(&folder)?;
    let host = Host::create(&folder, "h1", &Behaviour::default())?;
    let sshd = Sshd::start(&host, &client)?;
    Ok(Bed { sshd, host, client, _folder: folder })
}

#[test]
fn a_host_lets_its_user_in_and_has_a_home_of_its_own() {
    let bed = bed().unwrap();
    let ip = *bed.host.address.ip();
    let said = bed.client.run(ip, "id -un; echo $HOME; echo $TEST_HOST").unwrap();
    let home = bed.host.place().join("home");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines, [bed.client.user(), home.to_str().unwrap(), "h1"]);
    bed.client.run(ip, "touch $HOME/it-is-mine").unwrap();
    assert!(home.join("it-is-mine").exists());
    assert_eq!(bed.sshd.connections(), 2);
}

#[test]
fn the_service_started_over_ssh_outlives_its_session() {
    let bed = bed().unwrap();
    let ip = *bed.host.address.ip();
    bed.host.install("1.0.0").unwrap();
    let service = bed.host.service_script();
    bed.client.run(ip, &format!("{} start", service.display())).unwrap();
    manent_testbed::process::until("an answer", Duration::from_secs(3), || bed.host.running_release())
        .unwrap();
    let status = bed.client.run(ip, &format!("{} status", service.display())).unwrap();
    assert_eq!(status.trim(), "running");
    bed.client.run(ip, &format!("{} restart", service.display())).unwrap();
    manent_testbed::process::until("an answer", Duration::from_secs(3), || bed.host.running_release())
        .unwrap();
    assert_eq!(bed.host.starts(), ["1.0.0", "1.0.0"]);
    bed.host.set_failing("service", true).unwrap();
    assert!(bed.client.run(ip, &format!("{} restart", service.display())).is_err());
}

#[test]
fn a_swapped_host_key_is_refused() {
    let mut bed = bed().unwrap();
    let ip = *bed.host.address.ip();
    bed.client.run(ip, "true").unwrap();
    bed.sshd.swap_host_key().unwrap();
    let refused = bed.client.run(ip, "true").unwrap_err().to_string();
    assert!(refused.contains("REMOTE HOST IDENTIFICATION HAS CHANGED"), "{refused}");
    bed.sshd.make_known(&bed.client).unwrap();
    bed.client.run(ip, "true").unwrap();
}

#[test]
fn killing_the_server_breaks_its_sessions() {
    let mut bed = bed().unwrap();
    let ip = *bed.host.address.ip();
    let broken = std::thread::scope(|scope| {
        let session = scope.spawn(|| bed.client.run(ip, "sleep 5"));
        std::thread::sleep(Duration::from_millis(700));
        bed.sshd.kill().unwrap();
        session.join().unwrap()
    });
    assert!(broken.is_err());
    assert!(bed.client.run(ip, "true").unwrap_err().to_string().contains("refused"));
    bed.sshd.start_again().unwrap();
    bed.client.run(ip, "true").unwrap();
}

#[test]
fn a_frozen_server_hangs_and_goes_on() {
    let bed = bed().unwrap();
    let ip = *bed.host.address.ip();
    bed.sshd.freeze().unwrap();
    std::thread::scope(|scope| {
        let session = scope.spawn(|| bed.client.run(ip, "true"));
        std::thread::sleep(Duration::from_millis(500));
        assert!(!session.is_finished());
        bed.sshd.thaw().unwrap();
        session.join().unwrap().unwrap();
    });
}

#[test]
fn notes_count_and_fail_and_hang() {
    let bed = bed().unwrap();
    let ip = *bed.host.address.ip();
    let note = |word: &str| bed.client.run(ip, &format!("{} {word}", bed.host.note_script().display()));
    note("warm").unwrap();
    note("warm twice").unwrap();
    bed.host.set_failing("cool", true).unwrap();
    assert!(note("cool").unwrap_err().to_string().contains("cool was told to fail"));
    bed.host.set_hanging("jobs", true).unwrap();
    std::thread::scope(|scope| {
        let hung = scope.spawn(|| note("jobs"));
        std::thread::sleep(Duration::from_millis(600));
        assert!(!hung.is_finished());
        bed.host.set_hanging("jobs", false).unwrap();
        hung.join().unwrap().unwrap();
    });
    assert_eq!(bed.host.notes(), ["warm", "warm twice", "jobs"]);
}
