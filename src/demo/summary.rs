//! What came out: served, failed, how the run ended, and what the same release would have cut without draining. It must not
//! make anything look better than it was counted.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::Tale;
use super::app::START;
use super::load::Counts;
use super::run::Status;
use crate::console::{Console, Look};
use crate::fault::Fault;

/// Failures that people are shown.
const SHOWN: usize = 8;

/// A demo that is over.
pub(super) struct Summary {
    /// What was played.
    pub(super) tale: Tale,
    /// The run at its end.
    pub(super) status: Status,
    /// How many servers there were.
    pub(super) servers: usize,
    /// The requests.
    pub(super) counts: Counts,
    /// How long requests were sent.
    pub(super) ran: Duration,
    /// How often the runtime was killed.
    pub(super) killed: usize,
    /// Requests that were in flight on servers when they were taken out.
    pub(super) in_flight_when_taken_out: u64,
    /// Restarts of servers.
    pub(super) restarts: usize,
    /// What manent printed at the end.
    pub(super) said: String,
    /// Where the tree is kept.
    pub(super) kept: Option<PathBuf>,
}

/// What the same restarts would have cost without draining.
struct WouldHaveCut {
    in_flight: u64,
    while_starting: u64,
}

impl Summary {
    /// No request failed, and the run ended as the tale wants it.
    pub(super) fn promise_held(&self) -> bool {
        let killed = usize::from(self.tale == Tale::Crash);
        self.counts.failed.is_empty() && self.ended_right() && self.killed == killed
    }

    /// Prints it: sentences, or the last object.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(super) fn print(&self, console: &Console) -> Result<(), Fault> {
        match console.json {
            true => console.value(&self.object()),
            false => console.data(&self.sentences(console)),
        }
    }

    fn ended_right(&self) -> bool {
        self.status.state == self.tale.right_end()
    }

    /// What was in flight when servers were taken out is counted; what would have met a server that was starting follows
    /// from the rate, the number of restarts and the time for which a server does not listen.
    fn would_have_cut(&self) -> Option<WouldHaveCut> {
        let (servers, ran) = (u128::try_from(self.servers).ok()?, self.ran.as_millis());
        let restarts = u128::try_from(self.restarts).ok()?;
        let while_starting =
            (u128::from(self.counts.requests) * START.as_millis() * restarts).checked_div(ran * servers)?;
        let in_flight = self.in_flight_when_taken_out;
        (self.tale != Tale::Undrained)
            .then_some(WouldHaveCut { in_flight, while_starting: u64::try_from(while_starting).ok()? })
    }

    fn object(&self) -> Value {
        json!({
            "outcome": self.status.state,
            "promise_held": self.promise_held(),
            "requests": self.counts.requests,
            "slow": self.counts.slow,
            "failed": self.counts.failed.len(),
            "failures": self.counts.failed,
            "by_release": self.counts.by_release,
            "would_have_cut": self.would_have_cut().map(|cut| json!({
                "in_flight": cut.in_flight,
                "while_starting": cut.while_starting,
            })),
            "restarts": self.restarts,
            "killed": self.killed,
            "run": self.status.run,
            "duration_ms": u64::try_from(self.ran.as_millis()).unwrap_or(u64::MAX),
            "kept": self.kept,
        })
    }

    fn sentences(&self, console: &Console) -> String {
        let paint = console.paint();
        let (requests, failed) = (self.counts.requests, self.counts.failed.len());
        let mut lines = vec![paint.with(Look::Bold, self.end())];
        if let Some(why) = self.status.why() {
            lines.push(format!("  why       {why}"));
        }
        let served = requests.saturating_sub(u64::try_from(failed).unwrap_or(u64::MAX));
        lines.push(format!("  served    {served} requests, {} of them slow", self.counts.slow));
        let look = if failed == 0 { Look::Green } else { Look::Red };
        lines.push(format!("  failed    {}", paint.with(look, failed.to_string())));
        for failure in self.counts.failed.iter().take(SHOWN) {
            let (tenths, member) =
                (failure.at_ms / 100, failure.member.as_deref().unwrap_or("no member named"));
            let at = format!("{}.{}s", tenths / 10, tenths % 10);
            lines.push(format!("            {at:>6}  {member}  {}  {}", failure.path, failure.error));
        }
        if failed > SHOWN {
            lines.push(format!("            and {} more (--json lists all)", failed - SHOWN));
        }
        if let Some(cut) = self.would_have_cut() {
            let (all, in_flight, starting) =
                (cut.in_flight + cut.while_starting, cut.in_flight, cut.while_starting);
            lines.push(format!(
                "  undrained about {all} would be cut: {in_flight} in flight, {starting} sent to a starting server"
            ));
        }
        lines.push(format!("  next      {}", self.next()));
        if !self.ended_right() {
            lines.push(format!("{}\n{}", paint.with(Look::Red, "manent said:"), self.said));
        }
        lines.join("\n")
    }

    fn end(&self) -> String {
        let seconds = self.ran.as_secs();
        match (self.tale, self.ended_right()) {
            (_, false) => format!("the run ended as `{}`, which it should not", self.status.state),
            (Tale::Broken, true) => format!(
                "shop {} failed its test and was rolled back everywhere, in {seconds}s",
                self.tale.release()
            ),
            (Tale::Crash, true) => format!(
                "shop {} is on all {} servers in {seconds}s, though manent was killed on the way",
                self.tale.release(),
                self.servers
            ),
            (Tale::Plain | Tale::Undrained, true) => {
                format!("shop {} is on all {} servers in {seconds}s", self.tale.release(), self.servers)
            }
        }
    }

    fn next(&self) -> &'static str {
        match self.tale {
            Tale::Plain => "manent demo --no-drain | --break | --crash; then your own: manent init",
            Tale::Undrained => "manent demo   the same restarts, and nothing is cut",
            Tale::Broken => "manent demo --crash   manent is killed in mid-drain, and resumes",
            Tale::Crash => "manent demo --break   the way back of a release that fails its test",
        }
    }
}
