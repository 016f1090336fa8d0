//! The judge: reads what was recorded of calls, answers and the true state of the world, and objects to every violation
//! of an invariant. It knows nothing of the engine but the shape of its calls; it must never look at a state of it.

mod book;
mod end;
mod nodes;
mod pool;
mod time;

use std::fmt;

use manent_plan::Plan;

use crate::facts::{Fact, Happened};
use crate::trial::Done;
use book::Book;

/// A broken invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Its number, as the list of invariants has it.
    pub invariant: &'static str,
    /// When, in virtual ms.
    pub at: u64,
    /// Of which run.
    pub run: u32,
    /// At which call, where it was one.
    pub call: Option<u64>,
    /// What was wrong.
    pub says: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}ms, run {}", self.invariant, self.at, self.run)?;
        if let Some(call) = self.call {
            write!(f, ", call {call}")?;
        }
        write!(f, ": {}", self.says)
    }
}

/// What the judge has to know of the circumstances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// Clocks were set back: a limit may begin anew at a resumption, and is never longer from there.
    pub clock_set_back: bool,
    /// Between the end of a wait for a person and its going on, at most.
    pub person_ms: u64,
    /// Targets are updated although they are current.
    pub force: bool,
}

/// All violations of a trial.
#[must_use]
pub fn judge(plans: &[&Plan], done: &Done, around: Circumstances) -> Vec<Violation> {
    let mut books: Vec<Book<'_>> =
        (0_u32..).zip(plans).map(|(run, plan)| Book::new(run, plan, done.world.setup(), around)).collect();
    let mut found = Vec::new();
    let mut outside = Outside { facts: done.world.facts(), seen: 0, alone: plans.len() == 1 };
    for (at, fact) in done.world.facts().iter().enumerate() {
        outside.seen = at;
        for book in &mut books {
            book.read(fact, &outside, &mut found);
        }
    }
    for (run, outcome) in (0_u32..).zip(&done.outcomes) {
        if outcome.is_none() {
            let says = String::from("the run neither ended nor has a next action");
            found.push(Violation { invariant: "I10", at: done.world.now(), run, call: None, says });
        }
    }
    for says in &done.broken {
        let invariant = if says.starts_with("I10") { "I10" } else { "fold" };
        found.push(Violation { invariant, at: done.world.now(), run: 0, call: None, says: says.clone() });
    }
    found
}

/// What came from outside, up to the fact that is being judged.
struct Outside<'f> {
    facts: &'f [Fact],
    seen: usize,
    alone: bool,
}

impl Outside<'_> {
    /// Whether anything befell the world after `since` that `concerns`; or another run did something to it.
    fn befell(&self, run: u32, since: u64, concerns: impl Fn(crate::setup::What) -> bool) -> bool {
        let past = self.facts.get(..=self.seen).unwrap_or_default();
        past.iter().rev().take_while(|fact| fact.at >= since).any(|fact| match &fact.what {
            Happened::Befell(what) | Happened::Passed(what) => concerns(*what),
            Happened::Effect { run: other, .. } => !self.alone && *other != run,
            _ => false,
        })
    }

    /// The faults up to now, for a second world without any run.
    fn faults(&self) -> impl Iterator<Item = (u64, crate::setup::What)> + '_ {
        let past = self.facts.get(..=self.seen).unwrap_or_default();
        past.iter().filter_map(|fact| match &fact.what {
            Happened::Befell(what) => Some((fact.at, *what)),
            _ => None,
        })
    }
}
