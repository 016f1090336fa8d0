//! Compression of reads: small, and nothing is taken for plain that was not shown so.

use std::collections::{BTreeMap, BTreeSet};

use manent_engine::view::{Admin, Failure, Health, PoolView, Seen};
use manent_plan::TargetIx;

use super::super::tests::wanted;
use super::super::{InstanceRead, Members, Wanted};
use super::pool_view;

fn seen(admin: Admin, health: Health) -> Seen {
    Seen { admin, health, connections: Some(0), words: format!("{admin:?}/{health:?}") }
}

fn up() -> Seen {
    seen(Admin::In, Health::Up)
}

fn out() -> Seen {
    seen(Admin::Out, Health::Up)
}

fn read(name: &str, members: &[(&str, Seen)]) -> InstanceRead {
    let seen = members.iter().map(|(name, seen)| ((*name).to_owned(), seen.clone())).collect();
    let members = Members { seen, backup: BTreeSet::new(), whole: true };
    InstanceRead { name: name.to_owned(), identity: None, outcome: Ok(members) }
}

fn failed(name: &str) -> InstanceRead {
    let failure = Failure { permanent: false, reason: "no answer".to_owned() };
    InstanceRead { name: name.to_owned(), identity: None, outcome: Err(failure) }
}

fn targets(names: &[&str]) -> Vec<Wanted> {
    let target = |(at, name): (u32, &&str)| Wanted { ix: TargetIx(at), ..wanted(name) };
    (0..).zip(names).map(target).collect()
}

/// The compressed view says of every target and instance what the reads said.
fn agrees(view: &PoolView, reads: &[InstanceRead], targets: &[Wanted]) {
    for target in targets {
        for (at, read) in reads.iter().enumerate() {
            let shown = view.seen(target.ix, at);
            match &read.outcome {
                Err(_) => assert_eq!(shown, Seen::unknown()),
                Ok(members) => match members.seen.get(&target.member) {
                    Some(seen) => assert_eq!((shown.admin, shown.health), (seen.admin, seen.health)),
                    None => assert_ne!(shown.admin, Admin::In),
                },
            }
        }
    }
}

#[test]
fn only_what_is_not_plain_is_listed() {
    let names: Vec<String> = (0..10_000).map(|at| format!("web{at}")).collect();
    let mut members: Vec<(&str, Seen)> = names.iter().map(|name| (name.as_str(), up())).collect();
    members[7].1 = out();
    let reads = [read("lb1", &members), read("lb2", &members)];
    let names: Vec<&str> = names.iter().map(String::as_str).take(9000).collect();
    let targets = targets(&names);
    let view = pool_view(&reads, &targets);
    assert_eq!((view.total, view.healthy()), (10_000, 9999));
    assert_eq!(view.targets.keys().collect::<Vec<_>>(), [&TargetIx(7)]);
    assert!(view.others.is_empty() && view.problems.is_empty());
    agrees(&view, &reads, &targets);
}

#[test]
fn one_instance_is_enough_to_be_out() {
    let reads = [read("lb1", &[("w1", up()), ("x", out())]), read("lb2", &[("w1", out()), ("x", up())])];
    let targets = targets(&["w1"]);
    let view = pool_view(&reads, &targets);
    assert_eq!(view.healthy(), 0);
    assert!(!view.serves(TargetIx(0)) && !view.out(TargetIx(0)) && view.out_somewhere(TargetIx(0)));
    assert_eq!(view.others.keys().collect::<Vec<_>>(), ["x"]);
    agrees(&view, &reads, &targets);
}

#[test]
fn an_instance_without_an_answer_makes_nothing_healthy() {
    let reads = [read("lb1", &[("w1", up()), ("w2", out())]), failed("lb2")];
    let targets = targets(&["w1", "w2"]);
    let view = pool_view(&reads, &targets);
    assert!(!view.complete());
    assert_eq!((view.total, view.healthy()), (2, 0));
    assert_eq!(view.targets[&TargetIx(1)][1], Seen::unknown());
    agrees(&view, &reads, &targets);
    let none = pool_view(&[failed("lb1"), failed("lb2")], &targets);
    assert_eq!((none.total, none.healthy(), none.problems.len()), (0, 0, 0));
}

#[test]
fn a_target_without_a_member_is_named_with_what_is_there() {
    let many: Vec<String> = (10..40).map(|at| format!("s{at}")).collect();
    let members: Vec<(&str, Seen)> = many.iter().map(|name| (name.as_str(), up())).collect();
    let reads = [read("lb1", &[("w1", up())]), read("lb2", &members)];
    let view = pool_view(&reads, &targets(&["w1"]));
    assert_eq!(view.problems.len(), 1);
    let problem = &view.problems[0];
    assert!(problem.starts_with("`lb2` has no such member: `w1`; it has: `s10`, `s11`"), "{problem}");
    assert!(problem.contains("`s29` and 10 more (check `member`"), "{problem}");
    assert_eq!(view.seen(TargetIx(0), 1).admin, Admin::Absent);
}

#[test]
fn a_target_that_nobody_knows_costs_no_capacity() {
    let reads = [read("lb1", &[("w1", up())])];
    let view = pool_view(&reads, &targets(&["w1", "w2"]));
    assert_eq!((view.total, view.healthy()), (1, 1));
}

#[test]
fn two_targets_of_one_member_and_backups_are_problems() {
    let mut lb1 = read("lb1", &[("w1", up())]);
    if let Ok(members) = &mut lb1.outcome {
        members.backup.insert("w2".to_owned());
    }
    let view = pool_view(&[lb1], &targets(&["w1", "w1", "w2"]));
    assert_eq!(view.total, 1);
    assert!(
        view.problems.iter().any(|problem| problem.contains("are both member `w1`")),
        "{:?}",
        view.problems
    );
    assert!(
        view.problems.iter().any(|problem| problem.contains("`w2` is a backup on `lb1`")),
        "{:?}",
        view.problems
    );
    assert_eq!(view.seen(TargetIx(2), 0).admin, Admin::Idle);
}

#[test]
fn what_was_not_asked_for_is_unknown_and_no_problem() {
    let seen = BTreeMap::from([("w1".to_owned(), seen(Admin::Unknown, Health::Up))]);
    let members = Members { seen, ..Members::default() };
    let reads = [InstanceRead { name: "flag".to_owned(), identity: None, outcome: Ok(members) }];
    let view = pool_view(&reads, &targets(&["w1", "w2"]));
    assert!(view.problems.is_empty());
    assert_eq!(view.seen(TargetIx(0), 0).health, Health::Up);
    assert_eq!(view.seen(TargetIx(1), 0), Seen::unknown());
}

#[test]
fn without_checks_being_in_service_is_all_that_can_be_seen() {
    let bare = seen(Admin::In, Health::Unchecked);
    let view = pool_view(&[read("lb1", &[("w1", bare.clone())])], &targets(&["w1"]));
    assert_eq!(view.seen(TargetIx(0), 0), bare);
    assert!(view.serves(TargetIx(0)));
    assert_eq!(view.healthy(), 1);
}
