//! The live view: a block drawn in place on a terminal, plain lines elsewhere, an object a line with `--json`. It must not
//! ask anybody anything; it shows the scenes that it is given.

use std::io::IsTerminal;

use super::scene::{Scene, Seen};
use crate::console::{Console, Look, Paint};
use crate::fault::Fault;
use crate::live::block::Block;

/// At most so wide, whatever the terminal.
const WIDTH: usize = 80;
/// An object at least that often.
const OBJECT_EVERY_MS: u64 = 500;

/// Where scenes are shown.
pub(super) struct View<'c> {
    console: &'c Console,
    title: String,
    command: String,
    block: Option<Block>,
    told: Option<(Option<String>, Option<String>)>,
    told_at_ms: u64,
    failed: u64,
}

impl<'c> View<'c> {
    /// A view on the console, with a title and the command that is shown at work.
    pub(super) fn new(console: &'c Console, title: &str, command: &str) -> View<'c> {
        let block = (console.can_redraw() && std::io::stderr().is_terminal()).then(Block::default);
        if block.is_none() && !console.json {
            console.talk(&format!("{title}\n  {command}"));
        }
        View {
            console,
            title: title.to_owned(),
            command: command.to_owned(),
            block,
            told: None,
            told_at_ms: 0,
            failed: 0,
        }
    }

    /// Shows a scene.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(super) fn show(&mut self, scene: &Scene) -> Result<(), Fault> {
        let topic = (scene.step.clone().or_else(|| scene.state.clone()), scene.note.clone());
        let is_new = self.told.as_ref() != Some(&topic) || scene.failed > self.failed;
        if self.console.json {
            if is_new || scene.at_ms >= self.told_at_ms + OBJECT_EVERY_MS {
                self.told_at_ms = scene.at_ms;
                self.console.value(scene)?;
            }
        } else if let Some(block) = &mut self.block {
            let lines = block_lines((&self.title, &self.command), scene, self.console.err_paint());
            block.draw(&lines, (self.console.width().min(WIDTH), 40));
        } else if is_new {
            self.console.talk(&line(scene));
        }
        self.told = Some(topic);
        self.failed = scene.failed;
        Ok(())
    }
}

/// What stands on a terminal.
fn block_lines((title, command): (&str, &str), scene: &Scene, paint: Paint) -> Vec<String> {
    let mut lines =
        vec![paint.with(Look::Bold, title), paint.with(Look::Dim, format!("  {command}")), String::new()];
    let head = "  member   traffic      health   open   requests   release";
    lines.push(paint.with(Look::Dim, head));
    match &scene.members {
        None => lines.push(paint.with(Look::Red, "  the load balancer does not answer")),
        Some(members) => lines.extend(members.iter().map(|member| member_line(member, paint))),
    }
    lines.push(String::new());
    let failed = format!("{} failed", scene.failed);
    let look = if scene.failed == 0 { Look::Green } else { Look::Red };
    let (failed, rate) = (paint.with(look, failed), scene.per_second);
    lines.push(format!("  requests  {} ended, {failed}, {rate} a second", scene.requests));
    let step = scene.step.as_deref().or(scene.state.as_deref()).unwrap_or("manent apply starts");
    lines.push(format!("  run       {}", paint.with(Look::Cyan, step)));
    lines.push(format!("            {}", paint.with(Look::Dim, why(scene))));
    lines
}

fn member_line(seen: &Seen, paint: Paint) -> String {
    let (traffic, look) = traffic(seen);
    let traffic = paint.with(look, format!("{traffic:<11}"));
    let up = seen.operational_state == "up";
    let health =
        paint.with(if up { Look::Green } else { Look::Red }, format!("{:<7}", seen.operational_state));
    let release = seen.release.as_deref().unwrap_or("-");
    format!("  {:<8} {traffic}  {health}  {:>4}   {:>8}   {release}", seen.member, seen.sessions, seen.given)
}

fn traffic(seen: &Seen) -> (&'static str, Look) {
    match seen.admin_state.as_str() {
        _ if seen.in_service() => ("in service", Look::Green),
        "ready" => ("no traffic", Look::Red),
        _ if seen.is_draining() => ("draining", Look::Yellow),
        _ => ("out", Look::Yellow),
    }
}

/// What is waited for, or else what the step is about.
fn why(scene: &Scene) -> &str {
    let said = scene.note.as_deref().or(scene.why.as_deref());
    said.or_else(|| meaning(scene.step.as_deref()?)).unwrap_or_default()
}

/// A step in a few words, by the kind that its name begins with.
fn meaning(step: &str) -> Option<&'static str> {
    Some(match step.split('@').next()? {
        "preflight" => "reads the load balancer and every server; nothing is changed",
        "drain" => "no new requests for this server, once enough others are healthy",
        "drain-wait" => "the requests that are in flight end",
        "deploy" => "the release is installed, and the server restarted: it cuts what it has",
        "post-test" => "the server has to answer well before anything else happens",
        "restore" => "a new check has to see it well; then it gets requests again",
        "restore-wait" => "the load balancer has to show it healthy in service",
        "undo-restore" => "out of service again, drained like before",
        "undo-deploy" => "the release before is installed, the server restarted and tested",
        "undo-drain" => "back in service, once it is healthy",
        _ => return None,
    })
}

/// What stands in a log.
fn line(scene: &Scene) -> String {
    let out: Vec<String> = scene
        .members
        .iter()
        .flatten()
        .filter(|member| !member.in_service())
        .map(|member| format!("{} {}", member.member, traffic(member).0))
        .collect();
    let out = if out.is_empty() { String::from("all in service") } else { out.join(", ") };
    let topic =
        scene.note.as_deref().or(scene.step.as_deref()).or(scene.state.as_deref()).unwrap_or("starting");
    let (tenths, requests, failed) = (scene.at_ms / 100, scene.requests, scene.failed);
    let (seconds, tenth) = (tenths / 10, tenths % 10);
    format!("{seconds:>3}.{tenth}s  {topic:<26}  {out}; {requests} requests, {failed} failed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene() -> Scene {
        let seen = |member: &str, admin: &str, sessions| Seen {
            member: member.to_owned(),
            admin_state: admin.to_owned(),
            operational_state: String::from("up"),
            sessions,
            given: 1234,
            release: Some(String::from("1.0.0")),
        };
        Scene {
            at_ms: 3240,
            requests: 151,
            failed: 0,
            per_second: 40,
            members: Some(vec![
                seen("shop1", "ready", 2),
                seen("shop2", "drain", 1),
                seen("shop3", "drain", 0),
            ]),
            state: Some(String::from("waiting")),
            step: Some(String::from("drain-wait@rest#0")),
            why: Some(String::from("1 connection of shop2 to end")),
            note: None,
        }
    }

    #[test]
    fn a_terminal_shows_members_requests_and_the_step() {
        let lines = block_lines(("manent demo", "manent apply"), &scene(), Paint(false));
        assert_eq!(
            lines.join("\n"),
            "manent demo\n  manent apply\n\n  \
             member   traffic      health   open   requests   release\n  \
             shop1    in service   up          2       1234   1.0.0\n  \
             shop2    draining     up          1       1234   1.0.0\n  \
             shop3    out          up          0       1234   1.0.0\n\n  \
             requests  151 ended, 0 failed, 40 a second\n  \
             run       drain-wait@rest#0\n            \
             1 connection of shop2 to end"
        );
        assert!(lines.iter().all(|line| line.len() <= WIDTH));
    }

    #[test]
    fn a_log_gets_one_line() {
        assert_eq!(
            line(&scene()),
            "  3.2s  drain-wait@rest#0           shop2 draining, shop3 out; 151 requests, 0 failed"
        );
    }

    #[test]
    fn a_step_that_waits_for_nothing_is_explained() {
        let scene = Scene { why: None, step: Some(String::from("undo-drain@rest#0")), ..scene() };
        assert_eq!(why(&scene), "back in service, once it is healthy");
    }

    #[test]
    fn an_unknown_pool_is_not_an_empty_one() {
        let lines =
            block_lines(("manent demo", "manent apply"), &Scene { members: None, ..scene() }, Paint(false));
        assert!(lines.contains(&String::from("  the load balancer does not answer")));
    }
}
