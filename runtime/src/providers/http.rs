//! One HTTP request to a load balancer, bounded in time and size, and what its failure means.
//! It must not know products, members or retries; it follows no redirect and uses no proxy.

use std::path::Path;
use std::sync::Once;
use std::time::Duration;

use base64::Engine as _;
use manent_engine::view::Failure;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Method, Url};
use rustls::AlertDescription;
use serde::de::DeserializeOwned;

use super::Refusal;
use super::text::{Hidden, json_depth, shown};
use crate::secrets::Secret;

/// Characters of an answer's text that a reason repeats.
const QUOTED: usize = 200;

/// Limits of a request. An answer beyond one of them is a failure that may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until the answer's header is complete, the connection included.
    pub header: Duration,
    /// Until the whole answer is there.
    pub answer: Duration,
    /// Bytes of a body.
    pub body: usize,
    /// Lists and objects inside each other.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { header: Duration::from_secs(10), answer: Duration::from_secs(30), body: 8 << 20, depth: 64 }
    }
}

/// Who asks: the value of the `Authorization` header, and what no message may repeat of it. It has no `Debug`.
#[derive(Default)]
pub(crate) struct Login {
    header: Option<HeaderValue>,
    hidden: Hidden,
}

impl Login {
    /// `user:password`, as basic authentication.
    pub(crate) fn basic(credentials: &Secret) -> Result<Login, String> {
        let credentials = credentials.reveal();
        let password = credentials.split_once(':').map_or("", |(_, password)| password);
        let code = base64::engine::general_purpose::STANDARD.encode(credentials);
        let mut hidden = Hidden::default();
        [credentials, password, &code].iter().for_each(|value| hidden.add(value));
        Ok(Login { header: Some(sensitive(&format!("Basic {code}"))?), hidden })
    }

    /// A bearer token.
    pub(crate) fn bearer(token: &Secret) -> Result<Login, String> {
        let mut hidden = Hidden::default();
        hidden.add(token.reveal());
        Ok(Login { header: Some(sensitive(&format!("Bearer {}", token.reveal()))?), hidden })
    }
}

/// A header value that the library keeps out of its own messages.
fn sensitive(text: &str) -> Result<HeaderValue, String> {
    let mut header = HeaderValue::from_str(text).map_err(|_| "it cannot stand in a header".to_owned())?;
    header.set_sensitive(true);
    Ok(header)
}

/// Sends requests for one provider.
pub(crate) struct Client {
    http: reqwest::Client,
    limits: Limits,
    login: Login,
}

/// A complete answer, whatever its status.
pub(crate) struct Answer {
    /// The status.
    pub(crate) status: u16,
    /// The body, within the limit.
    pub(crate) body: Vec<u8>,
    location: Option<String>,
    /// How the body is packed. Nothing packed was asked for, and nothing is unpacked: no bomb can go off.
    packed: Option<String>,
}

impl Answer {
    /// Any 2xx.
    pub(crate) fn ok(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl Client {
    /// A client that trusts the system's authorities, and those in `ca_file` too.
    pub(crate) fn new(ca_file: Option<&Path>, limits: Limits, login: Login) -> Result<Client, Refusal> {
        install_tls();
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            // Variables of the environment must not send credentials elsewhere.
            .no_proxy()
            .user_agent(concat!("manent/", env!("CARGO_PKG_VERSION")))
            .pool_max_idle_per_host(4)
            .tcp_nodelay(true);
        for certificate in ca_file.map(authorities).transpose()?.unwrap_or_default() {
            builder = builder.add_root_certificate(certificate);
        }
        let http = builder.build().map_err(|error| Refusal::setting("ca_file", chain(&error)))?;
        Ok(Client { http, limits, login })
    }

    /// Asks once. An answer with any status is an answer; no answer, or one beyond a limit, is a failure.
    pub(crate) async fn ask(
        &self,
        method: Method,
        url: Url,
        body: Option<String>,
    ) -> Result<Answer, Failure> {
        let asked = format!("{method} {}", shown(url.path(), QUOTED));
        let mut request = self.http.request(method, url).header(ACCEPT, "application/json");
        if let Some(header) = &self.login.header {
            request = request.header(AUTHORIZATION, header.clone());
        }
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        let Limits { header, answer, .. } = self.limits;
        let whole = async {
            match tokio::time::timeout(header, request.send()).await {
                Ok(Ok(response)) => self.receive(response).await,
                Ok(Err(error)) => Err(Failure { permanent: untrusted(&error), reason: chain(&error) }),
                Err(_) => Err(passing(format!("no answer within {}", seconds(header)))),
            }
        };
        let outcome = tokio::time::timeout(answer, whole).await;
        let outcome = outcome.unwrap_or_else(|_| {
            Err(passing(format!("the answer was not complete within {}", seconds(answer))))
        });
        outcome.map_err(|failure| Failure {
            permanent: failure.permanent,
            reason: self.fit(&format!("{asked}: {}", failure.reason)),
        })
    }

    async fn receive(&self, mut response: reqwest::Response) -> Result<Answer, Failure> {
        let text = |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let packed = text(CONTENT_ENCODING).filter(|coding| *coding != "identity").map(str::to_owned);
        let location = text(LOCATION).map(str::to_owned);
        let status = response.status().as_u16();
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > self.limits.body => {
                    return Err(passing(format!("the answer is longer than {} bytes", self.limits.body)));
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => return Ok(Answer { status, body, location, packed }),
                Err(error) => return Err(passing(format!("the answer broke off: {}", chain(&error)))),
            }
        }
    }

    /// The value in a JSON answer of a known shape. `what` names the answer.
    pub(crate) fn decode<T: DeserializeOwned>(&self, answer: &Answer, what: &str) -> Result<T, Failure> {
        if let Some(coding) = &answer.packed {
            let coding = shown(coding, 20);
            return Err(passing(format!("{what} is packed (`{coding}`), which was not asked for")));
        }
        if json_depth(&answer.body) > self.limits.depth {
            return Err(passing(format!("{what} nests deeper than {} levels", self.limits.depth)));
        }
        // The parser's own words may repeat values, so only its place is told.
        serde_json::from_slice(&answer.body).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            passing(format!("{what} is not of the documented form (line {line}, column {column})"))
        })
    }

    /// What an answer that is no success means. `check` says what to look at when nothing of the kind exists there.
    pub(crate) fn refused(&self, answer: &Answer, credentials: &str, missing: &str) -> Failure {
        let said = self.said(answer);
        let (permanent, what) = match answer.status {
            300..400 => (true, format!("redirects{}, which is never followed", self.pointed(answer))),
            401 => (true, format!("401 unauthorized: check {credentials}")),
            403 => (true, format!("403 forbidden: check the rights of {credentials}")),
            404 => (true, format!("404 not found: check {missing}")),
            405 => (true, format!("405 method not allowed: check {missing}")),
            406 => (true, "406 not acceptable: it offers no JSON".to_owned()),
            415 => (true, "415 unsupported media type: it takes no JSON".to_owned()),
            400 | 413 | 422 => (true, format!("{}: it does not take the request", answer.status)),
            408 => (false, "408 request timeout".to_owned()),
            409 => (false, "409 conflict: something else is changing it".to_owned()),
            429 => (false, "429 too many requests".to_owned()),
            other => (false, format!("status {other}")),
        };
        let said = if said.is_empty() { said } else { format!(" (it says: {said})") };
        Failure { permanent, reason: format!("{what}{said}") }
    }

    fn pointed(&self, answer: &Answer) -> String {
        match &answer.location {
            Some(location) => format!(" ({}) to `{}`", answer.status, self.fit(location)),
            None => format!(" ({}) to nowhere", answer.status),
        }
    }

    /// What an answer says in words: the message of an error object, or else its text. Fit for people.
    pub(crate) fn said(&self, answer: &Answer) -> String {
        #[derive(serde::Deserialize)]
        struct Words {
            message: Option<String>,
            error: Option<String>,
        }
        if answer.packed.is_some() {
            return String::new();
        }
        let words = if json_depth(&answer.body) > self.limits.depth {
            None
        } else {
            serde_json::from_slice::<Words>(&answer.body).ok().and_then(|words| words.message.or(words.error))
        };
        let text = words.unwrap_or_else(|| String::from_utf8_lossy(&answer.body).into_owned());
        self.fit(&text)
    }

    /// Text from outside, without secrets, bounded.
    pub(crate) fn fit(&self, text: &str) -> String {
        shown(&self.login.hidden.cleaned(text), QUOTED)
    }
}

/// A failure that may pass.
pub(crate) fn passing(reason: impl Into<String>) -> Failure {
    Failure { permanent: false, reason: reason.into() }
}

/// A failure that no repetition mends.
pub(crate) fn lasting(reason: impl Into<String>) -> Failure {
    Failure { permanent: true, reason: reason.into() }
}

fn authorities(path: &Path) -> Result<Vec<reqwest::Certificate>, Refusal> {
    let shown_path = shown(&path.display().to_string(), QUOTED);
    let pem = std::fs::read(path)
        .map_err(|error| Refusal::setting("ca_file", format!("`{shown_path}` cannot be read: {error}")))?;
    let found = reqwest::Certificate::from_pem_bundle(&pem)
        .map_err(|error| Refusal::setting("ca_file", format!("`{shown_path}`: {}", chain(&error))))?;
    if found.is_empty() {
        return Err(Refusal::setting("ca_file", format!("`{shown_path}` holds no certificate in PEM form")));
    }
    Ok(found)
}

/// The library takes its cryptography from the process. Whoever came first has chosen, and that is fine.
pub(crate) fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// Whether the peer could not prove who it is. Asking again would not change that.
fn untrusted(error: &reqwest::Error) -> bool {
    causes(error).filter_map(tls).any(|error| match error {
        rustls::Error::InvalidCertificate(_) | rustls::Error::PeerIncompatible(_) => true,
        rustls::Error::AlertReceived(alert) => matches!(
            alert,
            AlertDescription::ProtocolVersion
                | AlertDescription::HandshakeFailure
                | AlertDescription::InsufficientSecurity
                | AlertDescription::CertificateRequired
        ),
        _ => false,
    })
}

/// The TLS error in a cause. Errors of input and output hide what they wrap from the usual chain.
fn tls<'e>(cause: &'e (dyn std::error::Error + 'static)) -> Option<&'e rustls::Error> {
    match cause.downcast_ref::<std::io::Error>() {
        Some(wrapping) => tls(wrapping.get_ref()?),
        None => cause.downcast_ref::<rustls::Error>(),
    }
}

fn causes<'e>(error: &'e reqwest::Error) -> impl Iterator<Item = &'e (dyn std::error::Error + 'static)> {
    let first: Option<&(dyn std::error::Error + 'static)> = Some(error);
    std::iter::successors(first, |error| error.source())
}

/// The innermost causes of an error, without the address (it is said elsewhere, once).
fn chain(error: &reqwest::Error) -> String {
    let mut words: Vec<String> = causes(error).skip(1).map(ToString::to_string).collect();
    words.dedup();
    if words.is_empty() { error.to_string() } else { words.join(": ") }
}

fn seconds(time: Duration) -> String {
    if time.subsec_millis() == 0 {
        format!("{} s", time.as_secs())
    } else {
        format!("{} ms", time.as_millis())
    }
}

#[cfg(test)]
mod tests;
