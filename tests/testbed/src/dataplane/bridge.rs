//! Runs the API on an address of its own, strikes calls with the faults a test ordered, keeps the record.
//! What an answer contains is not its business.

use super::backend::{Backend, SocketBacked};
use super::cut::{CuttableListener, Scissors};
use super::dialect::{Decoding, Release};
use super::faults::{Fault, Faults, Kind, When};
use super::ledger::{Call, Entry, Ledger, now_ms};
use super::service::{Answer, Asked, Service};
use crate::socket::AdminSocket;
use crate::{Context, Result, Trouble, address};
use axum::body::Body;
use axum::extract::{ConnectInfo, Query, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Router, routing::any};
use serde_json::Value;
use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// How the API shall behave.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which release it plays.
    pub release: Release,
    /// How it reads administrative masks.
    pub decoding: Decoding,
    /// `user:password`.
    pub credentials: String,
    /// Where calls are recorded beside memory, one JSON object a line.
    pub record: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            release: Release::V3_2,
            decoding: Decoding::Hexadecimal,
            credentials: "admin:s3cret".to_owned(),
            record: None,
        }
    }
}

/// A running API.
pub struct Bridge {
    address: SocketAddrV4,
    shared: Arc<Shared>,
    running: Option<Running>,
}

struct Shared {
    service: Arc<Service>,
    faults: Faults,
    ledger: Arc<Ledger>,
}

struct Running {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Bridge {
    /// In front of a real HAProxy.
    pub fn start(socket: &AdminSocket, options: Options) -> Result<Bridge> {
        Bridge::over(SocketBacked(socket.clone()), options)
    }

    /// In front of anything that answers like HAProxy.
    pub fn over(backend: impl Backend, options: Options) -> Result<Bridge> {
        Bridge::at(SocketAddrV4::new(address::fresh()?, address::DATAPLANE_PORT), backend, options)
    }

    /// At a given address.
    pub fn at(address: SocketAddrV4, backend: impl Backend, options: Options) -> Result<Bridge> {
        let ledger = Arc::new(Ledger::new(options.record.clone()));
        let service = Service { options, backend: Box::new(backend), one_at_a_time: Mutex::new(()) };
        let shared = Arc::new(Shared { service: Arc::new(service), faults: Faults::default(), ledger });
        let mut bridge = Bridge { address, shared, running: None };
        bridge.accept()?;
        Ok(bridge)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddrV4 {
        self.address
    }

    /// `http://ADDRESS:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// `user:password` that it accepts.
    pub fn credentials(&self) -> &str {
        &self.shared.service.options.credentials
    }

    /// Orders a fault.
    pub fn fault(&self, fault: Fault) {
        self.shared.faults.add(fault);
    }

    /// Takes back all faults.
    pub fn clear_faults(&self) {
        self.shared.faults.clear();
    }

    /// All calls so far, in the order of their arrival.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.ledger.all()
    }

    /// Calls that asked for a change.
    pub fn changes(&self) -> Vec<Call> {
        self.calls().into_iter().filter(Call::is_change).collect()
    }

    /// Ends all connections and refuses new ones, as a stopped daemon.
    pub fn refuse(&mut self) {
        if let Some(Running { stop, thread }) = self.running.take() {
            let _ = stop.send(());
            let _ = thread.join();
        }
    }

    /// Accepts connections, also again after `refuse`.
    pub fn accept(&mut self) -> Result<()> {
        if self.running.is_some() {
            return Ok(());
        }
        let (stop, stopped) = oneshot::channel();
        let (report, reported) = mpsc::channel();
        let (address, shared) = (self.address, Arc::clone(&self.shared));
        let thread = std::thread::spawn(move || serve(address, shared, stopped, &report));
        reported.recv().doing("starting a Data Plane API")??;
        self.running = Some(Running { stop, thread });
        Ok(())
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.refuse();
    }
}

/// The thread: a runtime of its own, so that tests need none. When it ends, every connection ends with it.
fn serve(
    address: SocketAddrV4,
    shared: Arc<Shared>,
    stopped: oneshot::Receiver<()>,
    report: &mpsc::Sender<Result<()>>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return drop(report.send(Err(Trouble::new(error.to_string())))),
    };
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await;
        let listener = match listener {
            Ok(listener) => listener,
            Err(error) => {
                return drop(report.send(Err(Trouble::new(format!("listening on {address}: {error}")))));
            }
        };
        let _ = report.send(Ok(()));
        let router = Router::new().fallback(any(handle)).with_state(shared);
        let service = router.into_make_service_with_connect_info::<Scissors>();
        let server = axum::serve(CuttableListener(listener), service).into_future();
        tokio::select! {
            _ = server => {}
            _ = stopped => {}
        }
    });
    // A call may hang in a frozen HAProxy; nobody waits for it.
    runtime.shutdown_background();
}

async fn handle(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(scissors): ConnectInfo<Scissors>,
    request: Request,
) -> Response {
    let asked = Arc::new(take_apart(request).await);
    let struck = shared.faults.take(&asked.method, &asked.path);
    let entry = shared.ledger.open(Call {
        at_ms: now_ms(),
        method: asked.method.clone(),
        path: asked.path.clone(),
        body: asked.body.clone(),
        effects: vec![],
        status: 0,
        fault: struck.as_ref().map(|(when, kind)| format!("{kind:?} {when:?}")),
    });
    // A fault that strikes before the effect and makes up its own answer leaves nothing to be done.
    let nothing_to_do = matches!(
        struck,
        Some((
            When::Before,
            Kind::Status(_)
                | Kind::Hang
                | Kind::Drop
                | Kind::Oversized(_)
                | Kind::Nested(_)
                | Kind::Body(_)
                | Kind::Redirect(_)
        ))
    );
    if let Some((When::Before, Kind::Slow(time))) = &struck {
        tokio::time::sleep(*time).await;
    }
    let right = if nothing_to_do { None } else { Some(perform(&shared.service, &asked, &entry).await) };
    // A call without an answer is recorded with status 0.
    let answers = !matches!(struck, Some((_, Kind::Drop)));
    let answer = match struck {
        None => respond(right),
        Some((when, kind)) => spoil(when, kind, right, &scissors).await,
    };
    entry.add(|call| call.status = if answers { answer.status().as_u16() } else { 0 });
    answer
}

/// The right answer, from a thread that may wait for HAProxy.
async fn perform(service: &Arc<Service>, asked: &Arc<Asked>, entry: &Arc<Entry>) -> Answer {
    let (service, asked, entry) = (Arc::clone(service), Arc::clone(asked), Arc::clone(entry));
    let task = tokio::task::spawn_blocking(move || service.answer(&asked, &entry));
    task.await.unwrap_or_else(|error| (500, super::answer::error(500, &error.to_string())))
}

/// Carries out a fault on the answer.
async fn spoil(when: When, kind: Kind, right: Option<Answer>, scissors: &Scissors) -> Response {
    match kind {
        Kind::Status(status) => respond(Some((status, super::answer::error(status, "ordered by the test")))),
        Kind::Hang => std::future::pending().await,
        Kind::Slow(time) => {
            if when == When::After {
                tokio::time::sleep(time).await;
            }
            respond(right)
        }
        Kind::Drop => {
            scissors.cut_after(0);
            respond(None)
        }
        Kind::CutAfter(bytes) => {
            scissors.cut_after(bytes);
            respond(right)
        }
        Kind::Oversized(bytes) => text_answer(200, format!("[\"{}\"]", "x".repeat(bytes))),
        Kind::Nested(depth) => text_answer(200, format!("{}{}", "[".repeat(depth), "]".repeat(depth))),
        Kind::Body(text) => text_answer(200, text),
        Kind::Redirect(place) => {
            let mut answer = text_answer(307, String::new());
            if let Ok(value) = place.parse() {
                answer.headers_mut().insert("location", value);
            }
            answer
        }
    }
}

fn respond(answer: Option<Answer>) -> Response {
    let (status, body) = answer.unwrap_or((500, Value::Null));
    let mut response = text_answer(status, body.to_string());
    if status == 401
        && let Ok(value) = "Basic realm=\"API\"".parse()
    {
        response.headers_mut().insert("www-authenticate", value);
    }
    response
}

fn text_answer(status: u16, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = "application/json".parse() {
        response.headers_mut().insert("content-type", value);
    }
    response
}

async fn take_apart(request: Request) -> Asked {
    let (head, body) = request.into_parts();
    // Changes are a few dozen bytes; what is longer is cut and refused as no JSON.
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap_or_default();
    let headers = head.headers.iter().filter_map(|(name, value)| {
        value.to_str().ok().map(|value| (name.as_str().to_owned(), value.to_owned()))
    });
    Asked {
        method: head.method.to_string(),
        path: head.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        segments: head.uri.path().split('/').skip(1).map(decoded).collect(),
        query: Query::try_from_uri(&head.uri).map(|Query(pairs)| pairs).unwrap_or_default(),
        headers: headers.collect(),
        body: String::from_utf8_lossy(&body).into_owned(),
    }
}

/// A path segment without percent signs.
fn decoded(segment: &str) -> String {
    let mut bytes = vec![];
    let mut rest = segment.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            Some(_) | None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
