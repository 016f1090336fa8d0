//! Load balancers that report what is not so, forget what they were told, or refuse.

use std::time::Duration;

use manent_testbed::dataplane::{Fault, Kind, Pace, Trigger};
use manent_testbed::process::Signal;
use manent_testbed::site::{Plan, Rollout, Site};

use super::{
    ENV, apply, base, drained, end_of, journal, orders, run, scripted, start, status, to, until, whole,
};

/// O-01: a member whose health check fails already is drained, updated and healthy again.
#[test]
fn a_member_that_is_down_already_is_no_obstacle() {
    let site = Site::start(Plan { ssh: false, rollout: base(), ..Plan::default() }).unwrap();
    site.host("h3").unwrap().signal(Signal::KILL).unwrap();
    until("h3 down", || {
        let pool = site.pool().unwrap();
        pool.iter().all(|instance| !instance["h3"].up).then_some(())
    });
    let said = run(&site, &["preflight", ENV]).exits(0);
    assert!(said.out.contains("h3"), "{}", said.out);
    apply(&site, "2.0.0").exits(0);
    whole(&site, "2.0.0");
    // Nothing waited for a word that a down server never says.
    let begun = journal::runs(&site).pop().unwrap();
    let records = journal::records(&site, &begun);
    assert!(records.iter().all(|record| record.kind != "postponed"));
    let took = records.last().unwrap().at_ms - records[0].at_ms;
    assert!(took < 8_000, "{took} ms for four hosts: a whole drain_timeout was waited");
}

/// The other side of O-03: a service that is down as a whole is mended by the release that mends it.
#[test]
fn a_service_that_is_down_is_mended_although_it_is_under_its_floor() {
    let site = Site::start(Plan { ssh: false, hosts: 3, rollout: base(), ..Plan::default() }).unwrap();
    for host in &site.hosts {
        host.signal(Signal::KILL).unwrap();
    }
    until("nothing in service", || site.in_service().unwrap().is_empty().then_some(()));
    apply(&site, "2.0.0").exits(0);
    whole(&site, "2.0.0");
}

/// O-03: whatever the state, the API says `maint`.
#[test]
fn an_api_that_calls_everything_maintenance_is_not_trusted() {
    let (site, worlds) = scripted(Rollout { drain_timeout: "1200ms".to_owned(), ..base() });
    for (world, member) in worlds.iter().flat_map(|world| ["h1", "h2", "h3", "h4"].map(|name| (world, name)))
    {
        world.change(member, |member| (member.mask, member.scur) = (1, 9));
    }
    let said = apply(&site, "2.0.0");
    assert!(said.code == 3 || said.code == 6, "{}", said.all());
    for bridge in &site.bridges {
        assert_eq!(bridge.changes(), []);
    }
    for starts in site.starts().values() {
        assert_eq!(starts, &["1.0.0"]);
    }
    let begun = journal::runs(&site).pop().unwrap();
    let postponed = journal::records(&site, &begun).iter().filter(|one| one.kind == "postponed").count();
    assert!((4..=10).contains(&postponed), "{postponed} attempts in 1200 ms at 150 ms {}", said.all());
    assert!(said.out.contains("0 healthy in service"), "{}", said.out);
    assert!(said.out.contains("h1") && said.out.contains("maint"), "{}", said.out);
}

/// O-04: a reload by somebody else in mid drain-wait; a real HAProxy forgets the drain.
#[test]
fn a_drain_that_a_reload_forgot_is_sent_again() {
    let mut site = Site::start(Plan { ssh: false, hosts: 3, rollout: base(), ..Plan::default() }).unwrap();
    let slow = manent_testbed::load::Config {
        slow_every: 1,
        slow: Duration::from_millis(1_500),
        rate: 20,
        workers: 24,
        ..site.load_config()
    };
    let load = manent_testbed::load::Load::start(slow);
    until("requests at h2", || {
        let pool = site.pool().unwrap();
        pool.iter().all(|instance| instance["h2"].sessions > 0).then_some(())
    });
    let child = start(&site, &["apply", ENV, "--release", "2.0.0", "--yes"]);
    let begun = until("the drain-wait of h2", || {
        let begun = journal::runs(&site).pop()?;
        journal::reached(&site, &begun, "drain-wait@rest#0").then_some(begun)
    });
    site.haproxies[0].reload().unwrap();
    end_of(child).exits(0);
    drop(load);
    whole(&site, "2.0.0");
    let drains =
        |at: usize| orders(&site.bridges[at], "h2").iter().filter(|order| *order == "state drain").count();
    assert_eq!((drains(0), drains(1)), (2, 1), "sent again there, and only there");
    let seen = status(&site);
    assert!(seen["notes"].to_string().contains("lost the drain of `h2`"), "{}", seen["notes"]);
    // Out everywhere, as it truly was, from the second drain until its update: the update came after it.
    let again = site.bridges[0]
        .changes()
        .into_iter()
        .rfind(|call| call.effects.iter().any(|effect| effect == "set server shop/h2 state drain"));
    let updated = site.host("h2").unwrap().events().into_iter().rfind(|event| event.what == "start").unwrap();
    assert!(updated.at_ms > again.unwrap().at_ms);
    assert_eq!(journal::runs(&site), [begun]);
}

/// O-04 as it was told: the reads of one instance show the member in service again, then the drain once more.
#[test]
fn a_lost_drain_is_sent_to_its_instance_alone_and_the_clock_goes_on() {
    let (site, worlds) = scripted(base());
    let sessions = |number: u64| to(move |member| member.scur = number);
    let lost = to(|member| (member.mask, member.op, member.scur) = (0, 2, 7));
    worlds[0].script(
        "h2",
        Trigger::Drained,
        vec![
            (Pace::NextRead, sessions(12)),
            (Pace::NextRead, sessions(12)),
            (Pace::NextRead, lost),
            (Pace::NextRead, sessions(3)),
            (Pace::NextRead, sessions(0)),
        ],
    );
    worlds[1].script(
        "h2",
        Trigger::Drained,
        vec![(Pace::NextRead, sessions(4)), (Pace::After(Duration::from_millis(300)), sessions(0))],
    );
    apply(&site, "2.0.0").exits(0);
    for world in &worlds {
        assert_eq!(world.member("h2").unwrap().mask, 0);
    }
    let drains =
        |at: usize| orders(&site.bridges[at], "h2").iter().filter(|order| *order == "state drain").count();
    assert_eq!((drains(0), drains(1)), (2, 1));
    let notes = status(&site)["notes"].to_string();
    assert!(notes.contains("lost the drain of `h2`"), "{notes}");
}

/// O-06: the next batch waits for health on every instance, and what never gets healthy goes out again.
#[test]
fn the_next_batch_waits_for_health_everywhere() {
    let (site, worlds) = scripted(base());
    worlds[0].change("h1", |member| member.recovery = Duration::from_millis(200));
    worlds[1].change("h1", |member| member.recovery = Duration::from_millis(900));
    // After its update `h2` never gets well in the eyes of the second load balancer.
    worlds[1].script(
        "h2",
        Trigger::Drained,
        vec![(Pace::After(Duration::ZERO), to(|member| member.well = false))],
    );
    let said = apply(&site, "2.0.0").exits(4);
    let seen = status(&site);
    assert_eq!(drained(&seen), ["h2"]);
    let cause = seen["cause"].as_str().unwrap();
    let (up, down) = (site.bridges[0].address().to_string(), site.bridges[1].address().to_string());
    assert!(cause.contains(&format!("up on {up}")) && cause.contains(&format!("down on {down}")), "{cause}");
    assert!(said.out.contains("h2"), "{}", said.out);
    for (world, bridge) in worlds.iter().zip(&site.bridges) {
        assert_eq!(world.member("h1").unwrap().mask, 0);
        assert_eq!(world.member("h2").unwrap().mask, 8, "an unhealthy member is back in service");
        for untouched in ["h3", "h4"] {
            assert_eq!(orders(bridge, untouched), [""; 0]);
        }
    }
    // The drain of `h2` came after `h1` was up on the slower one.
    let call = |member: &str, order: &str| {
        let order = format!("set server shop/{member} {order}");
        site.bridges[0].changes().into_iter().find(|call| call.effects.contains(&order)).unwrap().at_ms
    };
    assert!(call("h2", "state drain") - call("h1", "health down") >= 900);
    assert_eq!(site.starts()["h3"], ["1.0.0"]);
}

/// O-06, the other way round: healthy while out, and down as soon as it is back.
#[test]
fn a_member_that_falls_down_once_it_is_back_goes_out_again() {
    let (site, worlds) = scripted(base());
    let down = to(|member| (member.op, member.well) = (0, false));
    worlds[1].script("h2", Trigger::Restored, vec![(Pace::After(Duration::ZERO), down)]);
    apply(&site, "2.0.0").exits(4);
    let seen = status(&site);
    assert_eq!(drained(&seen), ["h2"]);
    assert!(seen["cause"].as_str().unwrap().contains("taken out again"), "{}", seen["cause"]);
    for world in &worlds {
        assert_eq!(world.member("h2").unwrap().mask, 8);
        assert_eq!(world.member("h3").unwrap().mask, 0);
    }
}

/// O-12: the drain is refused, so nothing was deployed and nothing is rolled back.
#[test]
fn a_rollback_of_nothing_does_nothing() {
    let rollout = Rollout { on_failure: "rollback".to_owned(), drain_timeout: "1s".to_owned(), ..base() };
    let site = Site::start(Plan { ssh: false, rollout, ..Plan::default() }).unwrap();
    // An older release lies on the disk: it must never be returned to.
    let h1 = site.host("h1").unwrap();
    h1.install("0.9.0").unwrap();
    h1.install("1.0.0").unwrap();
    site.bridges[0].fault(Fault::next_change(Kind::Status(500)).times(1_000).on("h1"));
    let said = apply(&site, "2.0.0").exits(3);
    assert!(said.out.contains("nothing"), "{}", said.out);
    whole(&site, "1.0.0");
    for starts in site.starts().values() {
        assert_eq!(starts, &["1.0.0"]);
    }
    for bridge in &site.bridges {
        for untouched in ["h2", "h3", "h4"] {
            assert_eq!(orders(bridge, untouched), [""; 0]);
        }
    }
    let begun = journal::runs(&site).pop().unwrap();
    let deployed = journal::records(&site, &begun).into_iter().any(|record| {
        let procedure = record.event["intended"]["call"]["run"]["procedure"].as_str().map(str::to_owned);
        procedure.is_some_and(|procedure| procedure != "current")
    });
    assert!(!deployed, "something was run on a host");
}
