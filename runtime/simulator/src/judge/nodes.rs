//! Commands: I3b, I3c, I4a, I4c. Nothing twice, nothing blind, and the way back the exact reverse. It reads the book only.

use manent_engine::{Ledger, Procedure};

use super::Violation;
use super::book::{Begun, Book, Known, Target};

/// Whether a procedure has an effect.
pub(super) fn changes(procedure: Procedure) -> bool {
    !matches!(procedure, Procedure::Current | Procedure::PostTest)
}

/// What a procedure undoes.
fn undoes(procedure: Procedure) -> Option<Procedure> {
    match procedure {
        Procedure::Undo => Some(Procedure::Apply),
        Procedure::UndoCustom(at) => Some(Procedure::Custom(at)),
        Procedure::UndoActivate(at) => Some(Procedure::Activate(at)),
        Procedure::Apply
        | Procedure::Custom(_)
        | Procedure::Activate(_)
        | Procedure::Current
        | Procedure::PostTest => None,
    }
}

/// A command with an effect begins on a target.
pub(super) fn begin(book: &mut Target, procedure: Procedure) {
    // The undo of something is taken away when it is known to be done.
    if undoes(procedure).is_none() && book.stack.last() != Some(&Begun::Ran(procedure)) {
        book.stack.push(Begun::Ran(procedure));
    }
}

/// More is known of the newest command.
pub(super) fn know(book: &mut Target, procedure: Procedure, outcome: Known) {
    if let Some(last) = &mut book.last {
        last.outcome = outcome;
        if matches!(outcome, Known::Failed | Known::NotBegun) {
            book.failures.insert((procedure, last.no));
        }
    }
    match (outcome, undoes(procedure)) {
        (Known::Done, Some(undone)) => {
            if book.stack.last() == Some(&Begun::Ran(undone)) {
                book.stack.pop();
            }
        }
        (Known::NotBegun, None) => {
            if book.stack.last() == Some(&Begun::Ran(procedure)) {
                book.stack.pop();
            }
        }
        (Known::Done, None) | (Known::Nothing | Known::Failed, _) | (Known::NotBegun, Some(_)) => {}
    }
    // By number: an answer that a process did not live to record is given once more by the probe.
    if let (Known::Done, Some(last)) = (outcome, &book.last) {
        book.done.entry(procedure).or_default().insert(last.no);
    }
}

impl Book<'_> {
    pub(super) fn judge_run(
        &self,
        at: u64,
        no: u64,
        (procedure, target, release): (Procedure, u32, Option<&String>),
        found: &mut Vec<Violation>,
    ) {
        let Some(book) = self.target(target).filter(|_| changes(procedure)) else { return };
        let name = self.name(target);
        if let Some(last) = &book.last {
            let unknown = last.outcome == Known::Nothing;
            let repeatable = matches!(last.asked, Some(Ledger::Absent | Ledger::Partial));
            if unknown && !(repeatable && last.no == no) {
                let says = format!(
                    "{:?} of `{name}` is in doubt, and {procedure:?} is sent without an answer to that",
                    last.procedure
                );
                found.push(self.violation("I3c", at, Some(no), says));
            }
        }
        if let Some(undone) = undoes(procedure) {
            if book.stack.last() != Some(&Begun::Ran(undone)) {
                let says = format!("{procedure:?} of `{name}`, but what was begun there is {:?}", book.stack);
                found.push(self.violation("I4a", at, Some(no), says));
            }
            self.judge_order_of_return(at, no, target, found);
        }
        if procedure == Procedure::Undo && book.before.as_ref().map(Option::as_ref) != Some(release) {
            let says = format!("`{name}` returns to {release:?}, at the start it had {:?}", book.before);
            found.push(self.violation("I4c", at, Some(no), says));
        }
    }

    /// I4a: batches go back in reverse order.
    fn judge_order_of_return(&self, at: u64, no: u64, target: u32, found: &mut Vec<Violation>) {
        let batches: Vec<&Vec<manent_plan::TargetIx>> =
            self.plan.rollout.waves.iter().flat_map(|wave| &wave.batches).collect();
        let mine = batches.iter().position(|batch| batch.iter().any(|one| one.0 == target));
        let later = batches.iter().skip(mine.map_or(usize::MAX, |mine| mine.saturating_add(1)));
        let open = later.flat_map(|batch| batch.iter()).find(|one| {
            self.target(one.0).is_some_and(|book| {
                // A target without a release to return to is left out by the way back.
                let abandoned = book.before == Some(None);
                !abandoned && book.stack.iter().any(|begun| matches!(begun, Begun::Ran(_)))
            })
        });
        if let Some(open) = open {
            let says = format!(
                "`{}` goes back before `{}`, which was begun later",
                self.name(target),
                self.name(open.0)
            );
            found.push(self.violation("I4a", at, Some(no), says));
        }
    }

    /// I3b: an execution under a new number is one the run may make.
    pub(super) fn judge_execution(
        &mut self,
        at: u64,
        no: u64,
        procedure: Procedure,
        target: u32,
        found: &mut Vec<Violation>,
    ) {
        if !changes(procedure) {
            return;
        }
        let undone = undoes(procedure);
        let opposite = |other: &Procedure| undoes(*other) == Some(procedure) || undone == Some(*other);
        let Some(book) = self.targets.get_mut(target as usize) else { return };
        // It was taken for not begun by an answer that its process did not live to record.
        if undone.is_none() && !book.stack.contains(&Begun::Ran(procedure)) {
            begin(book, procedure);
        }
        // The other way was gone since: what was done before it counts no more.
        let before = book.executed.insert(procedure, no);
        book.executed.retain(|other, _| !opposite(other));
        let known = book.failures.contains(&(procedure, before.unwrap_or(0)));
        if let Some(before) = before
            && !known
        {
            let says = format!(
                "{procedure:?} ran on `{}` under {before} and again",
                self.plan.member(manent_plan::TargetIx(target))
            );
            found.push(self.violation("I3b", at, Some(no), says));
        }
    }
}
