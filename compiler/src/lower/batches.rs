//! Cuts each wave into batches of at most `max_unavailable` targets.
//! It must not know the floor; that it can be kept was checked.

use manent_plan::TargetIx;

use super::Draft;

pub(super) fn batches(mut draft: Draft) -> Draft {
    for wave in &mut draft.plan.rollout.waves {
        let all: Vec<TargetIx> = wave.batches.drain(..).flatten().collect();
        let size = usize::try_from(wave.max_unavailable).unwrap_or(usize::MAX).max(1);
        wave.batches = all.chunks(size).map(<[TargetIx]>::to_vec).collect();
    }
    draft
}
