//! The resolved configuration for people: every value that holds, and where it came from.
//! It must not know what a plan does with a value.

use std::fmt::Display;

use serde::Serialize;

use manent_plan::Pool;

use crate::check::Batching;
use crate::decode::{
    RawAction, RawConnection, RawCustom, RawDescriptor, RawEnv, RawPool, RawSsh, RawTest, Spanned,
};
use crate::diagnostic::Place;
use crate::source::{FileId, Files};
use crate::yaml::{NodeId, Shape, Tree};

/// All values, in the order of the reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resolved {
    /// The values.
    pub values: Vec<Value>,
}

/// One value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Value {
    /// Its key, with the keys above it.
    pub key: String,
    /// What holds; secrets by name only.
    pub value: String,
    /// `file:line:column`, or `default`.
    pub from: String,
}

/// What a value comes from when nobody wrote it.
const DEFAULT: &str = "default";

/// Lists what holds. `tree` is the descriptor's.
pub(crate) fn resolve(
    env: &RawEnv,
    descriptor: &RawDescriptor,
    tree: &Tree,
    pool: Option<&Pool>,
    batching: &Batching,
    files: &mut Files,
) -> Resolved {
    files.index_lines(env.place.file);
    files.index_lines(descriptor.place.file);
    let mut list = List { files, values: Vec::new() };
    list.environment(env, batching);
    if let (Some(raw), Some(pool)) = (&env.pool, pool) {
        list.pool(raw, pool);
    }
    for secret in &env.secrets {
        list.written(format!("secrets.{}", secret.name.value), &secret.reference);
    }
    list.descriptor(descriptor, tree);
    Resolved { values: list.values }
}

struct List<'a> {
    files: &'a Files,
    values: Vec<Value>,
}

impl List<'_> {
    fn push(&mut self, key: impl Into<String>, value: impl Display, place: Option<&Place>) {
        let from = place.map_or_else(|| DEFAULT.to_owned(), |place| self.from(place));
        self.values.push(Value { key: key.into(), value: value.to_string(), from });
    }

    fn from(&self, place: &Place) -> String {
        let (line, column) = self.files.line_column(place.file, place.span.start);
        format!("{}:{line}:{column}", self.files.path(place.file))
    }

    fn written(&mut self, key: impl Into<String>, value: &Spanned<impl Display>) {
        self.push(key, &value.value, Some(&value.place));
    }

    fn or(&mut self, key: impl Into<String>, value: Option<&Spanned<impl Display>>, default: impl Display) {
        match value {
            Some(value) => self.written(key, value),
            None => self.push(key, default, None),
        }
    }

    fn environment(&mut self, env: &RawEnv, batching: &Batching) {
        for (at, target) in env.targets.iter().enumerate() {
            self.push(format!("targets[{at}]"), target.name(), Some(&target.host.place));
            for (label, value) in &target.labels {
                self.push(format!("targets[{at}].labels.{label}"), value, Some(&target.host.place));
            }
            if let Some(own) = &target.connection {
                self.connection(&format!("targets[{at}].connection"), own, Some(&target.host.place));
            }
        }
        let default = RawConnection::Ssh(Box::<RawSsh>::default());
        let connection = env.connection.as_ref().unwrap_or(&default);
        self.connection("connection", connection, env.connection_place.as_ref());
        for (name, value) in &env.vars {
            self.written(format!("vars.{name}"), value);
        }
        let rollout = &env.rollout;
        self.or("rollout.maxUnavailable", rollout.max_unavailable.as_ref(), 1);
        for (at, (wave, size)) in rollout.waves.iter().flatten().zip(&batching.of_waves).enumerate() {
            let key = |name: &str| format!("rollout.waves[{at}].{name}");
            self.written(key("name"), &wave.name);
            self.push(key("select"), &wave.written, Some(&wave.select.place));
            let own = wave.max_unavailable.as_ref().or(rollout.max_unavailable.as_ref());
            self.push(key("maxUnavailable"), size, own.map(|own| &own.place));
            self.or(key("bake"), wave.bake.as_ref(), "0s");
            self.push(key("approval"), wave.approval.is_some(), wave.approval.as_ref());
        }
        if let Some(order) = &rollout.order {
            let sign = if order.value.descending { "-" } else { "" };
            self.push("rollout.order", format!("{sign}label.{}", order.value.label), Some(&order.place));
        }
        self.or("rollout.onFailure", rollout.on_failure.as_ref(), "rollback");
        self.or("rollout.minReady", rollout.min_ready.as_ref(), "0s");
        self.or("rollout.parallelism", rollout.parallelism.as_ref(), 32);
    }

    fn connection(&mut self, key: &str, connection: &RawConnection, place: Option<&Place>) {
        let ssh = match connection {
            RawConnection::Local => return self.push(key, "local", place),
            RawConnection::Ssh(ssh) => ssh,
        };
        self.push(key, "ssh", place);
        let texts = [
            ("user", &ssh.user),
            ("key_secret", &ssh.key_secret),
            ("password_secret", &ssh.password_secret),
            ("known_hosts", &ssh.known_hosts),
            ("jump", &ssh.jump),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                self.written(format!("{key}.ssh.{name}"), text);
            }
        }
        if let Some(port) = ssh.port {
            self.push(format!("{key}.ssh.port"), port, place);
        }
    }

    fn pool(&mut self, raw: &RawPool, pool: &Pool) {
        let key = |name: &str| format!("traffic.pool.{name}");
        self.written(key("provider"), &raw.provider);
        self.or(key("member"), raw.member.as_ref(), "{host}");
        let time = manent_grammar::Duration::from_millis;
        self.or(key("drain_timeout"), raw.drain_timeout.as_ref(), time(pool.drain_timeout_ms));
        self.or(key("restore_timeout"), raw.restore_timeout.as_ref(), time(pool.restore_timeout_ms));
        self.or(key("poll_interval"), raw.poll_interval.as_ref(), time(pool.poll_interval_ms));
        self.or(key("min_healthy"), raw.min_healthy.as_ref(), pool.floor.wanted);
        self.or(key("members"), raw.members.as_ref(), pool.floor.members);
        self.or(key("on_timeout"), raw.on_timeout.as_ref(), pool.on_timeout);
        for (name, value) in &pool.settings {
            let own = raw.settings.iter().find(|setting| setting.name.value == *name);
            self.push(key(&format!("settings.{name}")), value, own.map(|own| &own.value.place));
        }
    }

    fn descriptor(&mut self, descriptor: &RawDescriptor, tree: &Tree) {
        if let Some(app) = &descriptor.app {
            self.written("app", app);
        }
        if let Some(path) = &descriptor.artifact {
            self.written("release.artifact.path", path);
        }
        if let Some(deploy) = &descriptor.deploy {
            self.written("deploy.recipe", &deploy.recipe);
            for (name, node) in &deploy.with {
                let place = node_place(tree, descriptor.place.file, *node);
                self.push(format!("deploy.with.{}", name.value), node_text(tree, *node), Some(&place));
            }
        }
        for (at, test) in descriptor.post_test.iter().enumerate() {
            self.test(&format!("post-test[{at}]"), test, &descriptor.place);
        }
        self.customs("steps", &descriptor.steps);
        self.customs("activate", &descriptor.activate);
    }

    fn test(&mut self, key: &str, test: &RawTest, fallback: &Place) {
        let place = first_place(&test.action).unwrap_or(fallback).clone();
        self.push(key, action_text(&test.action), Some(&place));
        self.or(format!("{key}.within"), test.within.as_ref(), "1m");
        self.or(format!("{key}.consecutive"), test.consecutive.as_ref(), 1);
        self.or(format!("{key}.every"), test.every.as_ref(), "1s");
    }

    fn customs(&mut self, key: &str, customs: &[RawCustom]) {
        for custom in customs {
            let key = format!("{key}.{}", custom.name.value);
            self.push(key.as_str(), action_text(&custom.run), Some(&custom.name.place));
            let undo = custom.undo.as_ref().map_or_else(|| "none: a pivot".to_owned(), action_text);
            let place = custom.undo.as_ref().map(|_| &custom.name.place);
            self.push(format!("{key}.undo"), undo, place);
        }
    }
}

fn first_place(action: &RawAction) -> Option<&Place> {
    match action {
        RawAction::Run { argv, .. } => argv.first().map(|first| &first.place),
        RawAction::Http { url, .. } => Some(&url.place),
        RawAction::Sh { .. } => None,
    }
}

fn action_text(action: &RawAction) -> String {
    match action {
        RawAction::Run { argv, .. } => {
            let words: Vec<String> = argv.iter().map(|word| word.value.to_string()).collect();
            format!("run [{}]", words.join(", "))
        }
        RawAction::Sh { script, .. } => format!("sh ({} lines)", script.lines().count()),
        RawAction::Http { method, url, expect, .. } => format!("{method} {} expects {expect}", url.value),
    }
}

fn node_place(tree: &Tree, file: FileId, node: NodeId) -> Place {
    Place { file, span: tree.span(node) }
}

/// A value as it is written, lists in brackets.
fn node_text(tree: &Tree, node: NodeId) -> String {
    match tree.shape(node) {
        Shape::Scalar | Shape::Null => tree.text(node).unwrap_or("").to_owned(),
        Shape::Sequence => {
            let items: Vec<String> = tree.items(node).iter().map(|item| node_text(tree, *item)).collect();
            format!("[{}]", items.join(", "))
        }
        Shape::Mapping => "{…}".to_owned(),
    }
}
