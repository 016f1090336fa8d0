//! Connections that a test can cut at any byte.
//! It knows nothing of HTTP: it counts what may still be written.

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// How many bytes one connection may still write.
#[derive(Clone)]
pub(super) struct Scissors(Arc<AtomicUsize>);

impl Scissors {
    fn new() -> Scissors {
        Scissors(Arc::new(AtomicUsize::new(usize::MAX)))
    }

    /// Lets `bytes` more through, then breaks the connection.
    pub(super) fn cut_after(&self, bytes: usize) {
        self.0.store(bytes, Ordering::SeqCst);
    }
}

/// Accepts connections with scissors attached.
pub(super) struct CuttableListener(pub(super) TcpListener);

/// A connection that can be cut.
pub(super) struct Cuttable {
    stream: TcpStream,
    scissors: Scissors,
}

impl Listener for CuttableListener {
    type Io = Cuttable;
    type Addr = std::net::SocketAddr;

    async fn accept(&mut self) -> (Cuttable, Self::Addr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        // Small answers must not wait for the client's acknowledgement.
        let _ = stream.set_nodelay(true);
        (Cuttable { stream, scissors: Scissors::new() }, address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

impl Connected<IncomingStream<'_, CuttableListener>> for Scissors {
    fn connect_info(stream: IncomingStream<'_, CuttableListener>) -> Scissors {
        stream.io().scissors.clone()
    }
}

impl AsyncRead for Cuttable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Cuttable {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let left = self.scissors.0.load(Ordering::SeqCst);
        let allowed = bytes.get(..left.min(bytes.len())).unwrap_or_default();
        if allowed.is_empty() && !bytes.is_empty() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        let written = Pin::new(&mut self.stream).poll_write(context, allowed);
        if let (Poll::Ready(Ok(count)), true) = (&written, left != usize::MAX) {
            self.scissors.0.fetch_sub(*count, Ordering::SeqCst);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
