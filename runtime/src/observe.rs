//! What a run tells while it goes, and how it is asked to stop: the seam between the loop and whoever watches it.
//! A watcher must not influence the run; it is told only what is committed already.

use manent_engine::{Event, RunState, Timestamp};
use manent_plan::Plan;
use tokio::sync::watch;

/// Somebody who watches a run.
pub trait Observer: Send {
    /// An event was committed; `state` is the state after it. Called in order, and not allowed to block for long.
    fn event(&mut self, at: Timestamp, event: &Event, plan: &Plan, state: &RunState);
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Timestamp, _: &Event, _: &Plan, _: &RunState) {}
}

/// Asks a run to finish the calls in hand, record and end as interrupted.
#[derive(Debug, Clone)]
pub struct Stopper(watch::Sender<bool>);

/// The loop's end of a [`Stopper`].
#[derive(Debug, Clone)]
pub struct Stopped(watch::Receiver<bool>);

/// A stopper with its other end.
#[must_use]
pub fn stopper() -> (Stopper, Stopped) {
    let (sender, receiver) = watch::channel(false);
    (Stopper(sender), Stopped(receiver))
}

impl Stopper {
    /// Asks. Asking again changes nothing.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stopped {
    /// Whether it was asked.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when it is asked; never, when nobody can ask any more.
    pub async fn asked(&mut self) {
        if self.0.wait_for(|asked| *asked).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stop_is_seen_by_all_and_later() {
        let (stopper, mut one) = stopper();
        assert!(!one.is_asked());
        stopper.stop();
        let mut other = one.clone();
        drop(stopper);
        one.asked().await;
        other.asked().await;
        assert!(other.is_asked());
    }
}
