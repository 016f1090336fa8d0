//! From the bytes of a plan file to a plan. Only shapes are checked here; whether it is sound, and whether nothing was
//! skipped, is asked afterwards. It must not know the digest.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::writing::PIVOT;
use super::{PlanFileError, kinds};
use crate::ids::StepIx;
use crate::model::{
    Artifact, Basis, Connection, Custom, Edge, EdgeKind, FORMAT, Input, Place, Plan, Pool, Procedures,
    Reversal, Rollout, Step, Target, Warning,
};

#[derive(Deserialize)]
struct Probe {
    format: Option<u64>,
}

/// Says what a file is that does not begin as a plan of ours does.
pub(super) fn format(bytes: &[u8]) -> Result<(), PlanFileError> {
    let probe: Probe =
        serde_json::from_slice(bytes).map_err(|error| PlanFileError::NotAPlan { why: error.to_string() })?;
    match probe.format {
        None => Err(PlanFileError::NotAPlan { why: "it has no `format`".into() }),
        Some(found) if found != u64::from(FORMAT) => Err(PlanFileError::OtherFormat { found }),
        Some(_) => Ok(()),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File<'f> {
    #[serde(rename = "format")]
    _format: u32,
    #[serde(rename = "digest")]
    _digest: IgnoredAny,
    environment: String,
    app: String,
    release: Option<String>,
    inputs: Vec<Input>,
    artifact: Option<Artifact>,
    connections: Vec<Connection>,
    targets: Vec<Target>,
    pool: Option<Pool>,
    rollout: Rollout,
    procedures: Procedures,
    secrets: BTreeMap<String, String>,
    #[serde(borrow)]
    steps: Vec<StepLine<'f>>,
    #[serde(borrow)]
    edges: Vec<EdgeLine<'f>>,
    warnings: Vec<Warning>,
    basis: Basis,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepLine<'f> {
    #[serde(borrow)]
    id: Cow<'f, str>,
    #[serde(borrow)]
    kind: Cow<'f, str>,
    #[serde(borrow)]
    procedure: Option<Cow<'f, str>>,
    #[serde(borrow)]
    pass: Option<Cow<'f, str>>,
    batch: Option<u32>,
    // For readers of the file; the batches of the rollout say the same.
    #[serde(rename = "targets")]
    _targets: IgnoredAny,
    #[serde(borrow)]
    undo: Option<Cow<'f, str>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EdgeLine<'f> {
    kind: EdgeKind,
    #[serde(borrow)]
    from: Cow<'f, str>,
    #[serde(borrow)]
    to: Cow<'f, str>,
}

/// Reads the whole file.
pub(super) fn plan(bytes: &[u8]) -> Result<Plan, PlanFileError> {
    let file: File<'_> = serde_json::from_slice(bytes).map_err(|error| foreign(error.to_string()))?;
    let lines = (0_u32..).zip(&file.steps);
    let ids: BTreeMap<&str, StepIx> = lines.map(|(at, step)| (step.id.as_ref(), StepIx(at))).collect();
    let waves = (0_u32..).zip(&file.rollout.waves).map(|(at, wave)| (wave.name.as_str(), at)).collect();
    let steps =
        file.steps.iter().map(|line| step(line, &ids, &waves, &file.procedures)).collect::<Result<_, _>>()?;
    let find = |id: &str| {
        ids.get(id).copied().ok_or_else(|| foreign(format!("an edge leads to `{id}`, no step has that id")))
    };
    let edge =
        |line: &EdgeLine<'_>| Ok(Edge { kind: line.kind, from: find(&line.from)?, to: find(&line.to)? });
    let edges = file.edges.iter().map(edge).collect::<Result<_, PlanFileError>>()?;
    Ok(Plan {
        environment: file.environment,
        app: file.app,
        release: file.release,
        inputs: file.inputs,
        artifact: file.artifact,
        connections: file.connections,
        targets: file.targets,
        pool: file.pool,
        rollout: file.rollout,
        procedures: file.procedures,
        secrets: file.secrets,
        steps,
        edges,
        warnings: file.warnings,
        basis: file.basis,
    })
}

fn foreign(why: String) -> PlanFileError {
    PlanFileError::Foreign { why }
}

fn step(
    line: &StepLine<'_>,
    ids: &BTreeMap<&str, StepIx>,
    waves: &BTreeMap<&str, u32>,
    procedures: &Procedures,
) -> Result<Step, PlanFileError> {
    let own = |list: &[Custom]| {
        let at = list.iter().position(|custom| Some(custom.name.as_str()) == line.procedure.as_deref())?;
        u32::try_from(at).ok()
    };
    let kind = kinds::kind(&line.kind, || own(&procedures.steps), || own(&procedures.activate))
        .ok_or_else(|| foreign(format!("step `{}` has a kind or a procedure that is not known", line.id)))?;
    let wave = |name: &str| {
        let wave = waves.get(name).copied();
        wave.ok_or_else(|| foreign(format!("step `{}` is in pass `{name}`, no wave has that name", line.id)))
    };
    let reversal = match line.undo.as_deref() {
        None => Reversal::Nothing,
        Some(PIVOT) => Reversal::Pivot,
        Some(id) => Reversal::By(ids.get(id).copied().ok_or_else(|| {
            foreign(format!("step `{}` is undone by `{id}`, no step has that id", line.id))
        })?),
    };
    let place = match &line.pass {
        Some(pass) => Some(Place { wave: wave(pass)?, batch: line.batch }),
        None => None,
    };
    Ok(Step { kind, place, reversal })
}
