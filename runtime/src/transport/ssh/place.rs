//! The private directory of a process for its control sockets, agents and ssh configuration. It is removed with this
//! value; what a killed process left is removed by the next one. It must not hold a secret.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::askpass;

const PREFIX: &str = "manent-ssh-";
/// Held for as long as the process lives that made the directory.
const LOCK: &str = "lock";
/// Longest path of the directory's parent: a control socket has to stay under 108 bytes.
const LONGEST: usize = 60;
/// A directory may be younger than its lock for an instant.
const YOUNG: Duration = Duration::from_secs(60);

/// A private directory.
pub(super) struct Place {
    directory: TempDir,
    helper: PathBuf,
    _lock: File,
}

impl Place {
    /// Makes the directory, with mode 0700.
    pub(super) fn make() -> std::io::Result<Place> {
        let usual = std::env::temp_dir();
        let base = if usual.as_os_str().len() <= LONGEST { usual.as_path() } else { Path::new("/tmp") };
        sweep(base);
        let directory = TempDir::with_prefix_in(PREFIX, base)?;
        let lock = File::create(directory.path().join(LOCK))?;
        lock.lock()?;
        let helper = askpass::write(directory.path())?;
        Ok(Place { directory, helper, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn helper(&self) -> &Path {
        &self.helper
    }
}

/// Removes what killed processes of this user left. Their connections and agents end by themselves.
fn sweep(base: &Path) {
    let Ok(entries) = std::fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_left(&entry.path()) {
            // Another process may be faster.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn is_left(place: &Path) -> bool {
    let Ok(found) = std::fs::symlink_metadata(place) else { return false };
    let ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    let age = found.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok());
    ours && age.is_some_and(|age| age > YOUNG)
        && File::open(place.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn only_what_a_dead_process_left_is_removed() {
        let base = tempfile::tempdir().unwrap();
        let make = |name: &str, old: bool| {
            let place = base.path().join(name);
            std::fs::create_dir(&place).unwrap();
            let lock = File::create(place.join(LOCK)).unwrap();
            if old {
                File::open(&place).unwrap().set_modified(SystemTime::now() - YOUNG * 2).unwrap();
            }
            (place, lock)
        };
        let (dead, _) = make("manent-ssh-dead", true);
        let (alive, lock) = make("manent-ssh-alive", true);
        lock.lock().unwrap();
        let (young, _) = make("manent-ssh-young", false);
        let (other, _) = make("other", true);
        sweep(base.path());
        assert!(!dead.exists());
        assert!(alive.exists() && young.exists() && other.exists());
    }
}
