//! Pictures of plans. It must not know how they are drawn.

use manent_plan::dot::dot;
use manent_plan::fixtures::{PlanBuilder, base};
use manent_plan::mermaid::mermaid;

#[test]
fn a_small_plan_for_graphviz() {
    insta::assert_snapshot!(dot(&PlanBuilder::new().targets(1).custom("migrate", false).build()));
}

#[test]
fn a_small_plan_for_mermaid() {
    insta::assert_snapshot!(mermaid(&base().bake("canary", 1_000).custom("warm", true).build()));
}

#[test]
fn hostile_names_stay_names() {
    let mut plan = base().build();
    plan.targets[0].host = "w1\"]; x -> y; \\\" <img src=x>\n#quot;\u{1b}".into();
    plan.environment = "a\\\"b\nc".into();
    let drawn = dot(&plan);
    assert!(drawn.contains(r#"drain@canary#0\nw1\"]; x -> y; \\\" <img src=x>\\n#quot;\\u{1b}"#), "{drawn}");
    assert!(drawn.contains(r#"label="a\\\"b\\nc: shop r2""#), "{drawn}");
    let drawn = mermaid(&plan);
    assert!(!drawn.contains("<img") && !drawn.contains("#quot;"), "{drawn}");
    assert!(drawn.contains("drain@canary#35;0<br/>w1#34;#93;#59; x -#62; y"), "{drawn}");
}

#[test]
fn many_targets_are_counted() {
    let drawn = dot(&PlanBuilder::new().targets(9).batches(9).build());
    assert!(drawn.contains("w1, w2, w3, w4, and 5 more"), "{drawn}");
}
