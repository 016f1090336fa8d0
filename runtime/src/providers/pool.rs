//! Reads of all instances made into one view: only what is not plainly healthy and in service is listed.
//! It must not know products, and invents nothing: what an instance did not show is unknown.

use std::collections::{BTreeMap, BTreeSet};

use manent_engine::view::{Admin, Health, InstanceView, PoolView, Seen};
use manent_plan::TargetIx;

use super::{InstanceRead, Members, Provider, Wanted};

/// Names that a problem lists at most.
const NAMES: usize = 20;

/// Reads the pool once. `all` are the targets of the plan, in its order; `interest` those that a provider has to ask
/// for one by one (all, when empty).
pub async fn read_pool(provider: &dyn Provider, all: &[Wanted], interest: &[TargetIx]) -> PoolView {
    let reads = if interest.is_empty() {
        provider.read(all).await
    } else {
        let wanted: Vec<Wanted> = all.iter().filter(|one| interest.contains(&one.ix)).cloned().collect();
        provider.read(&wanted).await
    };
    pool_view(&reads, all)
}

/// One view of all reads. `targets` are all targets of the plan: a member that is none of them is an other's.
#[must_use]
pub fn pool_view(reads: &[InstanceRead], targets: &[Wanted]) -> PoolView {
    let known: Vec<&Members> = reads.iter().filter_map(|read| read.outcome.as_ref().ok()).collect();
    let names: BTreeSet<&str> =
        known.iter().flat_map(|members| members.seen.keys()).map(String::as_str).collect();
    let owners: BTreeMap<&str, TargetIx> =
        targets.iter().map(|target| (target.member.as_str(), target.ix)).collect();
    let unusual = |name: &str| {
        let seen: Vec<Seen> = reads.iter().map(|read| seen_by(read, name)).collect();
        let answered = seen.iter().zip(reads).filter(|(_, read)| read.outcome.is_ok());
        let plain = |seen: &Seen| seen.admin == Admin::In && seen.health == Health::Up;
        let unusual = !answered.map(|(seen, _)| seen).all(plain);
        unusual.then_some(seen)
    };
    let others = names.iter().filter(|name| !owners.contains_key(**name));
    PoolView {
        total: u32::try_from(names.len()).unwrap_or(u32::MAX),
        instances: reads.iter().map(instance).collect(),
        targets: targets.iter().filter_map(|target| Some((target.ix, unusual(&target.member)?))).collect(),
        others: others.filter_map(|name| Some(((*name).to_owned(), unusual(name)?))).collect(),
        problems: problems(reads, targets, &names),
    }
}

fn instance(read: &InstanceRead) -> InstanceView {
    InstanceView {
        name: read.name.clone(),
        identity: read.identity.clone(),
        failure: read.outcome.as_ref().err().cloned(),
    }
}

/// A member as one instance shows it, whether it has it or not.
fn seen_by(read: &InstanceRead, name: &str) -> Seen {
    let without = |admin, words: &str| Seen {
        admin,
        health: Health::Unknown,
        connections: None,
        words: words.to_owned(),
    };
    match &read.outcome {
        Err(_) => Seen::unknown(),
        Ok(members) => match members.seen.get(name) {
            Some(seen) => seen.clone(),
            None if members.backup.contains(name) => without(Admin::Idle, "backup"),
            None if members.whole => without(Admin::Absent, "not a member"),
            None => Seen::unknown(),
        },
    }
}

fn problems(reads: &[InstanceRead], targets: &[Wanted], names: &BTreeSet<&str>) -> Vec<String> {
    let mut found = Vec::new();
    let mut taken: BTreeMap<&str, &Wanted> = BTreeMap::new();
    for target in targets {
        let member = target.member.as_str();
        if let Some(first) = taken.insert(member, target) {
            found.push(format!("`{}` and `{}` are both member `{member}`", first.host, target.host));
        }
        let backup = reads
            .iter()
            .find(|read| read.outcome.as_ref().is_ok_and(|members| members.backup.contains(member)));
        if let Some(read) = backup {
            found.push(format!(
                "member `{member}` is a backup on `{}`: it serves only when all others are gone, so it cannot be \
                 drained and put back like them",
                read.name
            ));
        }
    }
    for read in reads {
        let Ok(members) = &read.outcome else { continue };
        if !members.whole {
            continue;
        }
        let missing: Vec<&str> = targets
            .iter()
            .map(|target| target.member.as_str())
            .filter(|member| !members.seen.contains_key(*member) && !members.backup.contains(*member))
            .collect();
        if !missing.is_empty() {
            let (what, such) =
                if missing.len() == 1 { ("member", "has no such") } else { ("members", "has none of the") };
            found.push(format!(
                "`{}` {such} {what}: {}; it has: {} (check `member` and the pool's settings)",
                read.name,
                some(missing.into_iter()),
                some(names.iter().copied().filter(|name| members.seen.contains_key(*name)))
            ));
        }
    }
    found
}

/// Names in backticks, not too many of them.
fn some<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{}`", super::text::shown(name, 100))).collect();
    match names.len() {
        0 => "none".to_owned(),
        count if count > NAMES => {
            format!("{} and {} more", names.get(..NAMES).unwrap_or_default().join(", "), count - NAMES)
        }
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests;
