//! A scenario: plans, a world, and how the trial goes; and the four from which every crash is tried. It must not judge by
//! itself: it asks the judge.

use manent_engine::Procedure;
use manent_plan::{OnFailure, Plan, fixtures};

use crate::judge::{Circumstances, Violation, judge};
use crate::setup::{Quality, Setup, What};
use crate::trial::{Done, Options, run};

/// Plans in a world.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// For people.
    pub name: String,
    /// One a run.
    pub plans: Vec<Plan>,
    /// The world.
    pub setup: Setup,
    /// How the trial goes.
    pub options: Options,
}

impl Scenario {
    /// One run of a plan in a world.
    #[must_use]
    pub fn new(name: &str, plan: Plan, setup: Setup) -> Scenario {
        Scenario { name: name.to_owned(), plans: vec![plan], setup, options: Options::default() }
    }

    /// Runs it.
    #[must_use]
    pub fn run(&self) -> Done {
        let plans: Vec<&Plan> = self.plans.iter().collect();
        run(&plans, &self.setup, &self.options)
    }

    /// Judges what a run of it left behind.
    #[must_use]
    pub fn judge(&self, done: &Done) -> Vec<Violation> {
        let plans: Vec<&Plan> = self.plans.iter().collect();
        let around = Circumstances {
            clock_set_back: self.options.clock_back_ms > 0,
            person_ms: self.person_ms(),
            force: self.options.force,
        };
        judge(&plans, done, around)
    }

    /// How long persons keep a run waiting.
    fn person_ms(&self) -> u64 {
        let gates =
            self.plans.iter().flat_map(|plan| &plan.rollout.waves).filter(|wave| wave.approval).count();
        let requests = self.options.requests.last().map_or(0, |(at, _)| *at);
        (gates as u64).saturating_mul(self.options.approve_after_ms).saturating_add(requests)
    }

    /// Runs it with other crashes.
    #[must_use]
    pub fn crashed(&self, crashes: &[u64]) -> Scenario {
        let options = Options { crashes: crashes.to_vec(), ..self.options.clone() };
        Scenario { options, ..self.clone() }
    }
}

/// The four scenarios of the crash matrix: clean, one broken target with the way back, one with a stop, a floor that
/// postpones.
#[must_use]
pub fn matrix() -> Vec<Scenario> {
    let three = || {
        fixtures::PlanBuilder::new()
            .wave("canary", 1, 1)
            .wave("rest", 2, 1)
            .floor(fixtures::Quantity::Count(2))
            .clocks(60_000, 60_000, 5_000)
    };
    let world = || Setup { targets: 3, sessions: 2, longest_ms: 4_000, ..Setup::default() };
    vec![
        Scenario::new("clean", three().on_failure(OnFailure::Stop).custom("warm", true).build(), world()),
        Scenario::new(
            "rollback",
            three().on_failure(OnFailure::Rollback).build(),
            world().with_quality(1, "r2", Quality::NeverUp),
        ),
        Scenario::new(
            "stop",
            three().on_failure(OnFailure::Stop).custom("warm", true).build(),
            world().at(
                0,
                What::Fail { procedure: Procedure::Custom(0), target: 1, stage: crate::setup::Stage::Early },
            ),
        ),
        Scenario::new(
            "postponed",
            three().on_failure(OnFailure::Rollback).build(),
            world().on_run(Procedure::PostTest, 0, 0, What::AppDown { member: 2, ms: 25_000 }),
        ),
    ]
}
