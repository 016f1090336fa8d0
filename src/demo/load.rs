//! Steady requests, one connection each, every failure kept with its time, member and error. It must not know what a
//! release is doing meanwhile, and it never tries a request again.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::task::JoinSet;

use super::client;

/// Every so many requests one is slow. No multiple of the number of servers, or one of them would get all slow ones.
const SLOW_EVERY: u64 = 5;
/// No request may take longer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Over what the rate is counted.
const WINDOW: Duration = Duration::from_secs(1);

/// A request that was not answered as it should.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Failed {
    /// Since the demo began.
    pub(super) at_ms: u64,
    /// What was asked for.
    pub(super) path: &'static str,
    /// The member that it was given to, where that is known.
    pub(super) member: Option<String>,
    /// What came instead of an answer.
    pub(super) error: String,
}

/// Counts so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    /// Requests that ended, well or not.
    pub(super) requests: u64,
    /// Slow ones among them.
    pub(super) slow: u64,
    /// Those that failed.
    pub(super) failed: Vec<Failed>,
    /// Well answered ones by release.
    pub(super) by_release: BTreeMap<String, u64>,
    /// Requests that ended within the last second.
    pub(super) per_second: u64,
}

/// Requests going on.
#[derive(Debug)]
pub(super) struct Load {
    tally: Arc<Tally>,
    sender: tokio::task::JoinHandle<JoinSet<()>>,
    stop: tokio::sync::watch::Sender<bool>,
}

#[derive(Debug)]
struct Tally {
    began: Instant,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    counts: Counts,
    ended: Vec<Instant>,
}

impl Load {
    /// Begins to send so many requests a second.
    pub(super) fn start(to: SocketAddr, per_second: u32, began: Instant) -> Load {
        let tally = Arc::new(Tally { began, kept: Mutex::new(Kept::default()) });
        let (stop, mut stopped) = tokio::sync::watch::channel(false);
        let shared = Arc::clone(&tally);
        let sender = tokio::spawn(async move {
            let mut sent = JoinSet::new();
            let mut ticks = tokio::time::interval(Duration::from_secs(1) / per_second.max(1));
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
            for number in 0_u64.. {
                tokio::select! {
                    _ = ticks.tick() => {}
                    _ = stopped.changed() => break,
                }
                let path = if number.is_multiple_of(SLOW_EVERY) { "/slow" } else { "/" };
                sent.spawn(Arc::clone(&shared).request(to, path));
                while sent.try_join_next().is_some() {}
            }
            sent
        });
        Load { tally, sender, stop }
    }

    /// Counts so far.
    pub(super) fn counts(&self) -> Counts {
        self.tally.counts()
    }

    /// Sends no more, and waits for the answers to what was sent.
    pub(super) async fn finish(self) -> Counts {
        self.stop.send_replace(true);
        if let Ok(mut sent) = self.sender.await {
            while sent.join_next().await.is_some() {}
        }
        self.tally.counts()
    }
}

impl Tally {
    async fn request(self: Arc<Self>, to: SocketAddr, path: &'static str) {
        let answer = client::get(to, path, PATIENCE).await;
        let (member, outcome) = match answer {
            Ok(answer) => {
                let member = answer.header("x-member").map(str::to_owned);
                match (answer.status, answer.header("x-release")) {
                    (200, Some(release)) => (member, Ok(release.to_owned())),
                    (status, _) => (member, Err(format!("status {status}: {}", answer.body.trim()))),
                }
            }
            Err(error) => (None, Err(error)),
        };
        let at_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut kept = self.kept();
        kept.ended.push(Instant::now());
        kept.counts.requests += 1;
        kept.counts.slow += u64::from(path == "/slow");
        match outcome {
            Ok(release) => *kept.counts.by_release.entry(release).or_default() += 1,
            Err(error) => kept.counts.failed.push(Failed { at_ms, path, member, error }),
        }
    }

    fn counts(&self) -> Counts {
        let mut kept = self.kept();
        kept.ended.retain(|at| at.elapsed() < WINDOW);
        let per_second = u64::try_from(kept.ended.len()).unwrap_or(u64::MAX);
        Counts { per_second, ..kept.counts.clone() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // The counts are whole between any two statements that hold the lock.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
