//! Names that stand for themselves: of waves, steps, labels and hosts.
//! Does not know which names are taken or reserved.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::SyntaxError;
use crate::parser::{self, Rule};

/// The longest host name that DNS allows.
const LONGEST_HOST: usize = 253;
/// The longest part between two dots that DNS allows.
const LONGEST_HOST_PART: usize = 63;

/// Checks the name of a wave or a step: letters, digits, `-`, `_`, `.`.
pub fn name(text: &str) -> Result<(), SyntaxError> {
    whole(Rule::whole_name, text, |_| "use only the letters a to z, digits, `-`, `_` and `.`")
}

/// Checks the name of a label or a variable: letters, digits, `-`, `_`, `.`, `/`.
pub fn label_name(text: &str) -> Result<(), SyntaxError> {
    whole(Rule::whole_label_name, text, |_| "use only the letters a to z, digits, `-`, `_`, `.` and `/`")
}

/// Checks a host name or an IP address, such that it is safe as an argument of other programs.
pub fn host(text: &str) -> Result<(), SyntaxError> {
    whole(Rule::whole_host, text, |at| help_for_host(text, at))?;
    let whole = 0..text.len();
    if text.len() > LONGEST_HOST {
        return Err(SyntaxError::at(text, whole, "a host name of at most 253 characters")
            .with_help("use a shorter name, or the IP address"));
    }
    if text.contains([':', '%']) {
        return ipv6(text);
    }
    let numeric = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if numeric && !text.starts_with('.') {
        // Left alone, resolvers read `10.1` as 10.0.0.1 and `1234` as 0.0.4.210.
        return text.parse::<Ipv4Addr>().map(|_| ()).map_err(|_| {
            SyntaxError::at(text, whole, "an IPv4 address of four numbers up to 255")
                .with_help("write it as in `10.0.0.7`, without leading zeros")
        });
    }
    host_parts(text)
}

/// Parses a rule that is one word. "expected the end" would be no help inside a word, so the word is always expected.
fn whole(rule: Rule, text: &str, help: impl FnOnce(usize) -> &'static str) -> Result<(), SyntaxError> {
    parser::parse(rule, text, |error| {
        let help = help(error.at.start);
        error.expecting(parser::words(rule)).with_help(help)
    })
    .map(|_| ())
}

fn ipv6(text: &str) -> Result<(), SyntaxError> {
    let (address, zone) = text.split_once('%').unwrap_or((text, "zone"));
    if address.parse::<Ipv6Addr>().is_ok() && !zone.is_empty() && !zone.contains([':', '%']) {
        return Ok(());
    }
    let help = match text.split_once(':') {
        Some((_, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => "write the port under `port`",
        _ => "write it as in `fe80::1` or `fe80::1%eth0`",
    };
    Err(SyntaxError::at(text, 0..text.len(), "a host name or an IP address").with_help(help))
}

/// A dot at the end is allowed: it keeps resolvers from trying search domains.
fn host_parts(text: &str) -> Result<(), SyntaxError> {
    let mut start = 0;
    for part in text.strip_suffix('.').unwrap_or(text).split('.') {
        let at = start..start + part.len();
        start = at.end + 1;
        if part.is_empty() {
            return Err(SyntaxError::at(text, at.start..at.start + 1, "a part of the host name")
                .with_help("remove the extra `.`"));
        }
        if part.len() > LONGEST_HOST_PART {
            return Err(SyntaxError::at(text, at, "at most 63 characters between two dots")
                .with_help("use a shorter name, or the IP address"));
        }
    }
    Ok(())
}

fn help_for_host(text: &str, at: usize) -> &'static str {
    match text.get(at..).and_then(|rest| rest.chars().next()) {
        Some('-') => "a leading `-` would be read as an option by other programs: use the host's name",
        Some('@') => "write the host alone; the user goes under `connection`",
        Some('[') if at > 0 => "write one target a host: names are not expanded",
        Some('[' | ']') => "write the address without brackets",
        Some('/') => "write the host alone, without `http://` and path",
        Some(c) if c.is_whitespace() => "remove the blank",
        Some(c) if !c.is_ascii() && c.is_alphanumeric() => "write the name in its `xn--` form",
        Some(_) | None => "write a name such as `web1.example.com` or an address such as `10.0.0.7`",
    }
}
