//! What a provider's manifest says: settings, capabilities, promises.
//! It must not know how settings are checked or how a provider is called.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One way to take members out of a load balancer and put them back.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// Its name in `traffic.pool.provider`.
    pub name: String,
    /// Whether `apply` can use it; all are known to `lint` and `plan`.
    pub available: Availability,
    /// One or two sentences.
    pub summary: String,
    /// What a member's name has to be.
    pub member: String,
    /// What it can see and do.
    pub capabilities: Capabilities,
    /// What it reads, as the end of a sentence that begins "it sees".
    pub sees: String,
    /// Sentences that hold with this provider.
    pub promise: Vec<String>,
    /// Sentences that say where the promise is weaker than with a provider that sees everything.
    pub weaker: Vec<String>,
    /// All settings, in the order of the reference.
    pub settings: Vec<Setting>,
    /// What an operator should know.
    pub notes: Vec<String>,
}

impl Provider {
    pub(crate) fn parse(text: &str) -> Result<Provider, serde_yaml::Error> {
        serde_yaml::from_str(text)
    }

    /// The setting of that name.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.name == name)
    }

    /// Whether the capacity of the pool can be read: without it `min_healthy` protects nothing or little.
    #[must_use]
    pub fn sees_capacity(&self) -> bool {
        self.capabilities.sees_members && self.capabilities.sees_health
    }

    /// What of this pool `apply` cannot do yet, in words for a message; `None` when all of it is there.
    ///
    /// `settings` are those of the plan, defaults filled in. Asked before anything is touched.
    #[must_use]
    pub fn not_yet(&self, settings: &BTreeMap<String, String>) -> Option<String> {
        if self.available == Availability::Later {
            return Some(format!("provider `{}`", self.name));
        }
        let later = self.settings.iter().find_map(|setting| {
            let choice = setting.choice(settings.get(&setting.name)?)?;
            (choice.available == Availability::Later).then_some((&setting.name, &choice.value))
        });
        later.map(|(setting, value)| format!("`{setting}: {value}` of provider `{}`", self.name))
    }

    /// The sentences that a plan prints about this provider: those that hold, then those that are weaker.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        self.promise.iter().chain(&self.weaker).map(String::as_str)
    }
}

/// Since when `apply` can use something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Availability {
    /// In this version.
    Now,
    /// In a later version: `lint` and `plan` know it, `apply` refuses before anything is touched.
    Later,
}

/// What a provider can see and do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// It lists the members of the pool and whether they are in service.
    pub sees_members: bool,
    /// It knows whether the application on a member is healthy.
    pub sees_health: bool,
    /// What it shows of a member's connections.
    pub connections: Connections,
    /// It goes on checking members that are out, so health is awaited before they go back.
    pub checks_while_out: bool,
    /// A drain can be hardened against persistent clients.
    pub can_harden: bool,
    /// First distance between two reads of a wait; more where the API limits the rate.
    pub first_poll_ms: u64,
    /// Where connections are unseen: the setting that says how long to wait instead.
    pub drain_delay: Option<String>,
}

impl Capabilities {
    /// Whether a read can show that a member's connections have ended.
    #[must_use]
    pub fn sees_connections(&self) -> bool {
        match self.connections {
            Connections::Counted | Connections::Ended => true,
            Connections::Unseen => false,
        }
    }
}

/// What a provider shows of a member's connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// Their number.
    Counted,
    /// Only whether draining has ended.
    Ended,
    /// Nothing: a fixed delay stands in.
    Unseen,
}

/// One setting of a provider. All values are text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Its name in `traffic.pool.settings`.
    pub name: String,
    /// What its text has to be.
    #[serde(rename = "type")]
    pub kind: SettingType,
    /// Its value when it is not written.
    pub default: Option<String>,
    /// It has to be written, wherever [`Setting::when`] holds.
    #[serde(default)]
    pub required: bool,
    /// The values it can have; only for [`SettingType::Choice`].
    #[serde(default)]
    pub choices: Vec<Choice>,
    /// Whether `{host}`, `{port}` and `{label.<name>}` are filled in.
    #[serde(default)]
    pub placeholders: bool,
    /// For addresses: whether plain http is accepted.
    pub plain_http: Option<PlainHttp>,
    /// For secrets: what the value has to look like; checked when it is resolved.
    pub form: Option<SecretForm>,
    /// It has a meaning only under this condition, and is an error elsewhere.
    pub when: Option<Condition>,
    /// A setting that must be written with it.
    pub needs: Option<String>,
    /// A setting that must not be written with it.
    pub excludes: Option<String>,
    /// One or two sentences.
    pub meaning: String,
    /// A value for the reference.
    pub example: Option<String>,
}

impl Setting {
    /// Whether its value is the name of a declared secret.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.kind == SettingType::Secret
    }

    /// The choice of that value.
    #[must_use]
    pub fn choice(&self, value: &str) -> Option<&Choice> {
        self.choices.iter().find(|choice| choice.value == value)
    }
}

/// What the text of a setting has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingType {
    /// Any text that is not empty.
    Text,
    /// One address.
    Url,
    /// Addresses separated by commas.
    Urls,
    /// `true` or `false`.
    Bool,
    /// A decimal number from 1 to 65535.
    Port,
    /// A duration such as `30s`.
    Duration,
    /// A path: on this machine relative to the root or absolute, on another host absolute.
    Path,
    /// The name of a declared secret.
    Secret,
    /// One of [`Setting::choices`].
    Choice,
}

impl SettingType {
    /// Its name in the reference and in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SettingType::Text => "text",
            SettingType::Url => "url",
            SettingType::Urls => "urls",
            SettingType::Bool => "bool",
            SettingType::Port => "port",
            SettingType::Duration => "duration",
            SettingType::Path => "path",
            SettingType::Secret => "secret",
            SettingType::Choice => "choice",
        }
    }
}

/// One value of a setting of type choice.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The value.
    pub value: String,
    /// Whether `apply` can use it.
    pub available: Availability,
    /// One sentence.
    pub meaning: String,
}

/// Whether an address may be plain http.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlainHttp {
    /// Only https.
    Refused,
    /// With `allow_http: "true"`.
    WithAllowHttp,
    /// Always.
    Allowed,
}

/// What the value of a secret has to look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretForm {
    /// `user:password`.
    UserPassword,
    /// One line without blanks.
    Token,
    /// One line.
    Password,
    /// A private key as OpenSSH writes it.
    PrivateKey,
}

impl SecretForm {
    /// Its description in the reference and in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SecretForm::UserPassword => "`user:password`",
            SecretForm::Token => "one line without blanks",
            SecretForm::Password => "one line",
            SecretForm::PrivateKey => "a private key",
        }
    }
}

/// "The setting `setting` has the value `is`", its default counted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Another setting of the same provider.
    pub setting: String,
    /// The value it has to have.
    pub is: String,
}
