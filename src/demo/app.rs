//! `manent demo-app`: the application server of the demo, a process of its own so that stopping it really cuts what is in
//! flight. It must not know of load balancers or of manent: it reads its release, answers, and ends with its parent.

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::exit::Exit;
use crate::fault::Fault;

/// How long it needs before it listens: what makes a restart hurt.
pub(super) const START: Duration = Duration::from_millis(300);

/// How long a slow answer takes.
pub(super) const SLOW: Duration = Duration::from_millis(900);

const EXAMPLES: &str = "\
Used by `manent demo`:
  manent demo-app --home TREE/servers/18081 --name shop1 --port 18081";

/// What `manent demo-app` is given.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder with the link `current`
    #[arg(long, value_name = "DIR")]
    home: PathBuf,
    /// Its name
    #[arg(long)]
    name: String,
    /// Port of 127.0.0.1
    #[arg(long)]
    port: u16,
}

/// A release as the server read it.
struct Shop {
    name: String,
    release: String,
    greeting: String,
    well: bool,
}

/// Serves until standard input ends, or something kills it.
///
/// # Errors
/// There is no release, or the port is taken.
pub(crate) fn run(args: &Args) -> Result<Exit, Fault> {
    let shop = Arc::new(Shop::read(args)?);
    end_with_parent();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Fault::error("cannot start the server").because(&error))?;
    runtime.block_on(serve(shop, args.port))?;
    Ok(Exit::Done)
}

async fn serve(shop: Arc<Shop>, port: u16) -> Result<(), Fault> {
    tokio::time::sleep(START).await;
    let routes =
        Router::new().route("/", get(quick)).route("/slow", get(slow)).route("/healthz", get(health));
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let failed = |error: std::io::Error| Fault::error(format!("cannot serve on `{address}`")).because(&error);
    let listener = tokio::net::TcpListener::bind(address).await.map_err(failed)?;
    axum::serve(listener, routes.with_state(shop)).await.map_err(failed)
}

/// The parent holds the other end of standard input; however it ends, this process ends too.
fn end_with_parent() {
    std::thread::spawn(|| {
        let mut left = [0];
        while std::io::stdin().read(&mut left).is_ok_and(|read| read > 0) {}
        std::process::exit(0);
    });
}

async fn quick(State(shop): State<Arc<Shop>>) -> Response {
    tokio::time::sleep(Duration::from_millis(10)).await;
    shop.answer(StatusCode::OK, &shop.greeting)
}

async fn slow(State(shop): State<Arc<Shop>>) -> Response {
    tokio::time::sleep(SLOW).await;
    shop.answer(StatusCode::OK, &shop.greeting)
}

async fn health(State(shop): State<Arc<Shop>>) -> Response {
    match shop.well {
        true => shop.answer(StatusCode::OK, "well"),
        false => shop.answer(StatusCode::INTERNAL_SERVER_ERROR, "unwell"),
    }
}

impl Shop {
    fn read(args: &Args) -> Result<Shop, Fault> {
        let link = args.home.join("current");
        let failed =
            |error| Fault::error(format!("there is no release at `{}`", link.display())).because(&error);
        let release = std::fs::read_link(&link).map_err(failed)?;
        let release = release.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let settings = settings(&link.join("shop.conf")).map_err(failed)?;
        let setting =
            |name: &str| settings.iter().find(|(found, _)| found == name).map(|(_, value)| value.clone());
        Ok(Shop {
            well: setting("unwell_on").is_none_or(|server| server != args.name),
            greeting: setting("greeting").unwrap_or_default(),
            name: args.name.clone(),
            release,
        })
    }

    fn answer(&self, status: StatusCode, body: &str) -> Response {
        let headers = [("x-member", self.name.clone()), ("x-release", self.release.clone())];
        (status, headers, format!("{body}\n")).into_response()
    }
}

/// Lines of `name = value`.
fn settings(path: &Path) -> std::io::Result<Vec<(String, String)>> {
    let text = std::fs::read_to_string(path)?;
    let pairs = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='));
    Ok(pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect())
}
