//! Members that earlier runs left out of the load balancer and that no later run has put back.
//! It knows what journals say, not what load balancers show.

use std::collections::{BTreeMap, BTreeSet};

use manent_engine::{Outcome, RunState};
use manent_plan::{Plan, TargetIx};

use crate::fault::Fault;
use crate::runs::Runs;

/// What is left out: the target's name, with the member and the run that left it.
pub(crate) type LeftOut = BTreeMap<String, Left>;

/// One member that is out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Left {
    /// Its name in the pool.
    pub(crate) member: String,
    /// The run that has it out: the newest that can be gone on with, since a run adopts what others left out.
    pub(crate) run: String,
}

/// Reads the journals of an environment, from the last run that put everything into service.
///
/// # Errors
/// A journal cannot be read.
pub(crate) fn left_out(runs: &Runs, environment: &str) -> Result<LeftOut, Fault> {
    let mut found = LeftOut::new();
    let mut since = Vec::new();
    for head in runs.of(environment)? {
        let loaded = runs.load(&head.id)?;
        let whole = matches!(loaded.state.outcome(), Some(Outcome::Succeeded));
        since.push(loaded);
        if whole {
            break;
        }
    }
    for loaded in since.iter().rev() {
        take(&mut found, loaded.head.id.as_str(), &loaded.plan, &loaded.state);
    }
    Ok(found)
}

/// A run starts with what was left out before it as its own, so what it does not have out is back in service.
fn take(found: &mut LeftOut, run: &str, plan: &Plan, state: &RunState) {
    if state.started.is_none() {
        return;
    }
    let mine = matches!(state.outcome(), None | Some(Outcome::Stopped { .. }));
    for (at, target) in (0_u32..).map(TargetIx).zip(&plan.targets) {
        let name = target.name();
        let out = state.target(at).is_some_and(|known| known.out.is_some());
        let left = Left { member: target.member.clone(), run: run.to_owned() };
        if out && mine {
            found.insert(name, left);
        } else if out {
            // It was out before and is so still: the run that took it out can go on with it.
            found.entry(name).or_insert(left);
        } else {
            found.remove(&name);
        }
    }
}

/// The targets of a plan among them.
pub(crate) fn adopted(plan: &Plan, left: &LeftOut) -> BTreeSet<TargetIx> {
    (0_u32..)
        .map(TargetIx)
        .zip(&plan.targets)
        .filter(|(_, target)| left.get(&target.name()).is_some_and(|left| left.member == target.member))
        .map(|(at, _)| at)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use manent_engine::{Call, CallNo, Cause, Change, Event, InstanceChange, Timestamp};
    use manent_plan::{StepIx, file, fixtures};
    use manent_runtime::journal::{Journal, NewRun, RunId, SqliteJournal};

    use super::*;
    use crate::project::Project;

    const W1: TargetIx = TargetIx(0);

    fn project(root: &Path) -> Project {
        Project { root: root.to_owned(), state: root.join(".manent") }
    }

    /// Writes a run that starts with `adopted`, drains `drained`, and ends.
    fn ran(project: &Project, at: u64, adopted: &[TargetIx], drained: &[TargetIx], outcome: Outcome) {
        let plan = fixtures::four_targets();
        let mut journal = SqliteJournal::open(&project.state).unwrap();
        let id = RunId::of(Timestamp(at), 1);
        let head = NewRun {
            id: id.clone(),
            environment: plan.environment.clone(),
            release: "r2".into(),
            started_at: Timestamp(at),
            by: "ann".into(),
            host: "h".into(),
            pid: 1,
        };
        journal.create(&head, &file::write(&plan)).unwrap();
        let drain = plan.find_step("drain@canary#0").unwrap_or(StepIx(0));
        let on = vec![InstanceChange { instance: 0, targets: drained.to_vec() }];
        let events = [
            Event::Started { adopted: adopted.iter().copied().collect(), force: false },
            Event::Began { step: drain },
            Event::Intended { no: CallNo(1), call: Call::Change { change: Change::Drain, on } },
            Event::Finished { outcome },
        ];
        journal.append_events(&id, Timestamp(at), &events).unwrap();
    }

    fn names(project: &Project) -> Vec<String> {
        let plan = fixtures::four_targets();
        let left = left_out(&Runs::open(project).unwrap(), &plan.environment).unwrap();
        assert_eq!(adopted(&plan, &left).len(), left.len());
        left.into_values().map(|left| left.member).collect()
    }

    #[test]
    fn what_a_stopped_run_has_out_is_left_out_until_a_run_ends_well() {
        let folder = tempfile::tempdir().unwrap();
        let project = project(folder.path());
        assert!(names(&project).is_empty());
        let day = 1_796_087_000_000;
        ran(&project, day, &[], &[W1], Outcome::Stopped { cause: Cause::new("x") });
        assert_eq!(names(&project), ["w1"]);
        // A run that began with it and was refused has it out still.
        ran(&project, day + 60_000, &[W1], &[], Outcome::Refused { cause: Cause::new("y") });
        assert_eq!(names(&project), ["w1"]);
        // It is the first that can be gone on with.
        let left = left_out(&Runs::open(&project).unwrap(), &fixtures::four_targets().environment).unwrap();
        assert!(left.into_values().all(|left| left.run == RunId::of(Timestamp(day), 1).to_string()));
        ran(&project, day + 120_000, &[], &[], Outcome::Succeeded);
        assert!(names(&project).is_empty());
    }
}
