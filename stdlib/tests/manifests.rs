//! The manifests against the table of the product: no setting is missing, none is invented, every default is right.
//! It must not know what the compiler makes of them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use manent_stdlib::{Availability, Connections, Provider, Setting, SettingType, Stdlib};

/// One row: name, type, default (`-` for none, `!` for required), condition.
type Row = (&'static str, &'static str, &'static str, &'static str);

const HAPROXY: &[Row] = &[
    ("dataplane_urls", "urls", "!", ""),
    ("backend", "text", "!", ""),
    ("credentials_secret", "secret", "!", ""),
    ("api_version", "choice", "v3", ""),
    ("ca_file", "path", "-", ""),
    ("allow_http", "bool", "false", ""),
];
const AWS_ELB: &[Row] = &[
    ("region", "text", "!", ""),
    ("target_group_arn", "text", "!", ""),
    ("port", "port", "-", ""),
    ("auto_scaling_group", "text", "-", ""),
    ("access_key_id_secret", "secret", "-", ""),
    ("secret_access_key_secret", "secret", "-", ""),
    ("session_token_secret", "secret", "-", ""),
    ("role_arn", "text", "-", ""),
    ("external_id", "text", "-", ""),
    ("profile", "text", "-", ""),
    ("endpoint_url", "url", "-", ""),
];
const HEALTH_FLAG: &[Row] = &[
    ("mode", "choice", "http", ""),
    ("drain_url", "url", "!", "mode=http"),
    ("drain_method", "choice", "PUT", "mode=http"),
    ("restore_method", "choice", "DELETE", "mode=http"),
    ("token_secret", "secret", "-", "mode=http"),
    ("path", "path", "!", "mode=file"),
    ("ssh_user", "text", "-", "mode=file"),
    ("ssh_key_secret", "secret", "-", "mode=file"),
    ("ssh_password_secret", "secret", "-", "mode=file"),
    ("known_hosts", "path", "-", "mode=file"),
    ("health_url", "url", "-", ""),
    ("drain_delay", "duration", "30s", ""),
];
const F5: &[Row] = &[
    ("management_url", "url", "!", ""),
    ("pool", "text", "!", ""),
    ("credentials_secret", "secret", "!", ""),
    ("partition", "text", "Common", ""),
    ("sync_group", "text", "-", ""),
    ("ca_file", "path", "-", ""),
];
const NGINX_PLUS: &[Row] = &[
    ("api_urls", "urls", "!", ""),
    ("upstream", "text", "!", ""),
    ("api_version", "text", "9", ""),
    ("credentials_secret", "secret", "-", ""),
    ("ca_file", "path", "-", ""),
    ("allow_http", "bool", "false", ""),
];
const NGINX: &[Row] = &[
    ("lb_hosts", "text", "!", ""),
    ("upstream_file", "path", "!", ""),
    ("ssh_port", "port", "22", ""),
    ("ssh_user", "text", "-", ""),
    ("ssh_key_secret", "secret", "-", ""),
    ("ssh_password_secret", "secret", "-", ""),
    ("known_hosts", "path", "-", ""),
    ("reload_command", "text", "nginx -t && nginx -s reload", ""),
    ("drain_delay", "duration", "30s", ""),
];
const IIS_ARR: &[Row] = &[
    ("arr_host", "text", "!", ""),
    ("farm", "text", "!", ""),
    ("transport", "choice", "ssh", ""),
    ("user", "text", "-", ""),
    ("password_secret", "secret", "-", ""),
    ("ssh_key_secret", "secret", "-", "transport=ssh"),
    ("known_hosts", "path", "-", "transport=ssh"),
    ("ca_file", "path", "-", "transport=winrm"),
];
const NLB: &[Row] = &[
    ("cluster_node", "text", "-", ""),
    ("interface", "text", "-", ""),
    ("transport", "choice", "ssh", ""),
    ("user", "text", "-", ""),
    ("password_secret", "secret", "-", ""),
    ("ssh_key_secret", "secret", "-", "transport=ssh"),
    ("known_hosts", "path", "-", "transport=ssh"),
    ("ca_file", "path", "-", "transport=winrm"),
];

const TABLE: [(&str, &[Row]); 8] = [
    ("haproxy", HAPROXY),
    ("aws-elb", AWS_ELB),
    ("health-flag", HEALTH_FLAG),
    ("f5", F5),
    ("nginx-plus", NGINX_PLUS),
    ("nginx", NGINX),
    ("iis-arr", IIS_ARR),
    ("nlb", NLB),
];

fn each_setting(check: impl Fn(&Provider, &Setting)) {
    for provider in Stdlib::builtin().unwrap().providers() {
        provider.settings.iter().for_each(|setting| check(provider, setting));
    }
}

#[test]
fn settings_are_those_of_the_table() {
    let stdlib = Stdlib::builtin().unwrap();
    assert_eq!(
        stdlib.providers().iter().map(|provider| provider.name.as_str()).collect::<Vec<_>>(),
        TABLE.map(|(name, _)| name)
    );
    for (name, rows) in TABLE {
        let provider = stdlib.provider(name).unwrap();
        let found: Vec<_> = provider.settings.iter().map(row).collect();
        let wanted: Vec<_> = rows
            .iter()
            .map(|(name, kind, default, when)| {
                ((*name).to_owned(), (*kind).to_owned(), (*default).to_owned(), (*when).to_owned())
            })
            .collect();
        assert_eq!(found, wanted, "{name}");
    }
}

fn row(setting: &Setting) -> (String, String, String, String) {
    let default = match (&setting.default, setting.required) {
        (Some(default), false) => default.clone(),
        (None, true) => "!".to_owned(),
        (None, false) => "-".to_owned(),
        (Some(_), true) => "required with a default".to_owned(),
    };
    let when = setting.when.as_ref().map_or_else(String::new, |when| format!("{}={}", when.setting, when.is));
    (setting.name.clone(), setting.kind.name().to_owned(), default, when)
}

#[test]
fn only_haproxy_and_health_flag_over_http_run_in_this_version() {
    let stdlib = Stdlib::builtin().unwrap();
    let now: Vec<_> = stdlib
        .providers()
        .iter()
        .filter(|provider| provider.available == Availability::Now)
        .map(|provider| provider.name.as_str())
        .collect();
    assert_eq!(now, ["haproxy", "health-flag"]);
    let mode = stdlib.provider("health-flag").unwrap().setting("mode").unwrap();
    assert_eq!(mode.choice("http").unwrap().available, Availability::Now);
    assert_eq!(mode.choice("file").unwrap().available, Availability::Later);
}

#[test]
fn what_apply_cannot_do_yet_has_words() {
    let stdlib = Stdlib::builtin().unwrap();
    let not_yet = |name: &str, mode: &str| {
        let settings = BTreeMap::from([("mode".to_owned(), mode.to_owned())]);
        stdlib.provider(name).unwrap().not_yet(&settings)
    };
    assert_eq!(not_yet("f5", "http").unwrap(), "provider `f5`");
    assert_eq!(not_yet("health-flag", "file").unwrap(), "`mode: file` of provider `health-flag`");
    assert_eq!(not_yet("health-flag", "http"), None);
    assert_eq!(not_yet("haproxy", "file"), None);
}

#[test]
fn names_of_secrets_end_as_secrets_do() {
    each_setting(|provider, setting| {
        let at = format!("{} {}", provider.name, setting.name);
        assert_eq!(setting.is_secret(), setting.name.ends_with("_secret"), "{at}");
        assert_eq!(setting.is_secret(), setting.form.is_some(), "{at}");
    });
}

#[test]
fn addresses_say_whether_http_is_accepted() {
    each_setting(|provider, setting| {
        let at = format!("{} {}", provider.name, setting.name);
        let address = matches!(setting.kind, SettingType::Url | SettingType::Urls);
        assert_eq!(address, setting.plain_http.is_some(), "{at}");
        if setting.plain_http == Some(manent_stdlib::PlainHttp::WithAllowHttp) {
            assert!(provider.setting("allow_http").is_some(), "{at}");
        }
    });
}

#[test]
fn choices_and_references_to_settings_exist() {
    each_setting(|provider, setting| {
        let at = format!("{} {}", provider.name, setting.name);
        assert_eq!(setting.kind == SettingType::Choice, !setting.choices.is_empty(), "{at}");
        if let (SettingType::Choice, Some(default)) = (setting.kind, &setting.default) {
            assert!(setting.choice(default).is_some(), "{at}");
        }
        for other in [&setting.needs, &setting.excludes].into_iter().flatten() {
            assert!(provider.setting(other).is_some_and(|other| other.name != setting.name), "{at}");
        }
        if let Some(when) = &setting.when {
            assert!(provider.setting(&when.setting).unwrap().choice(&when.is).is_some(), "{at}");
        }
    });
}

#[test]
fn a_fixed_delay_stands_in_where_connections_are_unseen() {
    for provider in Stdlib::builtin().unwrap().providers() {
        let unseen = provider.capabilities.connections == Connections::Unseen;
        let delay = provider.capabilities.drain_delay.as_ref().and_then(|name| provider.setting(name));
        assert_eq!(
            unseen,
            delay.is_some_and(|delay| delay.kind == SettingType::Duration),
            "{}",
            provider.name
        );
    }
}

#[test]
fn texts_are_whole_sentences_on_one_line() {
    for provider in Stdlib::builtin().unwrap().providers() {
        let sentences = [&provider.summary, &provider.member].into_iter();
        let sentences = sentences.chain(&provider.promise).chain(&provider.weaker).chain(&provider.notes);
        let sentences = sentences.chain(provider.settings.iter().map(|setting| &setting.meaning));
        let mut seen = BTreeSet::new();
        for text in sentences {
            assert!(text.ends_with('.') && !text.contains('\n'), "{}: {text}", provider.name);
            assert!(seen.insert(text), "{} says twice: {text}", provider.name);
        }
        assert!(!provider.sees.contains('\n') && !provider.sees.ends_with('.'), "{}", provider.name);
    }
}

#[test]
fn recipes_are_yaml_with_the_four_procedures() {
    for recipe in Stdlib::builtin().unwrap().recipes() {
        let text: serde_yaml::Value = serde_yaml::from_str(recipe.text).unwrap();
        assert_eq!(text["name"], recipe.name);
        for procedure in ["apply", "undo", "current", "retain"] {
            assert!(text[procedure].is_sequence(), "{}: {procedure}", recipe.name);
        }
    }
}

#[test]
fn defaults_and_examples_are_what_their_types_accept() {
    each_setting(|provider, setting| {
        let values = setting.default.iter().chain(&setting.example).map(String::as_str);
        for value in values {
            let fits = match setting.kind {
                SettingType::Duration => manent_grammar::Duration::parse(value).is_ok(),
                SettingType::Port => value.parse::<u16>().is_ok_and(|port| port > 0),
                SettingType::Bool => ["true", "false"].contains(&value),
                SettingType::Url => value.starts_with("https://"),
                SettingType::Urls => value.split(',').all(|url| url.starts_with("https://")),
                SettingType::Secret => manent_grammar::name(value).is_ok(),
                SettingType::Choice => setting.choice(value).is_some(),
                SettingType::Text | SettingType::Path => !value.is_empty(),
            };
            assert!(fits, "{} {}: {value}", provider.name, setting.name);
            if setting.placeholders {
                assert!(manent_grammar::Template::parse(value).is_ok(), "{} {}", provider.name, setting.name);
            }
        }
    });
}

#[test]
fn every_setting_has_a_default_or_an_example() {
    each_setting(|provider, setting| {
        assert!(setting.default.is_some() || setting.example.is_some(), "{} {}", provider.name, setting.name);
    });
}
