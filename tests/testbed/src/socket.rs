//! HAProxy's admin socket: one command a connection, answers read by column name.
//! It says what HAProxy says; the Data Plane API's view of the same is made elsewhere.

use crate::{Context, Result, Trouble};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The admin socket of one HAProxy.
#[derive(Clone, Debug)]
pub struct AdminSocket {
    path: PathBuf,
    /// How long an answer may take.
    pub patience: Duration,
}

/// One line of a table, by column name.
pub type Row = BTreeMap<String, String>;

/// The administrative state, from all bits of the mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Admin {
    /// Takes traffic when healthy.
    Ready,
    /// Takes no new traffic, keeps what it has.
    Drain,
    /// Takes nothing.
    Maint,
}

/// What HAProxy truly thinks of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    /// From the decimal mask, rightly decoded.
    pub admin: Admin,
    /// Whether the operational state is up (2) or starting (1).
    pub up: bool,
    /// Sessions now.
    pub sessions: u64,
    /// HAProxy's own words, such as `DRAIN` or `UP 1/3`.
    pub status: String,
}

impl Truth {
    /// Whether it takes new requests.
    pub fn in_service(&self) -> bool {
        self.admin == Admin::Ready && self.up
    }
}

impl AdminSocket {
    /// The socket at `path`; nothing is opened yet.
    pub fn new(path: &Path) -> AdminSocket {
        AdminSocket { path: path.to_path_buf(), patience: Duration::from_secs(30) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sends one command and reads the answer to its end.
    pub fn command(&self, line: &str) -> Result<String> {
        let mut stream = UnixStream::connect(&self.path)
            .doing(format_args!("dial unix {}: connect", self.path.display()))?;
        stream.set_read_timeout(Some(self.patience)).doing("setting a timeout")?;
        stream.write_all(format!("{line}\n").as_bytes()).doing("writing to the socket")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).doing("reading from the socket")?;
        Ok(answer)
    }

    /// Sends a command that answers nothing when it succeeds.
    pub fn order(&self, line: &str) -> Result<()> {
        let answer = self.command(line)?;
        match answer.trim() {
            "" => Ok(()),
            words => Err(Trouble::new(format!("{words} [{line}]"))),
        }
    }

    /// `set server B/S state WORD`.
    pub fn set_state(&self, backend: &str, server: &str, word: &str) -> Result<()> {
        self.order(&format!("set server {backend}/{server} state {word}"))
    }

    /// The servers of a backend; `None` when there is no such backend.
    pub fn servers(&self, backend: &str) -> Result<Option<Vec<Row>>> {
        let answer = self.command(&format!("show servers state {backend}"))?;
        if answer.contains("Can't find backend") {
            return Ok(None);
        }
        let mut lines = answer.lines().skip(1);
        let header = lines.next().and_then(|line| line.strip_prefix("# "));
        let header = header.ok_or_else(|| Trouble::new(format!("no header in `{}`", answer.trim())))?;
        let names: Vec<&str> = header.split(' ').collect();
        Ok(Some(lines.filter(|line| !line.is_empty()).map(|line| row(&names, line.split(' '))).collect()))
    }

    /// All lines of `show stat`.
    pub fn stats(&self) -> Result<Vec<Row>> {
        let answer = self.command("show stat")?;
        let mut lines = answer.lines();
        let header = lines.next().and_then(|line| line.strip_prefix("# "));
        let header = header.ok_or_else(|| Trouble::new(format!("no header in `{}`", answer.trim())))?;
        let names: Vec<&str> = header.split(',').collect();
        Ok(lines.filter(|line| !line.is_empty()).map(|line| row(&names, line.split(','))).collect())
    }

    /// `show info` by name.
    pub fn info(&self) -> Result<Row> {
        let answer = self.command("show info")?;
        let pairs = answer.lines().filter_map(|line| line.split_once(": "));
        Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// What is true of every server of a backend, by name.
    pub fn truth(&self, backend: &str) -> Result<BTreeMap<String, Truth>> {
        let rows = self.servers(backend)?.ok_or_else(|| Trouble::new(format!("no backend `{backend}`")))?;
        let stats = self.stats()?;
        let of_server = |name: &str| {
            stats.iter().find(|row| text(row, "pxname") == backend && text(row, "svname") == name)
        };
        rows.iter()
            .map(|row| {
                let name = text(row, "srv_name");
                let stat = of_server(name).ok_or_else(|| Trouble::new(format!("no counters of `{name}`")))?;
                let truth = Truth {
                    admin: admin(number(row, "srv_admin_state")?),
                    up: matches!(number(row, "srv_op_state")?, 1 | 2),
                    sessions: number(stat, "scur")?,
                    status: text(stat, "status").to_owned(),
                };
                Ok((name.to_owned(), truth))
            })
            .collect()
    }
}

/// The meaning of a mask: maintenance wins over drain.
fn admin(mask: u64) -> Admin {
    if mask & (1 | 2 | 32) != 0 {
        Admin::Maint
    } else if mask & (8 | 16) != 0 {
        Admin::Drain
    } else {
        Admin::Ready
    }
}

fn row<'a>(names: &[&str], values: impl Iterator<Item = &'a str>) -> Row {
    names.iter().map(|name| (*name).to_owned()).zip(values.map(str::to_owned)).collect()
}

/// A column's text; empty when the column is not there.
pub fn text<'a>(row: &'a Row, column: &str) -> &'a str {
    row.get(column).map_or("", String::as_str)
}

/// A column's number.
pub fn number(row: &Row, column: &str) -> Result<u64> {
    text(row, column).parse().doing(format_args!("reading column {column}"))
}
