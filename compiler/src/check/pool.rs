//! The pool: its provider, times that fit together, what can be promised.
//! It must not know waves.

use manent_grammar::{Duration, suggest};
use manent_plan::{Capabilities, Floor, OnTimeout, Pool};
use manent_stdlib::{Provider, Stdlib};

use super::settings::{Context, settings};
use super::templates::{OF_TARGET, template};
use crate::decode::{RawDescriptor, RawEnv, RawPool, Spanned, listed};
use crate::diagnostic::{Code, Diagnostic, Findings, Place};
use crate::source::Files;
use crate::yaml::Tree;

/// Drain and restore take at most that long when nothing is written.
const TIMEOUT_MS: u64 = 300_000;
/// Between two reads when nothing is written.
const POLL_MS: u64 = 5_000;

/// The pool of the plan; `floor` is filled in by the caller, who knows the waves. `None` without a known provider.
pub(crate) fn pool<'s>(
    env: &RawEnv,
    tree: &Tree,
    raw: &RawPool,
    stdlib: &'s Stdlib,
    files: &Files,
    findings: &mut Findings,
) -> Option<(Pool, &'s Provider)> {
    if let Some(member) = &raw.member {
        template(env, member, OF_TARGET, files, findings);
    }
    let drain_timeout_ms = millis(raw.drain_timeout.as_ref(), TIMEOUT_MS);
    let poll_interval_ms = millis(raw.poll_interval.as_ref(), POLL_MS);
    if poll_interval_ms > drain_timeout_ms {
        poll_too_long(raw, poll_interval_ms, drain_timeout_ms, findings);
    }
    let Some(provider) = stdlib.provider(&raw.provider.value) else {
        unknown_provider(raw, stdlib, findings);
        return None;
    };
    let settings = settings(&Context { env, tree, pool: raw, provider, files }, findings);
    let delay = provider.capabilities.drain_delay.as_ref().and_then(|name| settings.get(name));
    let drain_delay_ms = delay.and_then(|text| Duration::parse(text).ok()).map(Duration::millis);
    if drain_delay_ms == Some(0) {
        no_delay(raw, provider, findings);
    }
    let capabilities = capabilities(provider, drain_delay_ms);
    let pool = Pool {
        provider: provider.name.clone(),
        settings,
        capabilities,
        drain_timeout_ms,
        restore_timeout_ms: millis(raw.restore_timeout.as_ref(), TIMEOUT_MS),
        poll_interval_ms,
        on_timeout: raw.on_timeout.as_ref().map_or(OnTimeout::Proceed, |found| found.value),
        floor: Floor {
            wanted: manent_grammar::Quantity::Count(1),
            members: 0,
            members_declared: false,
            need: 0,
        },
        promises: provider.sentences().map(str::to_owned).collect(),
    };
    Some((pool, provider))
}

fn capabilities(provider: &Provider, drain_delay_ms: Option<u64>) -> Capabilities {
    let can = &provider.capabilities;
    Capabilities {
        sees_members: can.sees_members,
        sees_health: can.sees_health,
        sees_connections: can.sees_connections(),
        checks_while_out: can.checks_while_out,
        can_harden: can.can_harden,
        drain_delay_ms,
        first_poll_ms: can.first_poll_ms,
    }
}

fn millis(written: Option<&Spanned<Duration>>, default: u64) -> u64 {
    written.map_or(default, |written| written.value.millis())
}

fn poll_too_long(raw: &RawPool, poll: u64, drain: u64, findings: &mut Findings) {
    let (poll, drain) = (Duration::from_millis(poll), Duration::from_millis(drain));
    let mut finding = Diagnostic::error(
        Code::PollTooLong,
        format!("`poll_interval` {poll} is longer than `drain_timeout` {drain}"),
    )
    .help(format!("write a `poll_interval` of at most {drain}"));
    let places = [(&raw.poll_interval, "one read takes"), (&raw.drain_timeout, "the time is over after")];
    for (written, text) in places {
        if let Some(written) = written {
            finding = finding.at(written.place.clone(), format!("{text} {}", written.value));
        }
    }
    findings.push(finding);
}

fn unknown_provider(raw: &RawPool, stdlib: &Stdlib, findings: &mut Findings) {
    let known = || stdlib.providers().iter().map(|provider| provider.name.as_str());
    let help = match suggest(&raw.provider.value, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the providers are {}", listed(known())),
    };
    findings.push(
        Diagnostic::error(Code::UnknownProvider, format!("there is no provider `{}`", raw.provider.value))
            .at(raw.provider.place.clone(), "unknown provider")
            .help(help),
    );
}

fn no_delay(raw: &RawPool, provider: &Provider, findings: &mut Findings) {
    let name = provider.capabilities.drain_delay.as_deref().unwrap_or("drain_delay");
    let place =
        raw.settings.iter().find(|setting| setting.name.value == name).map(|found| found.value.place.clone());
    findings.push(
        Diagnostic::warning(Code::NoDrainDelay, format!("with `{name}` 0s requests in flight are cut"))
            .at(place.unwrap_or_else(|| raw.place.clone()), "no time for the load balancer to notice")
            .help("write at least the time that the load balancer needs to notice, such as `30s`"),
    );
}

/// Where nobody sees health, the post-test is the only gate before a member goes back.
pub(crate) fn post_test_needed(
    provider: &Provider,
    provider_place: &Place,
    descriptor: &RawDescriptor,
    findings: &mut Findings,
) {
    if provider.capabilities.sees_health || descriptor.post_test_written {
        return;
    }
    findings.push(
        Diagnostic::error(
            Code::PostTestMissing,
            format!("provider `{}` does not see health, and the descriptor has no post-test", provider.name),
        )
        .at(descriptor.place.clone(), "no `post-test` in this descriptor")
        .at(provider_place.clone(), "does not see whether a member is healthy")
        .help("add `post-test: [{http: \"http://{host}:{port}/…\"}]` to the descriptor"),
    );
}
