//! From a plan to the bytes of its file; ids and names are written while streaming, no tree of values is kept. It must
//! not know the digest.

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use super::kinds;
use super::layout::Lines;
use crate::ids::{StepIx, TargetIx};
use crate::model::{
    Artifact, Basis, Connection, EdgeKind, Input, Plan, Pool, Procedures, Reversal, Rollout, Target, Warning,
};

/// Everything after the digest.
pub(super) fn body(plan: &Plan) -> Vec<u8> {
    let ids: Vec<String> = plan.steps.iter().map(|step| plan.id_of(step)).collect();
    let targets: Vec<String> = plan.targets.iter().map(Target::name).collect();
    let names = Names { plan, ids: &ids, targets: &targets };
    let body = Body {
        environment: &plan.environment,
        app: &plan.app,
        release: plan.release.as_deref(),
        inputs: &plan.inputs,
        artifact: plan.artifact.as_ref(),
        connections: &plan.connections,
        targets: &plan.targets,
        pool: plan.pool.as_ref(),
        rollout: &plan.rollout,
        procedures: &plan.procedures,
        secrets: &plan.secrets,
        steps: Steps(&names),
        edges: Edges(&names),
        warnings: &plan.warnings,
        basis: &plan.basis,
    };
    let mut bytes = Vec::with_capacity(4096 + plan.steps.len() * 160 + plan.edges.len() * 96);
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Lines::default());
    // Cannot fail: memory takes every byte, and every map of a plan has text as keys.
    let _ = body.serialize(&mut serializer);
    bytes.push(b'\n');
    // The head has opened the object already.
    if let Some(first) = bytes.first_mut() {
        *first = b',';
    }
    bytes
}

struct Names<'p> {
    plan: &'p Plan,
    ids: &'p [String],
    targets: &'p [String],
}

impl Names<'_> {
    fn id(&self, step: StepIx) -> &str {
        self.ids.get(step.at()).map_or("?", String::as_str)
    }
}

#[derive(Serialize)]
struct Body<'p> {
    environment: &'p str,
    app: &'p str,
    release: Option<&'p str>,
    inputs: &'p [Input],
    artifact: Option<&'p Artifact>,
    connections: &'p [Connection],
    targets: &'p [Target],
    pool: Option<&'p Pool>,
    rollout: &'p Rollout,
    procedures: &'p Procedures,
    secrets: &'p std::collections::BTreeMap<String, String>,
    steps: Steps<'p>,
    edges: Edges<'p>,
    warnings: &'p [Warning],
    basis: &'p Basis,
}

#[derive(Serialize)]
struct StepLine<'p> {
    id: &'p str,
    kind: &'static str,
    procedure: Option<&'p str>,
    pass: Option<&'p str>,
    batch: Option<u32>,
    targets: TargetNames<'p>,
    undo: Option<&'p str>,
}

#[derive(Serialize)]
struct EdgeLine<'p> {
    kind: EdgeKind,
    from: &'p str,
    to: &'p str,
}

struct Steps<'p>(&'p Names<'p>);

impl Serialize for Steps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Names { plan, ids, targets } = *self.0;
        let mut lines = serializer.serialize_seq(Some(plan.steps.len()))?;
        for (step, id) in plan.steps.iter().zip(ids) {
            let (kind, procedure) = kinds::name(plan, &step.kind);
            let wave = step.place.and_then(|place| plan.rollout.waves.get(place.wave as usize));
            lines.serialize_element(&StepLine {
                id,
                kind,
                procedure,
                pass: wave.map(|wave| wave.name.as_str()),
                batch: step.place.and_then(|place| place.batch),
                targets: TargetNames { names: targets, of: step.place.map(|place| plan.batch(place)) },
                undo: match step.reversal {
                    Reversal::Nothing => None,
                    Reversal::By(by) => Some(self.0.id(by)),
                    Reversal::Pivot => Some(PIVOT),
                },
            })?;
        }
        lines.end()
    }
}

/// In place of the id of a compensation.
pub(super) const PIVOT: &str = "pivot";

struct Edges<'p>(&'p Names<'p>);

impl Serialize for Edges<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.plan.edges.iter().map(|edge| EdgeLine {
            kind: edge.kind,
            from: self.0.id(edge.from),
            to: self.0.id(edge.to),
        }))
    }
}

/// Names of some targets; of all of them for a step that stands in no wave.
struct TargetNames<'p> {
    names: &'p [String],
    of: Option<&'p [TargetIx]>,
}

impl Serialize for TargetNames<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.of {
            Some(some) => {
                let name = |at: &TargetIx| self.names.get(at.at()).map_or("?", String::as_str);
                serializer.collect_seq(some.iter().map(name))
            }
            None => serializer.collect_seq(self.names),
        }
    }
}
