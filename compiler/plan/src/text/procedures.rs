//! What runs on a target: the recipe, the tests, the own steps, each once. It must not know batches.

use super::Detail;
use super::page::Page;
use super::words::{action, is_long, test};
use crate::model::{Action, Custom, Plan, Procedures};

pub(super) fn procedures(page: &mut Page, plan: &Plan, detail: Detail) {
    let procedures = &plan.procedures;
    let recipe = &procedures.deploy;
    page.section("ON EACH TARGET");
    page.line(2, &format!("deploy, recipe {}", recipe.name));
    actions(page, "apply", &recipe.apply, detail);
    actions(page, "undo", &recipe.undo, detail);
    actions(page, "current", &recipe.current, detail);
    actions(page, "retain", &recipe.retain, detail);
    page.line(2, "post-test");
    let mut key = "all of";
    for one in &procedures.post_test {
        page.line(4, &format!("{key:<10}{}", test(one)));
        if let Action::Sh { .. } = one.action {
            actions(page, "", std::slice::from_ref(&one.action), detail);
        }
        key = "";
    }
    if procedures.post_test.is_empty() {
        page.line(4, "none    ! nothing tests a target before it goes on");
    }
    for custom in &procedures.steps {
        own(page, &custom.name, custom, detail);
    }
    for custom in &procedures.activate {
        own(page, &format!("activate:{}", custom.name), custom, detail);
    }
    if detail == Detail::Review && has_long_scripts(plan) {
        page.line(2, "long scripts: `manent plan --wide` shows them whole");
    }
}

/// Whether a script is too long to be shown whole for a review.
fn has_long_scripts(plan: &Plan) -> bool {
    let Procedures { deploy, steps, activate, post_test } = &plan.procedures;
    let recipe = [&deploy.apply, &deploy.undo, &deploy.current, &deploy.retain].into_iter().flatten();
    let own =
        steps.iter().chain(activate).flat_map(|custom| custom.run.iter().chain(custom.undo.iter().flatten()));
    recipe.chain(own).chain(post_test.iter().map(|test| &test.action)).any(is_long)
}

fn own(page: &mut Page, name: &str, custom: &Custom, detail: Detail) {
    page.line(2, name);
    actions(page, "run", &custom.run, detail);
    match &custom.undo {
        Some(undo) => actions(page, "undo", undo, detail),
        None => page.line(4, "undo      none    ! PIVOT: once it has run there is no way back behind it"),
    }
}

fn actions(page: &mut Page, key: &str, list: &[Action], detail: Detail) {
    let mut key = key;
    for text in list.iter().flat_map(|one| action(one, detail)) {
        page.line(4, &format!("{key:<10}{text}"));
        key = "";
    }
    if list.is_empty() {
        page.line(4, &format!("{key:<10}nothing"));
    }
}
