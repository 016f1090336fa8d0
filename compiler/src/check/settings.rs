//! Settings of a provider against its manifest: known, needed, of the right form, meaningful together.
//! It must not know one provider from another.

use std::collections::{BTreeMap, BTreeSet};

use manent_grammar::{Duration, Template, suggest};
use manent_stdlib::{PlainHttp, Provider, Setting, SettingType};

use super::declared;
use super::templates::{OF_TARGET, template};
use crate::decode::{Decoder, RawEnv, RawPool, RawSetting, listed};
use crate::diagnostic::{Code, Diagnostic, Findings};
use crate::source::Files;
use crate::yaml::Tree;

/// The pool whose settings are looked at, and what is needed for that.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) env: &'a RawEnv,
    /// The envconfig's tree, for places inside of values.
    pub(super) tree: &'a Tree,
    pub(super) pool: &'a RawPool,
    pub(super) provider: &'a Provider,
    pub(super) files: &'a Files,
}

/// All settings with their values, defaults filled in.
pub(super) fn settings(context: &Context<'_>, findings: &mut Findings) -> BTreeMap<String, String> {
    let Context { pool, provider, .. } = *context;
    let mut check = Check { context: *context, findings };
    let mut values = BTreeMap::new();
    let mut meant = BTreeSet::new();
    for written in &pool.settings {
        let Some(setting) = provider.setting(&written.name.value) else {
            meant.extend(check.unknown(written));
            continue;
        };
        if check.meaningful(setting, written) {
            check.value(setting, written);
        }
        values.insert(setting.name.clone(), written.value.value.clone());
    }
    for setting in &provider.settings {
        if values.contains_key(&setting.name) || !check.applies(setting) {
            continue;
        }
        match &setting.default {
            Some(default) => drop(values.insert(setting.name.clone(), default.clone())),
            None if setting.required && !meant.contains(&setting.name) => check.missing(setting),
            None => {}
        }
    }
    values
}

struct Check<'a, 'f> {
    context: Context<'a>,
    findings: &'f mut Findings,
}

impl<'a> Check<'a, '_> {
    fn written(&self, name: &str) -> Option<&'a RawSetting> {
        self.context.pool.settings.iter().find(|written| written.name.value == name)
    }

    /// The value of a setting, its default counted.
    fn current(&self, name: &str) -> Option<&'a str> {
        let written = self.written(name).map(|written| written.value.value.as_str());
        written.or_else(|| self.context.provider.setting(name)?.default.as_deref())
    }

    fn applies(&self, setting: &Setting) -> bool {
        setting.when.as_ref().is_none_or(|when| self.current(&when.setting) == Some(when.is.as_str()))
    }

    /// Reports a setting, and gives the one that was meant, where that can be guessed.
    fn unknown(&mut self, written: &RawSetting) -> Option<String> {
        let known = || self.context.provider.settings.iter().map(|setting| setting.name.as_str());
        let near = suggest(&written.name.value, known());
        let help = match &near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its settings are {}", listed(known())),
        };
        let message =
            format!("provider `{}` has no setting `{}`", self.context.provider.name, written.name.value);
        self.findings.push(
            Diagnostic::error(Code::UnknownSetting, message)
                .at(written.name.place.clone(), "unknown setting")
                .help(help),
        );
        near
    }

    fn missing(&mut self, setting: &Setting) {
        let place =
            self.context.pool.settings_place.clone().unwrap_or_else(|| self.context.pool.place.clone());
        let example = setting
            .example
            .as_deref()
            .map_or_else(String::new, |example| format!(", for example `{example}`"));
        let message =
            format!("provider `{}` needs the setting `{}`", self.context.provider.name, setting.name);
        self.findings.push(
            Diagnostic::error(Code::MissingSetting, message)
                .at(place, format!("`{}` is missing here", setting.name))
                .help(format!("add it{example}")),
        );
    }

    fn bad(&mut self, written: &RawSetting, message: String, help: impl Into<String>) {
        self.findings.push(
            Diagnostic::error(Code::BadSetting, message)
                .at(written.value.place.clone(), "not accepted")
                .help(help),
        );
    }

    /// Whether the setting means anything beside the others.
    fn meaningful(&mut self, setting: &Setting, written: &RawSetting) -> bool {
        let name = &setting.name;
        if let Some(when) = setting.when.as_ref().filter(|_| !self.applies(setting)) {
            let message = format!("`{name}` has a meaning only with `{}: {}`", when.setting, when.is);
            self.bad(written, message, format!("remove it, or set `{}: {}`", when.setting, when.is));
            return false;
        }
        if let Some(other) = setting.needs.as_deref().filter(|other| self.written(other).is_none()) {
            self.bad(written, format!("`{name}` needs `{other}` beside it"), format!("add `{other}`"));
        }
        if let Some(other) = setting.excludes.as_deref().and_then(|other| self.written(other)) {
            // Both sides exclude each other; one finding is enough.
            if other.value.place.span.start < written.value.place.span.start {
                let message = format!("`{name}` and `{}` exclude each other", other.name.value);
                self.bad(written, message, "keep one of the two");
            }
        }
        true
    }

    fn value(&mut self, setting: &Setting, written: &RawSetting) {
        let text = written.value.value.as_str();
        let name = &setting.name;
        if text.is_empty() {
            self.bad(written, format!("`{name}` is empty"), "write its value, or leave the key out");
            return;
        }
        if setting.placeholders {
            self.placeholders(written);
        }
        match setting.kind {
            SettingType::Text => {}
            SettingType::Url => self.url(setting, written, text),
            SettingType::Urls => self.urls(setting, written, text),
            SettingType::Bool => self.word(written, text, &["true", "false"]),
            SettingType::Choice => {
                let words: Vec<&str> = setting.choices.iter().map(|choice| choice.value.as_str()).collect();
                self.word(written, text, &words);
            }
            SettingType::Port => {
                if text.starts_with('0')
                    || text.parse::<u16>().is_err()
                    || !text.bytes().all(|b| b.is_ascii_digit())
                {
                    self.bad(
                        written,
                        format!("`{name}` cannot be `{text}`"),
                        "write a decimal number from 1 to 65535",
                    );
                }
            }
            SettingType::Duration => {
                if let Err(error) = Duration::parse(text) {
                    self.decoder().syntax(Code::BadDuration, written.node, "a duration", &error);
                }
            }
            SettingType::Path => {
                if text.contains(char::is_control) || text.starts_with('-') {
                    self.bad(written, format!("`{name}` cannot be `{text}`"), "write a path");
                }
            }
            SettingType::Secret => declared(self.context.env, &written.value, self.findings),
        }
    }

    fn decoder(&mut self) -> Decoder<'_> {
        Decoder { tree: self.context.tree, file: self.context.pool.place.file, findings: self.findings }
    }

    fn placeholders(&mut self, written: &RawSetting) {
        match Template::parse(&written.value.value) {
            Ok(parsed) => {
                let found = written.value.clone().map(|_| parsed);
                template(self.context.env, &found, OF_TARGET, self.context.files, self.findings);
            }
            Err(error) => self.decoder().syntax(Code::BadTemplate, written.node, "a template", &error),
        }
    }

    fn word(&mut self, written: &RawSetting, text: &str, words: &[&str]) {
        if !words.contains(&text) {
            let help = format!("write one of {}", listed(words.iter().copied()));
            self.bad(written, format!("`{}` cannot be `{text}`", written.name.value), help);
        }
    }

    fn urls(&mut self, setting: &Setting, written: &RawSetting, text: &str) {
        let mut seen = BTreeSet::new();
        for one in text.split(',').map(str::trim) {
            self.url(setting, written, one);
            // One instance that counts twice could make a majority out of itself.
            if !one.is_empty() && !seen.insert(one.trim_end_matches('/').to_ascii_lowercase()) {
                let message = format!("`{}` names `{one}` twice", setting.name);
                self.bad(written, message, "name every instance once");
            }
        }
    }

    fn url(&mut self, setting: &Setting, written: &RawSetting, url: &str) {
        let (plain, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (false, rest),
            (None, Some(rest)) => (true, rest),
            (None, None) => {
                let message = format!("`{}`: `{url}` is not an address", setting.name);
                self.bad(written, message, "write it with its scheme, as in `https://lb1.example.org:5555`");
                return;
            }
        };
        let host = rest.split(['/', '?', '#']).next().unwrap_or("");
        if host.is_empty() || rest.contains(|c: char| c.is_whitespace() || c.is_control()) {
            let message = format!("`{}`: `{url}` is not an address", setting.name);
            self.bad(written, message, "write a host after the scheme, and no blanks");
        } else if host.contains('@') {
            let message = format!("`{}` has a user in its address", setting.name);
            self.bad(written, message, "remove what stands before `@`; credentials come from a secret");
        }
        if plain {
            self.plain_http(setting, written, url);
        }
    }

    fn plain_http(&mut self, setting: &Setting, written: &RawSetting, url: &str) {
        let help = match setting.plain_http {
            Some(PlainHttp::Allowed) => return,
            Some(PlainHttp::WithAllowHttp) if self.current("allow_http") == Some("true") => return,
            Some(PlainHttp::WithAllowHttp) => "use https, or add `allow_http: \"true\"` for development",
            Some(PlainHttp::Refused) | None => "use https",
        };
        let message = format!("`{url}` would send credentials over plain http");
        self.findings.push(
            Diagnostic::error(Code::PlainHttp, message)
                .at(written.value.place.clone(), "not protected")
                .help(help),
        );
    }
}
