//! Field cases: what happened to others with other tools, told again over real parts or over a scripted load balancer.
//! Each test names what must hold and what must never happen.

mod balancer;
mod counting;
mod flagged;
mod flags;
mod hosts;
mod journals;
mod plans;
mod secrets;

use std::sync::Arc;

use manent_testbed::dataplane::{Bridge, Change, Member, Options, Scripted};
use manent_testbed::site::{Plan, Rollout, Site};

use super::{
    ENV, apply, command, drained, end_of, journal, none_failed, run, start, status, until, watch::Watch,
    whole,
};

/// Four real hosts behind two scripted load balancers.
fn scripted(rollout: Rollout) -> (Site, Vec<Scripted>) {
    let mut site =
        Site::start(Plan { ssh: false, instances: 0, rollout: rollout.clone(), ..Plan::default() }).unwrap();
    let worlds: Vec<Scripted> = (0..2).map(|_| Scripted::new("shop", &["h1", "h2", "h3", "h4"])).collect();
    site.bridges =
        worlds.iter().map(|world| Bridge::over(world.clone(), Options::default()).unwrap()).collect();
    site.write_tree(&rollout).unwrap();
    (site, worlds)
}

/// A change of a script.
fn to(change: impl Fn(&mut Member) + Send + Sync + 'static) -> Change {
    Arc::new(change)
}

/// Orders that a bridge carried out on a member, in order: `state drain`, `health down`, …
fn orders(bridge: &Bridge, member: &str) -> Vec<String> {
    let prefix = format!("set server shop/{member} ");
    let effects = bridge.changes().into_iter().flat_map(|call| call.effects);
    effects.filter_map(|effect| effect.strip_prefix(&prefix).map(str::to_owned)).collect()
}

/// Rollout of most cases: short clocks, no way back.
fn base() -> Rollout {
    let text = str::to_owned;
    Rollout {
        on_failure: text("stop"),
        drain_timeout: text("4s"),
        restore_timeout: text("3s"),
        poll_interval: text("150ms"),
        ..Rollout::default()
    }
}

/// A descriptor's step that can be counted, made to fail and made to hang.
fn with_warm(site: &Site, rollout: Rollout) -> Rollout {
    let note = format!("{}/hosts/{{host}}/bin/note", site.folder().display());
    let more_descriptor =
        format!("steps:\n  - {{name: warm, run: [\"{note}\", warm], undo: [\"{note}\", cool]}}\n");
    Rollout { more_descriptor, ..rollout }
}
