//! A host's share of the application: its folder, its service script, its releases, its record of starts.
//! Nobody tells it what manent did: what is on the disk and in the record is the truth that tests compare with.

use crate::account::Account;
use crate::process::{Signal, program, run, signal_to, until};
use crate::{Context, Folder, Result, Trouble, address, binaries, http};
use std::net::SocketAddrV4;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How the application of a host behaves.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// How long it needs until it is ready.
    pub start_delay: Duration,
    /// What the service script sends to stop it: `QUIT` and `TERM` finish requests, `INT` and `KILL` cut them.
    pub stop_signal: String,
}

impl Default for Behaviour {
    fn default() -> Behaviour {
        Behaviour { start_delay: Duration::from_millis(50), stop_signal: "INT".to_owned() }
    }
}

/// One line of the application's own record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in ms since the Unix epoch.
    pub at_ms: u64,
    /// `start`, `stop` (finished its requests), `cut` (dropped them).
    pub what: String,
    /// The release, or the word of a note.
    pub word: String,
    /// Requests that were in flight.
    pub in_flight: u64,
}

/// A host with the application on it.
pub struct Host {
    /// Short name, also the member's name at the load balancer.
    pub name: String,
    /// Where the application listens.
    pub address: SocketAddrV4,
    place: PathBuf,
    account: Account,
}

impl Host {
    /// A host on an address of its own, without a release; its folder is `folder/hosts/ADDRESS`.
    pub fn create(folder: &Folder, name: &str, behaviour: &Behaviour) -> Result<Host> {
        let address = SocketAddrV4::new(address::fresh()?, address::APP_PORT);
        let place = folder.sub(&format!("hosts/{}", address.ip()))?;
        for inside in ["bin", "home", "srv/shop/releases"] {
            std::fs::create_dir_all(place.join(inside)).doing("creating a host's folders")?;
        }
        binaries::copy_to("testbed-app", &place.join("bin"))?;
        let host = Host { name: name.to_owned(), address, place, account: Account::of_hosts()? };
        write_script(&host.service_script(), &host.service_text(behaviour))?;
        write_script(&host.note_script(), &host.note_text())?;
        host.account.give(&host.place)?;
        Ok(host)
    }

    /// The folder with everything of this host.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// The user that it runs as.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// The root of the release folders, what `/srv/shop` would be.
    pub fn root(&self) -> PathBuf {
        self.place.join("srv/shop")
    }

    /// `service start|stop|restart|status`. It fails while a file `fail-service` stands in the host's folder.
    pub fn service_script(&self) -> PathBuf {
        self.place.join("bin/service")
    }

    /// `note WORD…` records its words in `notes.log`: a command with a countable effect. It fails while a file
    /// `fail-WORD` stands in the host's folder, and hangs while `hang-WORD` does.
    pub fn note_script(&self) -> PathBuf {
        self.place.join("bin/note")
    }

    /// Makes `service` or a word of `note` fail from now on, or work again.
    pub fn set_failing(&self, word: &str, failing: bool) -> Result<()> {
        self.set_marker(&format!("fail-{word}"), failing)
    }

    /// Makes a word of `note` hang from now on, or go on.
    pub fn set_hanging(&self, word: &str, hanging: bool) -> Result<()> {
        self.set_marker(&format!("hang-{word}"), hanging)
    }

    fn set_marker(&self, name: &str, there: bool) -> Result<()> {
        let path = self.place.join(name);
        match there {
            true => std::fs::write(path, "").doing("setting a marker"),
            false if path.exists() => std::fs::remove_file(path).doing("removing a marker"),
            false => Ok(()),
        }
    }

    /// Lays a release on the disk as an earlier run of the recipe `release-dir` would have.
    pub fn install(&self, release: &str) -> Result<()> {
        let packed = tempfile::tempdir().doing("creating a temporary folder")?;
        self.install_artifact(release, &pack_release(packed.path(), release, 0)?)
    }

    /// The same from a packed artifact. The marks are the recipe's own: without them it would refuse the folder.
    pub fn install_artifact(&self, release: &str, artifact: &Path) -> Result<()> {
        let root = self.root();
        let folder = root.join("releases").join(release);
        std::fs::create_dir_all(&folder).doing("creating a release folder")?;
        run(Command::new(program("tar", "tar")?).arg("-xzf").arg(artifact).arg("-C").arg(&folder))?;
        let digest = run(Command::new(program("sha256sum", "coreutils")?).arg(artifact))?;
        let digest = digest.split(' ').next().unwrap_or_default();
        let write = |path: PathBuf, text: String| std::fs::write(path, text).doing("marking a release");
        write(folder.join(".manent-artifact"), format!("{digest}\n"))?;
        write(folder.join(".manent-completed"), String::new())?;
        write(root.join(".release"), format!("{release}\n"))?;
        let link = root.join("current");
        if link.is_symlink() {
            std::fs::remove_file(&link).doing("removing a link")?;
        }
        symlink(Path::new("releases").join(release), &link).doing("linking a release")?;
        self.account.give(&self.place)
    }

    /// Runs the service script as the host's user, and for `start` and `restart` waits for the first answer.
    pub fn service(&self, verb: &str) -> Result<()> {
        let mut command = Command::new(self.service_script());
        self.account.run_as(command.arg(verb).current_dir("/"));
        run(&mut command)?;
        if verb == "stop" {
            return Ok(());
        }
        until(&format!("an answer of {}", self.name), Duration::from_secs(5), || {
            http::get(self.address, "/healthz").ok().filter(|answer| answer.status != 503)
        })
        .map(|_| ())
    }

    /// The release that the `current` link names.
    pub fn release(&self) -> Option<String> {
        let target = std::fs::read_link(self.root().join("current")).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// The release that answers.
    pub fn running_release(&self) -> Option<String> {
        http::get(self.address, "/").ok()?.header("x-release").map(str::to_owned)
    }

    /// Everything that the application recorded.
    pub fn events(&self) -> Vec<Event> {
        events(&self.place.join("starts.log"))
    }

    /// The releases in the order of their starts: the count that no crash of manent may raise.
    pub fn starts(&self) -> Vec<String> {
        self.events().into_iter().filter(|event| event.what == "start").map(|event| event.word).collect()
    }

    /// The words that `note` recorded, in order.
    pub fn notes(&self) -> Vec<String> {
        events(&self.place.join("notes.log")).into_iter().map(|event| event.word).collect()
    }

    /// The process id of the application, when it runs.
    pub fn pid(&self) -> Option<u32> {
        let pid: u32 = std::fs::read_to_string(self.place.join("app.pid")).ok()?.trim().parse().ok()?;
        // The id may have gone to another program meanwhile.
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        command.contains(self.place.to_str()?).then_some(pid)
    }

    /// Sends the application a signal, past the service script.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = self.pid().ok_or_else(|| Trouble::new(format!("{} does not run", self.name)))?;
        signal_to(pid, signal)
    }

    fn service_text(&self, behaviour: &Behaviour) -> String {
        let (place, name, address) = (self.place.display(), &self.name, self.address);
        let Behaviour { start_delay, stop_signal } = behaviour;
        let delay = start_delay.as_millis();
        format!(
            r#"#!/bin/sh
# Starts and stops the application of one test host; there is no init system to do it.
here={place}
# The recipe says which signal stops it; by hand it is the host's own.
signal=${{STOP_SIGNAL:-{stop_signal}}}
if [ -e $here/fail-service ]; then echo "the service does not obey" >&2; exit 1; fi
running() {{
  pid=$(cat $here/app.pid 2>/dev/null) || return 1
  # Nobody may have collected an ended process: a zombie does not run.
  case $(cat /proc/$pid/stat 2>/dev/null) in *") Z "*|"") return 1 ;; esac
}}
stop() {{
  running || return 0
  kill -$signal $pid
  left=500
  while running; do
    left=$((left - 1))
    if [ $left -eq 0 ]; then kill -KILL $pid; fi
    sleep 0.02
  done
}}
start() {{
  if running; then return 0; fi
  setsid $here/bin/testbed-app --root $here/srv/shop --listen {address} --name {name} \
    --record $here/starts.log --start-delay-ms {delay} </dev/null >>$here/app.log 2>&1 &
  echo $! >$here/app.pid
}}
case $1 in
  start) start ;;
  stop) stop ;;
  restart) stop; start ;;
  status) if running; then echo running; else echo stopped; exit 3; fi ;;
  *) echo "usage: service start|stop|restart|status" >&2; exit 2 ;;
esac
"#
        )
    }

    fn note_text(&self) -> String {
        let place = self.place.display();
        format!(
            r#"#!/bin/sh
# Records its words: an effect that a test can count.
here={place}
while [ -e "$here/hang-$1" ]; do sleep 0.05; done
if [ -e "$here/fail-$1" ]; then echo "$1 was told to fail" >&2; exit 7; fi
echo "$(date +%s%3N) note $* 0" >>$here/notes.log
"#
        )
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The application was started by a script, perhaps over ssh: it is nobody's child.
        let _ = self.signal(Signal::CONT);
        let _ = self.signal(Signal::KILL);
    }
}

/// What makes up a release: its name, and for a broken one a marker that the application obeys.
fn fill_release(folder: &Path, release: &str, padding_kib: usize) -> Result<()> {
    let write = |name: &str, text: &[u8]| std::fs::write(folder.join(name), text).doing("writing a release");
    write("RELEASE", release.as_bytes())?;
    if release.ends_with("-bad") {
        write("BROKEN", b"its health endpoint answers 500\n")?;
    }
    if padding_kib > 0 {
        // A small generator: zeros would be packed to nothing.
        let mut state = 0x9e37_79b9_u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        })
        .take(padding_kib * 1024)
        .collect();
        write("padding", &noise)?;
    }
    Ok(())
}

/// Packs a release as `folder/shop-RELEASE.tar.gz`; one whose name ends in `-bad` is broken.
pub fn pack_release(folder: &Path, release: &str, padding_kib: usize) -> Result<PathBuf> {
    let staging = tempfile::tempdir().doing("creating a temporary folder")?;
    fill_release(staging.path(), release, padding_kib)?;
    std::fs::create_dir_all(folder).doing("creating the folder of artifacts")?;
    let path = folder.join(format!("shop-{release}.tar.gz"));
    // The same bytes for the same release: digests stand in plans.
    let fixed =
        ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"];
    let mut command = Command::new(program("tar", "tar")?);
    command.args(fixed).arg("-C").arg(staging.path()).arg("-czf").arg(&path).arg(".");
    run(&mut command)?;
    Ok(path)
}

fn write_script(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).doing(format_args!("writing {}", path.display()))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).doing("making a script executable")
}

/// Lines of `MS WHAT WORD… IN_FLIGHT`.
fn events(path: &Path) -> Vec<Event> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            let (at, rest) = line.split_once(' ')?;
            let (what, rest) = rest.split_once(' ')?;
            let (word, in_flight) = rest.rsplit_once(' ')?;
            let (at_ms, in_flight) = (at.parse().ok()?, in_flight.parse().ok()?);
            Some(Event { at_ms, what: what.to_owned(), word: word.to_owned(), in_flight })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_has_the_same_bytes_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let pack =
            |name: &str| std::fs::read(pack_release(&folder.path().join(name), "2.0.0", 8).unwrap()).unwrap();
        let first = pack("a");
        std::thread::sleep(Duration::from_millis(1100));
        assert_eq!(first, pack("b"));
        assert!(first.len() > 8 * 1024, "padding is not packed to nothing");
    }
}
