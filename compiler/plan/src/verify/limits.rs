//! Numbers and names of secrets: do they make sense together? It must not know steps.

use std::fmt::Display;

use manent_grammar::Duration;

use super::{Found, Violation};
use crate::capacity::{Heads, Limits, admit};
use crate::model::{Action, Connection, Plan, Pool};

/// Ten years: any deadline made from it still has a date.
const LONGEST_MS: u64 = 87_600 * 3_600_000;

pub(super) fn check(plan: &Plan, found: &mut Found) {
    rollout(plan, found);
    if let Some(pool) = &plan.pool {
        clocks(pool, found);
        floor(plan, pool, found);
    }
    procedures(plan, found);
    secrets(plan, found);
    let digests = plan.inputs.iter().map(|input| (input.path.as_str(), Some(&input.sha256)));
    let artifact = plan.artifact.iter().map(|artifact| (artifact.path.as_str(), artifact.sha256.as_ref()));
    for (path, digest) in digests.chain(artifact) {
        let hex = |digest: &String| {
            digest.len() == 64 && digest.bytes().all(|byte| b"0123456789abcdef".contains(&byte))
        };
        if digest.is_some_and(|digest| !hex(digest)) {
            limit(
                found,
                format!("the digest of `{path}`"),
                "another text",
                "a SHA-256 in lower-case hex is needed",
            );
        }
    }
}

fn limit(found: &mut Found, what: impl Into<String>, value: impl Display, rule: impl Into<String>) {
    found.push(Violation::Limit { what: what.into(), value: value.to_string(), rule: rule.into() });
}

fn duration(found: &mut Found, what: &str, ms: u64, least: u64) {
    if ms < least || ms > LONGEST_MS {
        let rule = if ms < least { "more than 0s is needed" } else { "at most `87600h` is allowed" };
        limit(found, what, Duration::from_millis(ms), rule);
    }
}

fn rollout(plan: &Plan, found: &mut Found) {
    let rollout = &plan.rollout;
    duration(found, "minReady", rollout.min_ready_ms, 0);
    let counts = [("maxUnavailable", rollout.max_unavailable_count), ("parallelism", rollout.parallelism)];
    let waves = rollout.waves.iter().map(|wave| ("maxUnavailable of a wave", wave.max_unavailable));
    for (what, _) in counts.into_iter().chain(waves).filter(|(_, count)| *count == 0) {
        limit(found, what, 0, "at least 1 is needed");
    }
    let targets = u32::try_from(plan.targets.len()).unwrap_or(u32::MAX);
    let most = rollout.max_unavailable.round_down(targets).max(1);
    if rollout.max_unavailable_count != most {
        let rule = format!("{} of {targets} is {most}", rollout.max_unavailable);
        limit(found, "maxUnavailable", rollout.max_unavailable_count, rule);
    }
    for wave in &rollout.waves {
        duration(found, "bake", wave.bake_ms.unwrap_or(0), 0);
    }
    if let Some(last) = rollout.waves.last().filter(|wave| wave.approval) {
        limit(found, format!("the approval of wave `{}`", last.name), "asked for", "no wave comes after it");
    }
}

fn clocks(pool: &Pool, found: &mut Found) {
    duration(found, "drain_timeout", pool.drain_timeout_ms, 1);
    duration(found, "restore_timeout", pool.restore_timeout_ms, 1);
    duration(found, "poll_interval", pool.poll_interval_ms, 1);
    duration(found, "the first poll", pool.capabilities.first_poll_ms, 1);
    duration(found, "drain_delay", pool.capabilities.drain_delay_ms.unwrap_or(0), 0);
    if pool.poll_interval_ms > pool.drain_timeout_ms {
        let longest = Duration::from_millis(pool.drain_timeout_ms);
        let poll = Duration::from_millis(pool.poll_interval_ms);
        limit(found, "poll_interval", poll, format!("at most drain_timeout, {longest}, is allowed"));
    }
    if !pool.capabilities.sees_connections && pool.capabilities.drain_delay_ms.is_none() {
        limit(found, "drain_delay", "missing", "a provider that sees no connections needs one");
    }
}

/// The floor is what its quantity says, and every batch fits under it while all members are healthy.
fn floor(plan: &Plan, pool: &Pool, found: &mut Found) {
    let floor = &pool.floor;
    let targets = u32::try_from(plan.targets.len()).unwrap_or(u32::MAX);
    if floor.members < targets || (!floor.members_declared && floor.members != targets) {
        limit(found, "members", floor.members, format!("there are {targets} targets"));
    }
    let need = floor.wanted.round_up(floor.members);
    if floor.need != need {
        limit(found, "the floor", floor.need, format!("{} of {} is {need}", floor.wanted, floor.members));
    }
    if !pool.capabilities.sees_members || !pool.capabilities.sees_health {
        return;
    }
    for wave in &plan.rollout.waves {
        let largest = wave.batches.iter().map(Vec::len).max().unwrap_or(0);
        let batch = u32::try_from(largest).unwrap_or(u32::MAX);
        let heads = Heads { healthy: floor.members, taken: batch, out: 0, batch };
        if admit(heads, Limits { floor: floor.need, unavailable: batch }).is_err() {
            let stay = floor.members.saturating_sub(batch);
            let rule = format!("a batch of wave `{}` leaves {stay} of {}", wave.name, floor.members);
            limit(found, "the floor", floor.need, rule);
        }
    }
}

fn procedures(plan: &Plan, found: &mut Found) {
    let procedures = &plan.procedures;
    for test in &procedures.post_test {
        duration(found, "within of a post-test", test.within_ms, 0);
        duration(found, "every of a post-test", test.every_ms, 0);
        if test.consecutive == 0 {
            limit(found, "consecutive of a post-test", 0, "at least 1 is needed");
        }
    }
    let recipe = &procedures.deploy;
    let own = procedures.steps.iter().chain(&procedures.activate);
    let own = own.flat_map(|custom| custom.run.iter().chain(custom.undo.iter().flatten()));
    let deploy = [&recipe.apply, &recipe.undo, &recipe.current, &recipe.retain].into_iter().flatten();
    for action in deploy.chain(own).chain(procedures.post_test.iter().map(|test| &test.action)) {
        let (what, ms) = match action {
            Action::Run { argv, timeout_ms } => {
                if argv.is_empty() {
                    limit(found, "a command", "empty", "at least the program is needed");
                }
                ("timeout of a command", *timeout_ms)
            }
            Action::Sh { timeout_ms, .. } => ("timeout of a script", *timeout_ms),
            Action::Upload { timeout_ms, .. } => ("timeout of an upload", *timeout_ms),
            Action::Http { timeout_ms, .. } => ("timeout of a request", *timeout_ms),
            Action::Wait { ms } => ("wait", *ms),
        };
        duration(found, what, ms, 0);
    }
}

fn secrets(plan: &Plan, found: &mut Found) {
    let settings = plan.pool.iter().flat_map(|pool| &pool.settings);
    let of_pool = settings
        .filter(|(name, _)| name.ends_with("_secret"))
        .map(|(name, secret)| (secret, format!("`{name}` of the pool")));
    let of_hosts = plan.connections.iter().flat_map(|connection| match connection {
        Connection::Ssh(ssh) => vec![&ssh.key_secret, &ssh.password_secret],
        Connection::Local => Vec::new(),
    });
    let of_hosts = of_hosts.flatten().map(|secret| (secret, "a connection".to_owned()));
    for (name, by) in of_pool.chain(of_hosts).filter(|(name, _)| !plan.secrets.contains_key(*name)) {
        found.push(Violation::SecretUndeclared { name: name.clone(), by });
    }
}
