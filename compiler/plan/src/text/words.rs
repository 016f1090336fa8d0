//! Small pieces of text: counts, times, lists of targets, actions. It must not know where on the page they stand.

use manent_grammar::{Duration, Quantity, Template};
use sha2::{Digest, Sha256};

use super::Detail;
use crate::ids::TargetIx;
use crate::model::{Action, Connection, Plan, Test};

/// Lists up to this length are shown whole.
const WHOLE: usize = 12;
/// Of longer ones, how many are shown at the beginning and at the end.
const FIRST: usize = 6;
const LAST: usize = 2;
/// Scripts up to this many lines are shown whole.
const SHORT_SCRIPT: usize = 6;

/// `1 target`, `1,000 targets`.
pub(super) fn count(number: usize, one: &str) -> String {
    let plural = match one {
        "batch" | "pass" => "es",
        _ => "s",
    };
    if number == 1 { format!("1 {one}") } else { format!("{} {one}{plural}", grouped(number)) }
}

/// `48,213,504`.
pub(super) fn grouped(number: impl ToString) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && at % 3 == first {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(super) fn time(ms: u64) -> String {
    Duration::from_millis(ms).to_string()
}

/// `2`, or `66% of 4, rounded up = 3`.
pub(super) fn rounded_up(written: Quantity, of: u32, gives: u32) -> String {
    arithmetic(written, of, "up", gives)
}

/// `2`, or `34% of 4, rounded down = 1`; a percentage that gives nothing is one.
pub(super) fn rounded_down(written: Quantity, of: u32, gives: u32) -> String {
    match written.round_down(of) {
        0 if gives > 0 => format!("{}, which becomes {gives}", arithmetic(written, of, "down", 0)),
        _ => arithmetic(written, of, "down", gives),
    }
}

fn arithmetic(written: Quantity, of: u32, rounded: &str, gives: u32) -> String {
    let (of_all, result) = (grouped(of), grouped(gives));
    match written {
        Quantity::Count(_) => result,
        Quantity::Percent(percent) if u64::from(percent) * u64::from(of) % 100 == 0 => {
            format!("{written} of {of_all} = {result}")
        }
        Quantity::Percent(_) => format!("{written} of {of_all}, rounded {rounded} = {result}"),
    }
}

/// The names of some targets: all of a short list, the ends and the count of a long one.
pub(super) fn targets<'p>(
    plan: &Plan,
    some: impl ExactSizeIterator<Item = &'p TargetIx> + Clone,
    detail: Detail,
) -> String {
    let long = some.len();
    let name = |at: &TargetIx| shown(plan, *at);
    if long <= WHOLE || detail == Detail::Wide {
        return some.map(name).collect::<Vec<_>>().join(", ");
    }
    let first = some.clone().take(FIRST).map(name).collect::<Vec<_>>().join(", ");
    let last = some.skip(long - LAST).map(name).collect::<Vec<_>>().join(", ");
    format!("{first}, ... {} more ..., {last}", grouped(long - FIRST - LAST))
}

/// A target, with its member where that has another name.
fn shown(plan: &Plan, at: TargetIx) -> String {
    let name = plan.target_name(at);
    let member = plan.member(at);
    let host = plan.target(at).map(|target| target.host.as_str());
    if plan.pool.is_none() || member == name || Some(member) == host {
        name
    } else {
        format!("{name} as {member}")
    }
}

pub(super) fn connection(connection: &Connection) -> String {
    let ssh = match connection {
        Connection::Local => return "commands run on this machine".into(),
        Connection::Ssh(ssh) => ssh,
    };
    let mut parts = vec!["ssh".to_owned()];
    let mut part =
        |word: &str, value: Option<String>| parts.extend(value.map(|value| format!("{word} {value}")));
    part("as", ssh.user.clone());
    part("to port", ssh.port.map(|port| port.to_string()));
    part("through", ssh.jump.clone());
    part("with key secret", ssh.key_secret.clone());
    part("with password secret", ssh.password_secret.clone());
    part("known hosts in", ssh.known_hosts.clone());
    parts.join(" ")
}

/// Whether it is a script of more lines than a review shows.
pub(super) fn is_long(action: &Action) -> bool {
    match action {
        Action::Sh { script, .. } => script.lines().count() > SHORT_SCRIPT,
        Action::Run { .. } | Action::Upload { .. } | Action::Http { .. } | Action::Wait { .. } => false,
    }
}

/// An action in one line, or a script in several.
pub(super) fn action(action: &Action, detail: Detail) -> Vec<String> {
    match action {
        Action::Run { argv, timeout_ms } => {
            vec![format!("run    {}  (at most {})", command(argv), time(*timeout_ms))]
        }
        Action::Sh { script, env, timeout_ms } => {
            let with = env.iter().map(|(name, value)| format!("{name}={}", word(value))).collect::<Vec<_>>();
            let with = if with.is_empty() { String::new() } else { format!(" with {}", with.join(" ")) };
            let lines = script.lines().count();
            let whole = !is_long(action) || detail == Detail::Wide;
            let digest = hex::encode(Sha256::digest(script)).chars().take(12).collect::<String>();
            let what = if whole {
                "sh    ".to_owned()
            } else {
                format!("sh     a script of {lines} lines, sha256 {digest}")
            };
            let mut text = vec![format!("{what}{with}  (at most {})", time(*timeout_ms))];
            if whole {
                text.extend(script.lines().map(|line| format!("       | {line}")));
            }
            text
        }
        Action::Upload { from, to, sha256, timeout_ms } => {
            let checked = sha256.as_ref().map(|digest| format!(", sha256 {digest}")).unwrap_or_default();
            vec![format!("upload {} to {}{checked}  (at most {})", word(from), word(to), time(*timeout_ms))]
        }
        Action::Http { method, url, expect, timeout_ms } => {
            vec![format!("http   {method} {url} has to answer {expect}  (at most {})", time(*timeout_ms))]
        }
        Action::Wait { ms } => vec![format!("wait   {}", time(*ms))],
    }
}

/// A test in one line: how often it is tried is what matters, not the deadline of one try.
pub(super) fn test(test: &Test) -> String {
    let asked = match &test.action {
        Action::Http { method, url, expect, .. } => format!("{method} {url} has to answer {expect}"),
        Action::Run { argv, .. } => format!("{} has to exit with 0", command(argv)),
        Action::Sh { .. } => "a script has to exit with 0".to_owned(),
        Action::Upload { .. } => "an upload has to succeed".to_owned(),
        Action::Wait { ms } => format!("wait {}", time(*ms)),
    };
    let row =
        if test.consecutive == 1 { String::new() } else { format!(" {} times in a row", test.consecutive) };
    format!("{asked}{row}, within {}, tried every {}", time(test.within_ms), time(test.every_ms))
}

pub(super) fn command(argv: &[Template]) -> String {
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// One argument as a shell would have to be given it; for reading only.
fn word(text: &Template) -> String {
    let text = text.to_string();
    let plain = |character: char| character.is_alphanumeric() || "-_./:=@%+,{}".contains(character);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
