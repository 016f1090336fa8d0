//! How long a plan takes when every wait lasts as long as it may. It must not know how long anything takes in truth.

use crate::model::{Action, Custom, Plan, Procedures, Wave};

/// The longest time in milliseconds that a run forwards can take while nothing fails, approvals apart: every clock runs to
/// its end. Reads and connections are not counted, they are short.
#[must_use]
pub fn worst_case_ms(plan: &Plan) -> u64 {
    plan.rollout.waves.iter().map(|wave| wave_ms(plan, wave)).fold(0, u64::saturating_add)
}

/// The same for one wave, its bake included.
#[must_use]
pub fn wave_ms(plan: &Plan, wave: &Wave) -> u64 {
    let batches = wave.batches.iter().map(|batch| batch_ms(plan, batch.len())).fold(0, u64::saturating_add);
    batches.saturating_add(wave.bake_ms.unwrap_or(0))
}

/// The same for one batch of a size.
#[must_use]
pub fn batch_ms(plan: &Plan, size: usize) -> u64 {
    let pool = plan.pool.as_ref().map_or(0, |pool| {
        let connections = pool.capabilities.drain_delay_ms.filter(|_| !pool.capabilities.sees_connections);
        // To prove health while still out (where that can be seen), to put back, and to be healthy in service.
        let restores = if pool.capabilities.checks_while_out { 3 } else { 2 };
        let drains = [pool.drain_timeout_ms, connections.unwrap_or(pool.drain_timeout_ms)];
        let restore =
            pool.restore_timeout_ms.saturating_mul(restores).saturating_add(plan.rollout.min_ready_ms);
        drains.into_iter().fold(restore, u64::saturating_add)
    });
    // Tasks beyond the parallelism wait for a place.
    let turns = size.div_ceil(usize::try_from(plan.rollout.parallelism.max(1)).unwrap_or(1));
    let turns = u64::try_from(turns).unwrap_or(u64::MAX);
    pool.saturating_add(target_ms(&plan.procedures).saturating_mul(turns))
}

/// What one target may take: the recipe, the tests, all own steps.
fn target_ms(procedures: &Procedures) -> u64 {
    let own =
        |list: &[Custom]| list.iter().map(|custom| actions_ms(&custom.run)).fold(0, u64::saturating_add);
    let tests = procedures.post_test.iter().map(|test| test.within_ms).fold(0, u64::saturating_add);
    [actions_ms(&procedures.deploy.apply), tests, own(&procedures.steps), own(&procedures.activate)]
        .into_iter()
        .fold(0, u64::saturating_add)
}

fn actions_ms(actions: &[Action]) -> u64 {
    let each = actions.iter().map(|action| match action {
        Action::Run { timeout_ms, .. }
        | Action::Sh { timeout_ms, .. }
        | Action::Upload { timeout_ms, .. }
        | Action::Http { timeout_ms, .. } => *timeout_ms,
        Action::Wait { ms } => *ms,
    });
    each.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{PlanBuilder, base};

    #[test]
    fn every_clock_runs_to_its_end() {
        // Capacity and connections 1m each, the way back into service 3m, the command 10m, the test 1m.
        assert_eq!(batch_ms(&base().build(), 1), 16 * 60_000);
        assert_eq!(worst_case_ms(&base().bake("canary", 60_000).build()), (4 * 16 + 1) * 60_000);
        let wide = PlanBuilder::new().targets(33).batches(33).without_pool().build();
        assert_eq!(worst_case_ms(&wide), 2 * 11 * 60_000);
    }
}
