//! Ends and reports: I3b as far as something was left out, I4a and I4b at the end, I11. It reads the book only.

use manent_engine::{Outcome, Procedure, Report};

use super::book::{Begun, Book, Known};
use super::{Outside, Violation};
use crate::facts::Truth;
use crate::setup::What;

impl Book<'_> {
    #[expect(clippy::too_many_arguments, reason = "a fact with all that surrounds it")]
    pub(super) fn judge_end(
        &mut self,
        at: u64,
        outcome: &Outcome,
        report: &Report,
        truth: &[Truth],
        outside: &Outside<'_>,
        found: &mut Vec<Violation>,
    ) {
        self.judge_limits(at, None, outside, found);
        self.judge_report(at, report, truth, outside, found);
        match outcome {
            Outcome::Succeeded => self.judge_success(at, found),
            Outcome::NothingToDo | Outcome::Refused { .. } => self.judge_untouched(at, found),
            Outcome::RolledBack { .. } | Outcome::Failed { .. } => {
                self.judge_return(at, truth, outside, found)
            }
            Outcome::Stopped { .. } => {}
        }
        self.judge_failed(at, outcome, truth, outside, found);
    }

    fn current(&self, target: usize) -> bool {
        let before = self.targets.get(target).and_then(|book| book.before.as_ref());
        !self.around.force && self.plan.release.is_some() && before == Some(&self.plan.release)
    }

    /// I3b: nothing was left out.
    fn judge_success(&self, at: u64, found: &mut Vec<Violation>) {
        let procedures = &self.plan.procedures;
        let customs = (0_u32..).zip(&procedures.steps).map(|(at, _)| Procedure::Custom(at));
        let activations = (0_u32..).zip(&procedures.activate).map(|(at, _)| Procedure::Activate(at));
        let wanted: Vec<Procedure> =
            [Procedure::Apply].into_iter().chain(customs).chain(activations).collect();
        for (target, book) in self.targets.iter().enumerate() {
            if self.current(target) {
                continue;
            }
            for procedure in &wanted {
                let times = book.done.get(procedure).map_or(0, |calls| calls.len());
                if times != 1 {
                    let says =
                        format!("succeeded, but {procedure:?} ended well {times} times on target {target}");
                    found.push(self.violation("I3b", at, None, says));
                }
            }
        }
    }

    fn judge_untouched(&self, at: u64, found: &mut Vec<Violation>) {
        let touched = self.targets.iter().any(|book| !book.stack.is_empty() || book.touched);
        if touched {
            found.push(self.violation(
                "I6b",
                at,
                None,
                String::from("refused or nothing to do, but something was touched"),
            ));
        }
    }

    /// I4a: nothing that was begun is left.
    fn judge_return(&self, at: u64, truth: &[Truth], outside: &Outside<'_>, found: &mut Vec<Violation>) {
        for ((target, book), truth) in (0_u32..).zip(&self.targets).zip(truth) {
            if !book.stack.is_empty() {
                let says = format!("went back, but on `{}` is left {:?}", self.name(target), book.stack);
                found.push(self.violation("I4a", at, None, says));
            }
            if truth.out && !self.outside_hand(target, outside) {
                let says = format!("went back, but `{}` is out by the run's hand", self.name(target));
                found.push(self.violation("I4a", at, None, says));
            }
        }
    }

    /// I4b: what failed, or nobody knows, stays out, and the outcome says that something is left.
    fn judge_failed(
        &self,
        at: u64,
        outcome: &Outcome,
        truth: &[Truth],
        outside: &Outside<'_>,
        found: &mut Vec<Violation>,
    ) {
        for ((target, book), truth) in (0_u32..).zip(&self.targets).zip(truth) {
            let Some(last) = &book.last else { continue };
            let left = book.stack.iter().any(|begun| matches!(begun, Begun::Ran(_)));
            let broken = matches!(last.outcome, Known::Nothing | Known::Failed) && left;
            // A failed activation comes after the member went back in service.
            let serving = matches!(last.procedure, Procedure::Activate(_) | Procedure::UndoActivate(_));
            if !broken {
                continue;
            }
            if truth.in_service && !serving && self.plan.pool.is_some() && !self.outside_hand(target, outside)
            {
                let says = format!(
                    "`{}` is in service although {:?} of it is {:?}",
                    self.name(target),
                    last.procedure,
                    last.outcome
                );
                found.push(self.violation("I4b", at, None, says));
            }
            if !matches!(outcome, Outcome::Stopped { .. }) {
                let says = format!("`{}` is left broken, but the outcome is {outcome:?}", self.name(target));
                found.push(self.violation("I4b", at, None, says));
            }
        }
    }

    /// Somebody else had a hand in it: what is true then is not the run's.
    fn outside_hand(&self, target: u32, outside: &Outside<'_>) -> bool {
        outside.befell(self.run, 0, |what| match what {
            What::Reload { .. } => true,
            What::HandDrain { member, .. } | What::HandRestore { member, .. } => member == target,
            What::Api { .. } => true,
            What::AppDown { .. }
            | What::PathDown { .. }
            | What::HostGone { .. }
            | What::Reboot { .. }
            | What::CutConnection { .. }
            | What::Fail { .. } => false,
        })
    }

    /// I11: status is true.
    pub(super) fn judge_report(
        &self,
        at: u64,
        report: &Report,
        truth: &[Truth],
        outside: &Outside<'_>,
        found: &mut Vec<Violation>,
    ) {
        for ((target, line), truth) in (0_u32..).zip(&report.targets).zip(truth) {
            if truth.out && line.out_since.is_none() && !self.outside_hand(target, outside) {
                let says = format!("`{}` is out by the run's hand, and status does not say so", line.member);
                found.push(self.violation("I11", at, None, says));
            }
            if line.in_service == Some(true)
                && !truth.in_service
                && !self.outside_hand(target, outside)
                && self.sees()
            {
                let says = format!("`{}` is not in service, and status says it is", line.member);
                found.push(self.violation("I11", at, None, says));
            }
            if line.release_known && line.release != truth.release && outside.alone {
                let says =
                    format!("`{}` has {:?}, and status says {:?}", line.member, truth.release, line.release);
                found.push(self.violation("I11", at, None, says));
            }
        }
    }
}
