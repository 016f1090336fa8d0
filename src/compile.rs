//! From an environment to its plan, for every verb that needs one: compiles, shows what was found, and ends the verb
//! when an error is among it. It must not know what the plan is for.

use manent_compiler::{
    Compiled, Diagnostic, Files, JsonFinding, Look, Options, Severity, compile, findings_to_json, render_all,
};
use manent_plan::Plan;
use manent_stdlib::{Availability, Stdlib};

use crate::cli::Context;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::project::{Chosen, Project};
use crate::words::count;

/// What comes with manent as data.
///
/// # Errors
/// The program is broken.
pub(crate) fn stdlib() -> Result<Stdlib, Fault> {
    Stdlib::builtin().map_err(|error| Fault::error("a file that is part of manent is broken").because(&error))
}

/// Compiles an environment.
///
/// # Errors
/// The program is broken; what is wrong with the documents stands in the answer.
pub(crate) fn compiled(
    project: &Project,
    chosen: &Chosen,
    release: Option<&str>,
    resolved: bool,
) -> Result<Compiled, Fault> {
    let options = Options {
        environment: chosen.environment.envconfig.clone(),
        descriptor: chosen.descriptor.clone(),
        release: release.map(str::to_owned),
        resolved,
    };
    Ok(compile(&project.sources(), &stdlib()?, &options))
}

/// The plan of an environment. Findings are shown on stderr, warnings too unless the plan itself is about to be shown.
///
/// # Errors
/// The documents are wrong: exit code 2, with everything that was found.
pub(crate) fn plan(
    context: &Context,
    project: &Project,
    chosen: &Chosen,
    release: Option<&str>,
) -> Result<Plan, Fault> {
    let compiled = compiled(project, chosen, release, false)?;
    match compiled.plan {
        Some(plan) => Ok(plan),
        None => Err(refused(context, &compiled.files, &compiled.diagnostics)),
    }
}

/// Shows findings on stderr and gives the fault that ends the verb.
pub(crate) fn refused(context: &Context, files: &Files, findings: &[Diagnostic]) -> Fault {
    let look = Look {
        width: context.console.width().min(120),
        colour: context.console.err_paint().0,
        unicode: true,
    };
    context.console.talk(&render_all(files, findings, look));
    context.console.talk(&summary(findings));
    let mut fault = Fault::new(Exit::Input, "the documents are wrong");
    fault.told = true;
    fault.diagnostics = findings_to_json(files, findings)
        .iter()
        .filter_map(|finding| serde_json::to_value(finding).ok())
        .collect();
    fault
}

/// `2 errors and 1 warning; `manent explain unknown-key` says more`, a line to copy.
pub(crate) fn summary(findings: &[Diagnostic]) -> String {
    let of = |severity| findings.iter().filter(|found| found.severity == severity).count();
    numbers(of(Severity::Error), of(Severity::Warning), findings.first().map(|found| found.code.name()))
}

/// The same of findings as data.
pub(crate) fn json_summary(findings: &[JsonFinding]) -> String {
    let of = |severity: &str| findings.iter().filter(|found| found.severity == severity).count();
    numbers(of("error"), of("warning"), findings.first().map(|found| found.code))
}

fn numbers(errors: usize, warnings: usize, first: Option<&str>) -> String {
    let text = match (errors, warnings) {
        (0, warnings) => count(warnings, "warning"),
        (errors, 0) => count(errors, "error"),
        (errors, warnings) => format!("{} and {}", count(errors, "error"), count(warnings, "warning")),
    };
    format!("{text}; `manent explain {}` says more", first.unwrap_or("CODE"))
}

/// Refuses a plan whose provider this version cannot execute, before anything is touched.
///
/// # Errors
/// With the provider, or the setting that asks for what is not there yet.
pub(crate) fn executable(plan: &Plan) -> Result<(), Fault> {
    let Some(pool) = &plan.pool else { return Ok(()) };
    let stdlib = stdlib()?;
    let Some(provider) = stdlib.provider(&pool.provider) else {
        return Err(Fault::input(format!(
            "this version of manent does not know the provider `{}`",
            pool.provider
        ))
        .help("make the plan again with this version"));
    };
    let Some(what) = provider.not_yet(&pool.settings) else { return Ok(()) };
    let now: Vec<&str> = stdlib
        .providers()
        .iter()
        .filter(|provider| provider.available == Availability::Now)
        .map(|provider| provider.name.as_str())
        .collect();
    Err(Fault::error(format!("{what} can be planned but not executed in this version; nothing was touched"))
        .help(format!("providers that are executed: {}; `manent plan` works with all", now.join(", "))))
}
