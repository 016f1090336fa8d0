//! One trial: runs in a world, in the runtime's order (append intents, commit, perform, append answers), killed at chosen
//! points and taken up again from the journal. It must not judge.

use std::collections::BTreeSet;

use manent_engine::{Answer, CallNo, Engine, Event, Facts, Outcome, Timestamp, Turn, report};
use manent_plan::{Plan, StepKind};

use crate::facts::{Ending, Happened};
use crate::sabotage::{Sabotage, Saboteur};
use crate::setup::Setup;
use crate::world::{Delivery, World};

/// How a trial goes, beside its world and its plan.
#[derive(Debug, Clone)]
pub struct Options {
    /// Points at which the process is killed, ascending. Points are counted over the whole trial.
    pub crashes: Vec<u64>,
    /// Virtual times from the beginning at which it is killed, ascending.
    pub kills: Vec<u64>,
    /// Until a killed process is started again, in ms.
    pub downtime_ms: u64,
    /// A run that stopped is taken up again after so many ms, so often as there are entries, with `retry_failed` or not.
    pub resumes: Vec<(u64, bool)>,
    /// A gate is opened so many ms after the run began to wait for it.
    pub approve_after_ms: u64,
    /// What a person asks for, with its time from the beginning (ascending), of the first run.
    pub requests: Vec<(u64, Event)>,
    /// Targets that are updated although they are current.
    pub force: bool,
    /// After a restart the clock shows this much less (never less than the journal's newest record).
    pub clock_back_ms: u64,
    /// After every commit, the fold of the journal is compared with the state.
    pub check_fold: bool,
    /// What is broken on purpose.
    pub sabotage: Sabotage,
    /// When the next run begins after the one before, for several runs in one world.
    pub stagger_ms: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            crashes: Vec::new(),
            kills: Vec::new(),
            downtime_ms: 5_000,
            resumes: Vec::new(),
            approve_after_ms: 10_000,
            requests: Vec::new(),
            force: false,
            clock_back_ms: 0,
            check_fold: false,
            sabotage: Sabotage::None,
            stagger_ms: 0,
        }
    }
}

/// What a trial left behind.
#[derive(Debug, Clone)]
pub struct Done {
    /// The world at the end, with all facts.
    pub world: World,
    /// One journal a run.
    pub journals: Vec<Vec<(Timestamp, Event)>>,
    /// How many points there were to be killed at.
    pub points: u64,
    /// Things that the loop itself found wrong: a fold that differs, a run that never rests or ends.
    pub broken: Vec<String>,
    /// How the runs ended; `None` for one that still waits.
    pub outcomes: Vec<Option<Outcome>>,
}

impl Done {
    /// The end, for comparison with another trial.
    #[must_use]
    pub fn ending(&self) -> Ending {
        let targets = (0..self.world.setup().targets).map(|target| {
            (self.world.in_service(target), self.world.release(target), self.world.executions(target))
        });
        Ending {
            outcomes: self.outcomes.iter().map(|outcome| name(outcome.as_ref()).to_owned()).collect(),
            targets: targets.collect(),
        }
    }
}

/// The name of an outcome.
#[must_use]
pub fn name(outcome: Option<&Outcome>) -> &'static str {
    match outcome {
        None => "waiting",
        Some(Outcome::Succeeded) => "succeeded",
        Some(Outcome::NothingToDo) => "nothing to do",
        Some(Outcome::Refused { .. }) => "refused",
        Some(Outcome::RolledBack { .. }) => "rolled back",
        Some(Outcome::Failed { .. }) => "failed",
        Some(Outcome::Stopped { .. }) => "stopped",
    }
}

/// Turns of one run before it is said never to end; a run of sixty targets takes a few thousand.
const TURNS: u64 = 200_000;
/// Virtual time before a run is said never to end: a week.
const WEEK_MS: u64 = 7 * 24 * 3_600_000;

/// A run with its processes, one after another.
struct Run<'p> {
    plan: &'p Plan,
    engine: Option<Engine<'p>>,
    journal: Vec<(Timestamp, Event)>,
    process: u32,
    wake: Option<u64>,
    restart: Option<(u64, bool)>,
    approve: Option<u64>,
    outcome: Option<Outcome>,
    behind: u64,
    resumes: std::vec::IntoIter<(u64, bool)>,
    saboteur: Saboteur,
    begins: u64,
}

struct Trial<'p, 'o> {
    world: World,
    runs: Vec<Run<'p>>,
    options: &'o Options,
    points: u64,
    turns: u64,
    broken: Vec<String>,
}

/// Runs plans in one world until all have ended, or wait for a person.
#[must_use]
pub fn run(plans: &[&Plan], setup: &Setup, options: &Options) -> Done {
    let world = World::new(setup.clone());
    let begin = world.now();
    let runs = (0_u64..).zip(plans).map(|(at, plan)| Run {
        plan,
        engine: None,
        journal: Vec::new(),
        process: 0,
        wake: None,
        restart: None,
        approve: None,
        outcome: None,
        behind: 0,
        resumes: options.resumes.clone().into_iter(),
        saboteur: Saboteur::new(options.sabotage),
        begins: begin + at * options.stagger_ms,
    });
    let mut trial = Trial { world, runs: runs.collect(), options, points: 0, turns: 0, broken: Vec::new() };
    trial.go(begin);
    trial.world.close_books();
    Done {
        points: trial.points,
        broken: trial.broken,
        outcomes: trial.runs.iter().map(|run| run.outcome.clone()).collect(),
        journals: trial.runs.into_iter().map(|run| run.journal).collect(),
        world: trial.world,
    }
}

impl Trial<'_, '_> {
    fn go(&mut self, begin: u64) {
        let mut requests = self.options.requests.clone().into_iter().peekable();
        let mut kills = self.options.kills.clone().into_iter().peekable();
        while !self.over() {
            self.turns += 1;
            if self.turns > TURNS || self.world.now() > begin + WEEK_MS {
                self.broken.push(format!("I10: no end after {} turns at {}ms", self.turns, self.world.now()));
                return;
            }
            let asked = requests.peek().map(|(at, _)| begin + at);
            let killed = kills.peek().map(|at| begin + at);
            let own = self.runs.iter().filter_map(Run::next).min();
            let Some(next) = [self.world.next(), own, asked, killed].into_iter().flatten().min() else {
                return;
            };
            self.world.sleep(next);
            if killed == Some(next) {
                kills.next();
                for at in 0..self.runs.len() {
                    self.crash(at);
                }
                continue;
            }
            let heard = self.hear(next);
            let request = if asked == Some(next) { requests.next().map(|(_, event)| event) } else { None };
            self.wake(next, heard, request);
        }
    }

    fn over(&self) -> bool {
        self.runs.iter().all(|run| run.outcome.is_some() && run.restart.is_none())
    }

    /// Everything that the world does at this time; the answers that arrive.
    fn hear(&mut self, now: u64) -> Vec<Delivery> {
        let mut heard = Vec::new();
        while self.world.next() == Some(now) {
            heard.extend(self.world.step());
        }
        heard
    }

    fn wake(&mut self, now: u64, heard: Vec<Delivery>, request: Option<Event>) {
        let mut request = request;
        for at in 0..self.runs.len() {
            let number = u32::try_from(at).unwrap_or(u32::MAX);
            let mine: Vec<&Delivery> = heard.iter().filter(|one| one.run == number).collect();
            self.wake_one(at, now, &mine, request.take().filter(|_| at == 0));
        }
    }

    fn wake_one(&mut self, at: usize, now: u64, heard: &[&Delivery], request: Option<Event>) {
        let Some(run) = self.runs.get_mut(at) else { return };
        if run.engine.is_none() {
            let due = run.restart.is_some_and(|(time, _)| time <= now)
                || (run.process == 0 && run.outcome.is_none() && run.begins <= now);
            if due {
                self.start(at, now);
            }
            return;
        }
        let mut events: Vec<Event> = Vec::new();
        let mut numbers: Vec<(u64, Answer)> = Vec::new();
        for one in heard.iter().filter(|one| one.process == run.process) {
            let answer = run.saboteur.answer(one.no, &one.answer, run.plan);
            numbers.push((one.no, one.answer.clone()));
            events.push(Event::Answered { no: CallNo(run.saboteur.own(one.no)), answer });
        }
        events.extend(request);
        if let Some(time) = run.approve.filter(|time| *time <= now) {
            let _ = time;
            run.approve = None;
            let step = run
                .engine
                .as_ref()
                .and_then(|engine| engine.state().active.as_ref())
                .map(|active| active.step);
            events.extend(step.map(|step| Event::Approved { step, by: String::from("somebody") }));
        }
        let due = run.wake.is_some_and(|wake| wake <= now);
        if events.is_empty() && !due {
            return;
        }
        // After the effect and before the answer is heard; or in the middle of a wait.
        if self.point() {
            return self.crash(at);
        }
        for (no, answer) in numbers {
            let run = u32::try_from(at).unwrap_or(u32::MAX);
            self.world.record(Happened::Answered { run, no, answer });
        }
        let Some(run) = self.runs.get_mut(at) else { return };
        let time = run.time(now);
        let Some(engine) = run.engine.as_mut() else { return };
        let turn = if events.is_empty() { engine.advance(time) } else { engine.take_all(time, events) };
        self.commit(at, now, turn);
    }

    /// The first process, or another one.
    fn start(&mut self, at: usize, now: u64) {
        let force = self.options.force;
        let (behind, number) = (self.options.clock_back_ms, u32::try_from(at).unwrap_or(u32::MAX));
        let Some(run) = self.runs.get_mut(at) else { return };
        run.process += 1;
        run.outcome = None;
        let first = match run.restart.take() {
            Some((_, retry_failed)) => {
                let newest = run.journal.last().map_or(0, |(time, _)| time.0);
                run.behind = behind.min(now.saturating_sub(newest));
                Event::Resumed { retry_failed }
            }
            None => Event::Started { adopted: BTreeSet::new(), force },
        };
        let resumed = matches!(first, Event::Resumed { .. });
        let time = run.time(now);
        let folded = run.saboteur.fold(&run.journal, time);
        let mut engine = Engine::fold(run.plan, folded.iter().map(|(time, event)| (*time, event)));
        let turn = engine.take(time, first);
        run.engine = Some(engine);
        if resumed {
            self.world.record(Happened::Resumed { run: number });
        }
        self.commit(at, now, turn);
    }

    /// One commit, then what follows from it.
    fn commit(&mut self, at: usize, now: u64, turn: Turn) {
        let number = u32::try_from(at).unwrap_or(u32::MAX);
        if !turn.records.is_empty() {
            if self.point() {
                return self.crash(at);
            }
            let Some(run) = self.runs.get_mut(at) else { return };
            let time = run.time(now);
            run.journal.extend(turn.records.into_iter().map(|event| (time, event)));
            if self.options.check_fold {
                self.check_fold(at);
            }
        }
        if !turn.perform.is_empty() && self.point() {
            return self.crash(at);
        }
        for (no, call) in turn.perform {
            let Some(run) = self.runs.get_mut(at) else { return };
            match run.saboteur.call(no.0, call, run.plan) {
                Ok((no, call)) => {
                    let process = run.process;
                    self.world.send(number, process, no, &call);
                }
                Err(answer) => {
                    let answer = Event::Answered { no, answer };
                    let time = run.time(now);
                    if let Some(engine) = run.engine.as_mut() {
                        let turn = engine.take(time, answer);
                        self.commit(at, now, turn);
                    }
                    continue;
                }
            }
            if self.point() {
                return self.crash(at);
            }
        }
        let approve = self.options.approve_after_ms;
        let Some(run) = self.runs.get_mut(at) else { return };
        run.wake = turn.wake.map(|wake| (wake.0 + run.behind).max(now));
        run.approve = run.waits_for_approval().then(|| run.approve.unwrap_or(now + approve));
        if let Some(outcome) = turn.outcome {
            self.end(at, now, outcome);
        }
    }

    fn end(&mut self, at: usize, now: u64, outcome: Outcome) {
        let number = u32::try_from(at).unwrap_or(u32::MAX);
        let Some(run) = self.runs.get_mut(at) else { return };
        let Some(engine) = run.engine.take() else { return };
        let facts = Facts { run: "run", alive: false, now: run.time(now) };
        let report = Box::new(report(&facts, run.plan, engine.state()));
        run.outcome = Some(outcome.clone());
        run.wake = None;
        run.approve = None;
        if matches!(outcome, Outcome::Stopped { .. })
            && let Some((after, retry)) = run.resumes.next()
        {
            run.restart = Some((now + after, retry));
        }
        let folded = Engine::fold(run.plan, run.journal.iter().map(|(time, event)| (*time, event)));
        if folded.state() != engine.state() && self.options.sabotage == Sabotage::None {
            self.broken.push(format!("fold: the journal of run {at} tells another state at its end"));
        }
        let truth = self.world.truth(number);
        self.world.record(Happened::Ended { run: number, outcome, report, truth });
    }

    fn crash(&mut self, at: usize) {
        let number = u32::try_from(at).unwrap_or(u32::MAX);
        let now = self.world.now();
        let downtime = self.options.downtime_ms;
        let Some(run) = self.runs.get_mut(at) else { return };
        if run.engine.take().is_none() {
            return;
        }
        run.wake = None;
        run.approve = None;
        run.restart = Some((now + downtime, false));
        let folded = Engine::fold(run.plan, run.journal.iter().map(|(time, event)| (*time, event)));
        if run.journal.is_empty() {
            // Nothing of the run was written: it begins anew.
            run.process = 0;
            run.restart = None;
            run.begins = now + downtime;
        }
        let facts = Facts { run: "run", alive: false, now: run.time(now) };
        let report = self.options.check_fold.then(|| Box::new(report(&facts, run.plan, folded.state())));
        let truth = if report.is_some() { self.world.truth(number) } else { Vec::new() };
        self.world.record(Happened::Crashed { run: number, report, truth });
        self.world.died(number);
    }

    /// A point at which the process may be killed.
    fn point(&mut self) -> bool {
        let point = self.points;
        self.points += 1;
        self.options.crashes.binary_search(&point).is_ok()
    }

    fn check_fold(&mut self, at: usize) {
        let Some(run) = self.runs.get(at) else { return };
        let Some(engine) = &run.engine else { return };
        let folded = Engine::fold(run.plan, run.journal.iter().map(|(time, event)| (*time, event)));
        // Calls of this turn that were cut short by a crash are in both.
        if folded.state() != engine.state() {
            let newest = run.journal.last().map(|(_, event)| format!("{event:?}")).unwrap_or_default();
            self.broken.push(format!("fold: the journal tells another state after {newest}"));
        }
    }
}

impl Run<'_> {
    fn next(&self) -> Option<u64> {
        if self.engine.is_some() {
            return [self.wake, self.approve].into_iter().flatten().min();
        }
        match self.restart {
            Some((at, _)) => Some(at),
            None if self.process == 0 && self.outcome.is_none() => Some(self.begins),
            None => None,
        }
    }

    /// The time as this process sees it.
    fn time(&self, now: u64) -> Timestamp {
        Timestamp(now.saturating_sub(self.behind))
    }

    fn waits_for_approval(&self) -> bool {
        let Some(engine) = &self.engine else { return false };
        let active = engine.state().active.as_ref();
        let step = active.and_then(|active| self.plan.steps.get(active.step.at()));
        step.is_some_and(|step| step.kind == StepKind::Approve)
    }
}
