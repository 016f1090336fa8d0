//! Saved plans: written with what they are based on, read back, and refused when that has changed.
//! It must not know how plans are made or carried out.

use std::path::Path;

use manent_plan::{Basis, Plan, file};

use crate::clock::stamp;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::runs::Runs;

/// Whether an argument names a saved plan rather than an environment.
pub(crate) fn is_plan(named: &str) -> bool {
    let path = Path::new(named);
    let yaml = path.extension().is_some_and(|suffix| suffix == "yml" || suffix == "yaml");
    !yaml && path.is_file()
}

/// Reads a saved plan.
///
/// # Errors
/// It cannot be read, was changed, or has another format.
pub(crate) fn read(path: &str) -> Result<Plan, Fault> {
    let bytes = std::fs::read(path)
        .map_err(|error| Fault::error(format!("`{path}` cannot be read")).because(&error))?;
    file::read(&bytes).map_err(|error| {
        Fault::input(format!("`{path}` cannot be used as a plan"))
            .because(&error)
            .help("make it again with `manent plan ENV --release R --out FILE`")
    })
}

/// Writes a plan with the environment's last run as its basis.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write(plan: &mut Plan, runs: &Runs, path: &Path) -> Result<(), Fault> {
    let last = runs.of(&plan.environment)?.into_iter().next();
    plan.basis = Basis { last_run: last.map(|run| run.id.to_string()), recorded: true };
    std::fs::write(path, file::write(plan))
        .map_err(|error| Fault::error(format!("`{}` cannot be written", path.display())).because(&error))
}

/// Refuses a saved plan that was applied already, or that another run has overtaken.
///
/// # Errors
/// Exit code 5, with the run that is in the way.
pub(crate) fn fresh(plan: &Plan, runs: &Runs) -> Result<(), Fault> {
    if !plan.basis.recorded {
        return Ok(());
    }
    let again = || {
        let release = plan.release.as_deref().unwrap_or("R");
        format!("plan again: `manent plan {} --release {release} --out FILE`", plan.environment)
    };
    let all = runs.of(&plan.environment)?;
    let digest = plan.digest();
    for run in &all {
        if runs.plan_digest(&run.id)? == digest {
            return Err(Fault::new(
                Exit::Stale,
                format!("this plan was applied by run {} at {}", run.id, stamp(run.started_at)),
            )
            .help(again()));
        }
        if Some(run.id.as_str()) == plan.basis.last_run.as_deref() {
            break;
        }
    }
    let newest = all.first().map(|run| run.id.to_string());
    match (newest, &plan.basis.last_run) {
        (newest, based) if newest == *based => Ok(()),
        (Some(newest), based) => {
            let based = based.as_ref().map_or_else(|| String::from("no run"), |run| format!("run {run}"));
            Err(Fault::new(
                Exit::Stale,
                format!(
                    "this plan is stale: it was made after {based}, and another run, {newest}, came since"
                ),
            )
            .help(again()))
        }
        (None, based) => Err(Fault::new(
            Exit::Stale,
            format!(
                "this plan is stale: it was made after run {}, and no journal here knows that run",
                based.as_deref().unwrap_or("?")
            ),
        )
        .help(format!("use the state directory it was made with (`--state DIR`), or {}", again()))),
    }
}

/// The targets show what a lost journal cannot: a saved plan that finds its release everywhere was applied before, or
/// something else brought the release since.
pub(crate) fn overtaken(plan: &Plan) -> Fault {
    let release = plan.release.as_deref().unwrap_or("the release");
    Fault::new(
        Exit::Stale,
        format!("this plan is stale: every target runs {release} already, nothing was touched"),
    )
    .help("nothing is left to do; `--force` brings the release again")
}

/// What a plan does, whatever it was based on: two plans that do the same have the same digest.
pub(crate) fn meaning(plan: &Plan) -> String {
    let mut plan = plan.clone();
    plan.basis = Basis::default();
    plan.digest()
}
