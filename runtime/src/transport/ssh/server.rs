//! Real ssh servers for the tests of this crate, each on an address of its own.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub(super) const PORT: u16 = 2222;

/// A server; it ends with this value.
pub(super) struct Server {
    pub host: String,
    pub place: PathBuf,
    process: Child,
}

static NEXT: AtomicU32 = AtomicU32::new(1);

fn sbin(program: &str, package: &str) -> PathBuf {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':')
        .chain(["/usr/sbin", "/sbin"])
        .map(|dir| Path::new(dir).join(program))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("`{program}` is needed for this test: install the package {package}"))
}

fn run(command: &mut Command) -> String {
    let done = command.stdin(Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{command:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

pub(super) fn keygen(path: &Path) {
    let _ = std::fs::remove_file(path);
    run(Command::new(sbin("ssh-keygen", "openssh-client"))
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"])
        .arg(path));
}

pub(super) fn me() -> String {
    run(Command::new("id").arg("-un")).trim().to_owned()
}

impl Server {
    /// Starts a server that lets the key `place/id` in, and makes its host key known in `place/known_hosts`.
    pub(super) fn start(place: &Path) -> Server {
        if !place.join("id").exists() {
            keygen(&place.join("id"));
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Test processes run side by side, so the process is in the address.
        let us = std::process::id() % 60_000;
        let host = format!("127.{}.{}.{}", 100 + number % 100, us / 250, us % 250 + 1);
        let own = place.join(format!("server{number}"));
        std::fs::create_dir(&own).unwrap();
        keygen(&own.join("host_key"));
        std::fs::create_dir(own.join("home")).unwrap();
        let process = Server::launch(&own, place, &host);
        let server = Server { host, place: own, process };
        server.make_known(place);
        server
    }

    fn launch(own: &Path, place: &Path, host: &str) -> Child {
        if rustix::process::geteuid().is_root() {
            std::fs::create_dir_all("/run/sshd").unwrap();
        }
        let (at, keys) = (own.display(), place.join("id.pub"));
        let text = format!(
            "Port {PORT}\nListenAddress {host}\nHostKey {at}/host_key\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
             PasswordAuthentication yes\nKbdInteractiveAuthentication no\nStrictModes no\nMaxStartups 200:30:400\n\
             PermitRootLogin yes\nPrintMotd no\nLogLevel VERBOSE\nSetEnv HOME={at}/home\n",
            keys.display(),
        );
        std::fs::write(own.join("config"), text).unwrap();
        let log = std::fs::File::options().create(true).append(true).open(own.join("log")).unwrap();
        let process = Command::new(sbin("sshd", "openssh-server"))
            .args(["-D", "-e", "-f"])
            .arg(own.join("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let since = Instant::now();
        while TcpStream::connect((host, PORT)).is_err() {
            assert!(
                since.elapsed() < Duration::from_secs(20),
                "sshd does not listen: {}",
                Server::log_in(own)
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        process
    }

    pub(super) fn make_known(&self, place: &Path) {
        use std::io::Write;
        let key = std::fs::read_to_string(self.place.join("host_key.pub")).unwrap();
        let key: Vec<&str> = key.split_whitespace().take(2).collect();
        let mut known =
            std::fs::File::options().create(true).append(true).open(place.join("known_hosts")).unwrap();
        writeln!(known, "[{}]:{PORT} {}", self.host, key.join(" ")).unwrap();
    }

    /// Another host key, as after an attack or a reinstallation.
    pub(super) fn change_key(&mut self, place: &Path) {
        self.stop();
        keygen(&self.place.join("host_key"));
        self.process = Server::launch(&self.place, place, &self.host);
    }

    /// Ends the server and its sessions at once, and starts it anew.
    pub(super) fn restart(&mut self, place: &Path) {
        self.cut();
        self.stop();
        self.process = Server::launch(&self.place, place, &self.host);
    }

    /// Breaks all connections.
    pub(super) fn cut(&self) {
        for session in children(self.process.id()) {
            for inner in children(session) {
                if name(inner).starts_with("sshd") {
                    kill(inner);
                }
            }
            kill(session);
        }
    }

    fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    pub(super) fn log(&self) -> String {
        Server::log_in(&self.place)
    }

    fn log_in(place: &Path) -> String {
        std::fs::read_to_string(place.join("log")).unwrap_or_default()
    }

    /// How many logins it accepted.
    pub(super) fn logins(&self) -> usize {
        self.log()
            .lines()
            .filter(|line| line.contains("Accepted publickey") || line.contains("Accepted password"))
            .count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.cut();
        self.stop();
    }
}

fn kill(pid: u32) {
    if let Some(pid) = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

fn name(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default()
}

fn children(of: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let parent = stat
            .rsplit(") ")
            .next()
            .and_then(|rest| rest.split(' ').nth(1))
            .and_then(|text| text.parse().ok());
        if parent == Some(of) {
            found.push(pid);
        }
    }
    found
}
