//! Puts everything that was checked into one draft, which is then lowered, and adds the warnings that a reviewer should
//! see. It must not know how anything was checked.

use std::collections::BTreeMap;

use manent_grammar::{Duration, Quantity};
use manent_plan::{
    Artifact, Basis, Connection, Input, OnFailure, OnTimeout, Plan, Pool, Procedures, Rollout, Target,
    TargetIx, Warning, Wave,
};

use crate::check::Batching;
use crate::decode::{RawEnv, RawWave};
use crate::diagnostic::{Code, Diagnostic};
use crate::lower::Draft;

/// What the checks of an environment found out.
pub(crate) struct Checked {
    pub(crate) secrets: BTreeMap<String, String>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) connection_of: Vec<u32>,
    pub(crate) waves: Vec<Vec<TargetIx>>,
    pub(crate) batching: Batching,
    pub(crate) members: Vec<String>,
    pub(crate) pool: Option<Pool>,
}

/// Everything that a plan is made of, after nothing wrong was found.
pub(crate) struct Sound {
    pub(crate) environment: String,
    pub(crate) app: String,
    pub(crate) release: Option<String>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) env: RawEnv,
    pub(crate) checked: Checked,
    pub(crate) procedures: Procedures,
    pub(crate) artifact: Option<Artifact>,
}

/// The draft: a plan without steps, each wave one batch.
pub(crate) fn draft(sound: Sound) -> Draft {
    let Sound { environment, app, release, inputs, env, checked, procedures, artifact } = sound;
    let RawEnv { targets, rollout, .. } = env;
    let identities = checked.members.into_iter().zip(checked.connection_of);
    let targets = targets.into_iter().zip(identities).map(|(target, (member, connection))| Target {
        host: target.host.value,
        port: target.port,
        member,
        labels: target.labels,
        connection,
    });
    let order = rollout.order.map(|order| order.value);
    let waves = waves(rollout.waves, checked.waves, &checked.batching);
    let plan = Plan {
        environment,
        app,
        release,
        inputs,
        artifact,
        connections: checked.connections,
        targets: targets.collect(),
        pool: checked.pool,
        rollout: Rollout {
            max_unavailable: rollout.max_unavailable.map_or(Quantity::Count(1), |found| found.value),
            max_unavailable_count: checked.batching.count,
            order: order
                .as_ref()
                .map(|order| format!("{}label.{}", if order.descending { "-" } else { "" }, order.label)),
            on_failure: rollout.on_failure.map_or(OnFailure::Rollback, |found| found.value),
            min_ready_ms: rollout.min_ready.map_or(0, |found| found.value.millis()),
            parallelism: rollout.parallelism.map_or(32, |found| found.value),
            waves,
        },
        procedures,
        secrets: checked.secrets,
        steps: Vec::new(),
        edges: Vec::new(),
        warnings: Vec::new(),
        basis: Basis::default(),
    };
    Draft { plan, order }
}

/// The waves of the plan, each as one batch so far.
fn waves(raw: Option<Vec<RawWave>>, members: Vec<Vec<TargetIx>>, batching: &Batching) -> Vec<Wave> {
    let sizes = batching.of_waves.iter().copied();
    let Some(raw) = raw.filter(|raw| !raw.is_empty()) else {
        let all = members.into_iter().zip(sizes).map(|(members, size)| Wave {
            name: "all".to_owned(),
            select: None,
            max_unavailable: size,
            bake_ms: None,
            approval: false,
            batches: vec![members],
        });
        return all.collect();
    };
    let waves = raw.into_iter().zip(members).zip(sizes).map(|((wave, members), size)| Wave {
        name: wave.name.value,
        select: Some(wave.written),
        max_unavailable: size,
        bake_ms: wave.bake.map(|bake| bake.value.millis()).filter(|ms| *ms > 0),
        approval: wave.approval.is_some(),
        batches: vec![members],
    });
    waves.collect()
}

/// Warnings go into the plan, with what only a plan can say.
pub(crate) fn with_warnings(mut plan: Plan, diagnostics: &[Diagnostic]) -> Plan {
    let found = diagnostics.iter().map(|found| (found.code, found.message.clone()));
    let mut warnings: Vec<(Code, String)> = found.collect();
    if let Some(pool) = plan.pool.as_ref().filter(|pool| pool.on_timeout == OnTimeout::Proceed) {
        let timeout = Duration::from_millis(pool.drain_timeout_ms);
        if pool.capabilities.sees_connections {
            let message = format!(
                "connections that are left {timeout} after a drain are cut and counted (`on_timeout: proceed`)"
            );
            warnings.push((Code::DrainCutsConnections, message));
        }
    }
    let custom = plan.procedures.steps.iter().chain(&plan.procedures.activate);
    if let Some(pivot) = custom.into_iter().find(|custom| custom.undo.is_none())
        && plan.rollout.on_failure == OnFailure::Rollback
    {
        let message =
            format!("step `{}` has no `undo`: once it ran there is no way back past it", pivot.name);
        warnings.push((Code::StepWithoutUndo, message));
    }
    plan.warnings = warnings
        .into_iter()
        .map(|(code, message)| Warning { code: code.name().to_owned(), message })
        .collect();
    plan
}
