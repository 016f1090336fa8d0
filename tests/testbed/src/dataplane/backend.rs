//! What stands behind a Data Plane API: something with servers, counters and a process.
//! The HTTP side asks it in HAProxy's own words and columns; it knows no HTTP.

use crate::socket::{AdminSocket, Row, number, text};

/// The other side does not answer.
#[derive(Clone, Debug)]
pub struct Gone(pub String);

/// Why an order had no effect.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// The other side does not answer.
    Gone(String),
    /// It answered with words.
    Words(String),
}

/// HAProxy, or a world that answers like it. Columns are named as on the admin socket.
pub trait Backend: Send + Sync + 'static {
    /// What the API calls this process: the path of its socket.
    fn name(&self) -> String;

    /// Columns of `show servers state`; `None` when the backend is unknown.
    fn servers(&self, backend: &str) -> Result<Option<Vec<Row>>, Gone>;

    /// Columns of `show stat`.
    fn stats(&self) -> Result<Vec<Row>, Gone>;

    /// Lines of `show info`.
    fn info(&self) -> Result<Row, Gone>;

    /// Carries out `set server BACKEND/SERVER WHAT VALUE`.
    fn set(&self, backend: &str, server: &str, what: &str, value: &str) -> Result<(), Refusal>;
}

/// A real HAProxy behind its admin socket.
pub struct SocketBacked(pub AdminSocket);

impl Backend for SocketBacked {
    fn name(&self) -> String {
        self.0.path().display().to_string()
    }

    fn servers(&self, backend: &str) -> Result<Option<Vec<Row>>, Gone> {
        self.0.servers(backend).map_err(|trouble| Gone(trouble.to_string()))
    }

    fn stats(&self) -> Result<Vec<Row>, Gone> {
        self.0.stats().map_err(|trouble| Gone(trouble.to_string()))
    }

    fn info(&self) -> Result<Row, Gone> {
        self.0.info().map_err(|trouble| Gone(trouble.to_string()))
    }

    fn set(&self, backend: &str, server: &str, what: &str, value: &str) -> Result<(), Refusal> {
        let order = format!("set server {backend}/{server} {what} {value}");
        // With numbers the socket tells an error from data: the answer begins with `[3]: `.
        let answer = self.0.command(&format!("set severity-output number;{order}"));
        let answer = answer.map_err(|trouble| Refusal::Gone(trouble.to_string()))?;
        match answer.trim() {
            "" => Ok(()),
            words => {
                let (level, words) = words.split_once(": ").unwrap_or(("[3]", words));
                Err(Refusal::Words(format!("{} {level}  {} [{order}]", self.name(), words.trim())))
            }
        }
    }
}

/// The row of one server.
pub(super) fn find<'a>(rows: &'a [Row], server: &str) -> Option<&'a Row> {
    rows.iter().find(|row| text(row, "srv_name") == server)
}

/// A numeric column; 0 when it is missing, as the real parser has it.
pub(super) fn integer(row: &Row, column: &str) -> u64 {
    number(row, column).unwrap_or(0)
}
