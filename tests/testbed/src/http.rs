//! The smallest HTTP client that hides nothing: one connection a request, no retry, no redirect.
//! Kept-alive clients repeat a cut request in silence, which would make a proof of no failures worthless.

use crate::{Context, Result, Trouble};
use std::io::{Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::time::Duration;

/// What came back.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Header names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// The body, as long as its announced length.
    pub body: String,
}

impl Response {
    /// The first header of that name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// A request to be sent.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// `GET`, `PUT`.
    pub method: &'a str,
    /// Path and query.
    pub path: &'a str,
    /// Headers beside `Host` and `Connection`.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body; empty for none.
    pub body: &'a str,
    /// For connecting, and for each read.
    pub timeout: Duration,
}

/// `GET path`, with five seconds of patience.
pub fn get(to: SocketAddrV4, path: &str) -> Result<Response> {
    send(to, &Request { method: "GET", path, headers: &[], body: "", timeout: Duration::from_secs(5) })
}

/// Sends one request on a connection of its own and reads the whole answer.
pub fn send(to: SocketAddrV4, request: &Request<'_>) -> Result<Response> {
    let mut stream = TcpStream::connect_timeout(&to.into(), request.timeout).doing("connect")?;
    stream.set_read_timeout(Some(request.timeout)).doing("connect")?;
    let mut head =
        format!("{} {} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n", request.method, request.path);
    for (name, value) in request.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !request.body.is_empty() {
        head.push_str(&format!("Content-Length: {}\r\n", request.body.len()));
    }
    let text = format!("{head}\r\n{}", request.body);
    stream.write_all(text.as_bytes()).doing("send")?;
    let mut answer = vec![];
    stream.read_to_end(&mut answer).doing("read")?;
    read_answer(&answer)
}

fn read_answer(answer: &[u8]) -> Result<Response> {
    let text = String::from_utf8_lossy(answer);
    if text.is_empty() {
        return Err(Trouble::new("the connection was closed without an answer"));
    }
    let cut = || Trouble::new("the answer was cut");
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(cut)?;
    let mut lines = head.lines();
    let first = lines.next().ok_or_else(cut)?;
    let status = first.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or_else(cut)?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let response = Response { status, headers, body: body.to_owned() };
    let announced = response.header("content-length").and_then(|length| length.parse::<usize>().ok());
    if announced.is_some_and(|length| length != body.len()) {
        return Err(cut());
    }
    Ok(response)
}
