//! Clients: steady requests, each on a connection of its own, every one recorded.
//! It repeats nothing and forgives nothing: what is not a whole 200 is a failure.

use crate::dataplane::ledger::now_ms;
use crate::http::{Request, send};
use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What the clients do.
#[derive(Clone, Debug)]
pub struct Config {
    /// The load balancers, asked in turn.
    pub to: Vec<SocketAddrV4>,
    /// Requests at once, at most.
    pub workers: u32,
    /// Requests a second, all workers together.
    pub rate: u32,
    /// Every so many-th request is slow; 0 for none.
    pub slow_every: u64,
    /// How long a slow request takes.
    pub slow: Duration,
    /// Clients keep the cookies that they were given, as browsers do.
    pub keep_cookies: bool,
}

impl Config {
    /// 60 requests a second from 12 workers, every fifth of them 300 ms long.
    pub fn new(to: Vec<SocketAddrV4>) -> Config {
        let slow = Duration::from_millis(300);
        Config { to, workers: 12, rate: 60, slow_every: 5, slow, keep_cookies: false }
    }
}

/// One request.
#[derive(Clone, Debug)]
pub struct Sent {
    /// When it was sent, in ms since the Unix epoch.
    pub start_ms: u64,
    /// When its answer or error was there.
    pub end_ms: u64,
    /// The load balancer.
    pub to: SocketAddrV4,
    /// Whether it asked for a slow page.
    pub slow: bool,
    /// Status of the answer; 0 without one.
    pub status: u16,
    /// `X-Release` of the answer.
    pub release: String,
    /// `X-Host` of the answer.
    pub host: String,
    /// What went wrong, when something did.
    pub error: Option<String>,
}

/// What a run of the clients came to.
#[derive(Clone, Debug)]
pub struct Report {
    /// All requests, in the order of their ends.
    pub sent: Vec<Sent>,
}

impl Report {
    /// How many requests were made.
    pub fn total(&self) -> usize {
        self.sent.len()
    }

    /// Those that failed.
    pub fn failures(&self) -> Vec<&Sent> {
        self.sent.iter().filter(|sent| sent.error.is_some()).collect()
    }

    /// Answers by release.
    pub fn by_release(&self) -> BTreeMap<String, usize> {
        self.count(|sent| &sent.release)
    }

    /// Answers by host.
    pub fn by_host(&self) -> BTreeMap<String, usize> {
        self.count(|sent| &sent.host)
    }

    fn count(&self, key: impl Fn(&Sent) -> &String) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for sent in self.sent.iter().filter(|sent| sent.error.is_none()) {
            *counts.entry(key(sent).clone()).or_default() += 1;
        }
        counts
    }

    /// Totals in one line, then one line for each failure: for the message of a test that fails.
    pub fn summary(&self) -> String {
        let failures = self.failures();
        let mut text = format!("{} requests, {} failed", self.total(), failures.len());
        for sent in failures {
            let Sent { start_ms, end_ms, to, slow, status, host, error, .. } = sent;
            let error = error.as_deref().unwrap_or_default();
            text.push_str(&format!(
                "\n{start_ms} +{} ms {to} slow={slow} status={status} host={host} {error}",
                end_ms.saturating_sub(*start_ms)
            ));
        }
        text
    }
}

/// Running clients.
pub struct Load {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

struct Shared {
    config: Config,
    stop: AtomicBool,
    next: AtomicU64,
    began: Instant,
    sent: Mutex<Vec<Sent>>,
}

impl Load {
    /// Starts the clients.
    pub fn start(config: Config) -> Load {
        let workers = config.workers;
        let shared = Arc::new(Shared {
            config,
            stop: AtomicBool::new(false),
            next: AtomicU64::new(0),
            began: Instant::now(),
            sent: Mutex::default(),
        });
        let work = |_| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.work())
        };
        Load { workers: (0..workers).map(work).collect(), shared }
    }

    /// What is known so far.
    pub fn so_far(&self) -> Report {
        Report { sent: self.shared.sent.lock().map(|sent| sent.clone()).unwrap_or_default() }
    }

    /// Lets the requests in flight end and reports.
    pub fn stop(mut self) -> Report {
        self.finish();
        self.so_far()
    }

    fn finish(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        for worker in self.workers.drain(..) {
            // A worker cannot fail: what goes wrong is a record.
            let _ = worker.join();
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Shared {
    /// One worker: takes the next number, waits for its time, sends it.
    fn work(&self) {
        let mut cookies: BTreeMap<SocketAddrV4, String> = BTreeMap::new();
        while !self.stop.load(Ordering::SeqCst) {
            let number = self.next.fetch_add(1, Ordering::SeqCst);
            let due = Duration::from_secs_f64(number as f64 / f64::from(self.config.rate.max(1)));
            std::thread::sleep(due.saturating_sub(self.began.elapsed()));
            let turn = usize::try_from(number).unwrap_or(0) % self.config.to.len().max(1);
            if let Some(to) = self.config.to.get(turn) {
                let sent = self.send(*to, number, &mut cookies);
                if let Ok(mut all) = self.sent.lock() {
                    all.push(sent);
                }
            }
        }
    }

    fn send(&self, to: SocketAddrV4, number: u64, cookies: &mut BTreeMap<SocketAddrV4, String>) -> Sent {
        let slow = self.config.slow_every > 0 && number.is_multiple_of(self.config.slow_every);
        let path = if slow { format!("/?ms={}", self.config.slow.as_millis()) } else { "/".to_owned() };
        let cookie = cookies.get(&to).cloned();
        let headers: Vec<(&str, &str)> = cookie.iter().map(|cookie| ("Cookie", cookie.as_str())).collect();
        let timeout = Duration::from_secs(20) + self.config.slow;
        let request = Request { method: "GET", path: &path, headers: &headers, body: "", timeout };
        let start_ms = now_ms();
        let answer = send(to, &request);
        let mut sent = Sent {
            start_ms,
            end_ms: now_ms(),
            to,
            slow,
            status: 0,
            release: String::new(),
            host: String::new(),
            error: None,
        };
        match answer {
            Err(trouble) => sent.error = Some(trouble.to_string()),
            Ok(answer) => {
                let header = |name: &str| answer.header(name).unwrap_or_default().to_owned();
                (sent.status, sent.release, sent.host) =
                    (answer.status, header("x-release"), header("x-host"));
                let wanted = format!("shop {} on {}\n", sent.release, sent.host);
                if answer.status != 200 {
                    sent.error = Some(format!("status {}", answer.status));
                } else if answer.body != wanted {
                    sent.error = Some(format!("a body of its own: `{}`", answer.body));
                }
                let given = answer.header("set-cookie").and_then(|cookie| cookie.split(';').next());
                if let (true, Some(cookie)) = (self.config.keep_cookies, given) {
                    cookies.insert(to, cookie.to_owned());
                }
            }
        }
        sent
    }
}
