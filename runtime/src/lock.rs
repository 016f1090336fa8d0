//! One run an environment: a lock that the operating system takes back when its owner dies, with the owner's name in it.
//! It holds on one machine and one state directory. It must not know what a run does.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use manent_engine::Timestamp;
use serde::{Deserialize, Serialize};

use crate::private::{self, PrivateError};

/// Between two tries while waiting.
const AGAIN: Duration = Duration::from_millis(100);
/// Somebody who looks at a lock holds it for an instant; a refusal has to outlast that.
const LOOKS: Duration = Duration::from_millis(20);

/// Who holds a lock, or held it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The run.
    pub run: String,
    /// The person.
    pub by: String,
    /// The machine.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// Since when.
    pub since: Timestamp,
}

/// A lock that is held. It ends when this value, or the process, does.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// Why a lock was not taken. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else holds it.
    #[error("the environment is held by {}", .0.as_ref().map_or_else(|| String::from("a run that has just begun"), |owner| format!("run `{}` of {} on {}", owner.run, owner.by, owner.host)))]
    Held(Option<Owner>),
    /// The directory or the file is not ours alone.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// The file system failed.
    #[error("the lock `{path}` cannot be used: {reason}")]
    Failed {
        /// Where it is.
        path: String,
        /// Why.
        reason: String,
    },
}

/// Where the lock of an environment is. Slashes of the name are kept apart from every other character.
fn place(state: &Path, environment: &str) -> PathBuf {
    let mut name = String::new();
    for byte in environment.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    state.join("locks").join(format!("{name}.lock"))
}

impl Lock {
    /// Takes the lock, trying again for `wait`.
    ///
    /// # Errors
    /// When it is still held then, or the file system fails.
    pub fn take(state: &Path, environment: &str, owner: &Owner, wait: Duration) -> Result<Lock, LockError> {
        let begun = Instant::now();
        let wait = wait.max(LOOKS);
        loop {
            match Lock::try_take(state, environment, owner) {
                Err(LockError::Held(held)) if begun.elapsed() >= wait => return Err(LockError::Held(held)),
                Err(LockError::Held(_)) => std::thread::sleep(AGAIN.min(wait / 4)),
                other => return other,
            }
        }
    }

    fn try_take(state: &Path, environment: &str, owner: &Owner) -> Result<Lock, LockError> {
        let path = place(state, environment);
        let failed = |error: std::io::Error| LockError::Failed {
            path: path.display().to_string(),
            reason: error.to_string(),
        };
        private::directory(state)?;
        private::directory(&state.join("locks"))?;
        let mut file = private::file(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockError::Held(read(&mut file))),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let text = serde_json::to_vec(owner).map_err(|error| failed(error.into()))?;
        file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).map_err(failed)?;
        file.write_all(&text).and_then(|()| file.sync_data()).map_err(failed)?;
        Ok(Lock { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The name of the last owner goes with the lock. Should that fail, the operating system still gives the lock
        // back, and a reader sees by it that nobody holds it.
        let _ = self.file.set_len(0);
    }
}

fn read(file: &mut File) -> Option<Owner> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(1 << 16).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// What a look at a lock shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holding {
    /// Nobody holds it.
    Free,
    /// Nobody holds it, but its last owner died without giving it back.
    Stale(Owner),
    /// Somebody holds it; the name may not be written yet.
    Held(Option<Owner>),
}

/// Looks at the lock of an environment, changing nothing.
///
/// # Errors
/// When the file system fails.
pub fn look(state: &Path, environment: &str) -> Result<Holding, LockError> {
    let path = place(state, environment);
    let failed = |error: std::io::Error| LockError::Failed {
        path: path.display().to_string(),
        reason: error.to_string(),
    };
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Holding::Free),
        Err(error) => return Err(failed(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => {
            let last = read(&mut file);
            file.unlock().map_err(failed)?;
            Ok(last.map_or(Holding::Free, Holding::Stale))
        }
        Err(TryLockError::WouldBlock) => Ok(Holding::Held(read(&mut file))),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier};

    use super::*;

    fn owner(run: &str) -> Owner {
        Owner { run: run.into(), by: "ann".into(), host: "h".into(), pid: 1, since: Timestamp(1) }
    }

    #[test]
    fn a_held_lock_names_its_owner_and_goes_with_it() {
        let state = tempfile::tempdir().unwrap();
        let lock = Lock::take(state.path(), "a/b/c", &owner("r1"), Duration::ZERO).unwrap();
        let refused = Lock::take(state.path(), "a/b/c", &owner("r2"), Duration::ZERO).unwrap_err();
        assert!(matches!(refused, LockError::Held(Some(held)) if held == owner("r1")));
        assert_eq!(look(state.path(), "a/b/c").unwrap(), Holding::Held(Some(owner("r1"))));
        assert_eq!(look(state.path(), "a/b-c").unwrap(), Holding::Free);
        Lock::take(state.path(), "a/b-c", &owner("r3"), Duration::ZERO).unwrap();
        drop(lock);
        assert_eq!(look(state.path(), "a/b/c").unwrap(), Holding::Free);
        Lock::take(state.path(), "a/b/c", &owner("r2"), Duration::ZERO).unwrap();
    }

    #[test]
    fn waiting_ends_when_the_owner_goes() {
        let state = tempfile::tempdir().unwrap();
        let lock = Lock::take(state.path(), "e", &owner("r1"), Duration::ZERO).unwrap();
        let path = state.path().to_owned();
        let waiting =
            std::thread::spawn(move || Lock::take(&path, "e", &owner("r2"), Duration::from_secs(30)).is_ok());
        std::thread::sleep(Duration::from_millis(50));
        drop(lock);
        assert!(waiting.join().unwrap());
    }

    #[test]
    fn of_sixteen_at_once_one_wins() {
        let state = Arc::new(tempfile::tempdir().unwrap());
        for round in 0..20 {
            let start = Arc::new(Barrier::new(16));
            let end = Arc::new(Barrier::new(16));
            let won = Arc::new(AtomicUsize::new(0));
            let all: Vec<_> = (0..16)
                .map(|_| {
                    let (state, start, end, won) = (state.clone(), start.clone(), end.clone(), won.clone());
                    std::thread::spawn(move || {
                        start.wait();
                        let lock =
                            Lock::take(state.path(), &format!("e{round}"), &owner("r"), Duration::ZERO);
                        won.fetch_add(usize::from(lock.is_ok()), Ordering::SeqCst);
                        end.wait();
                    })
                })
                .collect();
            for one in all {
                one.join().unwrap();
            }
            assert_eq!(won.load(Ordering::SeqCst), 1);
        }
    }
}
