//! Starts programs and makes sure that they end with the test.
//! It ends only processes that it started, by the id it kept, and knows nothing of what they do.

use crate::{Context, Result, Trouble};
use rustix::process::{Pid, kill_process};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub use rustix::process::Signal;

/// How long a process may take to end by itself before it is killed.
const PATIENCE: Duration = Duration::from_secs(2);

/// A running program; dropped, it ends.
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command` with nothing on its standard input and its output in the file `log`.
    pub fn start(name: &str, command: &mut Command, log: &Path) -> Result<Process> {
        let output = File::options()
            .create(true)
            .append(true)
            .open(log)
            .doing(format_args!("opening {}", log.display()))?;
        let errors = output.try_clone().doing("sharing a log file")?;
        let child = command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .doing(format_args!("starting {name}"))?;
        Ok(Process { name: name.to_owned(), child, log: log.to_path_buf() })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything it has printed.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        signal_to(self.pid(), signal)
    }

    /// Waits for its end; `None` when it still runs after `within`.
    pub fn wait(&mut self, within: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + within;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if Instant::now() > deadline {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Kills it at once.
    pub fn kill(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until `ready` answers something, and fails with the log when the process ends before.
    pub fn until<T>(&mut self, what: &str, mut ready: impl FnMut() -> Option<T>) -> Result<T> {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(found) = ready() {
                return Ok(found);
            }
            if !self.is_running() || Instant::now() > deadline {
                return Err(Trouble::new(format!("{} did not get to `{what}`:\n{}", self.name, self.log())));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A frozen process does not see the request to end.
        let _ = self.signal(Signal::CONT);
        let _ = self.signal(Signal::TERM);
        if self.wait(PATIENCE).is_none() {
            self.kill();
        }
    }
}

/// Sends a signal to a process that the testbed started.
pub fn signal_to(pid: u32, signal: Signal) -> Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| Trouble::new("not a process id"))?;
    kill_process(pid, signal).doing("sending a signal")
}

/// Processes below `root` whose program is named `program`, nearest first.
pub fn descendants(root: u32, program: &str) -> Vec<u32> {
    let all = every_process();
    let mut found: Vec<u32> = vec![];
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for (pid, _, name) in all.iter().filter(|(_, its_parent, _)| *its_parent == parent) {
            parents.push(*pid);
            if name == program {
                found.push(*pid);
            }
        }
    }
    found
}

/// Process id, parent and program name of everything that runs.
fn every_process() -> Vec<(u32, u32, String)> {
    let Ok(folder) = std::fs::read_dir("/proc") else { return vec![] };
    folder
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let (head, tail) = stat.rsplit_once(')')?;
            let name = head.split_once('(')?.1.to_owned();
            let parent = tail.split_whitespace().nth(1)?.parse().ok()?;
            Some((pid, parent, name))
        })
        .collect()
}

/// The path of a program of the system; a missing one is an error that names the Debian package.
pub fn program(name: &str, package: &str) -> Result<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':')
        .chain(["/usr/sbin", "/sbin"])
        .map(|folder| Path::new(folder).join(name))
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| {
            Trouble::new(format!(
                "`{name}` is not installed; it comes with: apt-get install -y --no-install-recommends {package}"
            ))
        })
}

/// Runs a short command to its end; its output when it succeeds, an error with all it printed otherwise.
pub fn run(command: &mut Command) -> Result<String> {
    let shown = format!("{:?}", command.get_program());
    let output = command.stdin(Stdio::null()).output().doing(format_args!("running {shown}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Trouble::new(format!("{shown} ended with {}: {}", output.status, said.trim())))
}

/// Polls until `ready` answers something.
pub fn until<T>(what: &str, within: Duration, mut ready: impl FnMut() -> Option<T>) -> Result<T> {
    let deadline = Instant::now() + within;
    loop {
        if let Some(found) = ready() {
            return Ok(found);
        }
        if Instant::now() > deadline {
            return Err(Trouble::new(format!("`{what}` did not come true within {within:?}")));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
