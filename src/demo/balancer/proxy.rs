//! Requests through the demo's load balancer: each goes to one member once. It must never send a request a second time:
//! what a member cuts has to be seen as cut.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::{Balancer, Session};

/// Bytes that a request's head may have.
const HEAD: usize = 16 * 1024;
/// How long a client may take to send one.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves for ever.
pub(super) async fn serve(balancer: Arc<Balancer>, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => {
                tokio::spawn(relay(Arc::clone(&balancer), client));
            }
            // Out of file descriptors, most likely: they come back as requests end.
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn relay(balancer: Arc<Balancer>, mut client: TcpStream) {
    let Ok(Some((head, rest))) = timeout(PATIENCE, read_head(&mut client)).await else {
        return refuse(&mut client, "400 Bad Request", None, "not a request").await;
    };
    let Some(session) = balancer.pick() else {
        return refuse(&mut client, "503 Service Unavailable", None, "no server is available").await;
    };
    let mut server = match TcpStream::connect(session.address).await {
        Ok(server) => server,
        Err(error) => {
            let words = format!("cannot connect: {error}");
            return refuse(&mut client, "503 Service Unavailable", Some(&session), &words).await;
        }
    };
    let sent = async {
        server.write_all(closing(&head).as_bytes()).await?;
        server.write_all(&rest).await
    };
    if sent.await.is_err() || !exchange(&mut client, &mut server).await {
        refuse(&mut client, "502 Bad Gateway", Some(&session), "the server cut the request").await;
    }
    drop(session);
}

/// Passes bytes both ways until the server has ended its answer; false when the server sent nothing at all.
async fn exchange(client: &mut TcpStream, server: &mut TcpStream) -> bool {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let upwards = async {
        // A client that ended its side still wants its answer.
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
        std::future::pending::<u64>().await
    };
    let downwards = async {
        let mut passed = 0;
        let mut buffer = vec![0; 8 * 1024];
        // A broken connection to the server ends the answer where it broke; the client sees that it is too short.
        while let Ok(read) = from_server.read(&mut buffer).await {
            let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
            if to_client.write_all(bytes).await.is_err() {
                // The client went away, which is no fault of the server.
                return read;
            }
            passed += read;
        }
        passed
    };
    tokio::select! {
        _ = upwards => true,
        passed = downwards => passed > 0,
    }
}

/// The head of a request as text, and what came after it already.
async fn read_head(client: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Some((String::from_utf8(bytes).ok()?, rest));
        }
        if bytes.len() > HEAD || client.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// The head with `Connection: close`, so that the end of the answer is the end of the connection.
fn closing(head: &str) -> String {
    let kept = head.lines().filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    let lines: Vec<&str> = kept.take_while(|line| !line.is_empty()).collect();
    format!("{}\r\nConnection: close\r\n\r\n", lines.join("\r\n"))
}

async fn refuse(client: &mut TcpStream, status: &str, session: Option<&Session>, words: &str) {
    let member = session.map(|session| format!("X-Member: {}\r\n", session.name)).unwrap_or_default();
    let length = words.len();
    let answer =
        format!("HTTP/1.1 {status}\r\n{member}Content-Length: {length}\r\nConnection: close\r\n\r\n{words}");
    // The client may be gone; there is nobody else to tell.
    let _ = client.write_all(answer.as_bytes()).await;
    let _ = client.shutdown().await;
}
