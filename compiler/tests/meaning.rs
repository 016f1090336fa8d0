//! What documents mean: the tables of the field cases, and properties of compiling. The texts of findings are in
//! `tests/suite/reject`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may end where it stands"
)]

mod support;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use manent_compiler::{Code, Compiled, MemorySources, Options, Severity, compile, findings_to_json};
use manent_plan::{Action, Connection, EdgeKind, Plan, StepKind};
use manent_stdlib::Stdlib;
use proptest::prelude::*;
use support::{base_descriptor, base_env, compile_prod, compile_texts, sources, with};

#[track_caller]
fn plan(env: &str, descriptor: &str) -> Plan {
    let compiled = compile_texts(env, descriptor);
    let messages: Vec<_> = compiled.diagnostics.iter().map(|found| &found.message).collect();
    compiled.plan.unwrap_or_else(|| panic!("no plan: {messages:#?}"))
}

fn codes(compiled: &Compiled) -> Vec<Code> {
    let errors = compiled.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    errors.map(|found| found.code).collect()
}

/// An environment of some targets in one wave.
fn fleet(targets: usize, max_unavailable: &str, min_healthy: &str) -> String {
    let mut text = String::from("targets:\n");
    for at in 0..targets {
        let _ =
            writeln!(text, "  - {{host: w{at}, port: 8080, labels: {{zone: z{}, rank: \"{at}\"}}}}", at % 3);
    }
    let _ = write!(
        text,
        "rollout:\n  maxUnavailable: {max_unavailable}\n  waves:\n    - {{name: rest, select: zone}}\n\
         traffic:\n  pool:\n    provider: haproxy\n    min_healthy: {min_healthy}\n    settings:\n      \
         {{dataplane_urls: \"https://lb1\", backend: shop, credentials_secret: lb}}\n\
         secrets: [{{name: lb, ref: \"env:LB\"}}]\n"
    );
    text
}

/// O-07: what must stay is rounded up.
#[test]
fn min_healthy_rounds_up() {
    let cases = [
        (1, "66%", 1),
        (3, "66%", 2),
        (4, "66%", 3),
        (5, "66%", 4),
        (10, "66%", 7),
        (100, "7%", 7),
        (25, "28%", 7),
    ];
    for (members, wanted, need) in cases {
        let env = with(
            &base_env(),
            "min_healthy: \"2\"",
            &format!("min_healthy: \"{wanted}\"\n    members: {}", members.max(4)),
        );
        // With as many members as targets or more the number can be read from the plan; the rest is the floor's own sum.
        let found = plan(&env, &base_descriptor()).pool.unwrap().floor;
        if members >= 4 {
            assert_eq!((found.members, found.need), (members, need), "{wanted} of {members}");
        }
        let quantity = manent_grammar::Quantity::parse(wanted).unwrap();
        assert_eq!(quantity.round_up(members), need, "{wanted} of {members}");
    }
}

/// O-07: what may be missing is rounded down.
#[test]
fn max_unavailable_rounds_down() {
    let cases = [
        (4, "25%", 1),
        (5, "25%", 1),
        (10, "25%", 2),
        (6, "34%", 2),
        (100, "29%", 29),
        (100, "57%", 57),
        (50, "58%", 29),
    ];
    for (targets, wanted, batch) in cases {
        let plan = plan(&fleet(targets, &format!("\"{wanted}\""), "1"), &base_descriptor());
        assert_eq!(plan.rollout.max_unavailable_count, batch, "{wanted} of {targets}");
        assert_eq!(plan.rollout.waves[0].batches[0].len(), batch as usize, "{wanted} of {targets}");
    }
}

/// O-07: what is no quantity is refused, with its place; a number needs no quotes.
#[test]
fn a_quantity_is_a_whole_number_or_percentage() {
    for text in [
        "\"101%\"",
        "\"-1\"",
        "\"66 %\"",
        "\"66.6%\"",
        "\"0x2\"",
        "\"1e1\"",
        "\"\"",
        "\"%\"",
        "\"two\"",
        "66.6",
        "0x2",
    ] {
        let env = with(&base_env(), "min_healthy: \"2\"", &format!("min_healthy: {text}"));
        let compiled = compile_texts(&env, &base_descriptor());
        let found = findings_to_json(&compiled.files, &compiled.diagnostics);
        assert_eq!(found.len(), 1, "{text}: {found:#?}");
        assert_eq!((found[0].code, found[0].line), ("bad-quantity", Some(19)), "{text}");
        assert!(found[0].column.unwrap() >= 18, "{text}: {found:#?}");
    }
    let env = with(&base_env(), "min_healthy: \"2\"", "min_healthy: 2");
    assert_eq!(plan(&env, &base_descriptor()).pool.unwrap().floor.need, 2);
}

/// O-20: durations have a unit, and mean what people mean.
#[test]
fn durations_are_read_exactly() {
    for (text, ms) in [("5m", 300_000), ("90s", 90_000), ("1h30m", 5_400_000), ("500ms", 500)] {
        let env = with(&base_env(), "drain_timeout: 60s", &format!("drain_timeout: {text}"));
        let env = with(&env, "poll_interval: 5s", "poll_interval: 500ms");
        assert_eq!(plan(&env, &base_descriptor()).pool.unwrap().drain_timeout_ms, ms, "{text}");
    }
    for text in
        ["5", "5M", "5min", "5 m", "30s1m", "5m5m", "1d", "2w", "-5s", "1.5m", "\"\"", "99999999999h", "0s"]
    {
        let env = with(&base_env(), "drain_timeout: 60s", &format!("drain_timeout: {text}"));
        let compiled = compile_texts(&env, &base_descriptor());
        let found = findings_to_json(&compiled.files, &compiled.diagnostics);
        assert_eq!(found.len(), 1, "{text}: {found:#?}");
        assert_eq!((found[0].code, found[0].line), ("bad-duration", Some(16)), "{text}");
    }
    let zero = with(&base_env(), "onFailure: stop", "onFailure: stop\n  minReady: 0s");
    let zero = with(&zero, "select: \"canary=true\"", "select: \"canary=true\", bake: 0s");
    let plan = plan(&zero, &base_descriptor());
    assert_eq!(plan.rollout.min_ready_ms, 0);
    assert!(plan.steps.iter().all(|step| step.kind != StepKind::Bake), "a bake of no time is no step");
}

/// O-18: labels are the text that stands in the file.
#[test]
fn labels_are_never_interpreted() {
    let env = with(
        &base_env(),
        "w1, port: 8080, labels: {canary: \"true\"}",
        "w1, port: 8080, labels: {canary: true, a: NO, b: yes, c: 1.10, d: 012, e: 2026-12-01, f: '~'}",
    );
    let plan = plan(&env, &base_descriptor());
    let labels: Vec<&str> = plan.targets[0].labels.values().map(String::as_str).collect();
    assert_eq!(labels, ["NO", "yes", "1.10", "true", "012", "2026-12-01", "~"]);
}

/// O-19: also as the second file of two, and one finding for each place.
#[test]
fn a_key_twice_is_refused_in_both_documents() {
    let env = with(&base_env(), "secrets:", "secrets: []\n\"secrets\":");
    let descriptor = with(&base_descriptor(), "app: shop", "app: shop\napp: shop");
    let compiled = compile_texts(&env, &descriptor);
    assert_eq!(codes(&compiled), [Code::DuplicateKey, Code::DuplicateKey]);
    let found = findings_to_json(&compiled.files, &compiled.diagnostics);
    assert_eq!(found[0].path.as_deref(), Some("envconfig/shop/shop/prod.yml"));
    assert_eq!((found[0].related.len(), found[1].related.len()), (1, 1), "both places are named");
}

#[test]
fn one_wrong_document_does_not_hide_the_other() {
    let compiled = compile_texts("targets: [", &with(&base_descriptor(), "deploy:", "depoly:"));
    assert_eq!(codes(&compiled), [Code::YamlSyntax, Code::UnknownKey]);
}

#[test]
fn a_descriptor_is_looked_at_without_its_environment() {
    let descriptor = with(&base_descriptor(), "keep: \"5\"", "kep: \"5\"");
    let descriptor = with(&descriptor, "{host}", "{var.unknown}");
    let compiled = compile_texts("[", &descriptor);
    assert_eq!(
        codes(&compiled),
        [Code::YamlSyntax, Code::UnknownParameter],
        "variables are not known to be missing"
    );
    let missing = MemorySources::new().with("descriptors/shop.yml", base_descriptor());
    let compiled = compile_prod(&missing, None);
    let found = findings_to_json(&compiled.files, &compiled.diagnostics);
    assert_eq!(
        found[0].path.as_deref(),
        Some("envconfig/shop/shop/prod.yml"),
        "also where no line can be shown"
    );
}

#[test]
fn an_instance_counts_once() {
    let env = with(&base_env(), "https://lb2.test:5555", "https://LB1.test:5555/");
    assert_eq!(codes(&compile_texts(&env, &base_descriptor())), [Code::BadSetting]);
}

#[test]
fn free_keys_are_free_everywhere() {
    let env = with(&base_env(), "targets:", "x-note: {a: [1]}\ntargets:");
    let env = with(&env, "      backend: shop", "      x-team: web\n      backend: shop");
    let descriptor =
        with(&base_descriptor(), "  recipe: release-dir", "  x-why: because\n  recipe: release-dir");
    assert_eq!(plan(&env, &descriptor).steps, plan(&base_env(), &base_descriptor()).steps);
}

#[test]
fn variables_are_filled_in_and_are_text() {
    let env = with(&base_env(), "targets:", "vars: {root: \"/srv/{a}\"}\ntargets:");
    let descriptor = with(&base_descriptor(), "root: /srv/shop", "root: \"{var.root}/shop\"");
    let plan = plan(&env, &descriptor);
    let Action::Sh { env, .. } = &plan.procedures.deploy.apply[0] else { panic!("not a script") };
    assert_eq!(env["ROOT"].as_literal(), Some("/srv/{a}/shop"), "braces of a value are braces");
}

#[test]
fn the_undo_of_a_command_is_the_command() {
    let descriptor = "app: shop\ndeploy:\n  recipe: command\n  with:\n    run: [bin/release, \"{release}\"]\n    current: [bin/current]\n";
    let plan = plan(&base_env(), descriptor);
    assert_eq!(plan.procedures.deploy.undo, plan.procedures.deploy.apply);
    let from = with(descriptor, "\"{release}\"", "\"{from}\"");
    assert_eq!(
        codes(&compile_texts(&base_env(), &from)),
        [Code::BadTemplate],
        "forward there is nothing to leave"
    );
    let undo =
        with(descriptor, "    current", "    undo: [bin/back, \"{release}\", \"{from}\"]\n    current");
    assert!(compile_texts(&base_env(), &undo).plan.is_some());
}

#[test]
fn the_release_and_the_digest_of_its_artifact_are_in_the_plan() {
    let sources = sources(&base_env(), &base_descriptor()).with("dist/shop-2.4.1.tar.gz", "bytes");
    let plan = compile_prod(&sources, Some("2.4.1")).plan.unwrap();
    let artifact = plan.artifact.clone().unwrap();
    assert_eq!((artifact.path.as_str(), artifact.bytes), ("dist/shop-2.4.1.tar.gz", Some(5)));
    let upload = plan.procedures.deploy.apply.iter().find_map(|action| match action {
        Action::Upload { from, sha256, .. } => Some((from.to_string(), sha256.clone())),
        Action::Run { .. } | Action::Sh { .. } | Action::Http { .. } | Action::Wait { .. } => None,
    });
    assert_eq!(upload, Some(("dist/shop-2.4.1.tar.gz".to_owned(), artifact.sha256)));
    let unnamed = compile_prod(&sources, None).plan.unwrap();
    assert_eq!(unnamed.artifact.unwrap().path, "dist/shop-{release}.tar.gz");
}

#[test]
fn connections_are_kept_once_and_targets_point_at_them() {
    let env = with(&base_env(), "targets:", "connection: {ssh: {user: deploy, port: 2222}}\ntargets:");
    let env = with(&env, "{host: w2, port: 8080,", "{host: w2, port: 8080, connection: {local: {}},");
    let plan = plan(&env, &base_descriptor());
    assert_eq!(plan.connections.len(), 2);
    assert_eq!(plan.connections[1], Connection::Local);
    assert_eq!(plan.targets.iter().map(|target| target.connection).collect::<Vec<_>>(), [0, 1, 0, 0]);
}

#[test]
fn defaults_of_the_reference_hold() {
    let env = fleet(4, "\"1\"", "\"1\"");
    let plan = plan(&env, &base_descriptor());
    let pool = plan.pool.as_ref().unwrap();
    assert_eq!(
        (pool.drain_timeout_ms, pool.restore_timeout_ms, pool.poll_interval_ms),
        (300_000, 300_000, 5_000)
    );
    assert_eq!(pool.settings["api_version"], "v3");
    assert_eq!(pool.settings["allow_http"], "false");
    assert_eq!((plan.rollout.parallelism, plan.rollout.on_failure.to_string()), (32, "rollback".to_owned()));
    assert_eq!(plan.connections, [Connection::Ssh(manent_plan::Ssh::default())]);
    assert!(!pool.promises.is_empty());
}

#[test]
fn edges_are_a_chain_each_way_and_one_line_a_compensation() {
    let plan = plan(&base_env(), &base_descriptor());
    let count = |kind: EdgeKind| plan.edges.iter().filter(|edge| edge.kind == kind).count();
    let back = plan.steps.iter().filter(|step| step.kind.is_compensation()).count();
    assert_eq!(count(EdgeKind::Needs), plan.steps.len() - back - 1);
    assert_eq!((count(EdgeKind::Compensates), count(EdgeKind::UndoOrder)), (back, back - 1));
}

#[test]
fn the_resolved_configuration_says_where_values_come_from() {
    let options = Options { environment: "shop/shop/prod".into(), resolved: true, ..Options::default() };
    let compiled = compile(&sources(&base_env(), &base_descriptor()), &Stdlib::builtin().unwrap(), &options);
    let resolved = compiled.resolved.unwrap();
    let find = |key: &str| {
        let found = resolved.values.iter().find(|value| value.key == key);
        found.map(|found| (found.value.as_str(), found.from.as_str()))
    };
    assert_eq!(find("traffic.pool.min_healthy"), Some(("2", "envconfig/shop/shop/prod.yml:19:18")));
    assert_eq!(find("traffic.pool.settings.api_version"), Some(("v3", "default")));
    assert_eq!(find("rollout.parallelism"), Some(("32", "default")));
    assert_eq!(find("deploy.with.keep"), Some(("5", "descriptors/shop.yml:6:89")));
    assert_eq!(
        find("secrets.lb"),
        Some(("vault:secret/data/lb#dataplane", "envconfig/shop/shop/prod.yml:26:21"))
    );
}

#[test]
fn many_findings_of_a_kind_are_counted() {
    let env = fleet(500, "\"1\"", "\"1\"").replace("port: 8080", "port: x");
    let compiled = compile_texts(&env, &base_descriptor());
    let last = compiled.diagnostics.last().unwrap();
    assert_eq!(compiled.diagnostics.len(), 101);
    assert_eq!(last.message, "400 more findings of the kind `bad-value` are not shown");
}

#[test]
fn ten_thousand_targets_are_quick_and_a_hundred_thousand_fit() {
    for (targets, seconds) in [(10_000, 20), (100_000, 120)] {
        let env = fleet(targets, "\"10\"", "\"1\"");
        let begun = Instant::now();
        let plan = plan(&env, &base_descriptor());
        // Far above what is needed, also without optimisation: it catches a square, not a slow machine.
        assert!(begun.elapsed() < Duration::from_secs(seconds), "{targets} took {:?}", begun.elapsed());
        assert_eq!(plan.rollout.waves[0].batches.len(), targets / 10);
    }
}

/// A plan without what may differ between two texts of the same meaning.
fn meaning(mut plan: Plan) -> Plan {
    plan.inputs.clear();
    plan
}

/// Every mapping of the base environment, with its keys in some order and comments between.
fn shuffled(order: &[prop::sample::Index]) -> String {
    let env = base_env();
    let (pool, settings) = (env.find("    provider").unwrap(), env.find("    settings").unwrap());
    let mut keys: Vec<&str> = env[pool..settings].lines().collect();
    let mut mixed = String::new();
    for index in order {
        if !keys.is_empty() {
            let _ = writeln!(mixed, "{} # a comment\n", keys.remove(index.index(keys.len())));
        }
    }
    for key in keys {
        let _ = writeln!(mixed, "{key}");
    }
    format!("{}{mixed}{}", &env[..pool], &env[settings..])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_order_of_keys_and_comments_change_nothing(order in prop::collection::vec(any::<prop::sample::Index>(), 0..9)) {
        let descriptor = base_descriptor();
        let wanted = meaning(plan(&base_env(), &descriptor));
        prop_assert_eq!(meaning(plan(&shuffled(&order), &descriptor)), wanted);
    }

    /// What the help of a floor says is enough.
    #[test]
    fn the_help_of_a_floor_that_cannot_be_kept_mends_it(targets in 1_usize..40, out in 1_u32..50, keep in 0_u8..=100, percent: bool) {
        let floor = |text: &str| fleet(targets, "MAX", text);
        let wanted = if percent { format!("\"{keep}%\"") } else { format!("\"{keep}\"") };
        let first = compile_texts(&floor(&wanted).replace("MAX", &out.to_string()), &base_descriptor());
        let help = first.diagnostics.iter().find(|found| found.code == Code::FloorUnreachable).map(|found| found.help.clone().unwrap());
        let Some(help) = help else {
            prop_assert!(first.plan.is_some());
            return Ok(());
        };
        let mended = match help.strip_prefix("maxUnavailable ").and_then(|rest| rest.strip_suffix(" fits")) {
            Some(size) => {
                let larger: u32 = size.parse::<u32>().unwrap() + 1;
                let still = compile_texts(&floor(&wanted).replace("MAX", &larger.to_string()), &base_descriptor());
                prop_assert!(still.plan.is_none(), "a smaller change would have been enough");
                floor(&wanted).replace("MAX", size)
            }
            None => {
                let lower = help.split('"').nth(1).unwrap();
                floor(&format!("\"{lower}\"")).replace("MAX", "1")
            }
        };
        prop_assert!(compile_texts(&mended, &base_descriptor()).plan.is_some(), "{}", help);
    }

    /// Hostile documents are refused or compiled, never a panic; and every finding can be shown.
    #[test]
    fn any_change_of_the_documents_ends_well(at in any::<prop::sample::Index>(), with in "[\\[\\]{}:,&*'\"|#\\- \\n~a-z0-9%é]{0,6}", cut in 0_usize..12) {
        let env = base_env();
        let start = at.index(env.len());
        let end = (start + cut).min(env.len());
        let changed = format!("{}{with}{}", &env[..start], &env[end..]);
        let compiled = compile_texts(&changed, &base_descriptor());
        prop_assert_eq!(compiled.plan.is_some(), !compiled.has_errors());
        let look = manent_compiler::Look::default();
        prop_assert_eq!(manent_compiler::render_all(&compiled.files, &compiled.diagnostics, look).is_empty(), compiled.diagnostics.is_empty());
        prop_assert_eq!(findings_to_json(&compiled.files, &compiled.diagnostics).len(), compiled.diagnostics.len());
    }
}

#[test]
fn the_same_documents_give_the_same_plan() {
    let sources: MemorySources = sources(&base_env(), &base_descriptor());
    assert_eq!(compile_prod(&sources, None).plan, compile_prod(&sources, None).plan);
}
