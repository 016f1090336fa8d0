//! The wall clock, made safe for deadlines: within a process it only moves forward, at the pace of the monotonic clock,
//! and it never starts before the newest record of the journal. A clock that is set back lengthens no wait.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use manent_engine::Timestamp;

/// The time of a run.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    base: Timestamp,
    since: Instant,
}

impl Clock {
    /// A clock that does not show less than `newest`, the time of the journal's newest record.
    #[must_use]
    pub fn not_before(newest: Timestamp) -> Clock {
        Clock { base: wall().max(newest), since: Instant::now() }
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.base.plus(u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// How long until a time; zero when it has passed.
    #[must_use]
    pub fn until(&self, at: Timestamp) -> Duration {
        // One millisecond more: sleeping exactly to it may end just before the clock shows it.
        match at.since(self.now()) {
            0 => Duration::ZERO,
            left => Duration::from_millis(left.saturating_add(1)),
        }
    }
}

/// The machine's clock, in milliseconds since the Unix epoch.
#[must_use]
pub fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_set_back_starts_at_the_newest_record() {
        let ahead = wall().plus(3_600_000);
        let clock = Clock::not_before(ahead);
        assert!(clock.now() >= ahead);
        assert!(clock.now().since(ahead) < 1_000);
        assert_eq!(clock.until(ahead), Duration::ZERO);
    }
}
