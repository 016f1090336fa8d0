//! The reference of the command line is what the program itself says; `MANENT_UPDATE=1` writes it.

use std::path::Path;

use crate::world::World;

const PAGE: &str = "docs/reference/command-line.md";

#[test]
fn the_reference_of_the_command_line_is_current() {
    let world = World::new();
    let help = world.run(&["--help"]).exits(0).out;
    let verbs: Vec<String> = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect();
    let mut page = String::from("# Command line\n\nWritten by the program itself: `manent VERB --help`.\n");
    let mut section = |title: &str, help: &str| {
        let text: Vec<&str> = help.lines().map(str::trim_end).collect();
        page.push_str(&format!("\n## {title}\n\n```text\n{}\n```\n", text.join("\n")));
    };
    section("manent", &help);
    for verb in &verbs {
        section(&format!("manent {verb}"), &world.run(&[verb, "--help"]).exits(0).out);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    if std::env::var_os("MANENT_UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "{PAGE} is not current: run this test with MANENT_UPDATE=1");
    assert!(verbs.len() >= 17, "{verbs:?}");
}

#[test]
fn the_readme_names_only_what_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    for link in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(root.join(link).exists(), "the README links to `{link}`");
    }
    let help = World::new().run(&["--help"]).exits(0).out;
    // Commands stand in blocks of the shell; prose may begin with the name, too.
    let shell = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    for line in shell.flat_map(str::lines).filter(|line| line.starts_with("manent ")) {
        let verb = line.split_whitespace().nth(1).unwrap();
        assert!(help.contains(&format!("\n  {verb} ")), "the README uses `manent {verb}`");
    }
}

#[test]
fn the_documents_of_the_readme_plan() {
    let world = world_of("README.md");
    let said = world.run(&["lint", "--json"]).exits(0);
    assert_eq!(said.json(), serde_json::json!([]));
    world.run(&["plan", "shop/shop/prod"]).exits(0);
}

/// A tree of the documents that a page shows; the first line of each is its path.
fn world_of(page: &str) -> World {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    let world = World::new();
    let documents = page.split("```yaml\n# ").skip(1).filter_map(|rest| rest.split("```").next());
    for document in documents {
        let (name, text) = document.split_once('\n').unwrap();
        world.write(name, text);
    }
    world
}

#[test]
fn the_reference_of_the_documents_has_every_key() {
    let page = "docs/reference/documents.md";
    let world = world_of(page);
    let said = world.run(&["lint", "--json"]).exits(0);
    assert_eq!(said.json(), serde_json::json!([]));
    world.run(&["plan", "shop/shop/all-keys"]).exits(0);

    // Every level says which keys it has when it meets one that is like none of them.
    world.write(
        "envconfig/shop/shop/all-keys.yml",
        "targets: [{host: a, qqqqqqqq: 1}]\nconnection: {ssh: {qqqqqqqq: 1}, qqqqqqqq: 1}\nqqqqqqqq: 1\n\
         rollout: {qqqqqqqq: 1, waves: [{name: a, select: b, qqqqqqqq: 1}]}\n\
         traffic: {qqqqqqqq: 1, pool: {qqqqqqqq: 1}}\nsecrets: [{qqqqqqqq: 1}]\n",
    );
    world.write(
        "descriptors/shop.yml",
        "app: shop\nqqqqqqqq: 1\nrelease: {qqqqqqqq: 1, artifact: {qqqqqqqq: 1}}\ndeploy: {qqqqqqqq: 1}\n\
         post-test: [{qqqqqqqq: 1}]\nsteps: [{qqqqqqqq: 1}]\n",
    );
    let findings = world.run(&["lint", "--json"]).exits(2).json();
    let helps = findings.as_array().unwrap().iter().filter(|finding| finding["code"] == "unknown-key");
    let helps: Vec<&str> = helps.map(|finding| finding["help"].as_str().unwrap()).collect();
    assert!(helps.len() >= 14, "{findings:#}");
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    for help in helps {
        let (_, keys) = help.split_once(" are ").or_else(|| help.split_once(" is ")).unwrap();
        for key in keys.split(", ") {
            assert!(page.contains(key), "{key} of `{help}` is missing in the reference");
        }
    }
}
