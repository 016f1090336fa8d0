//! The journal on SQLite: one database a project, write-ahead log, every commit synchronised before anything is
//! performed. It must not retry a failed write: after one, only a fresh look at the disk tells what is there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use manent_engine::Timestamp;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use super::record::{Tail, Tip, head, join};
use super::sqlite_read::{self, number, signed};
use super::{Ask, Entry, Journal, JournalError, NewRun, Past, ReadJournal, Record, Request, RunId};
use crate::private;

/// The format of the database. Another one is refused.
pub(super) const FORMAT: i64 = 1;
/// `mnt1` in ASCII: tells a journal from other SQLite databases.
pub(super) const APPLICATION: i64 = 0x6d6e_7431;

const SCHEMA: &str = "
    CREATE TABLE runs (
        run TEXT NOT NULL PRIMARY KEY, environment TEXT NOT NULL, release TEXT NOT NULL, started_at INTEGER NOT NULL,
        started_by TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, plan BLOB NOT NULL, checksum BLOB NOT NULL
    ) STRICT;
    CREATE INDEX runs_of_environment ON runs (environment, started_at);
    CREATE TABLE records (
        run TEXT NOT NULL, seq INTEGER NOT NULL, commit_first INTEGER NOT NULL, commit_last INTEGER NOT NULL,
        at INTEGER NOT NULL, kind TEXT NOT NULL, length INTEGER NOT NULL, body BLOB NOT NULL, checksum BLOB NOT NULL,
        PRIMARY KEY (run, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE tips (
        run TEXT NOT NULL PRIMARY KEY, first INTEGER NOT NULL, seq INTEGER NOT NULL, checksum BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE inbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, at INTEGER NOT NULL, asked_by TEXT NOT NULL,
        body TEXT NOT NULL, taken INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX inbox_waiting ON inbox (run, id) WHERE taken = 0;
";

/// How long another process of this project may hold the database for its own commit.
const BUSY: Duration = Duration::from_secs(30);

/// A journal in a database.
#[derive(Debug)]
pub struct SqliteJournal {
    database: Connection,
    tails: BTreeMap<RunId, Tail>,
    /// Requests given out and not yet settled by a commit: up to this number.
    given: BTreeMap<RunId, u64>,
    failed: Option<String>,
}

impl SqliteJournal {
    /// Where the journal lies in a state directory.
    #[must_use]
    pub fn path(state: &Path) -> PathBuf {
        state.join("journal.db")
    }

    /// Opens the journal of a state directory for writing; makes both when they are missing.
    ///
    /// # Errors
    /// When they belong to somebody else, others can change them, the format is another one, or the disk fails.
    pub fn open(state: &Path) -> Result<SqliteJournal, JournalError> {
        private::directory(state)?;
        let path = SqliteJournal::path(state);
        if path.symlink_metadata().is_err() {
            birth(state, &path)?;
        }
        // SQLite gives its side files the mode of the database; here it is checked.
        drop(private::file(&path)?);
        let database = connect(&path)?;
        database.pragma_update(None, "synchronous", "FULL").map_err(failure)?;
        sqlite_read::is_ours(&database, &path)?;
        Ok(SqliteJournal { database, tails: BTreeMap::new(), given: BTreeMap::new(), failed: None })
    }

    /// Runs a write; a failure is final.
    fn write<T>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        if let Some(reason) = &self.failed {
            return Err(JournalError::Failed(format!("it failed before: {reason}")));
        }
        let done = work(&mut self.database);
        if let Err(JournalError::Failed(reason)) = &done {
            self.failed = Some(reason.clone());
            self.tails.clear();
        }
        done
    }

    #[cfg(test)]
    pub(super) fn database(&self) -> &Connection {
        &self.database
    }
}

/// Makes the journal under another name and gives it its own when it is complete and on disk. A process that is killed
/// here leaves no journal, never half of one, which nobody could tell from one that has lost its content.
fn birth(state: &Path, path: &Path) -> Result<(), JournalError> {
    let io = |error: std::io::Error| JournalError::Failed(format!("`{}`: {error}", path.display()));
    // One at a time, so that nobody's journal is replaced; the lock goes with the process.
    let folder = std::fs::File::open(state).map_err(io)?;
    folder.lock().map_err(io)?;
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    let new = state.join("journal.db.new");
    for side in ["", "-journal", "-wal", "-shm"] {
        match std::fs::remove_file(state.join(format!("journal.db.new{side}"))) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(io(error)),
        }
    }
    drop(private::file(&new)?);
    let mut database = connect(&new)?;
    database.pragma_update(None, "synchronous", "FULL").map_err(failure)?;
    let begun = database.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failure)?;
    begun.execute_batch(SCHEMA).map_err(failure)?;
    begun.pragma_update(None, "user_version", FORMAT).map_err(failure)?;
    begun.pragma_update(None, "application_id", APPLICATION).map_err(failure)?;
    begun.commit().map_err(failure)?;
    database.pragma_update(None, "journal_mode", "WAL").map_err(failure)?;
    // The last connection takes the log with it.
    database.close().map_err(|(_, error)| failure(error))?;
    std::fs::File::open(&new).and_then(|file| file.sync_all()).map_err(io)?;
    std::fs::rename(&new, path).map_err(io)?;
    folder.sync_all().map_err(io)
}

fn connect(path: &Path) -> Result<Connection, JournalError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags).map_err(failure)?;
    database.busy_timeout(BUSY).map_err(failure)?;
    Ok(database)
}

fn write_tip(begun: &Connection, run: &RunId, tip: &Tip) -> Result<(), JournalError> {
    let mut write = begun.prepare_cached("REPLACE INTO tips VALUES (?1, ?2, ?3, ?4)").map_err(failure)?;
    write
        .execute(params![run.as_str(), signed(tip.first), signed(tip.seq), tip.checksum])
        .map_err(failure)?;
    Ok(())
}

pub(super) fn failure(error: rusqlite::Error) -> JournalError {
    JournalError::Failed(error.to_string())
}

impl ReadJournal for SqliteJournal {
    fn runs(&self, environment: Option<&str>) -> Result<Vec<NewRun>, JournalError> {
        sqlite_read::runs(&self.database, environment)
    }

    fn run(&self, run: &str) -> Result<NewRun, JournalError> {
        sqlite_read::run(&self.database, run)
    }

    fn plan_bytes(&self, run: &RunId) -> Result<Vec<u8>, JournalError> {
        sqlite_read::plan_bytes(&self.database, run)
    }

    fn read(&self, run: &RunId) -> Result<Past, JournalError> {
        Ok(sqlite_read::read(&self.database, run)?.0)
    }

    fn last_record(&self, run: &RunId) -> Result<Option<Record>, JournalError> {
        sqlite_read::last_record(&self.database, run)
    }
}

impl Journal for SqliteJournal {
    fn create(&mut self, run: &NewRun, plan: &[u8]) -> Result<(), JournalError> {
        let checksum = head(run, plan);
        self.write(|database| {
            let begun =
                database.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failure)?;
            let done = begun
                .execute(
                    "INSERT INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
                    params![
                        run.id.as_str(),
                        run.environment,
                        run.release,
                        signed(run.started_at.0),
                        run.by,
                        run.host,
                        run.pid,
                        plan,
                        checksum.as_slice(),
                    ],
                )
                .map_err(failure)?;
            if done > 0 {
                write_tip(&begun, &run.id, &Tip::start(&checksum))?;
            }
            begun.commit().map_err(failure)?;
            if done == 0 { Err(JournalError::RunExists(run.id.clone())) } else { Ok(()) }
        })?;
        self.tails.insert(run.id.clone(), Tail { seq: 0, checksum });
        Ok(())
    }

    fn take_up(&mut self, run: &RunId) -> Result<Past, JournalError> {
        let (past, tail) = sqlite_read::read(&self.database, run)?;
        if let Some(cut) = past.cut {
            self.write(|database| {
                let begun =
                    database.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failure)?;
                begun
                    .execute(
                        "DELETE FROM records WHERE run = ?1 AND seq >= ?2",
                        params![run.as_str(), signed(cut.seq)],
                    )
                    .map_err(failure)?;
                write_tip(&begun, run, &Tip::cut_at(&tail))?;
                begun.commit().map_err(failure)
            })?;
        }
        self.tails.insert(run.clone(), tail);
        Ok(past)
    }

    fn append(&mut self, run: &RunId, at: Timestamp, entries: &[Entry]) -> Result<(), JournalError> {
        if let Some(reason) = &self.failed {
            return Err(JournalError::Failed(format!("it failed before: {reason}")));
        }
        let before = *self.tails.get(run).ok_or_else(|| JournalError::NotOpen(run.clone()))?;
        if entries.is_empty() {
            return Ok(());
        }
        let (links, tail) = join(run, before, at, entries);
        let given = self.given.get(run).copied();
        self.write(|database| {
            let begun =
                database.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failure)?;
            {
                let mut insert = begun
                    .prepare_cached("INSERT INTO records VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
                    .map_err(failure)?;
                for link in &links {
                    insert
                        .execute(params![
                            run.as_str(),
                            signed(link.record.seq),
                            signed(link.commit.0),
                            signed(link.commit.1),
                            signed(link.record.at.0),
                            link.record.kind,
                            signed(link.length),
                            link.record.body,
                            link.checksum,
                        ])
                        .map_err(failure)?;
                }
            }
            write_tip(&begun, run, &Tip::after(&before, &tail))?;
            if let Some(given) = given {
                begun
                    .execute(
                        "UPDATE inbox SET taken = 1 WHERE run = ?1 AND taken = 0 AND id <= ?2",
                        params![run.as_str(), signed(given)],
                    )
                    .map_err(failure)?;
            }
            begun.commit().map_err(failure)
        })?;
        self.given.remove(run);
        self.tails.insert(run.clone(), tail);
        Ok(())
    }

    fn ask(&mut self, run: &RunId, at: Timestamp, by: &str, ask: &Ask) -> Result<(), JournalError> {
        sqlite_read::run(&self.database, run.as_str())?;
        let body = serde_json::to_string(ask)?;
        self.write(|database| {
            database
                .execute(
                    "INSERT INTO inbox (run, at, asked_by, body) VALUES (?1, ?2, ?3, ?4)",
                    params![run.as_str(), signed(at.0), by, body],
                )
                .map_err(failure)?;
            Ok(())
        })
    }

    fn requests(&mut self, run: &RunId) -> Result<Vec<Request>, JournalError> {
        let after = self.given.get(run).copied().unwrap_or_default();
        let found = self.write(|database| {
            let mut waiting = database
                .prepare_cached(
                    "SELECT id, at, asked_by, body FROM inbox WHERE run = ?1 AND taken = 0 AND id > ?2 ORDER BY id",
                )
                .map_err(failure)?;
            let rows = waiting
                .query_map(params![run.as_str(), signed(after)], |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get(2)?, row.get::<_, String>(3)?))
                })
                .map_err(failure)?;
            rows.map(|row| {
                let (id, at, by, body) = row.map_err(failure)?;
                let ask = serde_json::from_str(&body)?;
                Ok(Request { id: number(id), at: Timestamp(number(at)), by, ask })
            })
            .collect::<Result<Vec<Request>, JournalError>>()
        })?;
        if let Some(last) = found.last() {
            self.given.insert(run.clone(), last.id);
        }
        Ok(found)
    }
}
