//! One demo from the first request to the last: servers up, requests on, the run begun, watched, perhaps killed and resumed,
//! the requests counted. It must not influence the run otherwise.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::process::Child;
use tokio::time::sleep;

use super::balancer::{self, Balancer};
use super::load::Load;
use super::run::{Runner, Status, was_killed};
use super::scene::{Eyes, Scene};
use super::summary::Summary;
use super::supervisor::Supervisor;
use super::tree::{FIRST, Listeners, Tree};
use super::view::View;
use super::{Args, Tale};
use crate::cli::Context;
use crate::exit::Exit;
use crate::fault::Fault;

/// Between two scenes.
const TICK: Duration = Duration::from_millis(150);
/// Requests before and after the run, so that there is something to compare with.
const AROUND: Duration = Duration::from_millis(1200);
/// How long a killed run is left alone: requests go on without it.
const ALONE: Duration = Duration::from_millis(1500);
/// How long the servers may take to be up.
const STARTED: Duration = Duration::from_secs(15);
/// Members that were taken out when the run is killed: the second drains then, in the middle of everything.
const KILLED_AT: usize = 2;

/// Everything that goes on.
struct Stage<'a> {
    eyes: Eyes,
    load: Load,
    runner: Runner,
    view: View<'a>,
    began: Instant,
    status: Option<Status>,
    note: Option<String>,
}

/// Plays the demo.
///
/// # Errors
/// Something cannot be started, or the run never began.
pub(super) async fn play(
    args: &Args,
    context: &Context,
    program: &Path,
    tree: &Tree,
    listeners: Listeners,
) -> Result<Exit, Fault> {
    let failed = |error: std::io::Error| Fault::error("cannot start the demo's servers").because(&error);
    let tale = args.tale();
    let supervisor = Supervisor::start(program.to_owned(), tree.servers.clone()).await.map_err(failed)?;
    tokio::spawn(Arc::clone(&supervisor).serve(listeners.control));
    let front = listeners.requests.local_addr().map_err(failed)?;
    let eyes = Eyes {
        api: listeners.api.local_addr().map_err(failed)?,
        authorization: balancer::authorization(&tree.credentials),
        servers: tree.servers.clone(),
    };
    let balancer = Balancer::start(&tree.addresses(), listeners.requests, listeners.api, &tree.credentials);
    wait_until_up(&eyes).await?;
    let release = tale.release();
    let title = format!("manent demo: shop {FIRST} to {release} on {} servers", tree.servers.len());
    let runner = Runner {
        program: program.to_owned(),
        root: tree.root().to_owned(),
        environment: tale.environment(),
        release,
    };
    let mut stage = Stage {
        load: Load::start(front, args.rate, Instant::now()),
        view: View::new(&context.console, &title, &runner.shown()),
        runner,
        began: Instant::now(),
        eyes,
        status: None,
        note: None,
    };
    stage.watch_for(AROUND).await?;
    let killed = stage.release(tale).await?;
    stage.watch_for(AROUND).await?;
    let status = stage.status.ok_or_else(|| {
        Fault::error("the demo's run never began").help(format!("it said:\n{}", stage.runner.tail()))
    })?;
    let ran = stage.began.elapsed();
    let counts = stage.load.finish().await;
    supervisor.stop().await;
    let summary = Summary {
        tale,
        status,
        servers: tree.servers.len(),
        counts,
        ran,
        killed,
        in_flight_when_taken_out: balancer.in_flight_when_taken_out(),
        restarts: supervisor.restarts(),
        said: stage.runner.tail(),
        kept: args.keep.then(|| tree.root().to_owned()),
    };
    summary.print(&context.console)?;
    Ok(if summary.promise_held() { Exit::Done } else { Exit::Error })
}

/// No request is sent before every member is in service on a check of its own.
async fn wait_until_up(eyes: &Eyes) -> Result<(), Fault> {
    let until = Instant::now() + STARTED;
    while Instant::now() < until {
        let members = eyes.members().await.unwrap_or_default();
        let up = |member: &super::scene::Seen| member.in_service() && member.release.is_some();
        if !members.is_empty() && members.iter().all(up) {
            return Ok(());
        }
        sleep(TICK).await;
    }
    Err(Fault::error("the demo's servers did not come up").help("is this machine very busy? try again"))
}

impl Stage<'_> {
    /// Runs `manent apply` to its end, killed and resumed on the way where the tale wants that; how often it was killed.
    async fn release(&mut self, tale: Tale) -> Result<usize, Fault> {
        let failed = |error: std::io::Error| Fault::error("manent cannot be started").because(&error);
        let mut child = self.runner.apply().map_err(failed)?;
        if tale != Tale::Crash || !self.kill_while_draining(&mut child).await? {
            self.watch_child(&mut child).await?;
            return Ok(0);
        }
        self.status = self.runner.status().await.or_else(|| self.status.take());
        let run = self.status.as_ref().map(|status| status.run.clone()).unwrap_or_default();
        self.note = Some(String::from("manent was killed; resume follows"));
        self.watch_for(ALONE).await?;
        self.note = None;
        let mut child = self.runner.resume(&run).map_err(failed)?;
        self.watch_child(&mut child).await?;
        Ok(1)
    }

    /// Kills the child while a member drains; false when it ended before.
    async fn kill_while_draining(&mut self, child: &mut Child) -> Result<bool, Fault> {
        let mut taken_out: Vec<String> = Vec::new();
        while matches!(child.try_wait(), Ok(None)) {
            // Drains are short: between two scenes the members are looked at more often.
            for _ in 0..6 {
                let members = self.eyes.members().await.unwrap_or_default();
                for member in members.iter().filter(|member| member.is_draining()) {
                    if !taken_out.contains(&member.member) {
                        taken_out.push(member.member.clone());
                    }
                    if taken_out.len() == KILLED_AT {
                        // On Unix this is SIGKILL: nothing is tidied up.
                        let killed = child.start_kill().is_ok();
                        return Ok(killed && child.wait().await.is_ok_and(was_killed));
                    }
                }
                sleep(TICK / 6).await;
            }
            self.look().await?;
        }
        Ok(false)
    }

    async fn watch_child(&mut self, child: &mut Child) -> Result<(), Fault> {
        while matches!(child.try_wait(), Ok(None)) {
            self.look().await?;
            sleep(TICK).await;
        }
        self.look().await
    }

    async fn watch_for(&mut self, time: Duration) -> Result<(), Fault> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.look().await?;
            sleep(TICK).await;
        }
        Ok(())
    }

    /// Looks at everything once, and shows it.
    async fn look(&mut self) -> Result<(), Fault> {
        let is_over = self.status.as_ref().is_some_and(Status::is_over);
        let status = if is_over { None } else { self.runner.status().await };
        // After the status, so that members never look older than the step that moved them.
        let members = self.eyes.members().await;
        self.status = status.or_else(|| self.status.take());
        let mut scene = Scene::new(self.began.elapsed(), &self.load.counts(), members, self.status.as_ref());
        scene.note.clone_from(&self.note);
        self.view.show(&scene)
    }
}
