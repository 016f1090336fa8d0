//! Performs the engine's calls: reads and changes through the provider, procedures through a target's transport, requests
//! from this machine. One answer a call, whatever happens. It must not retry, pace or judge: the engine does.

mod actions;
mod local_file;
mod probe;
mod tests_of_health;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use manent_engine::{
    Answer, Call, CallNo, Change, InstanceAnswer, InstanceChange, Ledger, Probed, Procedure, Ran, Timestamp,
};
use manent_plan::{Plan, TargetIx};

use crate::clock::wall;
use crate::drive::Perform;
use crate::providers::{Provider, Wanted, read_pool};
use crate::transport::Transports;

/// The least time a probe gets.
const PROBE: Duration = Duration::from_secs(20);
/// Until a connection of a request stands.
const CONNECT: Duration = Duration::from_secs(10);

/// Performs the calls of one run.
pub struct Performer {
    pub(crate) plan: Arc<Plan>,
    /// The project's root: local paths of actions are relative to it.
    pub(crate) root: PathBuf,
    pub(crate) provider: Option<Box<dyn Provider>>,
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) transports: Arc<Transports>,
    /// The run's id: the first part of every key in a target's ledger.
    pub(crate) run: String,
    pub(crate) http: reqwest::Client,
}

impl Performer {
    /// A performer for a plan.
    #[must_use]
    pub fn new(
        plan: Arc<Plan>,
        root: PathBuf,
        provider: Option<Box<dyn Provider>>,
        transports: Arc<Transports>,
        run: String,
    ) -> Performer {
        let wanted =
            (0_u32..).zip(&plan.targets).map(|(at, target)| Wanted::of(TargetIx(at), target)).collect();
        Performer { plan, root, provider, wanted, transports, run, http: client() }
    }

    async fn read(&self, targets: &[TargetIx]) -> Answer {
        match &self.provider {
            Some(provider) => Answer::Pool(read_pool(provider.as_ref(), &self.wanted, targets).await),
            None => Answer::Changed(Vec::new()),
        }
    }

    /// A drain stops at the first instance that does not accept it, so that instances do not drift apart further; every
    /// other change goes on over all instances.
    async fn change(&self, change: Change, on: Vec<InstanceChange>) -> Answer {
        let Some(provider) = &self.provider else { return Answer::Changed(Vec::new()) };
        if change == Change::Drain {
            self.warm(&on);
        }
        let mut answers = Vec::with_capacity(on.len());
        for one in on {
            let failed = answers.iter().any(|answer| *answer != InstanceAnswer::Accepted);
            if failed && change == Change::Drain {
                let reason = String::from("not asked, since an instance before it did not accept");
                answers.push(InstanceAnswer::Unsure { reason });
                continue;
            }
            let targets: Vec<Wanted> =
                one.targets.iter().filter_map(|target| self.wanted.get(target.at())).cloned().collect();
            answers.push(provider.change(change, one.instance as usize, &targets).await);
        }
        Answer::Changed(answers)
    }

    /// The key of an action in a target's ledger.
    pub(crate) fn key(&self, no: CallNo, action: usize) -> String {
        format!("{}/{}.{action}", self.run, no.0)
    }

    /// Connections to members that are going out are opened behind the wait for their requests to end.
    fn warm(&self, on: &[InstanceChange]) {
        let targets: BTreeSet<TargetIx> = on.iter().flat_map(|on| &on.targets).copied().collect();
        let targets: Vec<TargetIx> = targets.into_iter().collect();
        let transports = Arc::clone(&self.transports);
        tokio::spawn(async move { transports.warm(&targets).await });
    }

    async fn run(&self, no: CallNo, procedure: Procedure, scope: &Scope<'_>) -> Ran {
        match procedure {
            Procedure::Current => self.current(scope).await,
            Procedure::PostTest => self.post_tests(scope).await,
            Procedure::Apply => {
                let ran = self.actions(no, procedure, scope).await;
                match ran {
                    Ran::Done { output } => self.retain(no, scope, output).await,
                    Ran::Failed { .. } | Ran::Unknown { .. } => ran,
                }
            }
            Procedure::Undo
            | Procedure::Custom(_)
            | Procedure::UndoCustom(_)
            | Procedure::Activate(_)
            | Procedure::UndoActivate(_) => self.actions(no, procedure, scope).await,
        }
    }
}

fn left(until: Timestamp) -> Duration {
    Duration::from_millis(until.since(wall()))
}

/// Requests of procedures from this machine: no redirect is followed, no proxy of the environment is used.
fn client() -> reqwest::Client {
    crate::providers::http::install_tls();
    let builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT)
        .user_agent(concat!("manent/", env!("CARGO_PKG_VERSION")));
    builder.build().unwrap_or_default()
}

/// What a procedure's templates are filled with.
pub(crate) struct Scope<'a> {
    pub target: TargetIx,
    pub wanted: &'a Wanted,
    pub release: Option<String>,
    pub from: Option<String>,
}

#[async_trait]
impl Perform for Performer {
    async fn perform(&self, no: CallNo, call: Call) -> Answer {
        match call {
            Call::ReadPool { targets } => self.read(&targets).await,
            Call::Change { change, on } => self.change(change, on).await,
            Call::Run { procedure, target, release, from, until } => {
                let Some(wanted) = self.wanted.get(target.at()) else {
                    let reason = format!("the plan has no target {}", target.0);
                    return Answer::Ran(Ran::Failed { begun: false, reason });
                };
                let scope = Scope { target, wanted, release, from };
                // Every action has a deadline of its own; this one is for a way to a target that hangs.
                match tokio::time::timeout(left(until), self.run(no, procedure, &scope)).await {
                    Ok(ran) => Answer::Ran(ran),
                    Err(_) => Answer::Ran(Ran::Unknown { reason: String::from("nothing was heard in time") }),
                }
            }
            Call::Probe { of, procedure, target, until } => {
                match tokio::time::timeout(left(until).max(PROBE), self.probe(of, procedure, target)).await {
                    Ok(probed) => Answer::Probed(probed),
                    Err(_) => {
                        let reason = String::from("nothing was heard in time");
                        Answer::Probed(Probed { ledger: Ledger::Unreachable { reason }, release: None })
                    }
                }
            }
        }
    }
}
