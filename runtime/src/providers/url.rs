//! Addresses built from settings: a base address, and a template whose values are encoded for their place.
//! It must not make requests. A value can never move the host, add a segment, a parameter or a header.
//!
//! The built address is parsed again, and refused unless its parts are the ones that were meant (threat T4).

use manent_grammar::{Part, Placeholder, Template};
use reqwest::Url;

use super::Wanted;
use super::text::shown;

/// Everything but letters, digits and `-._~` as percent codes: fit for a path segment or a query value.
pub(crate) fn encoded(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// An address as a setting gives it: absolute, https (http where allowed), without user, query or fragment.
pub(crate) fn base(text: &str, allow_http: bool) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("`{}` is no address: {error}", shown(text, 200)))?;
    scheme(&url, allow_http)?;
    // The text is not repeated here: it may hold a password.
    if !url.username().is_empty() || url.password().is_some() {
        return Err("an address holds a user or password; declare a secret for them instead".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("`{}` has a query or fragment; write the address alone", shown(text, 200)));
    }
    Ok(url)
}

fn scheme(url: &Url, allow_http: bool) -> Result<(), String> {
    match url.scheme() {
        "https" => Ok(()),
        "http" if allow_http => Ok(()),
        "http" => Err(format!(
            "`{}` sends everything unprotected; use https, or set `allow_http: \"true\"` for development",
            shown(url.as_str(), 200)
        )),
        other => Err(format!("`{other}` is no scheme for this; use https")),
    }
}

/// An address that asks a target itself, with placeholders for its host, port and labels.
pub(crate) struct TargetUrl {
    template: Template,
}

/// Where in an address a value stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Scheme,
    Authority,
    PathOrQuery,
}

impl TargetUrl {
    /// Reads the template. Its host has to be `{host}`, since every target is asked on its own.
    pub(crate) fn parse(text: &str) -> Result<TargetUrl, String> {
        let template = Template::parse(text).map_err(|error| error.to_string())?;
        let built = TargetUrl { template };
        // A trial shows every mistake that does not depend on the target.
        let labels = built.labels().map(|name| (name, "1".to_owned())).collect();
        let trial = Wanted {
            ix: manent_plan::TargetIx(0),
            member: String::new(),
            host: "host.example".to_owned(),
            port: Some(1),
            labels,
        };
        built.for_target(&trial)?;
        Ok(built)
    }

    fn labels(&self) -> impl Iterator<Item = String> + '_ {
        self.template.placeholders().filter_map(|(placeholder, _)| match placeholder {
            Placeholder::Label(name) => Some(name.clone()),
            Placeholder::Host
            | Placeholder::Port
            | Placeholder::Release
            | Placeholder::From
            | Placeholder::Var(_) => None,
        })
    }

    /// The address for one target.
    pub(crate) fn for_target(&self, target: &Wanted) -> Result<Url, String> {
        let url = filled(&self.template, |placeholder| value_of(placeholder, target))?;
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err("it holds a user, a password or a fragment".to_owned());
        }
        let meant = Url::parse(&format!("http://{}/", bracketed(&target.host)))
            .map_err(|_| format!("`{}` is no host for an address", shown(&target.host, 100)))?;
        if url.host_str() == meant.host_str() {
            return Ok(url);
        }
        Err(format!(
            "`{}` does not ask `{}`; the host of the address has to be `{{host}}`",
            shown(url.as_str(), 200),
            shown(&target.host, 100)
        ))
    }
}

/// An address with its values encoded for their place. No value can add to its parts; what the text itself says, stays.
/// Plain http is left to who wrote it: these are the applications' own addresses.
pub(crate) fn filled(
    template: &Template,
    value: impl Fn(&Placeholder) -> Result<String, String>,
) -> Result<Url, String> {
    let mut built = String::new();
    for part in template.parts() {
        match part {
            Part::Text(text) => built.push_str(text),
            Part::Placeholder(placeholder) => {
                built.push_str(&placed(place(&built), placeholder, &value(placeholder)?)?);
            }
        }
    }
    let words = || shown(&built, 200);
    if built.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err(format!("`{}` holds a blank, a backslash or a control character", words()));
    }
    let url = Url::parse(&built).map_err(|error| format!("`{}` is no address: {error}", words()))?;
    scheme(&url, true)?;
    // The parser resolves `.` and `..`; a value that makes one would ask something else.
    let path = built.splitn(4, '/').nth(3).unwrap_or_default();
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let dots = path.replace("%2e", ".").replace("%2E", ".");
    if dots.split('/').any(|segment| segment == "." || segment == "..") {
        return Err(format!("`{}` has a path with `.` or `..`", words()));
    }
    Ok(url)
}

fn value_of(placeholder: &Placeholder, target: &Wanted) -> Result<String, String> {
    match placeholder {
        Placeholder::Host => Ok(target.host.clone()),
        Placeholder::Port => target
            .port
            .map(|port| port.to_string())
            .ok_or_else(|| format!("target `{}` has no port for `{{port}}`", shown(&target.host, 100))),
        Placeholder::Label(name) => target.labels.get(name).cloned().ok_or_else(|| {
            format!("target `{}` has no label `{}`", shown(&target.host, 100), shown(name, 100))
        }),
        Placeholder::Release | Placeholder::From | Placeholder::Var(_) => Err(format!(
            "`{placeholder}` has no value here; `{{host}}`, `{{port}}` and `{{label.<name>}}` have"
        )),
    }
}

/// Where the next piece of an address stands.
fn place(before: &str) -> Place {
    match before.split_once("://") {
        None => Place::Scheme,
        Some((_, rest)) if rest.contains(['/', '?', '#']) => Place::PathOrQuery,
        Some(_) => Place::Authority,
    }
}

/// A value encoded for its place.
fn placed(place: Place, placeholder: &Placeholder, value: &str) -> Result<String, String> {
    match (place, placeholder) {
        (Place::Scheme, _) => Err("an address begins with `https://`, not with a placeholder".to_owned()),
        (Place::Authority, Placeholder::Host) if bracketed(value) != value => Ok(bracketed(value)),
        (Place::Authority, _) => {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
            if !value.is_empty() && value.chars().all(plain) {
                Ok(value.to_owned())
            } else {
                Err(format!("`{}` cannot stand in the host or port of an address", shown(value, 100)))
            }
        }
        (Place::PathOrQuery, _) => Ok(encoded(value)),
    }
}

/// A host as an address shows it: IPv6 in brackets.
fn bracketed(host: &str) -> String {
    if host.parse::<std::net::Ipv6Addr>().is_ok() { format!("[{host}]") } else { host.to_owned() }
}

#[cfg(test)]
mod tests;
