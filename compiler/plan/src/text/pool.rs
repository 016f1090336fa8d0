//! The pool: what its load balancer sees and promises, the arithmetic of capacity, the clocks. It must not know steps.

use super::page::Page;
use super::words::{count, grouped, rounded_down, rounded_up, time};
use crate::model::{OnFailure, OnTimeout, Plan, Pool};

pub(super) fn pool(page: &mut Page, plan: &Plan) {
    let Some(pool) = &plan.pool else {
        page.section("POOL none");
        page.paragraph(2, "! Nothing is drained: targets are updated while they serve, requests may be cut.");
        return;
    };
    page.section(&format!("POOL {}", pool.provider));
    let longest = pool.settings.keys().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut key = "settings";
    for (name, value) in &pool.settings {
        page.row(key, &format!("{name:<longest$}  {value}"));
        key = "";
    }
    page.prose("sees", &sees(pool));
    let mut key = "promises";
    for promise in &pool.promises {
        page.prose(key, promise);
        key = "";
    }
    let weaker = weaker(pool);
    if !weaker.is_empty() {
        page.line(
            2,
            "!!! WEAKER PROMISE than with a load balancer that shows its members, health and connections:",
        );
        for sentence in weaker {
            page.paragraph(6, &sentence);
        }
    }
}

fn sees(pool: &Pool) -> String {
    let can = &pool.capabilities;
    let seen = [
        (can.sees_members, "its members"),
        (can.sees_health, "their health"),
        (can.sees_connections, "their connections"),
    ];
    let seen: Vec<&str> = seen.into_iter().filter(|(sees, _)| *sees).map(|(_, what)| what).collect();
    let mut text = if seen.is_empty() { "nothing of the pool".to_owned() } else { seen.join(", ") };
    if can.checks_while_out {
        text.push_str("; members that are out are checked on, so health is awaited before they go back");
    }
    if can.can_harden {
        text.push_str("; a drain can be hardened against persistent clients");
    }
    text
}

/// What this pool cannot promise, in sentences.
pub(super) fn weaker(pool: &Pool) -> Vec<String> {
    let can = &pool.capabilities;
    let mut sentences = Vec::new();
    if !can.sees_members || !can.sees_health {
        sentences.push(
            "The floor is not checked: nobody shows which members are healthy in service. Only the number of targets out at \
             the same time is limited."
                .to_owned(),
        );
    }
    if !can.sees_members {
        sentences.push("That a target is out, or back in service, is asked for and not seen.".to_owned());
    }
    if !can.sees_health {
        sentences.push("The post-test is the only gate before a target goes back.".to_owned());
    }
    if !can.sees_connections {
        let delay = can.drain_delay_ms.map_or_else(|| "a fixed time".to_owned(), time);
        sentences
            .push(format!("Each drain waits {delay}; connections that last longer are cut and not counted."));
    }
    sentences
}

/// Whether anybody can see that the floor holds.
pub(super) fn is_checked(pool: &Pool) -> bool {
    pool.capabilities.sees_members && pool.capabilities.sees_health
}

/// Floor and limit, with the numbers that they come from, and that every batch fits.
pub(super) fn capacity(page: &mut Page, plan: &Plan) {
    page.section("CAPACITY");
    let rollout = &plan.rollout;
    let all = u32::try_from(plan.targets.len()).unwrap_or(u32::MAX);
    if let Some(pool) = &plan.pool {
        let floor = &pool.floor;
        let whose = match (floor.members_declared, floor.members == all) {
            (true, false) => format!(", {} of them targets of this plan", grouped(all)),
            (true, true) | (false, true | false) => ", the targets of this plan".to_owned(),
        };
        page.row("members", &format!("{}{whose}", grouped(floor.members)));
        let need = rounded_up(floor.wanted, floor.members, floor.need);
        if is_checked(pool) {
            page.row(
                "floor",
                &format!("{need} healthy in service at any time (min_healthy {})", floor.wanted),
            );
        } else {
            page.row("floor", &format!("{need} (min_healthy {}), NOT CHECKED", floor.wanted));
        }
    }
    let limit = rounded_down(rollout.max_unavailable, all, rollout.max_unavailable_count);
    page.row("limit", &format!("{limit} out at a time (maxUnavailable {})", rollout.max_unavailable));
    if let Some(order) = &rollout.order {
        page.row("order", &format!("by {order} inside a pass"));
    }
    let longest = rollout.waves.iter().map(|wave| wave.name.chars().count()).max().unwrap_or(0);
    let mut key = "passes";
    for wave in &rollout.waves {
        let targets: usize = wave.batches.iter().map(Vec::len).sum();
        let largest = wave.batches.iter().map(Vec::len).max().unwrap_or(0);
        let own = if wave.max_unavailable == rollout.max_unavailable_count {
            String::new()
        } else {
            format!(", its own limit is {}", wave.max_unavailable)
        };
        let batches = match wave.batches.len() {
            1 => "1 batch".to_owned(),
            many if many * largest == targets => format!("{} of {largest}", count(many, "batch")),
            many => format!("{} of up to {largest}", count(many, "batch")),
        };
        let fits = plan.pool.as_ref().filter(|pool| is_checked(pool));
        let fits = fits.map(|pool| stays(pool, largest)).unwrap_or_default();
        page.row(
            key,
            &format!("{:<longest$}  {} in {batches}{own}{fits}", wave.name, count(targets, "target")),
        );
        key = "";
    }
}

/// `; 4 - 1 = 3 stay, 3 are needed`.
fn stays(pool: &Pool, out: usize) -> String {
    let members = pool.floor.members;
    let stay = members.saturating_sub(u32::try_from(out).unwrap_or(u32::MAX));
    let out = u32::try_from(out).unwrap_or(u32::MAX);
    let [members, out, stay, need] = [members, out, stay, pool.floor.need].map(grouped);
    format!("; {members} - {out} = {stay} stay, the floor is {need}")
}

/// How long things may take, and what happens then.
pub(super) fn clocks(page: &mut Page, plan: &Plan) {
    page.section("CLOCKS AND FAILURES");
    if let Some(pool) = &plan.pool {
        let drain = time(pool.drain_timeout_ms);
        let poll = time(pool.poll_interval_ms);
        page.prose(
            "capacity",
            &format!("a batch waits at most {drain} until it may go out and is out, one attempt every {poll}; then the pass fails, nothing was touched"),
        );
        page.prose("connections", &connections(pool));
        let restore = time(pool.restore_timeout_ms);
        let ready = match plan.rollout.min_ready_ms {
            0 => String::new(),
            ms => format!(" and stays so for {} (minReady)", time(ms)),
        };
        let until = if pool.capabilities.sees_health {
            "until it is healthy in service"
        } else {
            "until it is put back"
        };
        page.prose(
            "restore",
            &format!("at most {restore} {until}{ready}; then it is taken out again and the pass fails"),
        );
    }
    page.row("parallelism", &format!("{} in a batch", count(plan.rollout.parallelism as usize, "task")));
    page.prose(
        "on failure",
        match plan.rollout.on_failure {
            OnFailure::Rollback => "rollback: what was begun is undone, see the way back",
            OnFailure::Stop => {
                "stop: what is out stays out, what is updated stays updated, and `manent status` says which"
            }
        },
    );
}

fn connections(pool: &Pool) -> String {
    let can = &pool.capabilities;
    if let (false, Some(delay)) = (can.sees_connections, can.drain_delay_ms) {
        return format!("not seen: a fixed wait of {} after the drain (drain_delay)", time(delay));
    }
    let drain = time(pool.drain_timeout_ms);
    let then = match (pool.on_timeout, can.can_harden) {
        (OnTimeout::Fail, true | false) => {
            "the batch is put back untouched and the pass fails (on_timeout: fail)"
        }
        (OnTimeout::Proceed, true) => {
            "the drain is hardened, and those left are cut and counted (on_timeout: proceed)"
        }
        (OnTimeout::Proceed, false) => "those left are cut and counted (on_timeout: proceed)",
    };
    format!("a batch that is out waits at most {drain} more until its connections have ended; then {then}")
}
