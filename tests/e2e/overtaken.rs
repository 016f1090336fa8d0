//! A run that stopped, and another one that came after it: the old one's records are true no longer.
//! It must not check what a run does by itself; `run` does.

use crate::run::{apply, hello, release_on, status};

#[test]
fn a_stopped_run_that_another_one_overtook_is_not_gone_on_with() {
    let world = hello();
    let gate = world.path("ready");
    let descriptor = world.read("descriptors/hello.yml");
    let test = format!("  - {{run: [test, -e, {}], within: 100ms}}\n", gate.display());
    world.write("descriptors/hello.yml", &(descriptor + &test));
    let file = "envconfig/example/hello/local.yml";
    world.write(file, &world.read(file).replace("onFailure: rollback", "onFailure: stop"));

    apply(&world, "1.0.0").exits(4);
    let old = status(&world)["run"].as_str().unwrap().to_owned();
    let said = world.run(&["doctor", "example/hello/local"]).exits(0);
    assert!(said.out.contains(&format!("manent resume {old} --retry-failed")), "{}", said.out);

    world.write("ready", "");
    let said = apply(&world, "2.0.0").exits(0);
    let new = status(&world)["run"].as_str().unwrap().to_owned();
    assert!(said.out.contains("manent rollback"), "{}", said.out);
    for verb in [&["resume", &old, "--retry-failed"][..], &["cancel", &old, "--rollback"]] {
        let said = world.run(verb).exits(5);
        assert!(said.err.contains("overtaken") && said.err.contains(&new), "{}", said.err);
    }
    let said = world.run(&["status", &old]).exits(0);
    assert!(said.out.contains(&format!("manent status {new}")), "{}", said.out);
    assert!(!said.out.contains("manent resume"), "{}", said.out);
    let said = world.run(&["doctor", "example/hello/local"]).exits(0);
    assert!(said.out.contains("no run left anything behind"), "{}", said.out);
    assert_eq!(release_on(&world, "8081"), "2.0.0");
}
