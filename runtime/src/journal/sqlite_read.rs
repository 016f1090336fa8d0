//! Reading a journal on SQLite, also beside a process that writes it.
//! It must not make a file, take a lock that a writer would wait for, or change anything.

use std::path::{Path, PathBuf};
use std::time::Duration;

use manent_engine::Timestamp;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

use super::record::{Link, Tail, Tip, check, head};
use super::sqlite::{APPLICATION, FORMAT, SqliteJournal, failure};
use super::{JournalError, NewRun, Past, ReadJournal, Record, RunId};
use crate::private;

/// A look at a journal from outside.
#[derive(Debug, Clone)]
pub struct SqliteReader {
    path: PathBuf,
}

impl SqliteReader {
    /// The journal of a state directory; `None` when there is none yet.
    ///
    /// # Errors
    /// When the directory belongs to somebody else or can be written by others.
    pub fn open(state: &Path) -> Result<Option<SqliteReader>, JournalError> {
        let path = SqliteJournal::path(state);
        if !path.exists() {
            return Ok(None);
        }
        private::checked_directory(state)?;
        // A pipe would be waited for.
        if !path.is_file() {
            return Err(JournalError::NotAJournal(path.display().to_string()));
        }
        Ok(Some(SqliteReader { path }))
    }

    /// Opens the database for one look. When nobody has it open there is no log beside it, and SQLite would make one
    /// to read: it is told that the file does not change, and the look is repeated if a log came meanwhile.
    fn look<T>(&self, work: impl Fn(&Connection) -> Result<T, JournalError>) -> Result<T, JournalError> {
        let log = PathBuf::from(format!("{}-wal", self.path.display()));
        if !log.exists() {
            let found = self.connect("immutable=1").and_then(|database| work(&database));
            if !log.exists() {
                return found;
            }
        }
        work(&self.connect("mode=ro")?)
    }

    fn connect(&self, how: &str) -> Result<Connection, JournalError> {
        let mut place = String::from("file:");
        for byte in self.path.as_os_str().as_encoded_bytes() {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.') {
                place.push(char::from(*byte));
            } else {
                place.push_str(&format!("%{byte:02X}"));
            }
        }
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = Connection::open_with_flags(format!("{place}?{how}"), flags).map_err(failure)?;
        database.busy_timeout(Duration::from_secs(5)).map_err(failure)?;
        is_ours(&database, &self.path)?;
        Ok(database)
    }
}

impl ReadJournal for SqliteReader {
    fn runs(&self, environment: Option<&str>) -> Result<Vec<NewRun>, JournalError> {
        self.look(|database| runs(database, environment))
    }

    fn run(&self, id: &str) -> Result<NewRun, JournalError> {
        self.look(|database| run(database, id))
    }

    fn plan_bytes(&self, run: &RunId) -> Result<Vec<u8>, JournalError> {
        self.look(|database| plan_bytes(database, run))
    }

    fn read(&self, run: &RunId) -> Result<Past, JournalError> {
        Ok(self.look(|database| read(database, run))?.0)
    }

    fn last_record(&self, run: &RunId) -> Result<Option<Record>, JournalError> {
        self.look(|database| last_record(database, run))
    }
}

/// Whether a database is a journal of this format.
pub(super) fn is_ours(database: &Connection, path: &Path) -> Result<(), JournalError> {
    let of =
        |pragma: &str| database.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map_err(failure);
    let (application, found) = (of("application_id")?, of("user_version")?);
    if application != APPLICATION {
        return Err(JournalError::NotAJournal(path.display().to_string()));
    }
    if found != FORMAT {
        return Err(JournalError::Format { path: path.display().to_string(), found, known: FORMAT });
    }
    Ok(())
}

pub(super) fn runs(database: &Connection, environment: Option<&str>) -> Result<Vec<NewRun>, JournalError> {
    let mut all = database
        .prepare_cached(
            "SELECT run, environment, release, started_at, started_by, host, pid FROM runs
             WHERE ?1 IS NULL OR environment = ?1 ORDER BY started_at DESC, run DESC",
        )
        .map_err(failure)?;
    let rows = all.query_map(params![environment], new_run).map_err(failure)?;
    rows.map(|row| row.map_err(failure)).collect()
}

pub(super) fn run(database: &Connection, run: &str) -> Result<NewRun, JournalError> {
    database
        .query_row(
            "SELECT run, environment, release, started_at, started_by, host, pid FROM runs WHERE run = ?1",
            params![run],
            new_run,
        )
        .optional()
        .map_err(failure)?
        .ok_or_else(|| JournalError::NoRun(run.to_owned()))
}

fn new_run(row: &Row<'_>) -> rusqlite::Result<NewRun> {
    let name: String = row.get(0)?;
    let id = RunId::parse(&name).ok_or_else(|| {
        rusqlite::Error::InvalidColumnType(0, String::from("run"), rusqlite::types::Type::Text)
    })?;
    Ok(NewRun {
        id,
        environment: row.get(1)?,
        release: row.get(2)?,
        started_at: Timestamp(number(row.get(3)?)),
        by: row.get(4)?,
        host: row.get(5)?,
        pid: row.get(6)?,
    })
}

pub(super) fn plan_bytes(database: &Connection, run: &RunId) -> Result<Vec<u8>, JournalError> {
    database
        .query_row("SELECT plan FROM runs WHERE run = ?1", params![run.as_str()], |row| row.get(0))
        .optional()
        .map_err(failure)?
        .ok_or_else(|| JournalError::NoRun(run.to_string()))
}

pub(super) fn read(database: &Connection, id: &RunId) -> Result<(Past, Tail), JournalError> {
    // One view of everything, since a writer may commit in between.
    let view = database.unchecked_transaction().map_err(failure)?;
    let found = read_in(&view, id);
    view.finish().map_err(failure)?;
    found
}

fn read_in(database: &Connection, id: &RunId) -> Result<(Past, Tail), JournalError> {
    let found = run(database, id.as_str())?;
    let (plan, kept): (Vec<u8>, Vec<u8>) = database
        .query_row("SELECT plan, checksum FROM runs WHERE run = ?1", params![id.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .map_err(failure)?;
    let head = head(&found, &plan);
    if kept != head {
        return Err(JournalError::Damaged {
            run: id.clone(),
            seq: 0,
            what: "its head or its plan was changed",
        });
    }
    let tip = database
        .query_row("SELECT first, seq, checksum FROM tips WHERE run = ?1", params![id.as_str()], |row| {
            Ok(Tip { first: number(row.get(0)?), seq: number(row.get(1)?), checksum: row.get(2)? })
        })
        .optional()
        .map_err(failure)?
        .ok_or_else(|| JournalError::Damaged {
            run: id.clone(),
            seq: 0,
            what: "its newest record is not known",
        })?;
    let mut all = database
        .prepare_cached(
            "SELECT seq, commit_first, commit_last, at, kind, length, body, checksum FROM records
             WHERE run = ?1 ORDER BY seq",
        )
        .map_err(failure)?;
    let rows = all.query_map(params![id.as_str()], link).map_err(failure)?;
    check(id, head, &tip, rows.map(|row| row.map_err(failure)))
}

fn link(row: &Row<'_>) -> rusqlite::Result<Link> {
    Ok(Link {
        record: Record {
            seq: number(row.get(0)?),
            at: Timestamp(number(row.get(3)?)),
            // A damaged kind may not be text any more; its checksum tells.
            kind: String::from_utf8_lossy(row.get_ref(4)?.as_bytes()?).into_owned(),
            body: row.get(6)?,
        },
        commit: (number(row.get(1)?), number(row.get(2)?)),
        length: number(row.get(5)?),
        checksum: row.get(7)?,
    })
}

pub(super) fn last_record(database: &Connection, run: &RunId) -> Result<Option<Record>, JournalError> {
    database
        .query_row(
            "SELECT seq, commit_first, commit_last, at, kind, length, body, checksum FROM records
             WHERE run = ?1 ORDER BY seq DESC LIMIT 1",
            params![run.as_str()],
            link,
        )
        .optional()
        .map_err(failure)
        .map(|found| found.map(|link| link.record))
}

/// SQLite has signed numbers only; the same bits either way, so that damage is not mended on the way.
pub(super) fn number(stored: i64) -> u64 {
    u64::from_ne_bytes(stored.to_ne_bytes())
}

/// See [`number`].
pub(super) fn signed(number: u64) -> i64 {
    i64::from_ne_bytes(number.to_ne_bytes())
}
