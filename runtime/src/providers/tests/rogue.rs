//! A server that answers one chosen call in a chosen wrong way, and every other call rightly.
//! It must not use an HTTP library: no library sends what is needed here.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(in crate::providers) struct Asked {
    /// `METHOD /path`.
    pub(in crate::providers) line: String,
    /// Header lines.
    pub(in crate::providers) head: String,
}

/// How the chosen call goes wrong.
#[derive(Clone, Debug)]
pub(in crate::providers) enum Wrong {
    /// Not at all.
    No,
    /// These bytes, as they are; then the connection stays open or ends.
    Bytes(Vec<u8>, Then),
    /// A byte of these at a time.
    Drip(Vec<u8>),
    /// These first, then those over and over.
    Endless(Vec<u8>, Vec<u8>),
    /// The right answer, late.
    Slow(Duration),
}

/// What follows the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::providers) enum Then {
    /// More requests may come.
    Stay,
    /// The connection ends in order.
    Close,
    /// The connection is reset.
    Reset,
    /// Nothing happens any more.
    Hang,
}

/// The server. It ends with the test's runtime.
pub(in crate::providers) struct Rogue {
    /// Where it listens.
    pub(in crate::providers) at: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    connections: Arc<AtomicUsize>,
}

/// What the server does.
pub(in crate::providers) struct Plot {
    /// The call that goes wrong: its line contains this.
    pub(in crate::providers) on: String,
    /// How.
    pub(in crate::providers) wrong: Wrong,
    /// The right body for a line.
    pub(in crate::providers) right: fn(&str) -> String,
}

impl Rogue {
    /// Starts one that speaks plain TCP.
    pub(in crate::providers) async fn start(plot: Plot) -> Rogue {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let (plot, record) = (Arc::new(plot), Arc::clone(&asked));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let (plot, record) = (Arc::clone(&plot), Arc::clone(&record));
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.into_split();
                    let end = talk(&mut read, &mut write, &plot, &record).await;
                    let stream = read.reunite(write).unwrap();
                    finish(stream, end).await;
                });
            }
        });
        Rogue { at, asked, connections }
    }

    /// Connections so far.
    pub(in crate::providers) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Every request so far.
    pub(in crate::providers) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

async fn finish(stream: TcpStream, end: Then) {
    match end {
        // A reset instead of an orderly end.
        Then::Reset => stream.set_zero_linger().unwrap(),
        Then::Hang => tokio::time::sleep(Duration::from_secs(30)).await,
        Then::Stay | Then::Close => {}
    }
}

/// Answers requests on one connection until something ends it.
pub(in crate::providers) async fn talk(
    read: &mut (impl AsyncRead + Unpin),
    write: &mut (impl AsyncWrite + Unpin),
    plot: &Plot,
    record: &Mutex<Vec<Asked>>,
) -> Then {
    while let Some(asked) = request(read).await {
        record.lock().unwrap().push(asked.clone());
        let right = ok(&(plot.right)(&asked.line));
        let wrong = if asked.line.contains(&plot.on) { plot.wrong.clone() } else { Wrong::No };
        let sent = match wrong {
            Wrong::No => write.write_all(&right).await,
            Wrong::Slow(time) => {
                tokio::time::sleep(time).await;
                write.write_all(&right).await
            }
            Wrong::Bytes(bytes, then) => {
                let _ = write.write_all(&bytes).await;
                if then != Then::Stay {
                    return then;
                }
                Ok(())
            }
            Wrong::Drip(bytes) => drip(write, &bytes).await,
            Wrong::Endless(first, more) => endless(write, &first, &more).await,
        };
        if sent.is_err() {
            return Then::Close;
        }
    }
    Then::Close
}

async fn drip(write: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    for byte in bytes {
        write.write_all(&[*byte]).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

async fn endless(write: &mut (impl AsyncWrite + Unpin), first: &[u8], more: &[u8]) -> std::io::Result<()> {
    write.write_all(first).await?;
    loop {
        write.write_all(more).await?;
    }
}

async fn request(read: &mut (impl AsyncRead + Unpin)) -> Option<Asked> {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        text.push(read.read_u8().await.ok()?);
    }
    let text = String::from_utf8(text).unwrap();
    let (line, head) = text.split_once("\r\n").unwrap();
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    read.read_exact(&mut body).await.ok()?;
    Some(Asked { line: line.trim_end_matches(" HTTP/1.1").to_owned(), head: head.to_owned() })
}

/// A right answer.
pub(in crate::providers) fn ok(body: &str) -> Vec<u8> {
    answer("200 OK", "", body)
}

/// An answer with a status, header lines (each ended) and a body.
pub(in crate::providers) fn answer(status: &str, head: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{head}\r\n{body}"
    )
    .into_bytes()
}
