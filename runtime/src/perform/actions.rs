//! A procedure's actions on one target, one after another. Commands run under the ledger's key of their call and
//! position, so a call that is performed again goes on where it stopped. It must not retry.

use std::collections::BTreeMap;
use std::time::Duration;

use manent_engine::{CallNo, Procedure, Ran};
use manent_grammar::{Placeholder, Template};
use manent_plan::{Action, Custom};

use super::local_file::local_file;
use super::{Performer, Scope};
use crate::providers::{text, url};
use crate::transport::{Command, Exec, Executed};

/// Bytes of a command's output that a reason repeats.
const QUOTED: usize = 400;

/// How one action ended.
pub(super) enum Acted {
    /// It succeeded, with its output.
    Done(String),
    /// It failed.
    Failed { begun: bool, reason: String },
    /// Nobody knows.
    Unknown { reason: String },
}

impl Performer {
    /// The actions of a procedure.
    pub(super) fn actions_of(&self, procedure: Procedure) -> &[Action] {
        let procedures = &self.plan.procedures;
        match procedure {
            Procedure::Current => &procedures.deploy.current,
            Procedure::Apply => &procedures.deploy.apply,
            Procedure::Undo => &procedures.deploy.undo,
            Procedure::PostTest => &[],
            Procedure::Custom(at) => procedures.steps.get(at as usize).map_or(&[], |custom| &custom.run),
            Procedure::Activate(at) => procedures.activate.get(at as usize).map_or(&[], |custom| &custom.run),
            Procedure::UndoCustom(at) => undo_of(&procedures.steps, at),
            Procedure::UndoActivate(at) => undo_of(&procedures.activate, at),
        }
    }

    /// Performs all actions of a procedure with an effect.
    pub(super) async fn actions(&self, no: CallNo, procedure: Procedure, scope: &Scope<'_>) -> Ran {
        let mut begun = false;
        for (at, action) in self.actions_of(procedure).iter().enumerate() {
            match self.action(Some(self.key(no, at)), action, scope).await {
                Acted::Done(_) => begun = true,
                Acted::Failed { begun: this, reason } => return Ran::Failed { begun: begun || this, reason },
                Acted::Unknown { reason } => return Ran::Unknown { reason },
            }
        }
        Ran::Done { output: None }
    }

    /// Tidies up after a success. Its failure fails nothing, and is told.
    pub(super) async fn retain(&self, no: CallNo, scope: &Scope<'_>, output: Option<String>) -> Ran {
        let first = self.plan.procedures.deploy.apply.len();
        let from = Some(scope.from.clone().unwrap_or_default());
        let scope =
            &Scope { target: scope.target, wanted: scope.wanted, release: scope.release.clone(), from };
        for (at, action) in self.plan.procedures.deploy.retain.iter().enumerate() {
            let key = self.key(no, first.saturating_add(at));
            match self.action(Some(key), action, scope).await {
                Acted::Done(_) => {}
                Acted::Failed { reason, .. } | Acted::Unknown { reason } => {
                    return Ran::Done {
                        output: Some(format!("old releases could not be tidied up: {reason}")),
                    };
                }
            }
        }
        Ran::Done { output }
    }

    /// Asks for the release on a target. More than one line, or a line that cannot be a release, is an error: a guess
    /// here would be returned to later.
    pub(super) async fn current(&self, scope: &Scope<'_>) -> Ran {
        let mut printed = String::new();
        for action in &self.plan.procedures.deploy.current {
            match self.action(None, action, scope).await {
                Acted::Done(output) => printed = output,
                Acted::Failed { reason, .. } | Acted::Unknown { reason } => {
                    return Ran::Failed { begun: false, reason };
                }
            }
        }
        let release = printed.trim();
        let odd = release.chars().any(char::is_control) || release.len() > 128;
        if odd {
            let shown = text::shown(release, QUOTED);
            let reason = format!("`current` printed something that is no release: `{shown}`");
            return Ran::Failed { begun: false, reason };
        }
        Ran::Done { output: (!release.is_empty()).then(|| release.to_owned()) }
    }

    /// Performs one action; without a key it is a read.
    pub(super) async fn action(&self, key: Option<String>, action: &Action, scope: &Scope<'_>) -> Acted {
        match action {
            Action::Run { argv, timeout_ms } => match self.render_all(argv, scope) {
                Ok(argv) => self.exec(key, Command::Argv(argv), *timeout_ms, scope).await,
                Err(reason) => Acted::Failed { begun: false, reason },
            },
            Action::Sh { script, env, timeout_ms } => {
                let rendered: Result<BTreeMap<String, String>, String> = env
                    .iter()
                    .map(|(name, value)| self.render(value, scope).map(|value| (name.clone(), value)))
                    .collect();
                match rendered {
                    Ok(env) => {
                        let command = Command::Script { text: script.clone(), env };
                        self.exec(key, command, *timeout_ms, scope).await
                    }
                    Err(reason) => Acted::Failed { begun: false, reason },
                }
            }
            Action::Upload { from, to, sha256, timeout_ms } => {
                self.upload(from, to, sha256.as_deref(), *timeout_ms, scope).await
            }
            Action::Http { method, url, expect, timeout_ms } => {
                let asked = self.ask(method, url, scope, Duration::from_millis(*timeout_ms)).await;
                match asked {
                    Ok(status) if status == *expect => Acted::Done(String::new()),
                    Ok(status) => {
                        Acted::Failed { begun: true, reason: format!("answered {status}, expected {expect}") }
                    }
                    Err(reason) => Acted::Failed { begun: true, reason },
                }
            }
            Action::Wait { ms } => {
                tokio::time::sleep(Duration::from_millis(*ms)).await;
                Acted::Done(String::new())
            }
        }
    }

    async fn exec(&self, key: Option<String>, command: Command, timeout_ms: u64, scope: &Scope<'_>) -> Acted {
        let transport = match self.transports.of(scope.target).await {
            Ok(transport) => transport,
            Err(reason) => return Acted::Failed { begun: false, reason },
        };
        let read_only = key.is_none();
        let exec = Exec { key, command, deadline: Duration::from_millis(timeout_ms) };
        let executed = if read_only { transport.read_only(&exec).await } else { transport.exec(&exec).await };
        acted(executed, timeout_ms)
    }

    async fn upload(
        &self,
        from: &Template,
        to: &Template,
        sha256: Option<&str>,
        timeout_ms: u64,
        scope: &Scope<'_>,
    ) -> Acted {
        let paths = self.render(from, scope).and_then(|from| self.render(to, scope).map(|to| (from, to)));
        let (from, to) = match paths {
            Ok(paths) => paths,
            Err(reason) => return Acted::Failed { begun: false, reason },
        };
        let from = match local_file(&self.root, &from) {
            Ok(from) => from,
            Err(reason) => return Acted::Failed { begun: false, reason },
        };
        let transport = match self.transports.of(scope.target).await {
            Ok(transport) => transport,
            Err(reason) => return Acted::Failed { begun: false, reason },
        };
        match acted(transport.upload(&from, &to, sha256, Duration::from_millis(timeout_ms)).await, timeout_ms)
        {
            // A part of a file under a temporary name is no effect, and sending it again is safe.
            Acted::Unknown { reason } => Acted::Failed { begun: true, reason },
            other => other,
        }
    }

    /// One request from this machine; no redirect is followed.
    pub(super) async fn ask(
        &self,
        method: &str,
        template: &Template,
        scope: &Scope<'_>,
        timeout: Duration,
    ) -> Result<u16, String> {
        let built = url::filled(template, |placeholder| {
            lookup(placeholder, scope).ok_or_else(|| missing(placeholder))
        })?;
        let method =
            reqwest::Method::from_bytes(method.as_bytes()).map_err(|_| format!("`{method}` is no method"))?;
        let shown = built.to_string();
        let request = self.http.request(method, built).timeout(timeout).send();
        match request.await {
            Ok(response) => Ok(response.status().as_u16()),
            Err(error) => Err(format!("{shown}: {}", text::cause(&error))),
        }
    }

    pub(super) fn render(&self, template: &Template, scope: &Scope<'_>) -> Result<String, String> {
        template.render(|placeholder| lookup(placeholder, scope)).map_err(|placeholder| {
            format!("`{template}` cannot be filled in here: {}", missing(&placeholder))
        })
    }

    fn render_all(&self, templates: &[Template], scope: &Scope<'_>) -> Result<Vec<String>, String> {
        templates.iter().map(|template| self.render(template, scope)).collect()
    }
}

fn undo_of(list: &[Custom], at: u32) -> &[Action] {
    list.get(at as usize).and_then(|custom| custom.undo.as_deref()).unwrap_or(&[])
}

fn missing(placeholder: &Placeholder) -> String {
    match placeholder {
        Placeholder::From => String::from("`{from}` is known on the way back only"),
        Placeholder::Release => String::from("no release is named"),
        Placeholder::Port => String::from("the target has no port"),
        Placeholder::Label(name) => format!("the target has no label `{name}`"),
        Placeholder::Var(name) => format!("no variable `{name}`"),
        Placeholder::Host => String::from("no host"),
    }
}

/// The end of what a command said about its failure, as the end of a sentence.
fn said(stdout: String, stderr: String) -> String {
    let said = if stderr.trim().is_empty() { stdout } else { stderr };
    let said = text::last(said.trim(), QUOTED);
    if said.is_empty() { said } else { format!(": {said}") }
}

pub(super) fn acted(executed: Executed, timeout_ms: u64) -> Acted {
    match executed {
        Executed::Exited { code: 0, stdout, .. } => Acted::Done(stdout),
        Executed::Exited { code, stdout, stderr } => {
            Acted::Failed { begun: true, reason: format!("exit code {code}{}", said(stdout, stderr)) }
        }
        Executed::NotStarted { reason } => Acted::Failed { begun: false, reason },
        Executed::Lost { reason } => Acted::Unknown { reason },
        Executed::TimedOut { stdout, stderr } => {
            let after = manent_engine::words::duration(timeout_ms);
            let said = said(stdout, stderr);
            Acted::Failed {
                begun: true,
                reason: format!("it did not end within {after} and was stopped{said}"),
            }
        }
    }
}

fn lookup(placeholder: &Placeholder, scope: &Scope<'_>) -> Option<String> {
    match placeholder {
        Placeholder::Host => Some(scope.wanted.host.clone()),
        Placeholder::Port => scope.wanted.port.map(|port| port.to_string()),
        Placeholder::Label(name) => scope.wanted.labels.get(name).cloned(),
        Placeholder::Release => scope.release.clone(),
        Placeholder::From => scope.from.clone(),
        // Filled in by the compiler.
        Placeholder::Var(_) => None,
    }
}
