//! Watches the pool from HAProxy's own sockets while something happens: the fewest members that were ever in service.
//! It must not know what manent counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use manent_testbed::haproxy::Haproxy;
use manent_testbed::site::Site;

/// Between two looks.
const DISTANCE: Duration = Duration::from_millis(15);

/// A running watch.
pub(super) struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Seen>,
}

/// What was seen.
#[derive(Debug)]
pub(super) struct Seen {
    /// Fewest members that every instance had in service at one time.
    pub(super) fewest: usize,
    /// How often the pool was read whole.
    pub(super) looks: usize,
}

impl Watch {
    /// Starts looking.
    pub(super) fn start(site: &Site) -> Watch {
        let stop = Arc::new(AtomicBool::new(false));
        let instances: Vec<_> = site
            .haproxies
            .iter()
            .map(|one: &Haproxy| (one.socket().clone(), one.backend().to_owned()))
            .collect();
        let ended = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut seen = Seen { fewest: usize::MAX, looks: 0 };
            while !ended.load(Ordering::SeqCst) {
                let pool: Result<Vec<_>, _> =
                    instances.iter().map(|(socket, backend)| socket.truth(backend)).collect();
                // A load balancer in mid reload does not answer; that look does not count.
                if let Ok(pool) = pool
                    && let Some(first) = pool.first()
                {
                    let everywhere = |name: &&String| {
                        pool.iter().all(|one| one.get(*name).is_some_and(|member| member.in_service()))
                    };
                    seen.fewest = seen.fewest.min(first.keys().filter(everywhere).count());
                    seen.looks += 1;
                }
                std::thread::sleep(DISTANCE);
            }
            seen
        });
        Watch { stop, thread }
    }

    /// Ends it.
    pub(super) fn stop(self) -> Seen {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().unwrap()
    }
}
