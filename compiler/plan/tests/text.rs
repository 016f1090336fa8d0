//! The plan as people see it. It must not know how the text is made.

use manent_grammar::Quantity;
use manent_plan::fixtures::{PlanBuilder, base, four_targets};
use manent_plan::text::{Detail, summary, text};
use manent_plan::{Action, OnFailure, Plan};

macro_rules! shown {
    ($plan:expr) => {
        let plan: Plan = $plan;
        assert_eq!(manent_plan::verify(&plan), Ok(()));
        insta::assert_snapshot!(format!("{}\n----\n{}", text(&plan, Detail::Review), summary(&plan)));
    };
}

#[test]
fn four_targets_stop_on_failure() {
    shown!(four_targets());
}

#[test]
fn percents_show_their_arithmetic() {
    let plan = PlanBuilder::new()
        .wave("canary", 1, 1)
        .wave("rest", 3, 1)
        .port(8080)
        .artifact("dist/shop-r2.tar.gz")
        .floor(Quantity::Percent(66))
        .max_unavailable(Quantity::Percent(34))
        .bake("canary", 300_000)
        .approval("canary")
        .min_ready(10_000)
        .custom("warm", true)
        .activate("jobs", true)
        .warning("drain-cuts-connections", "connections left after 5m are cut: `on_timeout` is `proceed`")
        .with_pool(|pool| pool.drain_timeout_ms = 90_000);
    shown!(plan.build());
}

#[test]
fn a_pivot_says_where_the_way_back_ends() {
    shown!(PlanBuilder::new().targets(2).custom("migrate", false).activate("jobs", true).build());
}

#[test]
fn without_a_pool_nothing_is_drained() {
    shown!(PlanBuilder::new().targets(2).without_pool().without_post_test().build());
}

#[test]
fn a_weaker_promise_is_loud() {
    shown!(PlanBuilder::new().targets(2).health_flag().build());
}

#[test]
fn a_thousand_targets_fit_on_a_page() {
    let plan = PlanBuilder::new()
        .wave("canary", 5, 1)
        .wave("early", 99, 4)
        .wave("rest", 896, 10)
        .floor(Quantity::Percent(95))
        .max_unavailable(Quantity::Percent(1))
        .members(1_200);
    shown!(plan.build());
}

#[test]
fn without_a_release_the_plan_is_only_read() {
    shown!(
        PlanBuilder::new()
            .release(None)
            .artifact("dist/shop-{release}.tar.gz")
            .on_failure(OnFailure::Stop)
            .build()
    );
}

#[test]
fn long_scripts_are_cut_and_wide_shows_all() {
    let mut plan = base().build();
    let script = "set -eu\none\ntwo\nthree\nfour\nfive\nsix\n".to_owned();
    plan.procedures.deploy.apply.push(Action::Sh { script, env: Default::default(), timeout_ms: 1_000 });
    let cut = text(&plan, Detail::Review);
    assert!(cut.contains("a script of 7 lines, sha256 ") && cut.contains("`manent plan --wide`"), "{cut}");
    let wide = text(&plan, Detail::Wide);
    assert!(wide.contains("| six\n") && !wide.contains("--wide"), "{wide}");
}

/// Every target is in the wide text, whatever its size.
#[test]
fn wide_shows_every_target_and_batch() {
    let plan = PlanBuilder::new().targets(500).batches(5).build();
    let wide = text(&plan, Detail::Wide);
    assert!(wide.contains(", w250,") && wide.contains("batch 57: w286, w287, w288, w289, w290\n"), "{wide}");
}

/// Nothing in a plan file can move a cursor, forge a line, or turn the order of letters.
#[test]
fn hostile_text_is_made_harmless() {
    let mut plan = base().warning("x", "one\ntwo").build();
    plan.environment = "shop\u{1b}[2J\u{202e}prod\nPLAN other".into();
    plan.targets[0].host = "w1\r\n  forged".into();
    for shown in [text(&plan, Detail::Wide), summary(&plan)] {
        assert!(!shown.contains(['\u{1b}', '\u{202e}', '\r']), "{shown}");
        assert!(!shown.contains("\nPLAN other") && !shown.contains("\n  forged"), "{shown}");
        assert!(shown.contains("\\u{1b}[2J\\u{202e}prod\\nPLAN other"), "{shown}");
    }
}

#[test]
fn no_line_ends_with_blanks() {
    let shown = text(&base().build(), Detail::Review);
    assert!(shown.lines().all(|line| line == line.trim_end()));
}
