//! Decodes `traffic.pool`. It must not know which settings a provider has.

use manent_plan::OnTimeout;

use super::{Decoder, RawPool, RawSetting};
use crate::yaml::Entry;

impl Decoder<'_> {
    /// The pool, and whether one is written at all.
    pub(super) fn traffic(&mut self, entry: Option<Entry>) -> (Option<RawPool>, bool) {
        let Some(entry) = entry else { return (None, false) };
        let Some([pool]) = self.fields(entry.value, "`traffic`", ["pool"]) else { return (None, true) };
        let owner = self.place(entry.key);
        let Some(pool) = self.required(pool, owner, "pool", "`traffic`") else { return (None, true) };
        (self.pool(pool), true)
    }

    fn pool(&mut self, entry: Entry) -> Option<RawPool> {
        let keys = [
            "provider",
            "member",
            "drain_timeout",
            "restore_timeout",
            "poll_interval",
            "min_healthy",
            "members",
            "on_timeout",
            "settings",
        ];
        let [provider, member, drain, restore, poll, min_healthy, members, on_timeout, settings] =
            self.fields(entry.value, "`pool`", keys)?;
        let place = self.place(entry.key);
        let provider = self.required(provider, place.clone(), "provider", "`pool`");
        let provider = self.entry_string(provider, "`provider`");
        let member = member.and_then(|entry| self.template(entry.value));
        let drain_timeout = self.positive(drain, "`drain_timeout`");
        let restore_timeout = self.positive(restore, "`restore_timeout`");
        let poll_interval = self.positive(poll, "`poll_interval`");
        let min_healthy = self.quantity(min_healthy);
        let members = self.number(members, "`members`", 1, u32::MAX);
        let endings = [("proceed", OnTimeout::Proceed), ("fail", OnTimeout::Fail)];
        let on_timeout = self.choice(on_timeout, "`on_timeout`", &endings);
        let settings_place = settings.map(|entry| self.place(entry.key));
        let settings = self.settings(settings);
        Some(RawPool {
            place,
            provider: provider?,
            member,
            drain_timeout,
            restore_timeout,
            poll_interval,
            min_healthy,
            members,
            on_timeout,
            settings_place,
            settings,
        })
    }

    fn settings(&mut self, entry: Option<Entry>) -> Vec<RawSetting> {
        let pairs = self.pairs(entry, "`settings`");
        pairs
            .into_iter()
            .filter_map(|Entry { key, value }| {
                let name = self.string(key, "the name of a setting")?;
                if name.value.starts_with("x-") {
                    return None;
                }
                let what = format!("the setting `{}`", name.value);
                let text = self.string(value, &what)?;
                Some(RawSetting { name, value: text, node: value })
            })
            .collect()
    }
}
