//! What `verify` accepts and refuses, one change to a sound plan a line. It must not know how a check works.

#![expect(clippy::expect_used, reason = "a test may fail")]

use manent_grammar::Quantity;
use manent_plan::fixtures::{PlanBuilder, base, four_targets};
use manent_plan::{Edge, EdgeKind, Plan, Reversal, StepIx, StepKind, TargetIx, verify};

#[track_caller]
fn sound(plan: &Plan) {
    assert_eq!(verify(plan), Ok(()));
}

/// Changes the plan that cases start from; one of the findings has to say `expected`.
#[track_caller]
fn refused(change: impl FnOnce(&mut Plan), expected: &str) {
    let mut plan = base().custom("warm", true).build();
    change(&mut plan);
    let found = verify(&plan).expect_err("the change is refused");
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|text| text.contains(expected)), "{texts:#?}\ndo not say: {expected}");
}

#[test]
fn what_the_builder_makes_is_sound() {
    sound(&four_targets());
    sound(&base().custom("warm", true).custom("pay", false).activate("jobs", true).build());
    sound(&base().bake("canary", 300_000).approval("canary").bake("rest", 1).build());
    sound(&PlanBuilder::new().without_pool().without_post_test().build());
    sound(&PlanBuilder::new().health_flag().floor(Quantity::Percent(100)).build());
    sound(&PlanBuilder::new().targets(1_000).batches(10).release(None).build());
    sound(&PlanBuilder::new().members(9).floor(Quantity::Percent(66)).build());
}

#[test]
fn the_graph_is_the_one_that_belongs_to_the_waves() {
    let edge = |kind, from, to| Edge { kind, from: StepIx(from), to: StepIx(to) };
    refused(|plan| plan.edges.push(edge(EdgeKind::Needs, 2, 4)), "steps wait for each other (needs): ");
    refused(|plan| plan.edges.push(edge(EdgeKind::Needs, 2, 99_999)), "leads to a step that is not there");
    refused(|plan| plan.edges.push(edge(EdgeKind::Compensates, 2, 4)), "does not join a compensation");
    refused(|plan| plan.edges.push(edge(EdgeKind::UndoOrder, 2, 4)), "joins a step that is no compensation");
    refused(|plan| plan.edges.push(plan.edges[0]), "is there twice");
    refused(
        |plan| {
            plan.edges.remove(0);
        },
        "edge 0 is missing",
    );
    refused(|plan| plan.steps[2].reversal = Reversal::Nothing, "neither a compensation nor a pivot mark");
    refused(
        |plan| plan.steps[2].reversal = Reversal::Pivot,
        "`drain@canary#0 (pivot)`, `drain@canary#0` belongs",
    );
    refused(|plan| plan.steps[3].reversal = Reversal::Pivot, "nothing to undo");
    refused(
        |plan| plan.steps[2].reversal = Reversal::By(StepIx(3)),
        "is not undone by the step that it names",
    );
    refused(|plan| plan.steps.swap(3, 4), "step 3 is `deploy@canary#0`, `drain-wait@canary#0` belongs there");
    refused(|plan| plan.steps[3].kind = StepKind::Drain, "is there twice");
    refused(|plan| plan.steps[6].kind = StepKind::Custom(7), "runs a procedure that is not there");
    refused(|plan| plan.steps[0].place = plan.steps[2].place, "cannot stand there");
    refused(|plan| plan.steps.truncate(3), "its batches need 8 or more");
    refused(|plan| plan.pool = None, "belongs there");
    refused(|plan| plan.procedures.steps[0].undo = None, "belongs there");
}

#[test]
fn batches_cover_each_target_once() {
    refused(|plan| plan.targets.clear(), "has no targets");
    refused(|plan| plan.rollout.waves[1].batches[0][0] = TargetIx(0), "`w1` is in 2 batches");
    refused(|plan| plan.rollout.waves[1].batches[0][0] = TargetIx(77), "holds target 77");
    refused(|plan| drop(plan.rollout.waves[1].batches.pop()), "`w4` is in 0 batches");
    refused(|plan| plan.rollout.waves[1].batches[0].clear(), "has 0 targets");
    refused(|plan| plan.rollout.waves[1].batches[0].push(TargetIx(3)), "has 2 targets, from 1 to 1");
    refused(|plan| plan.targets[1] = plan.targets[0].clone(), "two targets have the name `w1`");
    refused(|plan| plan.targets[1].member = "w1".into(), "two targets have the member `w1`");
    refused(|plan| plan.targets[1].connection = 5, "`w2` has no connection");
    refused(|plan| plan.rollout.waves[1].name = "canary".into(), "`canary` cannot be the name of a wave");
    refused(|plan| plan.rollout.waves[1].name = "a#b".into(), "`a#b` cannot be the name of a wave");
    refused(|plan| plan.procedures.steps[0].name = "drain".into(), "means something already");
}

#[test]
fn numbers_make_sense_together() {
    fn pool(plan: &mut Plan) -> &mut manent_plan::Pool {
        plan.pool.as_mut().unwrap()
    }
    refused(|plan| pool(plan).poll_interval_ms = 0, "poll_interval is 0s, more than 0s");
    refused(|plan| pool(plan).poll_interval_ms = 60_001, "at most drain_timeout, 1m, is allowed");
    refused(|plan| pool(plan).restore_timeout_ms = u64::MAX, "at most `87600h`");
    refused(|plan| pool(plan).floor.need = 1, "the floor is 1, 2 of 4 is 2");
    refused(|plan| pool(plan).floor.members = 3, "there are 4 targets");
    refused(
        |plan| (pool(plan).floor.wanted, pool(plan).floor.need) = (Quantity::Count(4), 4),
        "`canary` leaves 3 of 4",
    );
    refused(|plan| pool(plan).capabilities.sees_connections = false, "needs one");
    refused(|plan| plan.rollout.max_unavailable_count = 0, "maxUnavailable is 0");
    refused(|plan| plan.rollout.max_unavailable_count = 4, "maxUnavailable is 4, 1 of 4 is 1");
    refused(|plan| plan.rollout.parallelism = 0, "parallelism is 0");
    refused(|plan| plan.rollout.waves[1].approval = true, "the approval of wave `rest`");
    refused(|plan| plan.procedures.post_test[0].consecutive = 0, "consecutive of a post-test is 0");
    refused(|plan| plan.secrets.clear(), "secret `lb` is used by `credentials_secret` of the pool");
    refused(|plan| plan.inputs[0].sha256 = "../..".into(), "the digest of");
}

/// What becomes an argument or a path is as plain in a plan that somebody made up as in a compiled one.
#[test]
fn hosts_and_releases_are_plain() {
    for host in ["-oProxyCommand=id", "a b", "a\u{1b}[2J", "a/b", ""] {
        refused(|plan| plan.targets[0].host = host.into(), "cannot be the name of a host");
    }
    for release in ["-rf", "../x", ".x", "a b", "a\nb", "", "$(id)"] {
        refused(|plan| plan.release = Some(release.into()), "cannot be the name of a release");
    }
}

/// Ids are what journals and people know steps by.
#[test]
fn ids_are_unique() {
    let plan =
        base().custom("warm", true).activate("jobs", true).bake("canary", 1).approval("canary").build();
    let ids: std::collections::BTreeSet<String> = plan.steps.iter().map(|step| plan.id_of(step)).collect();
    assert_eq!(ids.len(), plan.steps.len());
}

/// The order of the way back, whole.
#[test]
fn the_way_back_is_the_way_in_reverse() {
    let plan = PlanBuilder::new()
        .targets(2)
        .custom("warm", true)
        .custom("pay", false)
        .activate("jobs", true)
        .build();
    let ids: Vec<String> = plan.steps.iter().map(|step| plan.id_of(step)).collect();
    insta::assert_snapshot!(ids.join("\n"));
    assert_eq!(verify(&plan), Ok(()));
}

/// Twice the batches, twice the steps and edges: no edge joins all with all.
#[test]
fn laying_out_is_linear() {
    let count = |targets| {
        let plan = PlanBuilder::new().targets(targets).build();
        (plan.steps.len(), plan.edges.len())
    };
    let ((steps, edges), (more_steps, more_edges)) = (count(5_000), count(10_000));
    assert!(more_steps > 90_000, "{more_steps}");
    assert_eq!((more_steps - 2, more_edges), ((steps - 2) * 2, edges * 2));
}
