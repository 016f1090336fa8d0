//! Runs a real HAProxy in front of given servers, with an admin socket.
//! It never shares a port silently (`noreuseport`) and repeats no request, so that a cut one is seen.

use crate::process::{Process, Signal, program, until};
use crate::socket::AdminSocket;
use crate::{Context, Folder, Result, Trouble, address};
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// One `server` line.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its name in the backend.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddrV4,
    /// Whether HAProxy checks its health.
    pub checks: bool,
    /// Further words, such as `disabled`, `backup` or `weight 0`.
    pub extra: String,
}

impl Server {
    /// A server with health checks.
    pub fn new(name: &str, address: SocketAddrV4) -> Server {
        Server { name: name.to_owned(), address, checks: true, extra: String::new() }
    }
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of the backend.
    pub backend: String,
    /// Its servers.
    pub servers: Vec<Server>,
    /// Distance of health checks in ms.
    pub check_ms: u64,
    /// Passed checks until up.
    pub rise: u32,
    /// Failed checks until down.
    pub fall: u32,
    /// The application's health endpoint.
    pub health_path: String,
    /// Clients stay with their server by a cookie named `SRV`.
    pub sticky: bool,
    /// Master and worker, so that `reload` works.
    pub reloadable: bool,
    /// Level of the admin socket: `admin`, `operator`, `user`.
    pub level: String,
}

impl Config {
    /// A backend named `shop`, checked every 100 ms.
    pub fn new(servers: Vec<Server>) -> Config {
        Config {
            backend: "shop".to_owned(),
            servers,
            check_ms: 100,
            rise: 2,
            fall: 2,
            health_path: "/healthz".to_owned(),
            sticky: false,
            reloadable: true,
            level: "admin".to_owned(),
        }
    }

    fn text(&self, socket: &str, frontend: SocketAddrV4) -> Result<String> {
        let Config { backend, check_ms, rise, fall, health_path, level, .. } = self;
        let mut text = format!(
            "global\n  noreuseport\n  maxconn 2000\n  log stderr format raw local0 info\n  \
             stats socket unix@{socket} mode 600 level {level} expose-fd listeners\n  stats timeout 2m\n\
             defaults\n  mode http\n  timeout connect 2s\n  timeout client 60s\n  timeout server 60s\n  \
             retries 0\n\
             frontend fe\n  bind {frontend}\n  default_backend {backend}\n\
             backend {backend}\n  balance roundrobin\n  option httpchk GET {health_path}\n  \
             default-server inter {check_ms} fastinter {check_ms} downinter {check_ms} rise {rise} fall {fall}\n"
        );
        let written =
            if self.sticky { writeln!(text, "  cookie SRV insert indirect nocache") } else { Ok(()) };
        written.doing("writing a configuration")?;
        for Server { name, address, checks, extra } in &self.servers {
            let check = if *checks { " check" } else { "" };
            let cookie = if self.sticky { format!(" cookie {name}") } else { String::new() };
            writeln!(text, "  server {name} {address}{check}{cookie} {extra}")
                .doing("writing a configuration")?;
        }
        Ok(text)
    }
}

/// A running HAProxy.
pub struct Haproxy {
    process: Process,
    socket: AdminSocket,
    frontend: SocketAddrV4,
    backend: String,
    folder: PathBuf,
    reloadable: bool,
}

impl Haproxy {
    /// Starts one on an address of its own; its files lie in `folder/name`.
    pub fn start(folder: &Folder, name: &str, config: &Config) -> Result<Haproxy> {
        let place = folder.sub(name)?;
        let frontend = SocketAddrV4::new(address::fresh()?, address::FRONTEND_PORT);
        let socket = place.join("admin.sock");
        let text = config.text(&socket.display().to_string(), frontend)?;
        std::fs::write(place.join("haproxy.cfg"), text).doing("writing a configuration")?;
        let process = launch(&place, config.reloadable)?;
        let mut running = Haproxy {
            process,
            socket: AdminSocket::new(&socket),
            frontend,
            backend: config.backend.clone(),
            folder: place,
            reloadable: config.reloadable,
        };
        running.await_socket()?;
        Ok(running)
    }

    /// Where clients connect.
    pub fn frontend(&self) -> SocketAddrV4 {
        self.frontend
    }

    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        *self.frontend.ip()
    }

    /// Its admin socket.
    pub fn socket(&self) -> &AdminSocket {
        &self.socket
    }

    /// Name of its backend.
    pub fn backend(&self) -> &str {
        &self.backend
    }

    /// What it printed.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Loads the configuration anew, as an operator would. States set at run time are lost, drains among them;
    /// requests in flight go on in the old worker. Returns when the new worker answers.
    pub fn reload(&mut self) -> Result<()> {
        if !self.reloadable {
            return Err(Trouble::new("this HAProxy was started without a master process"));
        }
        let before = self.worker()?;
        let reloads = |log: String| log.matches("Reloading HAProxy").count();
        let reloads_before = reloads(self.log());
        // A master that has only just forked its first worker loses the signal: it is given until it is heard.
        until("the master to hear the signal", Duration::from_secs(10), || {
            self.process.signal(Signal::USR2).ok()?;
            let patience = Duration::from_millis(300);
            until("a reload", patience, || (reloads(self.log()) > reloads_before).then_some(())).ok()
        })?;
        until("a new worker after the reload", Duration::from_secs(10), || {
            self.worker().ok().filter(|now| *now != before).map(|_| ())
        })
    }

    /// Process id of the worker that answers on the socket.
    pub fn worker(&self) -> Result<u32> {
        let info = self.socket.info()?;
        crate::socket::text(&info, "Pid").parse().doing("reading the process id of HAProxy")
    }

    /// Stops the worker without ending it: the socket accepts and answers nothing, clients hang.
    pub fn freeze(&self) -> Result<Frozen> {
        let worker = self.worker()?;
        crate::process::signal_to(worker, Signal::STOP)?;
        Ok(Frozen { worker })
    }

    /// Ends it, hard.
    pub fn stop(&mut self) -> Result<()> {
        self.process.signal(Signal::TERM)?;
        let ended = self.process.wait(Duration::from_secs(5));
        ended.map(|_| ()).ok_or_else(|| Trouble::new("HAProxy did not end"))
    }

    /// Starts it again after `stop`.
    pub fn start_again(&mut self) -> Result<()> {
        self.process = launch(&self.folder, self.reloadable)?;
        self.await_socket()
    }

    fn await_socket(&mut self) -> Result<()> {
        let socket = self.socket.clone();
        self.process.until("an answer on its socket", || socket.info().ok())?;
        Ok(())
    }
}

/// A stopped worker; it goes on when this is dropped.
pub struct Frozen {
    worker: u32,
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = crate::process::signal_to(self.worker, Signal::CONT);
    }
}

fn launch(folder: &std::path::Path, reloadable: bool) -> Result<Process> {
    let binary = program("haproxy", "haproxy")?;
    let mut command = Command::new(binary);
    command.args(if reloadable { &["-W", "-db"][..] } else { &["-db"][..] });
    command.arg("-f").arg(folder.join("haproxy.cfg"));
    Process::start("haproxy", &mut command, &folder.join("haproxy.log"))
}
