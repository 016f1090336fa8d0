//! The direction of dependencies, read from cargo itself. Adding an edge means changing this table first.
//! It must not know why a crate needs another.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Which of our crates may name which.
const ALLOWED: [(&str, &[&str]); 9] = [
    ("manent-grammar", &[]),
    ("manent-stdlib", &["manent-grammar"]),
    ("manent-plan", &["manent-grammar"]),
    ("manent-compiler", &["manent-grammar", "manent-stdlib", "manent-plan"]),
    ("manent-engine", &["manent-plan"]),
    ("manent-simulator", &["manent-engine", "manent-plan"]),
    ("manent-runtime", &["manent-grammar", "manent-plan", "manent-engine"]),
    (
        "manent",
        &[
            "manent-grammar",
            "manent-stdlib",
            "manent-plan",
            "manent-compiler",
            "manent-engine",
            "manent-simulator",
            "manent-runtime",
        ],
    ),
    // The test bed serves the tests of every crate; nothing that ships may name it.
    (
        "manent-testbed",
        &[
            "manent-grammar",
            "manent-stdlib",
            "manent-plan",
            "manent-compiler",
            "manent-engine",
            "manent-simulator",
            "manent-runtime",
        ],
    ),
];

/// Crates that decide and never act.
const PURE: [&str; 6] = [
    "manent-grammar",
    "manent-stdlib",
    "manent-plan",
    "manent-compiler",
    "manent-engine",
    "manent-simulator",
];

/// What acts: sockets, files of a database, processes, clocks of an executor.
const EFFECTS: [&str; 9] =
    ["tokio", "mio", "socket2", "hyper", "reqwest", "rusqlite", "openssh", "axum", "rustls"];

#[test]
fn our_crates_depend_only_downwards() {
    let metadata = metadata();
    let ours = members(&metadata);
    let known: BTreeSet<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
    assert_eq!(ours.keys().copied().collect::<BTreeSet<_>>(), known, "a crate is not in the table");
    for (name, allowed) in ALLOWED {
        for dependency in shipped_dependencies(ours[name]) {
            let is_ours = dependency.starts_with("manent");
            assert!(!is_ours || allowed.contains(&dependency), "{name} may not depend on {dependency}");
        }
    }
}

#[test]
fn pure_crates_reach_nothing_that_acts() {
    let metadata = metadata();
    let graph = resolved(&metadata);
    for pure in PURE {
        let mut seen = BTreeSet::new();
        let mut left = vec![pure.to_owned()];
        while let Some(name) = left.pop() {
            assert!(!EFFECTS.contains(&name.as_str()), "{pure} reaches {name}");
            if seen.insert(name.clone()) {
                left.extend(graph.get(&name).into_iter().flatten().cloned());
            }
        }
    }
}

#[test]
fn petgraph_stays_inside_the_plan() {
    for (name, package) in members(&metadata()) {
        let uses = shipped_dependencies(package).contains(&"petgraph");
        assert!(!uses || name == "manent-plan", "{name} names petgraph");
    }
}

fn metadata() -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        // Crates of other systems need not be on this machine.
        .args(["--filter-platform", &host()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON")
}

/// The system that this runs on, as cargo names it.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc names its host").to_owned()
}

fn members(metadata: &Value) -> BTreeMap<&str, &Value> {
    let ids: BTreeSet<&str> =
        metadata["workspace_members"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .filter(|package| ids.contains(package["id"].as_str().unwrap()))
        .map(|package| (package["name"].as_str().unwrap(), package))
        .collect()
}

/// Names that a package needs to be built and used; those of its tests do not count.
fn shipped_dependencies(package: &Value) -> Vec<&str> {
    let dependencies = package["dependencies"].as_array().unwrap().iter();
    dependencies.filter(|one| one["kind"] != "dev").filter_map(|one| one["name"].as_str()).collect()
}

/// Package name to the names that it ships with, for all packages.
fn resolved(metadata: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let name = |id: &Value| {
        let package = metadata["packages"].as_array().unwrap().iter().find(|package| package["id"] == *id);
        package.unwrap()["name"].as_str().unwrap().to_owned()
    };
    let names: BTreeMap<String, String> = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| (package["id"].as_str().unwrap().to_owned(), name(&package["id"])))
        .collect();
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for node in metadata["resolve"]["nodes"].as_array().unwrap() {
        let from = names[node["id"].as_str().unwrap()].clone();
        for dependency in node["deps"].as_array().unwrap() {
            let kinds = dependency["dep_kinds"].as_array().unwrap();
            if kinds.iter().any(|kind| kind["kind"].is_null()) {
                let to = names[dependency["pkg"].as_str().unwrap()].clone();
                graph.entry(from.clone()).or_default().insert(to);
            }
        }
    }
    graph
}
