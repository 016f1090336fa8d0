//! The smallest HTTP client that hides nothing: one connection a request, no retry, no redirect. Clients that keep
//! connections repeat a cut request in silence, and a count of failures made with one would be worth nothing.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The status.
    pub(crate) status: u16,
    /// Header names in lower case, with their values.
    headers: Vec<(String, String)>,
    /// The body, exactly as long as announced.
    pub(crate) body: String,
}

impl Answer {
    /// The first header of that name, given in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// Sends `GET path` and reads the whole answer.
///
/// # Errors
/// Why there is no whole answer, in words.
pub(crate) async fn get(to: SocketAddr, path: &str, patience: Duration) -> Result<Answer, String> {
    send(to, &format!("GET {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n"), patience).await
}

/// The same with an `Authorization` header.
///
/// # Errors
/// As [`get`].
pub(crate) async fn get_as(
    to: SocketAddr,
    path: &str,
    authorization: &str,
    patience: Duration,
) -> Result<Answer, String> {
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {to}\r\nAuthorization: {authorization}\r\nConnection: close\r\n\r\n"
    );
    send(to, &head, patience).await
}

/// Sends a request as it stands and reads the whole answer.
///
/// # Errors
/// As [`get`].
pub(crate) async fn send(to: SocketAddr, request: &str, patience: Duration) -> Result<Answer, String> {
    let exchange = async {
        let mut stream = TcpStream::connect(to).await.map_err(|error| format!("cannot connect: {error}"))?;
        stream.write_all(request.as_bytes()).await.map_err(|error| format!("cannot send: {error}"))?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.map_err(|error| format!("the answer was cut: {error}"))?;
        read(&bytes)
    };
    timeout(patience, exchange).await.unwrap_or_else(|_| Err(String::from("no answer in time")))
}

fn read(bytes: &[u8]) -> Result<Answer, String> {
    let text = String::from_utf8_lossy(bytes);
    if text.is_empty() {
        return Err(String::from("the connection was closed without an answer"));
    }
    let cut = || String::from("the answer was cut");
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(cut)?;
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).ok_or_else(cut)?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let answer = Answer { status, headers, body: body.to_owned() };
    let announced = answer.header("content-length").and_then(|length| length.parse().ok());
    if announced.is_some_and(|length: usize| length != body.len()) {
        return Err(cut());
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_body_is_a_cut_answer() {
        let whole = read(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-Member: shop1\r\n\r\ngood").unwrap();
        assert_eq!(
            (whole.status, whole.body.as_str(), whole.header("x-member")),
            (200, "good", Some("shop1"))
        );
        assert_eq!(
            read(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngo"),
            Err("the answer was cut".to_owned())
        );
        assert_eq!(read(b"HTTP/1.1 200"), Err("the answer was cut".to_owned()));
        assert!(read(b"").is_err());
    }
}
