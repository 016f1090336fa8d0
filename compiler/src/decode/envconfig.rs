//! Decodes an envconfig: targets, connection, variables, rollout, secrets. The pool has a file of its own.
//! It must not know the rules between keys.

use std::collections::BTreeMap;

use manent_grammar::{SecretRef, host, label_name};
use manent_plan::OnFailure;

use super::{
    Decoder, Order, RawConnection, RawEnv, RawRollout, RawSecret, RawSsh, RawTarget, RawWave, Spanned,
};
use crate::diagnostic::{Code, Diagnostic};
use crate::yaml::{Entry, NodeId, Shape};

/// Decodes the document; `None` when it has not even keys.
pub(crate) fn envconfig(decoder: &mut Decoder<'_>) -> Option<RawEnv> {
    let root = decoder.tree.root();
    let place = decoder.place(root);
    let keys = ["targets", "connection", "vars", "rollout", "traffic", "secrets"];
    let [targets, connection, vars, rollout, traffic, secrets] =
        decoder.fields(root, "an envconfig", keys)?;
    let targets = decoder.required(targets, place.clone(), "targets", "an envconfig");
    let (targets, targets_complete) = decoder.targets(targets);
    let (secrets, secrets_complete) = decoder.secrets(secrets);
    let (pool, pool_written) = decoder.traffic(traffic);
    let known_vars = decoder.vars(vars);
    Some(RawEnv {
        targets,
        targets_complete,
        connection_place: connection.map(|entry| decoder.place(entry.key)),
        connection: connection.and_then(|entry| decoder.connection(entry.value)),
        vars_complete: vars.is_none_or(|entry| decoder.tree.entries(entry.value).count() == known_vars.len()),
        vars: known_vars,
        rollout: rollout.and_then(|entry| decoder.rollout(entry)).unwrap_or_default(),
        pool,
        pool_written,
        secrets,
        secrets_complete,
        place,
    })
}

impl Decoder<'_> {
    fn targets(&mut self, entry: Option<Entry>) -> (Vec<RawTarget>, bool) {
        let items = self.items(entry, "`targets`");
        if let Some(entry) = entry
            && items.is_empty()
            && self.tree.shape(entry.value) == Shape::Sequence
        {
            self.bad(entry.value, "`targets` is empty".into(), "list at least one target");
        }
        let targets: Vec<RawTarget> = items.iter().filter_map(|item| self.target(*item)).collect();
        let complete = targets.len() == items.len() && !targets.is_empty();
        (targets, complete)
    }

    fn target(&mut self, node: NodeId) -> Option<RawTarget> {
        let [host, port, labels, connection] =
            self.fields(node, "a target", ["host", "port", "labels", "connection"])?;
        let owner = self.place(node);
        let host = self.required(host, owner, "host", "a target").and_then(|entry| self.host(entry.value));
        let wanted = port.is_some();
        let port = self.port(port, "the port of a target");
        let labels = self.labels(labels);
        let connection = connection.and_then(|entry| self.connection(entry.value));
        if wanted && port.is_none() {
            return None;
        }
        Some(RawTarget { host: host?, port, labels: labels?, connection })
    }

    fn host(&mut self, node: NodeId) -> Option<Spanned<String>> {
        let found = self.string(node, "a host")?;
        if let Err(error) = host(&found.value) {
            self.syntax(Code::BadValue, node, "a host", &error);
            return None;
        }
        Some(found)
    }

    fn port(&mut self, entry: Option<Entry>, what: &str) -> Option<u16> {
        let port = self.number(entry, what, 1, u32::from(u16::MAX))?;
        u16::try_from(port.value).ok()
    }

    /// Labels are the text that stands in the file: `NO`, `1.10` and `012` stay what they are.
    fn labels(&mut self, entry: Option<Entry>) -> Option<BTreeMap<String, String>> {
        let Some(entry) = entry else { return Some(BTreeMap::new()) };
        let tree = self.tree;
        if tree.shape(entry.value) != Shape::Mapping {
            self.wrong(entry.value, "`labels`", "a mapping of keys");
            return None;
        }
        let mut labels = BTreeMap::new();
        let mut whole = true;
        for Entry { key, value } in tree.entries(entry.value) {
            let name = tree.text(key).unwrap_or("");
            if let Err(error) = label_name(name) {
                self.syntax(Code::BadName, key, "the name of a label", &error);
                whole = false;
                continue;
            }
            match self.text(value, "the value of a label") {
                Some(text) => drop(labels.insert(name.to_owned(), text.to_owned())),
                None => whole = false,
            }
        }
        whole.then_some(labels)
    }

    fn connection(&mut self, node: NodeId) -> Option<RawConnection> {
        let [ssh, local] = self.fields(node, "a connection", ["ssh", "local"])?;
        match (ssh, local) {
            (Some(ssh), None) => self.ssh(ssh.value).map(|ssh| RawConnection::Ssh(Box::new(ssh))),
            (None, Some(local)) => {
                if self.tree.shape(local.value) != Shape::Null {
                    let [] = self.fields(local.value, "`local`", [])?;
                }
                Some(RawConnection::Local)
            }
            (Some(_), Some(_)) | (None, None) => {
                let help = "write one of `ssh: {…}` and `local: {}`";
                self.bad(node, "a connection is either `ssh` or `local`".into(), help);
                None
            }
        }
    }

    fn ssh(&mut self, node: NodeId) -> Option<RawSsh> {
        if self.tree.shape(node) == Shape::Null {
            return Some(RawSsh::default());
        }
        let keys = ["user", "port", "key_secret", "password_secret", "known_hosts", "jump"];
        let [user, port, key, password, known_hosts, jump] = self.fields(node, "`ssh`", keys)?;
        if let (Some(_), Some(password)) = (key, password) {
            let help = "keep one of `key_secret` and `password_secret`";
            self.bad(password.key, "a key and a password for the same connection".into(), help);
        }
        Some(RawSsh {
            user: self.word(user, "the user"),
            port: self.port(port, "the port of sshd"),
            key_secret: self.entry_string(key, "`key_secret`"),
            password_secret: self.entry_string(password, "`password_secret`"),
            known_hosts: self.entry_string(known_hosts, "`known_hosts`"),
            jump: self.word(jump, "the jump host"),
        })
    }

    /// Text that becomes an argument of another program: no blank, no control character, no leading dash.
    fn word(&mut self, entry: Option<Entry>, what: &str) -> Option<Spanned<String>> {
        let found = self.entry_string(entry, what)?;
        let unsafe_text = found.value.starts_with('-')
            || found.value.contains(|c: char| c.is_whitespace() || c.is_control());
        if unsafe_text {
            let message = format!("{what} cannot be `{}`", found.value);
            self.bad(entry?.value, message, "write it without blanks and without a leading `-`");
            return None;
        }
        Some(found)
    }

    fn vars(&mut self, entry: Option<Entry>) -> BTreeMap<String, Spanned<String>> {
        let mut vars = BTreeMap::new();
        for Entry { key, value } in self.pairs(entry, "`vars`") {
            if let (Some(name), Some(value)) = (self.key_name(key), self.string(value, "a variable")) {
                vars.insert(name.value, value);
            }
        }
        vars
    }

    fn secrets(&mut self, entry: Option<Entry>) -> (Vec<RawSecret>, bool) {
        let items = self.items(entry, "`secrets`");
        let secrets: Vec<RawSecret> = items.iter().filter_map(|item| self.secret(*item)).collect();
        let complete = self.whole_list(entry, secrets.len());
        (secrets, complete)
    }

    fn secret(&mut self, node: NodeId) -> Option<RawSecret> {
        let [name, reference] = self.fields(node, "a secret", ["name", "ref"])?;
        let owner = self.place(node);
        let name = self.required(name, owner.clone(), "name", "a secret");
        let name = self.name(name, "the name of a secret");
        let reference = self.required(reference, owner, "ref", "a secret");
        let node = reference?.value;
        let text = self.text(node, "the reference of a secret")?;
        match SecretRef::parse(text) {
            Ok(value) => Some(RawSecret { name: name?, reference: Spanned::new(value, self.place(node)) }),
            Err(error) => {
                self.syntax(Code::BadSecretRef, node, "a reference to a secret", &error);
                None
            }
        }
    }

    fn rollout(&mut self, entry: Entry) -> Option<RawRollout> {
        let keys = ["waves", "maxUnavailable", "order", "onFailure", "minReady", "parallelism"];
        let [waves, max_unavailable, order, on_failure, min_ready, parallelism] =
            self.fields(entry.value, "`rollout`", keys)?;
        let items = self.items(waves, "`waves`");
        let list: Vec<RawWave> = items.iter().filter_map(|item| self.wave(*item)).collect();
        let waves_complete = self.whole_list(waves, list.len());
        let failures = [("rollback", OnFailure::Rollback), ("stop", OnFailure::Stop)];
        Some(RawRollout {
            place: Some(self.place(entry.key)),
            max_unavailable: self.max_unavailable(max_unavailable),
            order: self.order(order),
            on_failure: self.choice(on_failure, "`onFailure`", &failures),
            min_ready: self.duration(min_ready),
            parallelism: self.number(parallelism, "`parallelism`", 1, 10_000),
            waves: waves.map(|_| list),
            waves_complete,
        })
    }

    fn max_unavailable(&mut self, entry: Option<Entry>) -> Option<Spanned<manent_grammar::Quantity>> {
        let found = self.quantity(entry)?;
        // A percentage that only rounds to nothing becomes 1; nothing on purpose would never release anything.
        if found.value.round_up(u32::MAX) == 0 {
            self.report(
                Diagnostic::error(Code::BadQuantity, "`maxUnavailable` has to be more than 0")
                    .at(found.place, "no target could ever be updated")
                    .help("write `\"1\"` to update one target at a time"),
            );
            return None;
        }
        Some(found)
    }

    fn order(&mut self, entry: Option<Entry>) -> Option<Spanned<Order>> {
        let node = entry?.value;
        let text = self.text(node, "`order`")?;
        let (descending, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        match rest.strip_prefix("label.") {
            Some(label) if label_name(label).is_ok() => {
                Some(Spanned::new(Order { label: label.to_owned(), descending }, self.place(node)))
            }
            Some(_) | None => {
                let help = "write `label.<name>`, or `-label.<name>` for the highest first";
                self.bad(node, format!("`order` cannot be `{text}`"), help);
                None
            }
        }
    }

    fn wave(&mut self, node: NodeId) -> Option<RawWave> {
        let keys = ["name", "select", "maxUnavailable", "bake", "approval"];
        let [name, select, max_unavailable, bake, approval] = self.fields(node, "a wave", keys)?;
        let owner = self.place(node);
        let name = self.required(name, owner.clone(), "name", "a wave");
        let name = self.name(name, "the name of a wave");
        let select = self.required(select, owner, "select", "a wave");
        let parsed = self.selector(select);
        let written = select.and_then(|entry| self.tree.text(entry.value)).unwrap_or("").to_owned();
        let approved = self.boolean(approval, "`approval`") == Some(true);
        Some(RawWave {
            max_unavailable: self.max_unavailable(max_unavailable),
            bake: self.duration(bake),
            approval: approval.filter(|_| approved).map(|entry| self.place(entry.key)),
            name: name?,
            select: parsed?,
            written,
        })
    }
}
