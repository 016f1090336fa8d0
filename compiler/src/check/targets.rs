//! Targets: each once, each with its own member of the pool, each reachable.
//! It must not know waves.

use std::borrow::Cow;
use std::collections::BTreeMap;

use manent_grammar::{Placeholder, Template};
use manent_plan::{Connection, Ssh};

use super::declared;
use crate::decode::{RawConnection, RawEnv, RawTarget, Spanned};
use crate::diagnostic::{Code, Diagnostic, Findings};

/// Two targets with the same host and port would be updated twice.
pub(crate) fn targets(env: &RawEnv, findings: &mut Findings) {
    let mut order: Vec<(Cow<'_, str>, Option<u16>, usize)> = env
        .targets
        .iter()
        .enumerate()
        .map(|(at, target)| (same_host(&target.host.value), target.port, at))
        .collect();
    order.sort();
    for pair in order.windows(2) {
        if let [(host, port, first), (again_host, again_port, again)] = pair
            && (host, port) == (again_host, again_port)
            && let (Some(first), Some(again)) = (env.targets.get(*first), env.targets.get(*again))
        {
            findings.push(
                Diagnostic::error(
                    Code::DuplicateTarget,
                    format!("target `{}` stands here twice", again.name()),
                )
                .at(again.host.place.clone(), "again here")
                .at(first.host.place.clone(), "first here")
                .help("remove one of the two, or give them different ports"),
            );
        }
    }
}

/// Host names do not tell upper from lower case, and a dot at the end changes nothing.
fn same_host(host: &str) -> Cow<'_, str> {
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Owned(host.to_ascii_lowercase());
    }
    Cow::Borrowed(host)
}

/// The member of every target. Names go into addresses and files of load balancers, so they are kept plain.
pub(crate) fn members(
    env: &RawEnv,
    member: Option<&Spanned<Template>>,
    findings: &mut Findings,
) -> Vec<String> {
    let default = Template::parse("{host}").unwrap_or_default();
    let template = member.map_or(&default, |member| &member.value);
    let members: Vec<String> = env.targets.iter().map(|target| render(template, target)).collect();
    for (target, name) in env.targets.iter().zip(&members) {
        // What has no value was reported with the template.
        if name.contains('\u{0}') || plain(name) {
            continue;
        }
        let found = Diagnostic::error(Code::BadValue, format!("`{name}` cannot be the name of a member"))
            .at(target.host.place.clone(), "from this target")
            .help("use letters, digits and `-_.:[]~%+@/` in what `member` is made of");
        let at = member.map(|member| member.place.clone());
        findings.push(at.into_iter().fold(found, |found, place| found.at(place, "by this template")));
    }
    same_member(env, member, &members, findings);
    members
}

fn plain(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:[]~%+@/".contains(&byte);
    !name.is_empty() && !name.starts_with('-') && name.bytes().all(allowed)
}

/// A placeholder without a value leaves a mark that no member can have.
fn render(template: &Template, target: &RawTarget) -> String {
    let value = |placeholder: &Placeholder| {
        let found = match placeholder {
            Placeholder::Host => Some(target.host.value.clone()),
            Placeholder::Port => target.port.map(|port| port.to_string()),
            Placeholder::Label(name) => target.labels.get(name).cloned(),
            Placeholder::Release | Placeholder::From | Placeholder::Var(_) => None,
        };
        Some(found.unwrap_or_else(|| "\u{0}".to_owned()))
    };
    template.render(value).unwrap_or_default()
}

fn same_member(
    env: &RawEnv,
    member: Option<&Spanned<Template>>,
    members: &[String],
    findings: &mut Findings,
) {
    let mut order: Vec<(&str, usize)> =
        members.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
    order.sort_unstable();
    for pair in order.windows(2) {
        let [(name, first), (again_name, again)] = pair else { continue };
        let (Some(one), Some(two)) = (env.targets.get(*first), env.targets.get(*again)) else { continue };
        // The same target twice has its own finding.
        let same_target = one.port == two.port && same_host(&one.host.value) == same_host(&two.host.value);
        if name != again_name || name.contains('\u{0}') || same_target {
            continue;
        }
        let found = Diagnostic::error(
            Code::DuplicateMember,
            format!("targets `{}` and `{}` would be the same member `{name}`", one.name(), two.name()),
        )
        .at(two.host.place.clone(), "again here")
        .at(one.host.place.clone(), "first here")
        .help("let `member` tell them apart, for example `{host}:{port}` or a label");
        let at = member.map(|member| member.place.clone());
        findings.push(at.into_iter().fold(found, |found, place| found.at(place, "by this template")));
    }
}

/// The connections, each once, and the position of each target's own.
pub(crate) fn connections(env: &RawEnv, findings: &mut Findings) -> (Vec<Connection>, Vec<u32>) {
    let default =
        env.connection.as_ref().map_or(Connection::Ssh(Ssh::default()), |raw| connection(env, raw, findings));
    let mut positions: BTreeMap<Connection, u32> = BTreeMap::new();
    let mut all = Vec::new();
    let mut of_targets = Vec::with_capacity(env.targets.len());
    for target in &env.targets {
        let own = target.connection.as_ref().map(|raw| connection(env, raw, findings));
        let wanted = own.as_ref().unwrap_or(&default);
        let position = positions.get(wanted).copied().unwrap_or_else(|| {
            let next = u32::try_from(all.len()).unwrap_or(u32::MAX);
            all.push(wanted.clone());
            positions.insert(wanted.clone(), next);
            next
        });
        of_targets.push(position);
    }
    (all, of_targets)
}

fn connection(env: &RawEnv, raw: &RawConnection, findings: &mut Findings) -> Connection {
    let RawConnection::Ssh(ssh) = raw else { return Connection::Local };
    for secret in [&ssh.key_secret, &ssh.password_secret].into_iter().flatten() {
        declared(env, secret, findings);
    }
    let text = |found: &Option<Spanned<String>>| found.as_ref().map(|found| found.value.clone());
    Connection::Ssh(Ssh {
        user: text(&ssh.user),
        port: ssh.port,
        key_secret: text(&ssh.key_secret),
        password_secret: text(&ssh.password_secret),
        known_hosts: text(&ssh.known_hosts),
        jump: text(&ssh.jump),
    })
}
