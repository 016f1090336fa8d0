//! Starts, kills and restarts the application servers of the demo, as an init system does on a host. It must not know of
//! releases: the servers read the link `current` themselves. All servers are gone when it is dropped.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;

/// How long a killed process may take to be gone.
const GONE: Duration = Duration::from_secs(5);

/// A server to be kept.
#[derive(Debug, Clone)]
pub(super) struct Server {
    /// Its name.
    pub(super) name: String,
    /// Where it listens on 127.0.0.1.
    pub(super) port: u16,
    /// Folder with its releases.
    pub(super) home: PathBuf,
}

/// All servers of the demo, by port.
#[derive(Debug)]
pub(super) struct Supervisor {
    program: PathBuf,
    servers: Vec<Server>,
    running: Mutex<BTreeMap<u16, Child>>,
    restarts: std::sync::Mutex<Vec<(u16, Instant)>>,
}

impl Supervisor {
    /// Starts every server.
    ///
    /// # Errors
    /// One cannot be started.
    pub(super) async fn start(program: PathBuf, servers: Vec<Server>) -> std::io::Result<Arc<Supervisor>> {
        let supervisor = Arc::new(Supervisor {
            program,
            servers,
            running: Mutex::new(BTreeMap::new()),
            restarts: std::sync::Mutex::new(Vec::new()),
        });
        let mut running = supervisor.running.lock().await;
        for server in &supervisor.servers {
            running.insert(server.port, supervisor.spawn(server)?);
        }
        drop(running);
        Ok(supervisor)
    }

    /// Answers `demo-service` for ever.
    pub(super) async fn serve(self: Arc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(Arc::clone(&self).converse(stream));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    /// How many restarts there were.
    pub(super) fn restarts(&self) -> usize {
        self.restarts.lock().map(|restarts| restarts.len()).unwrap_or_default()
    }

    /// Ends every server, and returns when they are gone.
    pub(super) async fn stop(&self) {
        let mut running = self.running.lock().await;
        while let Some((_, mut child)) = running.pop_first() {
            // One that does not end now is killed again when it is dropped.
            let _ = tokio::time::timeout(GONE, child.kill()).await;
        }
    }

    async fn converse(self: Arc<Self>, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        let answer = match stream.read_line(&mut line).await {
            Ok(_) => self.obey(line.trim()).await.unwrap_or_else(|words| words),
            Err(error) => format!("the order was cut: {error}"),
        };
        // Whoever asked may be gone, killed together with its runtime; the order is obeyed all the same.
        let _ = stream.get_mut().write_all(format!("{answer}\n").as_bytes()).await;
    }

    async fn obey(&self, line: &str) -> Result<String, String> {
        let port = line.strip_prefix("restart ").and_then(|port| port.parse().ok());
        let port: u16 = port.ok_or_else(|| format!("`{line}` is no order"))?;
        let server = self.servers.iter().find(|server| server.port == port);
        let server = server.ok_or_else(|| format!("no server has port {port}"))?;
        let mut running = self.running.lock().await;
        if let Some(mut child) = running.remove(&port) {
            let killed = tokio::time::timeout(GONE, child.kill()).await;
            killed
                .map_err(|_| String::from("it does not end"))?
                .map_err(|error| format!("it cannot be killed: {error}"))?;
        }
        let child = self.spawn(server).map_err(|error| format!("it cannot be started: {error}"))?;
        running.insert(port, child);
        if let Ok(mut restarts) = self.restarts.lock() {
            restarts.push((port, Instant::now()));
        }
        Ok(String::from("done"))
    }

    /// A server in a process group of its own, so that Ctrl-C reaches it through the demo only. It ends when its standard
    /// input does, however the demo ends.
    fn spawn(&self, server: &Server) -> std::io::Result<Child> {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(server.home.join("log"))?;
        Command::new(&self.program)
            .arg("demo-app")
            .arg("--home")
            .arg(&server.home)
            .args(["--name", &server.name, "--port", &server.port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
    }
}
