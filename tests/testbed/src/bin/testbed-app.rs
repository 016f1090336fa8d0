//! A small web application with a release: what the end-to-end tests deploy.
//! It knows nothing of load balancers; it answers, says who it is, and records its starts and ends.

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::signal::unix::{SignalKind, signal};

type Failure = Box<dyn std::error::Error>;

struct App {
    name: String,
    release: String,
    broken: bool,
    record: PathBuf,
    ready_at: Instant,
    in_flight: AtomicU64,
}

fn main() -> ExitCode {
    match start() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("testbed-app: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| -> Result<String, Failure> {
        let mut words = words.iter().skip_while(|word| word.as_str() != name);
        words.nth(1).cloned().ok_or_else(|| format!("{name} is missing").into())
    };
    // The link is followed once: a switched link means nothing to a process that runs.
    let current = Path::new(&option("--root")?).join("current").canonicalize()?;
    let app = Arc::new(App {
        name: option("--name")?,
        release: std::fs::read_to_string(current.join("RELEASE"))?.trim().to_owned(),
        broken: current.join("BROKEN").exists(),
        record: option("--record")?.into(),
        ready_at: Instant::now() + Duration::from_millis(option("--start-delay-ms")?.parse()?),
        in_flight: AtomicU64::new(0),
    });
    app.record("start")?;
    let listen = option("--listen")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(app, listen))
}

async fn serve(app: Arc<App>, listen: String) -> Result<(), Failure> {
    let (mut term, mut quit) = (signal(SignalKind::terminate())?, signal(SignalKind::quit())?);
    let mut interrupt = signal(SignalKind::interrupt())?;
    let listener = tokio::net::TcpListener::bind(&listen).await?;
    let router =
        Router::new().route("/", get(page)).route("/healthz", get(health)).with_state(Arc::clone(&app));
    let gentle = async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = quit.recv() => {}
        }
    };
    let server = axum::serve(listener, router).with_graceful_shutdown(gentle).into_future();
    tokio::select! {
        ended = server => {
            ended?;
            app.record("stop")
        }
        _ = interrupt.recv() => {
            app.record("cut")?;
            // Connections break where they stand.
            std::process::exit(130)
        }
    }
}

/// A page after `?ms=` milliseconds of work.
async fn page(
    State(app): State<Arc<App>>,
    Query(query): Query<BTreeMap<String, String>>,
) -> (HeaderMap, String) {
    let _counted = Counted::new(&app);
    if let Some(work) = query.get("ms").and_then(|ms| ms.parse().ok()) {
        tokio::time::sleep(Duration::from_millis(work)).await;
    }
    let mut headers = HeaderMap::new();
    for (name, value) in [("x-release", &app.release), ("x-host", &app.name)] {
        if let Ok(value) = value.parse() {
            headers.insert(name, value);
        }
    }
    (headers, format!("shop {} on {}\n", app.release, app.name))
}

async fn health(State(app): State<Arc<App>>) -> (StatusCode, &'static str) {
    if app.broken {
        (StatusCode::INTERNAL_SERVER_ERROR, "broken\n")
    } else if Instant::now() < app.ready_at {
        (StatusCode::SERVICE_UNAVAILABLE, "starting\n")
    } else {
        (StatusCode::OK, "ok\n")
    }
}

impl App {
    /// One line: time, what, release, requests in flight.
    fn record(&self, what: &str) -> Result<(), Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
        let line = format!("{now} {what} {} {}\n", self.release, self.in_flight.load(Ordering::SeqCst));
        let mut file = std::fs::File::options().create(true).append(true).open(&self.record)?;
        Ok(file.write_all(line.as_bytes())?)
    }
}

/// Counts a request for as long as it is worked on.
struct Counted<'a>(&'a App);

impl Counted<'_> {
    fn new(app: &App) -> Counted<'_> {
        app.in_flight.fetch_add(1, Ordering::SeqCst);
        Counted(app)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}
