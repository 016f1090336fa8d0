//! Walks a whole plan in a world where everything goes well, with the engine that decides real runs: every step, every
//! call that would be made, and how long its waits take at least. It performs nothing: no file, no connection, no secret.

use std::collections::{BTreeSet, VecDeque};

use manent_engine::{
    Admin, Answer, Call, CallNo, Change, Engine, Event, Health, InstanceAnswer, InstanceView, Ledger,
    Outcome, PoolView, Probed, Procedure, Ran, Seen, Timestamp,
};
use manent_plan::{Plan, StepIx, StepKind, TargetIx};
use serde::Serialize;

use crate::words;

/// Decisions after which a walk is given up; no plan needs as many, and a walk must end.
const LONGEST_WALK: usize = 10_000_000;

/// A walk over a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Walk {
    /// Steps in the order in which they ended.
    pub(crate) steps: Vec<Walked>,
    /// How it ended, in one word.
    pub(crate) outcome: &'static str,
    /// The shortest time that waits alone can take.
    pub(crate) waits_ms: u64,
}

/// One step of a walk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Walked {
    /// Its id.
    pub(crate) id: String,
    /// When it began, counting waits alone.
    pub(crate) at_ms: u64,
    /// Its targets.
    pub(crate) targets: Vec<String>,
    /// What would be done, in words.
    pub(crate) calls: Vec<String>,
}

/// Walks the plan. `None` when the engine comes to no end, which would be a fault of the program.
pub(crate) fn walk(plan: &Plan, force: bool) -> Option<Walk> {
    let mut engine = Engine::new(plan);
    let mut world = World::new(plan);
    let mut steps: Vec<Walked> = Vec::new();
    let mut left: VecDeque<(CallNo, Call)> = VecDeque::new();
    let mut now = Timestamp(0);
    let mut turn = engine.take(now, Event::Started { adopted: BTreeSet::new(), force });
    for _ in 0..LONGEST_WALK {
        for event in &turn.records {
            note(plan, &mut steps, now, event);
        }
        left.extend(turn.perform);
        if let Some(outcome) = turn.outcome {
            return Some(Walk { steps, outcome: word(&outcome), waits_ms: now.0 });
        }
        turn = if let Some((no, call)) = left.pop_front() {
            engine.take(now, Event::Answered { no, answer: world.answer(&call) })
        } else if let Some(wake) = turn.wake {
            now = wake.max(now);
            engine.advance(now)
        } else {
            let step = waiting_gate(plan, &steps)?;
            engine.take(now, Event::Approved { step, by: String::from("dry run") })
        };
    }
    None
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded | Outcome::NothingToDo => "succeeded",
        Outcome::Refused { .. } => "refused",
        Outcome::RolledBack { .. } => "rolled_back",
        Outcome::Failed { .. } => "failed",
        Outcome::Stopped { .. } => "stopped",
    }
}

/// The gate that the newest step is.
fn waiting_gate(plan: &Plan, steps: &[Walked]) -> Option<StepIx> {
    let step = plan.find_step(&steps.last()?.id)?;
    plan.steps.get(step.at()).filter(|found| found.kind == StepKind::Approve).map(|_| step)
}

fn note(plan: &Plan, steps: &mut Vec<Walked>, now: Timestamp, event: &Event) {
    match event {
        Event::Began { step } => steps.push(Walked {
            id: plan.step_id(*step),
            at_ms: now.0,
            targets: plan.targets_of(*step).iter().map(|at| plan.target_name(*at)).collect(),
            calls: own_words(plan, *step).into_iter().collect(),
        }),
        Event::Intended { call, .. } => {
            let text =
                words::call(plan, call).unwrap_or_else(|| String::from("read the pool on every instance"));
            if let Some(step) = steps.last_mut()
                && !step.calls.contains(&text)
            {
                step.calls.push(text);
            }
        }
        Event::Started { .. }
        | Event::Resumed { .. }
        | Event::Entered { .. }
        | Event::Detoured { .. }
        | Event::Answered { .. }
        | Event::Postponed { .. }
        | Event::Noted { .. }
        | Event::Cut { .. }
        | Event::Ended { .. }
        | Event::TurnedBack { .. }
        | Event::Paused { .. }
        | Event::Continued { .. }
        | Event::Cancelled { .. }
        | Event::Approved { .. }
        | Event::Interrupted
        | Event::Finished { .. } => {}
    }
}

/// What a step does that asks nothing of the world.
fn own_words(plan: &Plan, step: StepIx) -> Option<String> {
    let found = plan.steps.get(step.at())?;
    let wave = found.place.and_then(|place| plan.rollout.waves.get(place.wave as usize));
    match found.kind {
        StepKind::Bake => {
            Some(format!("wait {}", crate::clock::span(wave.and_then(|wave| wave.bake_ms).unwrap_or(0))))
        }
        StepKind::Approve => Some(String::from("wait for an approval")),
        StepKind::Config
        | StepKind::Preflight
        | StepKind::Drain
        | StepKind::DrainWait
        | StepKind::Deploy
        | StepKind::PostTest
        | StepKind::Custom(_)
        | StepKind::Restore
        | StepKind::RestoreWait
        | StepKind::Activate(_)
        | StepKind::UndoDrain
        | StepKind::UndoDeploy
        | StepKind::UndoCustom(_)
        | StepKind::UndoRestore
        | StepKind::UndoActivate(_) => None,
    }
}

/// A world in which every call succeeds at once.
struct World {
    total: u32,
    instances: usize,
    out: BTreeSet<TargetIx>,
}

impl World {
    fn new(plan: &Plan) -> World {
        let targets = u32::try_from(plan.targets.len()).unwrap_or(u32::MAX);
        World {
            total: plan.pool.as_ref().map_or(targets, |pool| pool.floor.members),
            instances: instances(plan),
            out: BTreeSet::new(),
        }
    }

    fn answer(&mut self, call: &Call) -> Answer {
        match call {
            Call::ReadPool { .. } => Answer::Pool(self.view()),
            Call::Change { change, on } => {
                for target in on.iter().flat_map(|one| &one.targets) {
                    match change {
                        Change::Drain | Change::Harden => self.out.insert(*target),
                        Change::Restore => self.out.remove(target),
                        Change::ForceDown => false,
                    };
                }
                Answer::Changed(vec![InstanceAnswer::Accepted; on.len()])
            }
            Call::Run { procedure: Procedure::Current, .. } => {
                // Whatever is there, it is another release: then every step has something to do.
                Answer::Ran(Ran::Done { output: Some(String::from("(the release that is there)")) })
            }
            Call::Run { .. } => Answer::Ran(Ran::Done { output: None }),
            Call::Probe { .. } => Answer::Probed(Probed { ledger: Ledger::Absent, release: None }),
        }
    }

    fn view(&self) -> PoolView {
        let out = || Seen {
            admin: Admin::Out,
            health: Health::Up,
            connections: Some(0),
            words: String::from("drain/up"),
        };
        let names = (0..self.instances).map(|at| format!("instance {}", at + 1));
        PoolView {
            total: self.total,
            instances: names.map(|name| InstanceView { name, identity: None, failure: None }).collect(),
            targets: self.out.iter().map(|at| (*at, vec![out(); self.instances])).collect(),
            others: std::collections::BTreeMap::new(),
            problems: Vec::new(),
        }
    }
}

/// How many load balancers the pool has, as far as its settings tell.
fn instances(plan: &Plan) -> usize {
    let urls = plan.pool.as_ref().and_then(|pool| pool.settings.get("dataplane_urls"));
    urls.map_or(1, |urls| urls.split(',').filter(|url| !url.trim().is_empty()).count().max(1))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use manent_compiler::{Options, compile};

    use super::*;
    use crate::sources::DiskSources;

    fn walked(tree: &str, environment: &str) -> Walk {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(tree);
        let options = Options { environment: environment.into(), ..Options::default() };
        let compiled = compile(&DiskSources::new(&root), &crate::compile::stdlib().unwrap(), &options);
        assert!(compiled.diagnostics.is_empty(), "{:?}", compiled.diagnostics);
        walk(&compiled.plan.unwrap(), false).expect("the walk ends")
    }

    #[test]
    fn every_example_comes_to_a_good_end() {
        for (tree, environment) in [
            ("haproxy", "shop/shop/prod"),
            ("health-flag", "shop/api/prod"),
            ("local", "example/hello/local"),
        ] {
            assert_eq!(walked(tree, environment).outcome, "succeeded", "{tree}");
        }
    }

    #[test]
    fn waits_are_counted() {
        let walk = walked("haproxy", "shop/shop/prod");
        let bake = walk.steps.iter().find(|step| step.id == "bake@canary").unwrap();
        assert_eq!(bake.calls, ["wait 5m"]);
        assert!(walk.waits_ms >= 300_000 + 4 * 5_000, "{}", walk.waits_ms);
    }
}
