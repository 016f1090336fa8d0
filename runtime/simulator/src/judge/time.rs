//! Time limits: I9. A limit ends at the configured time and one poll, also across crashes. It reads the book only.

use manent_engine::Call;

use super::book::Book;
use super::{Outside, Violation};
use crate::setup::What;

/// What the loop itself may take beside its calls, in ms.
const MARGIN_MS: u64 = 500;

impl Book<'_> {
    /// Looked at whenever something other than a read is sent, and at the end.
    pub(super) fn judge_limits(
        &self,
        at: u64,
        no: Option<u64>,
        outside: &Outside<'_>,
        found: &mut Vec<Violation>,
    ) {
        let Some(pool) = self.plan.pool.as_ref() else { return };
        let (drain, restore, poll) = (pool.drain_timeout_ms, pool.restore_timeout_ms, pool.poll_interval_ms);
        let longest = drain.max(pool.capabilities.drain_delay_ms.unwrap_or(0)).max(restore);
        let ready = self.plan.rollout.min_ready_ms;
        let bake: u64 = self.plan.rollout.waves.iter().filter_map(|wave| wave.bake_ms).sum();
        // Two waits may follow each other without a change between them: a proof that failed, then a drain of what is out already.
        let idle = longest + restore + ready + poll + bake + self.around.person_ms;
        self.within("a stretch of nothing but reads", (self.idle, idle, at), no, found);
        let forgot = |since: u64| {
            outside.befell(self.run, since, |what| {
                matches!(what, What::Reload { .. } | What::HandRestore { .. })
            })
        };
        for book in &self.targets {
            let Some(drained) = book.drained else { continue };
            // A drain that was lost right before the node is touched is waited for anew.
            let times = if forgot(drained) { 3 } else { 1 };
            match book.confirmed {
                Some(confirmed) => {
                    self.within("drain-wait", (confirmed, drain * times + poll, at), no, found)
                }
                None => self.within("drain", (drained, drain * times + poll, at), no, found),
            }
        }
        for book in self.targets.iter().filter(|book| !book.returning.is_empty()) {
            self.within("restore-wait", (book.returned, restore + ready + poll, at), no, found);
        }
    }

    fn within(
        &self,
        what: &str,
        (since, limit, at): (u64, u64, u64),
        no: Option<u64>,
        found: &mut Vec<Violation>,
    ) {
        let slack = self.slowest.saturating_mul(6) + MARGIN_MS + self.nodes_ms();
        let due = since.saturating_add(limit);
        let mut end = due.saturating_add(slack);
        for (from, to) in &self.downtimes {
            if *to < since {
                continue;
            }
            if self.around.clock_set_back {
                end = end.max(to.saturating_add(limit).saturating_add(slack));
            } else if *from <= end && *to >= due {
                // The limit fell into a time without a process: one fresh read decides.
                end = end.max(to.saturating_add(slack));
            }
        }
        if at > end {
            let says = format!("{what} since {since}ms went on for {}ms, its limit is {limit}ms", at - since);
            found.push(self.violation("I9", at, no, says));
        }
    }

    /// Probes of targets that do not answer have their own time.
    fn nodes_ms(&self) -> u64 {
        let probes = self.calls.values().rev().take(3).filter(|(_, call)| matches!(call, Call::Probe { .. }));
        probes.count() as u64 * 3_000
    }
}
