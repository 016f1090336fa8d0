//! Plan files that somebody made up, their digest included: refused or shown, never a panic. It must not know what is
//! checked.

use manent_plan::file::{read, write};
use manent_plan::fixtures::base;
use manent_plan::text::{Detail, summary, text};
use manent_plan::{Edge, EdgeKind, Place, Plan, Reversal, StepIx, StepKind, TargetIx, verify};
use proptest::prelude::*;

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![0_u32..40, Just(u32::MAX), Just(u32::MAX - 1)]
}

fn kind() -> impl Strategy<Value = StepKind> {
    prop_oneof![
        Just(StepKind::Config),
        Just(StepKind::Drain),
        Just(StepKind::Bake),
        Just(StepKind::Approve),
        Just(StepKind::UndoDrain),
        Just(StepKind::UndoRestore),
        number().prop_map(StepKind::Custom),
        number().prop_map(StepKind::Activate),
        number().prop_map(StepKind::UndoCustom),
    ]
}

fn edge() -> impl Strategy<Value = Edge> {
    let kind = prop_oneof![Just(EdgeKind::Needs), Just(EdgeKind::Compensates), Just(EdgeKind::UndoOrder)];
    (kind, number(), number()).prop_map(|(kind, from, to)| Edge { kind, from: StepIx(from), to: StepIx(to) })
}

/// One thing that is put out of its place.
#[derive(Debug, Clone)]
enum Change {
    Kind(u32, StepKind),
    Place(u32, Option<Place>),
    Reversal(u32, Reversal),
    Edge(u32, Edge),
    Batch(u32, Vec<u32>),
    Clocks(u64),
    Counts(u32),
    Name(String),
}

fn change() -> impl Strategy<Value = Change> {
    let place = proptest::option::of((number(), proptest::option::of(number())));
    let place = place.prop_map(|place| place.map(|(wave, batch)| Place { wave, batch }));
    let reversal = prop_oneof![
        Just(Reversal::Nothing),
        Just(Reversal::Pivot),
        number().prop_map(|at| Reversal::By(StepIx(at)))
    ];
    prop_oneof![
        (number(), kind()).prop_map(|(at, kind)| Change::Kind(at, kind)),
        (number(), place).prop_map(|(at, place)| Change::Place(at, place)),
        (number(), reversal).prop_map(|(at, reversal)| Change::Reversal(at, reversal)),
        (number(), edge()).prop_map(|(at, edge)| Change::Edge(at, edge)),
        (number(), proptest::collection::vec(number(), 0..4))
            .prop_map(|(at, batch)| Change::Batch(at, batch)),
        prop_oneof![Just(0), Just(u64::MAX)].prop_map(Change::Clocks),
        number().prop_map(Change::Counts),
        ".{0,12}".prop_map(Change::Name),
    ]
}

fn apply(plan: &mut Plan, change: Change) {
    fn some<T>(list: &mut [T], at: u32) -> Option<&mut T> {
        let at = at as usize % list.len().max(1);
        list.get_mut(at)
    }
    match change {
        Change::Kind(at, kind) => {
            some(&mut plan.steps, at).into_iter().for_each(|step| step.kind = kind.clone())
        }
        Change::Place(at, place) => some(&mut plan.steps, at).into_iter().for_each(|step| step.place = place),
        Change::Reversal(at, how) => {
            some(&mut plan.steps, at).into_iter().for_each(|step| step.reversal = how)
        }
        Change::Edge(at, edge) => some(&mut plan.edges, at).into_iter().for_each(|found| *found = edge),
        Change::Batch(at, batch) => {
            let batch: Vec<TargetIx> = batch.into_iter().map(TargetIx).collect();
            some(&mut plan.rollout.waves, at).into_iter().for_each(|wave| wave.batches.push(batch.clone()));
        }
        Change::Clocks(ms) => plan.pool.iter_mut().for_each(|pool| {
            (pool.drain_timeout_ms, pool.poll_interval_ms, pool.restore_timeout_ms) = (ms, ms, ms);
        }),
        Change::Counts(count) => {
            plan.rollout.parallelism = count;
            plan.pool.iter_mut().for_each(|pool| (pool.floor.need, pool.floor.members) = (count, count));
        }
        Change::Name(name) => {
            plan.rollout.waves.iter_mut().take(1).for_each(|wave| wave.name.clone_from(&name));
            plan.targets.iter_mut().take(1).for_each(|target| target.host.clone_from(&name));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn nothing_panics_and_only_sound_plans_are_read(changes in proptest::collection::vec(change(), 1..6)) {
        let mut plan = base().custom("warm", true).custom("pay", false).bake("canary", 1).build();
        changes.into_iter().for_each(|change| apply(&mut plan, change));
        for shown in [
            text(&plan, Detail::Review),
            text(&plan, Detail::Wide),
            summary(&plan),
            manent_plan::dot::dot(&plan),
            manent_plan::mermaid::mermaid(&plan),
        ] {
            prop_assert!(shown.chars().all(|c| c == '\n' || !c.is_control()));
        }
        // A file with a digest that fits: sound plans come back whole, all others are refused.
        match (verify(&plan), read(&write(&plan))) {
            (Ok(()), Ok(found)) => prop_assert_eq!(found, plan),
            (Err(_), Err(_)) => {}
            (sound, found) => prop_assert!(false, "{:?} and {:?}", sound, found.map(|_| "read")),
        }
    }

    #[test]
    fn bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(read(&bytes).is_err());
    }
}
