//! Changes of members on one HAProxy: which requests make a member leave, forget its health, and come back.
//! It must not decide who changes or when. Members are compared with a fresh read first, so that nothing is sent twice.

use std::collections::BTreeMap;

use manent_engine::call::Change;
use manent_engine::view::{Admin, Failure};

use super::api::{Api, State};
use super::truth::{Facts, Status};
use crate::providers::Wanted;
use crate::providers::http::passing;

/// Makes one change, member by member, in the order of `targets`.
pub(super) async fn change(api: &Api<'_>, change: Change, targets: &[Wanted]) -> Result<(), Failure> {
    let look = Look::at(api).await?;
    if change != Change::Restore {
        // Every member has to exist before the first one is touched.
        targets.iter().try_for_each(|target| look.facts(api, &target.member).map(|_| ()))?;
    }
    match change {
        Change::Drain => drain(api, &look, targets).await,
        Change::Harden => harden(api, &look, targets).await,
        Change::ForceDown => force_down(api, look, targets).await,
        Change::Restore => restore(api, &look, targets).await,
    }
}

/// All servers at one moment.
struct Look {
    servers: BTreeMap<String, Facts>,
    doubted: bool,
}

impl Look {
    async fn at(api: &Api<'_>) -> Result<Look, Failure> {
        let servers = api.servers().await?;
        let doubted = servers.values().any(Facts::belies_maint);
        Ok(Look { servers, doubted })
    }

    fn facts(&self, api: &Api<'_>, member: &str) -> Result<&Facts, Failure> {
        self.servers.get(member).ok_or_else(|| api.no_such(member, &self.servers))
    }

    fn admin(&self, facts: &Facts) -> Admin {
        facts.judge(self.doubted).admin
    }
}

async fn drain(api: &Api<'_>, look: &Look, targets: &[Wanted]) -> Result<(), Failure> {
    for target in targets {
        // A drain would lift the maintenance of one that is out already.
        if look.admin(look.facts(api, &target.member)?) != Admin::Out {
            api.put(&target.member, State::Drain).await?;
        }
    }
    Ok(())
}

async fn harden(api: &Api<'_>, look: &Look, targets: &[Wanted]) -> Result<(), Failure> {
    for target in targets {
        if look.facts(api, &target.member)?.status() != Status::Maint {
            api.put(&target.member, State::Maint).await?;
        }
    }
    Ok(())
}

/// Makes checks prove the health anew, while the member is still out.
async fn force_down(api: &Api<'_>, mut look: Look, targets: &[Wanted]) -> Result<(), Failure> {
    let mut softened = false;
    for target in targets {
        let facts = look.facts(api, &target.member)?;
        // Forced down in service it would be taken from its clients.
        if look.admin(facts) != Admin::Out {
            let words = facts.judge(look.doubted).words;
            return Err(passing(format!(
                "`{}` is not out ({words}); its health is left alone",
                target.member
            )));
        }
        // Checks pause in maintenance. Out of it the member counts as up at once, but is still drained.
        if matches!(facts.status(), Status::Maint | Status::Unresolved) {
            api.put(&target.member, State::Drain).await?;
            softened = true;
        }
    }
    if softened {
        look = Look::at(api).await?;
    }
    for target in targets {
        let facts = look.facts(api, &target.member)?;
        // Without checks of its own nothing would ever bring it up again; a server that tracks another has none either.
        if facts.checked() && facts.status() != Status::Down {
            api.put(&target.member, State::Down).await?;
        }
    }
    Ok(())
}

/// Puts members back, all of them if possible: one that cannot be changed must not keep the others out.
async fn restore(api: &Api<'_>, look: &Look, targets: &[Wanted]) -> Result<(), Failure> {
    let mut first = Ok(());
    for target in targets {
        let outcome = match look.facts(api, &target.member) {
            Ok(facts) => restore_one(api, facts, &target.member, look).await,
            Err(missing) => Err(missing),
        };
        first = first.and(outcome);
    }
    first
}

async fn restore_one(api: &Api<'_>, facts: &Facts, member: &str, look: &Look) -> Result<(), Failure> {
    let ready = facts.admin.as_deref() == Some("ready");
    match look.admin(facts) {
        Admin::In => Ok(()),
        Admin::Idle if ready => Ok(()),
        // The API takes this drained server for ready and would send nothing. In maintenance it is not mistaken, and the
        // member cannot receive anything before its name resolves.
        Admin::Out if ready => {
            api.put(member, State::Maint).await?;
            api.put(member, State::Ready).await
        }
        Admin::Out | Admin::Idle | Admin::Absent | Admin::Unknown => api.put(member, State::Ready).await,
    }
}
