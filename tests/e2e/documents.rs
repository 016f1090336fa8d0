//! Documents as a person meets them: checked, shown, explained, planned; right and wrong ones.

use crate::world::World;

const EXAMPLES: [(&str, &str); 5] = [
    ("examples/demo", "demo/shop/loopback"),
    ("examples/demo", "demo/shop/undrained"),
    ("examples/haproxy", "shop/shop/prod"),
    ("examples/health-flag", "shop/api/prod"),
    ("examples/local", "example/hello/local"),
];

fn shop() -> World {
    World::copy_of("examples/haproxy")
}

fn spoilt(name: &str, from: &str, to: &str) -> World {
    let world = shop();
    let text = world.read(name);
    assert!(text.contains(from), "{name} has no `{from}`");
    world.write(name, &text.replace(from, to));
    world
}

const PROD: &str = "envconfig/shop/shop/prod.yml";

#[test]
fn every_example_lints_clean_and_plans() {
    for (tree, environment) in EXAMPLES {
        let world = World::copy_of(tree);
        let said = world.run(&["lint", "--json"]).exits(0);
        assert_eq!(said.json(), serde_json::json!([]), "{tree}");
        let said = world.run(&["plan", environment]).exits(0);
        assert!(said.out.contains(environment), "{}", said.out);
        world.run(&["show", environment]).exits(0);
    }
}

#[test]
fn every_example_is_walked_by_a_dry_run() {
    for (tree, environment) in EXAMPLES {
        let world = World::copy_of(tree);
        world.write("dist/shop-1.0.0.tar.gz", "an artifact");
        let said = world.run(&["apply", environment, "--release", "1.0.0", "--dry-run", "--json"]).exits(0);
        assert_eq!(said.json()["outcome"], "succeeded", "{tree}");
        assert!(!world.path(".manent").exists(), "{tree}: a dry run leaves nothing behind");
    }
}

#[test]
fn a_dry_run_reads_like_a_timetable() {
    let world = shop();
    world.write("dist/shop-1.0.0.tar.gz", "an artifact");
    let said = world.run(&["apply", "shop/shop/prod", "--release", "1.0.0", "--dry-run"]).exits(0);
    insta::assert_snapshot!(said.out);
}

#[test]
fn the_tree_of_init_lints_clean_and_plans() {
    let world = World::new();
    world.run(&["init"]).exits(0);
    assert_eq!(world.run(&["lint", "--json"]).exits(0).json(), serde_json::json!([]));
    world.run(&["plan", "example/hello/local", "--release", "1.0.0"]).exits(0);
}

#[test]
fn findings_are_a_list_with_places() {
    let world = spoilt(PROD, "backend: shop", "backend: shop\n      bakend: shop");
    let said = world.run(&["lint", "--json"]).exits(2);
    let findings = said.json();
    let finding = &findings[0];
    assert_eq!(finding["code"], "unknown-setting", "{finding}");
    assert_eq!(finding["severity"], "error");
    assert_eq!(finding["path"], PROD);
    assert!(finding["line"].is_u64() && finding["column"].is_u64());
    assert!(finding["help"].as_str().unwrap().contains("backend"));
    assert!(finding["related"].is_array());
}

#[test]
fn findings_are_read_by_people() {
    let world = spoilt(PROD, "min_healthy: \"75%\"", "min_healthy: \"100%\"");
    let said = world.run(&["lint"]).exits(2);
    assert!(said.out.contains("floor-unreachable"), "{}", said.out);
    assert!(said.out.contains(PROD), "{}", said.out);
    assert!(said.err.contains("manent explain"), "{}", said.err);
    insta::assert_snapshot!(said.all());
}

#[test]
fn a_changed_descriptor_checks_every_environment_that_uses_it() {
    let world = shop();
    let wave = "    - {name: rest, select: stage=rest}";
    let second = world.read(PROD).replace(wave, "    - {name: rest, select: stage=rset}");
    world.write("envconfig/shop/shop/test.yml", &second);
    let said = world.run(&["lint", "descriptors/shop.yml", "--json"]).exits(2);
    let paths: Vec<String> =
        said.json().as_array().unwrap().iter().map(|one| one["path"].to_string()).collect();
    assert!(paths.iter().all(|path| path.contains("test.yml")) && !paths.is_empty(), "{paths:?}");
    world.run(&["lint", PROD]).exits(0);
}

#[test]
fn wrong_documents_end_a_plan_with_their_findings() {
    let world = spoilt(PROD, "provider: haproxy", "provider: haprxy");
    let said = world.run(&["plan", "shop/shop/prod", "--json"]).exits(2);
    let error = &said.json()["error"];
    assert_eq!(error["exit_code"], 2);
    assert_eq!(error["diagnostics"][0]["code"], "unknown-provider");
    world.run(&["plan", "shop/shop/prod", "--release", "1.0.0", "--detailed-exitcode"]).exits(1);
}

#[test]
fn an_unknown_environment_is_answered_with_those_that_exist() {
    let world = shop();
    let said = world.run(&["plan", "shop/shop/prd"]).exits(2);
    assert!(said.err.contains("did you mean `shop/shop/prod`?"), "{}", said.err);
    let said = world.run(&["plan", "prod"]).exits(2);
    assert!(said.err.contains("`shop/shop/prod`"), "{}", said.err);
}

#[test]
fn an_environment_can_be_named_by_its_file_from_anywhere() {
    let world = shop();
    let root = world.root().to_str().unwrap().to_owned();
    let elsewhere = World::new();
    let file = world.path(PROD);
    elsewhere.run(&["plan", file.to_str().unwrap(), "--root", &root]).exits(0);
    elsewhere.run(&["plan", "shop/shop/prod", "--root", &root]).exits(0);
}

#[test]
fn a_provider_of_a_later_version_is_planned_and_not_applied() {
    let world = World::copy_of("examples/health-flag");
    let file = "envconfig/shop/api/prod.yml";
    let text = world.read(file);
    let (before, _) = text.split_once("traffic:").unwrap();
    let pool = "traffic:\n  pool:\n    provider: aws-elb\n    member: \"{host}\"\n    settings:\n      region: eu-central-1\n      target_group_arn: arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/api/0123456789abcdef\n";
    world.write(file, &format!("{before}{pool}"));
    world.run(&["plan", "shop/api/prod", "--release", "1.0.0"]).exits(0);
    let said = world.run(&["apply", "shop/api/prod", "--release", "1.0.0", "--yes"]).exits(1);
    assert!(said.err.contains("aws-elb") && said.err.contains("nothing was touched"), "{}", said.err);
    assert!(!world.path(".manent").exists());
}

#[test]
fn every_code_has_a_page() {
    let world = World::new();
    let list = world.run(&["explain", "--json"]).exits(0).json();
    let codes = list.as_array().unwrap();
    assert!(codes.len() > 30, "{}", codes.len());
    for code in codes {
        let name = code["code"].as_str().unwrap();
        let page = world.run(&["explain", name]).exits(0).out;
        assert!(page.contains(name) && page.lines().count() > 3, "{name}");
    }
    let said = world.run(&["explain", "flor-unreachable"]).exits(2);
    assert!(said.err.contains("`floor-unreachable`"), "{}", said.err);
}

#[test]
fn a_plan_has_the_same_bytes_whenever_and_wherever_it_is_made() {
    let (one, other) = (shop(), shop());
    for world in [&one, &other] {
        world.write("dist/shop-1.0.0.tar.gz", "an artifact");
    }
    for format in ["text", "json", "yaml", "dot", "mermaid"] {
        let plan = |world: &World| {
            world.run(&["plan", "shop/shop/prod", "--release", "1.0.0", "--format", format]).exits(0).out
        };
        assert_eq!(plan(&one), plan(&other), "{format}");
    }
}

#[test]
fn linting_opens_no_secret() {
    let world = spoilt(PROD, "env:SHOP_DATAPLANE_CREDENTIALS", "file:secrets/dataplane");
    world.run(&["lint"]).exits(0);
    world.run(&["plan", "shop/shop/prod"]).exits(0);
}
