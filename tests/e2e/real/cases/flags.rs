//! A balancer without an API: each host has an endpoint that takes a flag, and the load balancer notices it later.
//! The flag reaches real HAProxys after a delay, so that what clients lose is true.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use manent_testbed::site::Site;
use manent_testbed::socket::AdminSocket;

/// Where every host takes its flag.
pub(super) const PORT: u16 = 28443;

/// A request that a host's endpoint got.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// When it was answered, in ms since the Unix epoch.
    pub(super) at_ms: u64,
    /// The host.
    pub(super) host: String,
    /// `PUT`, `DELETE`, `GET`.
    pub(super) method: String,
    /// Whether the bearer token was right.
    pub(super) allowed: bool,
}

/// The endpoints of all hosts.
#[derive(Clone)]
pub(super) struct Flags {
    asked: Arc<Mutex<Vec<Asked>>>,
    flagged: Arc<Mutex<BTreeSet<String>>>,
}

/// What one endpoint needs.
struct Endpoint {
    host: String,
    flags: Flags,
    token: String,
    instances: Vec<AdminSocket>,
    notices: Duration,
}

impl Flags {
    /// Starts the endpoints of a site's hosts. The load balancers notice a flag after `notices`.
    pub(super) fn start(site: &Site, token: &str, notices: Duration) -> Flags {
        let flags = Flags { asked: Arc::default(), flagged: Arc::default() };
        for host in &site.hosts {
            let address: Ipv4Addr = *host.address.ip();
            let listener = TcpListener::bind(SocketAddrV4::new(address, PORT)).unwrap();
            let endpoint = Arc::new(Endpoint {
                host: host.name.clone(),
                flags: flags.clone(),
                token: format!("Bearer {token}"),
                instances: site.haproxies.iter().map(|one| one.socket().clone()).collect(),
                notices,
            });
            // Ends with the test's process: it holds a port of an address that is nobody else's.
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let endpoint = Arc::clone(&endpoint);
                    std::thread::spawn(move || endpoint.serve(&stream));
                }
            });
        }
        flags
    }

    /// All requests so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// When the newest request of a method to a host was answered.
    pub(super) fn time_of(&self, host: &str, method: &str) -> Option<u64> {
        let asked = self.asked();
        asked.iter().rev().find(|one| one.host == host && one.method == method).map(|one| one.at_ms)
    }

    /// Hosts with a flag.
    pub(super) fn flagged(&self) -> Vec<String> {
        self.flagged.lock().unwrap().iter().cloned().collect()
    }
}

impl Endpoint {
    /// One request a connection.
    fn serve(&self, stream: &TcpStream) {
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        let Some(first) = lines.next() else { return };
        let method = first.split(' ').next().unwrap_or_default().to_owned();
        let is_login = |line: &String| line.to_ascii_lowercase().starts_with("authorization:");
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let login = head.iter().find(|line| is_login(line)).and_then(|line| line.split_once(": "));
        let allowed = method == "GET" || login.is_some_and(|(_, value)| value == self.token);
        let status = match (allowed, method.as_str()) {
            (false, _) => "403 Forbidden",
            (true, "GET") if self.flags.flagged.lock().unwrap().contains(&self.host) => "503 Flagged",
            (true, "GET") => "200 OK",
            (true, _) => {
                self.flag(method == "PUT");
                "204 No Content"
            }
        };
        let _ = (&mut &*stream).write_all(
            format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").as_bytes(),
        );
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let at_ms = u64::try_from(now.as_millis()).unwrap();
        self.flags.asked.lock().unwrap().push(Asked { at_ms, host: self.host.clone(), method, allowed });
    }

    fn flag(&self, there: bool) {
        let changed = {
            let mut flagged = self.flags.flagged.lock().unwrap();
            if there { flagged.insert(self.host.clone()) } else { flagged.remove(&self.host) }
        };
        if !changed {
            return;
        }
        let (instances, host, notices) = (self.instances.clone(), self.host.clone(), self.notices);
        std::thread::spawn(move || {
            std::thread::sleep(notices);
            for instance in instances {
                let _ = instance.set_state("shop", &host, if there { "drain" } else { "ready" });
            }
        });
    }
}
