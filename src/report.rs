//! A run's report as text: what `status` and the live display show. Somebody woken at night reads it from top to
//! bottom: how it stands, what it waits for, what is where, what can be done. It must not derive facts; the engine does.

use std::collections::BTreeMap;

use manent_engine::Timestamp;
use manent_engine::report::{Batch, Pass, Report, RunStanding, Standing, StepLine, TargetLine};

use crate::clean;
use crate::clock::{self, span, stamp};
use crate::console::{Look, Paint};
use crate::words::{count, list};

/// Targets that are all listed; of more only those that differ.
const TARGETS_LISTED: usize = 24;
/// Batches of a pass that are all listed; of more only those in hand or failed.
const BATCHES_LISTED: usize = 8;
/// What stands for a release.
const NOT_KNOWN: &str = "(not known)";
const NO_RELEASE: &str = "(none)";
/// Remarks that are shown, the newest.
const NOTES_LISTED: usize = 5;

/// How a report is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sheet<'a> {
    /// What is shown.
    pub(crate) report: &'a Report,
    /// The time now: what is left of a wait counts from here.
    pub(crate) now: Timestamp,
    /// Colours.
    pub(crate) paint: Paint,
    /// A process is at work on the run.
    pub(crate) alive: bool,
    /// How the run ended, in one sentence.
    pub(crate) ending: Option<&'a str>,
    /// Members are drained; without a pool nothing can be said of traffic.
    pub(crate) pooled: bool,
    /// What has to stand behind every command, so that it finds this tree (` --root …`), or nothing.
    pub(crate) suffix: &'a str,
}

impl Sheet<'_> {
    /// Everything.
    pub(crate) fn full(self) -> Vec<String> {
        let mut lines = self.head();
        lines.push(String::new());
        lines.extend(self.steps());
        lines.extend(self.waits());
        lines.extend(self.targets());
        lines.extend(self.notes());
        lines.extend(self.next());
        lines
    }

    /// What changes while a run goes.
    pub(crate) fn live(self) -> Vec<String> {
        let mut lines = self.head();
        lines.extend(self.steps());
        lines.extend(self.waits());
        lines
    }

    fn head(self) -> Vec<String> {
        let report = self.report;
        let release = report.release.as_deref().unwrap_or("(no release)");
        let title = format!("{} to {}", clean::line(&report.environment), clean::line(release));
        let mut lines = vec![format!("{}  run {}", self.paint.with(Look::Bold, title), report.run)];
        let began = report.started_at.map(|at| at.0);
        let ended = matches!(
            report.state,
            RunStanding::Succeeded | RunStanding::RolledBack | RunStanding::Stopped | RunStanding::Failed
        );
        let times = match began {
            Some(began) if ended => {
                let took = span(report.recorded_at.0.since(began));
                format!("began {}, ended {}, took {took}", stamp(began), stamp(report.recorded_at.0))
            }
            Some(began) => format!(
                "began {} ({} ago), newest record {} ago",
                stamp(began),
                span(self.now.since(began)),
                span(self.now.since(report.recorded_at.0))
            ),
            None => String::from("not begun"),
        };
        let (look, words) = self.standing();
        match self.ending {
            Some(ending) => {
                lines.push(self.paint.with(look, ending));
                lines.push(times);
            }
            None => lines.push(format!("{}: {times}", self.paint.with(look, words))),
        }
        if self.ending.is_none()
            && let Some(cause) = &report.cause
        {
            lines.push(format!("{} {}", self.paint.with(Look::Red, "because"), clean::line(cause)));
        }
        if report.connections_cut > 0 {
            let cut = format!("{} connections were cut at the end of a drain", report.connections_cut);
            lines.push(self.paint.with(Look::Yellow, cut));
        }
        lines
    }

    fn standing(self) -> (Look, &'static str) {
        match self.report.state {
            RunStanding::Running => (Look::Green, "running"),
            RunStanding::Waiting => (Look::Yellow, "running, waiting"),
            RunStanding::Paused => (Look::Yellow, "paused"),
            RunStanding::RollingBack => (Look::Yellow, "rolling back"),
            RunStanding::Succeeded => (Look::Green, "succeeded"),
            RunStanding::RolledBack => (Look::Yellow, "rolled back"),
            RunStanding::Stopped => (Look::Red, "stopped"),
            RunStanding::Failed => (Look::Yellow, "failed"),
            RunStanding::Interrupted if self.alive => (Look::Yellow, "stopping after the calls in hand"),
            RunStanding::Interrupted => (Look::Red, "interrupted, no process is at work on it"),
        }
    }

    /// Nobody is at work on a run that has not ended.
    fn dead(self) -> bool {
        self.report.state == RunStanding::Interrupted && !self.alive
    }

    fn steps(self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .report
            .steps
            .iter()
            .filter(|step| step.id != "config")
            .map(|step| self.step("  ", step))
            .collect();
        for pass in &self.report.passes {
            lines.extend(self.pass(pass));
        }
        if !self.report.way_back.is_empty() {
            lines.push(format!("  left of the way back: {}", list(&self.report.way_back)));
        }
        lines
    }

    fn pass(self, pass: &Pass) -> Vec<String> {
        let through =
            |state: Standing| matches!(state, Standing::Done | Standing::Skipped | Standing::Undone);
        let done = pass.batches.iter().filter(|batch| through(batch.state)).count();
        let out = match pass.drained.len() {
            0 => String::new(),
            _ => format!("  out: {}", self.paint.with(Look::Yellow, list(&pass.drained))),
        };
        let head = format!("pass {}", clean::line(&pass.name));
        let mut lines = vec![format!(
            "  {} {head:<24} {done} of {}{out}",
            self.mark(pass.state),
            count(pass.batches.len(), "batch").replace("batchs", "batches"),
        )];
        let all = pass.batches.len() <= BATCHES_LISTED;
        for batch in &pass.batches {
            if all || matches!(batch.state, Standing::Active | Standing::Failed) {
                lines.extend(self.batch(batch));
            }
        }
        lines.extend(pass.gates.iter().map(|gate| self.step("    ", gate)));
        lines
    }

    fn batch(self, batch: &Batch) -> Vec<String> {
        let mut lines =
            vec![format!("    {} #{:<3} {}", self.mark(batch.state), batch.index, list(&batch.targets))];
        if matches!(batch.state, Standing::Active | Standing::Failed | Standing::Undone) {
            let begun = batch.steps.iter().filter(|step| step.state != Standing::Waiting);
            lines.extend(begun.map(|step| self.step("         ", step)));
        }
        lines
    }

    fn step(self, indent: &str, step: &StepLine) -> String {
        let attempt = match (step.state, step.attempt) {
            (Standing::Active, attempt @ 1..) => format!("  attempt {attempt}"),
            _ => String::new(),
        };
        // The reason why the run ended stands at the top already.
        let told =
            |why: &&String| self.report.cause.as_ref().is_some_and(|cause| cause.contains(why.as_str()));
        let why = step.why.as_ref().filter(|why| !told(why));
        let why = why.map(|why| format!("  {}", clean::line(why))).unwrap_or_default();
        format!("{indent}{} {}{attempt}{why}", self.mark(step.state), clean::line(&step.id))
    }

    fn mark(self, state: Standing) -> String {
        let (look, word) = match state {
            Standing::Waiting => (Look::Dim, "-      "),
            // Nobody is doing it any more.
            Standing::Active if self.dead() => (Look::Yellow, "begun  "),
            Standing::Active => (Look::Cyan, "doing  "),
            Standing::Done => (Look::Green, "done   "),
            Standing::Skipped => (Look::Dim, "skipped"),
            Standing::Failed => (Look::Red, "FAILED "),
            Standing::Undone => (Look::Yellow, "undone "),
        };
        self.paint.with(look, word)
    }

    fn waits(self) -> Vec<String> {
        let mut lines = Vec::new();
        let ended = matches!(
            self.report.state,
            RunStanding::Succeeded | RunStanding::RolledBack | RunStanding::Stopped | RunStanding::Failed
        );
        if ended {
            return lines;
        }
        if let Some(waiting) = &self.report.waiting {
            lines.push(String::new());
            let verb = if self.dead() { "was waiting for" } else { "waits for" };
            lines.push(format!("{verb} {}", clean::line(&waiting.what)));
            let limit = match waiting.until.map(|until| until.0) {
                Some(until) => format!("until {} at most ({})", clock::of_day(until), self.left(until)),
                None => String::from("without a limit"),
            };
            lines.push(format!(
                "  {}, since {}, {limit}",
                clean::line(&waiting.step),
                clock::of_day(waiting.since.0)
            ));
        }
        if let Some(blocked) = &self.report.blocked {
            lines.push(format!(
                "{}: {}",
                self.paint.with(Look::Yellow, format!("postponed, attempt {}", blocked.attempt)),
                clean::line(&blocked.reason)
            ));
            let next = blocked.next_attempt_at.0;
            lines.push(format!("  tried again at {} ({})", clock::of_day(next), self.left(next)));
        }
        lines
    }

    fn left(self, until: Timestamp) -> String {
        match until.since(self.now) {
            0 => String::from("due now"),
            left => format!("{} left", span(left.div_ceil(1_000) * 1_000)),
        }
    }

    fn targets(self) -> Vec<String> {
        let targets = &self.report.targets;
        let mut lines = vec![String::new()];
        let few = targets.len() <= TARGETS_LISTED;
        lines.push(format!("{}  {}", self.paint.with(Look::Bold, "targets"), self.releases()));
        let odd = |target: &&TargetLine| {
            !target.remarks.is_empty()
                || target.out_since.is_some()
                || !target.release_known
                || target.in_service == Some(false)
        };
        let shown: Vec<&TargetLine> = targets.iter().filter(|target| few || odd(target)).collect();
        let widest = shown.iter().map(|target| name(target).chars().count()).max().unwrap_or_default();
        let release = shown.iter().map(|target| release(target).chars().count()).max().unwrap_or_default();
        for target in shown.iter().take(100) {
            lines.push(self.target(target, widest, release));
        }
        if let Some(more) = shown.len().checked_sub(100).filter(|more| *more > 0) {
            lines.push(format!("  and {more} more: `--json` lists all"));
        }
        lines
    }

    fn target(self, target: &TargetLine, widest: usize, release_width: usize) -> String {
        let service = match (target.in_service, target.out_since) {
            (_, Some(since)) => {
                self.paint.with(Look::Yellow, format!("out since {}", clock::of_day(since.0)))
            }
            (Some(true), None) => String::from("in service"),
            (Some(false), None) => self.paint.with(Look::Yellow, "not in service"),
            (None, None) if !self.pooled => String::new(),
            (None, None) => self.paint.with(Look::Dim, "not seen in the load balancer"),
        };
        let remarks = match target.remarks.is_empty() {
            true => String::new(),
            false => format!("; {}", clean::line(&target.remarks.join("; "))),
        };
        let name = clean::line(&name(target));
        let release = release(target);
        format!("  {name:<widest$}  {release:<release_width$}  {service}{remarks}").trim_end().to_owned()
    }

    /// How many targets run what.
    fn releases(self) -> String {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for target in &self.report.targets {
            *counts.entry(release(target)).or_default() += 1;
        }
        let each = counts.iter().map(|(release, number)| match release.as_str() {
            NOT_KNOWN => format!("{number} with a release that is not known"),
            NO_RELEASE => format!("{number} without a release"),
            release => format!("{number} on {release}"),
        });
        each.collect::<Vec<_>>().join(", ")
    }

    fn notes(self) -> Vec<String> {
        let notes = &self.report.notes;
        if notes.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![String::new(), self.paint.with(Look::Bold, "remarks")];
        for note in notes.get(notes.len().saturating_sub(NOTES_LISTED)..).unwrap_or_default() {
            let step = note.step.as_ref().map(|step| format!("{}: ", clean::line(step))).unwrap_or_default();
            lines.push(format!("  {}  {step}{}", clock::of_day(note.at.0), clean::line(&note.text)));
        }
        lines
    }

    fn next(self) -> Vec<String> {
        if self.report.next.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![String::new(), self.paint.with(Look::Bold, "what you can do")];
        let commands: Vec<String> = self
            .report
            .next
            .iter()
            .map(|command| format!("{}{}", clean::line(command), self.suffix))
            .collect();
        let widest = commands.iter().map(|command| command.chars().count()).max().unwrap_or_default();
        for command in commands {
            let meaning = meaning(&command);
            let command = self.paint.with(Look::Cyan, format!("{command:<widest$}"));
            lines.push(format!("  {command}  {meaning}").trim_end().to_owned());
        }
        lines
    }
}

fn name(target: &TargetLine) -> String {
    let address = match target.port {
        Some(port) if target.host.contains(':') => format!("[{}]:{port}", target.host),
        Some(port) => format!("{}:{port}", target.host),
        None => target.host.clone(),
    };
    if target.member == target.host || target.member == address {
        address
    } else {
        format!("{address} ({})", target.member)
    }
}

fn release(target: &TargetLine) -> String {
    match (&target.release, target.release_known) {
        (Some(release), true) => clean::line(release),
        (None, true) => String::from(NO_RELEASE),
        (_, false) => String::from(NOT_KNOWN),
    }
}

/// What a command does, in a few words.
fn meaning(command: &str) -> &'static str {
    let has = |word: &str| command.split(' ').any(|part| part == word);
    match command.split(' ').nth(1).unwrap_or_default() {
        "status" if has("--watch") => "follow it",
        "status" => "see the run that came since",
        "resume" if has("--retry-failed") => "try the failed step again and go on",
        "resume" => "go on where it is",
        "pause" => "begin no new call until `continue`",
        "continue" => "end the pause",
        "cancel" if has("--rollback") => "return everything it changed to the release before",
        "cancel" => "stop after the call in hand, leave everything as it is",
        "approve" => "open the gate",
        "rollback" => "return to the release before, by a plan that is shown first",
        "doctor" => "see what is left out, and what mends it",
        "history" => "see all runs",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use manent_engine::report::{Facts, report};
    use manent_engine::{Blocked, Cause, Event, Outcome, RunState};
    use manent_plan::{Plan, fixtures};

    use super::*;

    const BEGAN: u64 = 1_796_087_000_000;

    /// A run of the first events that a step needs to be in hand.
    fn begun(plan: &Plan, step: &str) -> RunState {
        let mut state = RunState::new(plan);
        let mut at = Timestamp(BEGAN);
        state.apply(plan, at, &Event::Started { adopted: BTreeSet::new(), force: false });
        for found in (0_u32..).zip(&plan.steps) {
            at = at.plus(1_000);
            let (index, found) = found;
            state.apply(plan, at, &Event::Began { step: manent_plan::StepIx(index) });
            if plan.id_of(found) == step {
                break;
            }
            state.apply(plan, at, &Event::Ended { end: manent_engine::End::Done });
        }
        state
    }

    fn shown(plan: &Plan, state: &RunState, alive: bool) -> String {
        let now = state.newest.plus(2_000);
        let facts = Facts { run: "r20261201-0a1b2c3", alive, now };
        let report = report(&facts, plan, state);
        let ending = state.outcome().map(|outcome| crate::words::outcome(plan, outcome));
        let sheet = Sheet {
            report: &report,
            now,
            paint: Paint(false),
            alive,
            ending: ending.as_deref(),
            pooled: true,
            suffix: "",
        };
        sheet.full().join("\n")
    }

    #[test]
    fn a_postponed_drain_shows_arithmetic_and_the_next_attempt() {
        let plan = fixtures::four_targets();
        let mut state = begun(&plan, "drain@rest#0");
        let blocked = Blocked::Floor {
            have: 2,
            taken: 1,
            need: 2,
            healthy: vec!["w1".into(), "w2".into()],
            out: vec!["`w3` is maint/up on lb2".into(), "`w4` is down\u{1b}[31m on lb1".into()],
            batch: vec!["w2".into()],
        };
        let at = state.newest;
        state.apply(&plan, at, &Event::Postponed { attempt: 3, blocked, next: at.plus(5_000) });
        insta::assert_snapshot!(shown(&plan, &state, true));
    }

    #[test]
    fn a_dead_run_says_how_to_go_on() {
        let plan = fixtures::four_targets();
        insta::assert_snapshot!(shown(&plan, &begun(&plan, "drain-wait@canary#0"), false));
    }

    #[test]
    fn a_stopped_run_says_what_is_out() {
        let plan = fixtures::four_targets();
        let mut state = begun(&plan, "post-test@canary#0");
        let cause = Cause::new("post-test failed on w1: status 500");
        let at = state.newest.plus(60_000);
        let failed = manent_engine::End::Failed { cause: cause.clone(), effect: manent_engine::Effect::None };
        state.apply(&plan, at, &Event::Ended { end: failed });
        state.apply(&plan, at, &Event::Finished { outcome: Outcome::Stopped { cause } });
        insta::assert_snapshot!(shown(&plan, &state, false));
    }
}
