//! The loop: append the intent, commit, perform, append the answer, decide again. Performs run at the same time; their
//! answers are applied one after another, all that are ready in one commit together with what was decided from them.
//! It must not decide anything itself, and knows the world only through `Perform`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use manent_engine::{Answer, Call, CallNo, Engine, Event, Outcome, Timestamp, Turn};
use manent_plan::Plan;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::clock::Clock;
use crate::observe::{Observer, Stopped};

/// Between two looks at the requests of other processes (pause, cancel, approve).
const INBOX: Duration = Duration::from_millis(200);
/// How long calls in hand are waited for after a signal.
const GRACE: Duration = Duration::from_secs(10);

/// Performs calls; one answer each, whatever happens.
#[async_trait]
pub trait Perform: Send + Sync + 'static {
    /// Performs a call once.
    async fn perform(&self, no: CallNo, call: Call) -> Answer;
}

/// Where the events of one run are kept.
pub trait Ledger {
    /// Appends events in one durable commit.
    ///
    /// # Errors
    /// Any error is final: nothing may be performed whose intent is not certainly on disk.
    fn append(&mut self, at: Timestamp, events: &[Event]) -> Result<(), LedgerError>;

    /// Requests of other processes that came since the last call, each exactly once.
    ///
    /// # Errors
    /// As `append`.
    fn requests(&mut self) -> Result<Vec<Event>, LedgerError>;
}

/// The journal cannot be written or read any more.
#[derive(Debug, thiserror::Error)]
#[error("the journal failed, so the run stopped before doing anything more: {0}")]
pub struct LedgerError(pub String);

/// How the loop ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The run ended.
    Ended(Outcome),
    /// A signal stopped it; it can be resumed.
    Interrupted,
}

/// One run in progress.
pub struct Drive<'a, L> {
    /// Its plan.
    pub plan: &'a Plan,
    /// Its events.
    pub ledger: &'a mut L,
    /// What performs its calls.
    pub perform: Arc<dyn Perform>,
    /// Who watches.
    pub observer: &'a mut dyn Observer,
    /// How it is asked to stop.
    pub stopped: Stopped,
}

impl<L: Ledger> Drive<'_, L> {
    /// Drives a run to its end, from `past` (its journal so far) with `first` as the next event: `Started` for a new
    /// run, `Resumed` for one that is taken up again.
    ///
    /// # Errors
    /// When the journal fails. Nothing is performed after that.
    pub async fn run(mut self, past: &[(Timestamp, Event)], first: Event) -> Result<Ending, LedgerError> {
        let newest = past.last().map_or(Timestamp(0), |(at, _)| *at);
        let clock = Clock::not_before(newest);
        let mut engine = Engine::fold(self.plan, past.iter().map(|(at, event)| (*at, event)));
        let (sender, mut answers) = mpsc::unbounded_channel::<(CallNo, Answer)>();
        let mut now = clock.now();
        // What was asked before the run was taken up counts before anything is decided: a cancelled run that had stopped
        // would otherwise stop again before it heard of it.
        let mut begin = vec![first];
        begin.extend(self.ledger.requests()?);
        let mut turn = engine.take_all(now, begin);
        let mut interrupted: Option<Timestamp> = None;
        let mut looked = Instant::now();
        loop {
            self.commit(now, &engine, &turn)?;
            for (no, call) in turn.perform {
                let (perform, sender) = (Arc::clone(&self.perform), sender.clone());
                tokio::spawn(async move {
                    let answer = perform.perform(no, call).await;
                    // The loop may have ended meanwhile; then the call is in doubt, as after a crash.
                    let _ = sender.send((no, answer));
                });
            }
            if let Some(outcome) = turn.outcome {
                return Ok(Ending::Ended(outcome));
            }
            if let Some(since) = interrupted {
                let idle = engine.state().active.as_ref().is_none_or(|active| active.flying.is_empty());
                if idle || clock.now().since(since) >= GRACE.as_millis() as u64 {
                    return Ok(Ending::Interrupted);
                }
            }
            let mut events = self.wait(&clock, turn.wake, &mut answers, interrupted.is_some()).await?;
            // Answers may come so fast that the pause between them never does.
            if looked.elapsed() >= INBOX {
                events.extend(self.ledger.requests()?);
                looked = Instant::now();
            }
            now = clock.now();
            if events.contains(&Event::Interrupted) {
                interrupted = Some(now);
            }
            turn = if events.is_empty() { engine.advance(now) } else { engine.take_all(now, events) };
        }
    }

    fn commit(&mut self, at: Timestamp, engine: &Engine<'_>, turn: &Turn) -> Result<(), LedgerError> {
        if turn.records.is_empty() {
            return Ok(());
        }
        self.ledger.append(at, &turn.records)?;
        for event in &turn.records {
            self.observer.event(at, event, self.plan, engine.state());
        }
        Ok(())
    }

    /// Waits for something to happen: answers, requests, a signal, or the time.
    async fn wait(
        &mut self,
        clock: &Clock,
        wake: Option<Timestamp>,
        answers: &mut mpsc::UnboundedReceiver<(CallNo, Answer)>,
        interrupted: bool,
    ) -> Result<Vec<Event>, LedgerError> {
        loop {
            let until = wake.map_or(INBOX, |wake| clock.until(wake).min(INBOX));
            let stopped = self.stopped.clone();
            tokio::select! {
                biased;
                () = asked(stopped), if !interrupted => return Ok(vec![Event::Interrupted]),
                Some((no, answer)) = answers.recv() => {
                    let mut events = vec![Event::Answered { no, answer }];
                    while let Ok((no, answer)) = answers.try_recv() {
                        events.push(Event::Answered { no, answer });
                    }
                    return Ok(events);
                }
                () = sleep(until) => {
                    let requests = self.ledger.requests()?;
                    let due = wake.is_some_and(|wake| clock.now() >= wake);
                    if due || interrupted || !requests.is_empty() {
                        return Ok(requests);
                    }
                }
            }
        }
    }
}

async fn asked(mut stopped: Stopped) {
    stopped.asked().await;
}
