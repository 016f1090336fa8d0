//! Writes the project tree of a site: envconfig, descriptor, secrets.
//! It writes what a user would write, in manent's own two formats, and knows nothing of what becomes of it.

use super::Site;
use crate::{Context, Result};
use std::fmt::Write as _;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What stands in the envconfig under `rollout` and `traffic`.
#[derive(Clone, Debug)]
pub struct Rollout {
    /// How many of the first hosts are labelled `canary: "true"` and make up the wave `canary`.
    pub canaries: usize,
    /// Batch size.
    pub max_unavailable: String,
    /// `rollback` or `stop`.
    pub on_failure: String,
    /// The floor.
    pub min_healthy: String,
    /// Clocks and the distance of reads.
    pub drain_timeout: String,
    /// Until a restored member is healthy.
    pub restore_timeout: String,
    /// Between reads.
    pub poll_interval: String,
    /// `proceed` or `fail`.
    pub on_timeout: String,
    /// Without it nothing is drained: the control that shows what draining buys.
    pub traffic: bool,
    /// Lines put under `rollout:`, indented by two.
    pub more_rollout: String,
    /// Lines put at the end of the descriptor.
    pub more_descriptor: String,
}

impl Default for Rollout {
    fn default() -> Rollout {
        let text = str::to_owned;
        Rollout {
            canaries: 1,
            max_unavailable: text("1"),
            on_failure: text("rollback"),
            min_healthy: text("2"),
            drain_timeout: text("20s"),
            restore_timeout: text("20s"),
            poll_interval: text("200ms"),
            on_timeout: text("fail"),
            traffic: true,
            more_rollout: String::new(),
            more_descriptor: String::new(),
        }
    }
}

pub(super) fn write(site: &Site, rollout: &Rollout) -> Result<()> {
    let root = site.root();
    put(
        &root.join("envconfig/shop/shop/prod.yml"),
        &envconfig(site, rollout).doing("writing an envconfig")?,
    )?;
    put(&root.join("descriptors/shop.yml"), &descriptor(site, rollout))?;
    let login = site.bridges.first().map_or("", |bridge| bridge.credentials());
    put_secret(&root.join("secrets/lb"), login)?;
    let key = std::fs::read_to_string(site.client.key()).doing("reading a key")?;
    put_secret(&root.join("secrets/ssh-key"), &key)
}

fn envconfig(site: &Site, rollout: &Rollout) -> std::result::Result<String, std::fmt::Error> {
    let mut text = String::from("targets:\n");
    for (number, host) in site.hosts.iter().enumerate() {
        let canary = number < rollout.canaries;
        let (ip, port, name) = (host.address.ip(), host.address.port(), &host.name);
        writeln!(text, "  - {{host: {ip}, port: {port}, labels: {{name: {name}, canary: \"{canary}\"}}}}")?;
    }
    if site.plan.ssh {
        let (user, known) = (site.client.user(), site.client.known_hosts());
        let (port, known) = (crate::address::SSH_PORT, known.display());
        writeln!(
            text,
            "connection:\n  ssh: {{user: {user}, port: {port}, key_secret: ssh-key, known_hosts: {known}}}"
        )?;
    } else {
        writeln!(text, "connection:\n  local: {{}}")?;
    }
    let Rollout { max_unavailable, on_failure, more_rollout, .. } = rollout;
    text.push_str("rollout:\n  waves:\n");
    if rollout.canaries > 0 {
        text.push_str("    - {name: canary, select: \"canary=true\"}\n");
    }
    text.push_str("    - {name: rest, select: \"canary!=true\"}\n");
    write!(text, "  maxUnavailable: \"{max_unavailable}\"\n  onFailure: {on_failure}\n{more_rollout}")?;
    if rollout.traffic {
        write_pool(&mut text, site, rollout)?;
    }
    text.push_str("secrets:\n");
    if rollout.traffic {
        text.push_str("  - {name: lb, ref: \"file:secrets/lb\"}\n");
    }
    if site.plan.ssh {
        text.push_str("  - {name: ssh-key, ref: \"file:secrets/ssh-key\"}\n");
    } else if !rollout.traffic {
        text.truncate(text.len() - "secrets:\n".len());
    }
    Ok(text)
}

fn write_pool(text: &mut String, site: &Site, rollout: &Rollout) -> std::fmt::Result {
    let urls: Vec<String> = site.bridges.iter().map(|bridge| bridge.url()).collect();
    let Rollout { drain_timeout, restore_timeout, poll_interval, min_healthy, on_timeout, .. } = rollout;
    let api = site.plan.api.release.api();
    writeln!(
        text,
        "traffic:\n  pool:\n    provider: haproxy\n    member: \"{{label.name}}\"\n    \
         drain_timeout: {drain_timeout}\n    restore_timeout: {restore_timeout}\n    \
         poll_interval: {poll_interval}\n    min_healthy: \"{min_healthy}\"\n    on_timeout: {on_timeout}\n    \
         settings:\n      dataplane_urls: \"{urls}\"\n      backend: shop\n      credentials_secret: lb\n      \
         api_version: {api}\n      allow_http: \"true\"",
        urls = urls.join(",")
    )
}

fn descriptor(site: &Site, rollout: &Rollout) -> String {
    let hosts = site.folder().join("hosts");
    let (hosts, more, signal) = (hosts.display(), &rollout.more_descriptor, &site.plan.behaviour.stop_signal);
    format!(
        "app: shop\nrelease:\n  artifact: {{path: \"dist/shop-{{release}}.tar.gz\"}}\n\
         deploy:\n  recipe: release-dir\n  with:\n    root: \"{hosts}/{{host}}/srv/shop\"\n    \
         restart: [\"{hosts}/{{host}}/bin/service\", restart]\n    stop_signal: {signal}\n    keep: \"5\"\n\
         post-test:\n  - {{http: \"http://{{host}}:{{port}}/healthz\", expect: \"200\", within: 5s, every: 50ms}}\n{more}"
    )
}

fn put(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).doing("creating a folder of the project")?;
    }
    std::fs::write(path, text).doing(format_args!("writing {}", path.display()))
}

/// A file that only its owner reads, as manent demands.
fn put_secret(path: &Path, text: &str) -> Result<()> {
    put(path, text)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).doing("protecting a secret")
}
