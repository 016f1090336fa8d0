//! Every crash point of four scenarios, alone and in pairs: the same end as without a crash, and no violation.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use manent_simulator::facts::Ending;
use manent_simulator::scenario::{Scenario, matrix};

fn objections(scenario: &Scenario, crashes: &[u64], expected: Option<&Ending>) -> (Vec<String>, u64) {
    let scenario = scenario.crashed(crashes);
    let done = scenario.run();
    let mut said: Vec<String> =
        scenario.judge(&done).iter().map(|one| format!("{} {crashes:?}: {one}", scenario.name)).collect();
    if let Some(expected) = expected
        && *expected != done.ending()
    {
        said.push(format!("{} {crashes:?}: I3a: {:?} instead of {expected:?}", scenario.name, done.ending()));
    }
    (said, done.points)
}

#[test]
fn without_a_crash_nothing_is_wrong() {
    for mut scenario in matrix() {
        scenario.options.check_fold = true;
        let done = scenario.run();
        println!("{}: {:?}, {} points", scenario.name, done.ending(), done.points);
        let violations: Vec<String> = scenario.judge(&done).iter().map(ToString::to_string).collect();
        assert_eq!(violations, Vec::<String>::new(), "{}", scenario.name);
    }
}

#[test]
fn every_single_crash_ends_as_without_it() {
    let mut said = Vec::new();
    for mut scenario in matrix() {
        scenario.options.check_fold = true;
        let done = scenario.run();
        let expected = done.ending();
        for point in 0..done.points {
            said.extend(objections(&scenario, &[point], Some(&expected)).0);
        }
    }
    assert!(
        said.is_empty(),
        "{} objections, such as:\n{}",
        said.len(),
        said.iter().take(12).cloned().collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn every_pair_of_crashes_ends_as_without_them() {
    let said = Mutex::new(Vec::new());
    let runs = AtomicU64::new(0);
    for scenario in matrix() {
        let done = scenario.run();
        let expected = done.ending();
        let next = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    loop {
                        let first = next.fetch_add(1, Ordering::Relaxed);
                        if first >= done.points {
                            return;
                        }
                        let points = scenario.crashed(&[first]).run().points;
                        for second in first + 1..points {
                            let objections = objections(&scenario, &[first, second], Some(&expected)).0;
                            runs.fetch_add(1, Ordering::Relaxed);
                            said.lock().unwrap().extend(objections);
                        }
                    }
                });
            }
        });
    }
    let said = said.into_inner().unwrap();
    println!("{} pairs", runs.into_inner());
    assert!(
        said.is_empty(),
        "{} objections, such as:\n{}",
        said.len(),
        said.iter().take(12).cloned().collect::<Vec<_>>().join("\n")
    );
}
