//! The reference pages, written from the data so that they cannot say anything else.
//! It must not know where a page is kept.

mod recipes;

use std::fmt;

pub use recipes::recipes_page;

use crate::{Availability, Capabilities, Connections, Provider, Setting, SettingType, Stdlib};

const HEAD: &str = "# Providers

<!-- Written from stdlib/providers/ by a test of manent-stdlib. Change the manifests, then run it with UPDATE=1. -->

A provider takes members out of a load balancer and puts them back. It is chosen by `traffic.pool.provider`, and its
settings stand in `traffic.pool.settings`. All values are text. A setting of type secret holds the name of a secret
that is declared under `secrets`, never the secret itself.
";

/// The page about all providers.
#[must_use]
pub fn providers_page(stdlib: &Stdlib) -> String {
    let overview = Overview(stdlib.providers());
    let sections: String = stdlib.providers().iter().map(|provider| Section(provider).to_string()).collect();
    format!("{HEAD}{overview}{sections}")
}

struct Overview<'a>(&'a [Provider]);

impl fmt::Display for Overview<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n| Provider | Sees members | Sees health | Connections | `apply` |\n|---|---|---|---|---|"
        )?;
        for provider in self.0 {
            let can = &provider.capabilities;
            let name = &provider.name;
            let (members, health) = (yes(can.sees_members), yes(can.sees_health));
            let (connections, available) = (connections(can), available(provider));
            writeln!(f, "| [{name}](#{name}) | {members} | {health} | {connections} | {available} |")?;
        }
        Ok(())
    }
}

struct Section<'a>(&'a Provider);

impl fmt::Display for Section<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Section(provider) = self;
        writeln!(f, "\n## {}\n\n{}\n", provider.name, provider.summary)?;
        if provider.available == Availability::Later {
            writeln!(
                f,
                "This version lints and plans with it; `apply` refuses before anything is touched.\n"
            )?;
        }
        writeln!(f, "| Setting | Type | Default | Meaning |\n|---|---|---|---|{}", rows(&provider.settings))?;
        writeln!(f, "\n**Member.** {}\n\n**Sees** {}.", provider.member, provider.sees)?;
        list(f, "Promise", &provider.promise)?;
        list(f, "Weaker here", &provider.weaker)?;
        list(f, "Good to know", &provider.notes)?;
        writeln!(f, "\n{}", abilities(&provider.capabilities))
    }
}

fn list(f: &mut fmt::Formatter<'_>, title: &str, sentences: &[String]) -> fmt::Result {
    if sentences.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n**{title}**\n")?;
    sentences.iter().try_for_each(|sentence| writeln!(f, "- {sentence}"))
}

fn rows(settings: &[Setting]) -> String {
    settings
        .iter()
        .map(|setting| {
            let default = match &setting.default {
                Some(default) => format!("`{default}`"),
                None if setting.required => "required".to_owned(),
                None => String::new(),
            };
            let (name, kind, meaning) = (&setting.name, kind(setting), meaning(setting));
            format!("\n| `{name}` | {kind} | {} | {} |", cell(&default), cell(&meaning))
        })
        .collect()
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn kind(setting: &Setting) -> String {
    match (setting.kind, setting.form) {
        (SettingType::Secret, Some(form)) => format!("secret, {}", form.name()),
        (kind, _) => kind.name().to_owned(),
    }
}

fn meaning(setting: &Setting) -> String {
    let mut text = setting.meaning.clone();
    for choice in &setting.choices {
        let later = if choice.available == Availability::Later { " (later)" } else { "" };
        text += &format!(" `{}`{later}: {}", choice.value, choice.meaning);
    }
    if let Some(when) = &setting.when {
        text += &format!(" Only with `{}: {}`.", when.setting, when.is);
    }
    if let Some(needs) = &setting.needs {
        text += &format!(" Together with `{needs}`.");
    }
    if let Some(excludes) = &setting.excludes {
        text += &format!(" Not together with `{excludes}`.");
    }
    if let Some(example) = &setting.example {
        text += &format!(" Example: `{example}`.");
    }
    text
}

fn abilities(can: &Capabilities) -> String {
    let checks = if can.checks_while_out {
        "It goes on checking a member that is out, so that health is awaited before the member goes back."
    } else {
        "It does not check a member that is out, so that the post-test is the gate before the member goes back."
    };
    let harden = if can.can_harden {
        "A drain can be hardened against clients that are bound to a member."
    } else {
        "A drain cannot be hardened against clients that are bound to a member."
    };
    format!("{checks} {harden} The second read of a wait comes {} ms after the first.", can.first_poll_ms)
}

fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

fn connections(can: &Capabilities) -> &'static str {
    match can.connections {
        Connections::Counted => "counted",
        Connections::Ended => "whether they have ended",
        Connections::Unseen => "unseen, a fixed delay",
    }
}

fn available(provider: &Provider) -> &'static str {
    let later =
        |setting: &Setting| setting.choices.iter().any(|choice| choice.available == Availability::Later);
    match provider.available {
        Availability::Later => "later",
        Availability::Now if provider.settings.iter().any(later) => "in part",
        Availability::Now => "yes",
    }
}
