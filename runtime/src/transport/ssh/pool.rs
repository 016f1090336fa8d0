//! The open connections of a run: one a host and connection settings, at most so many, the longest unused closed first.
//! It must not close a connection that is in use.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use openssh::Session;
use tokio::sync::Mutex as Gate;
use tokio::sync::OnceCell;

use super::agent::Agent;
use super::config::Settings;
use super::master::{Tools, connect};
use super::place::Place;
use crate::secrets::{Form, Secrets};

/// Open connections.
pub(in super::super) struct Pool {
    lines: Mutex<BTreeMap<(usize, String), Arc<Line>>>,
    /// What each of the plan's connections needs, made when it is first used.
    prepared: Vec<OnceCell<Prepared>>,
    // Made when the first connection is opened. After what is above, which is closed through sockets in it.
    place: OnceCell<Place>,
    secrets: Secrets,
    limit: usize,
    opened: AtomicU64,
    clock: AtomicU64,
}

/// A host.
#[derive(Default)]
struct Line {
    /// Taken while a connection is opened, so that it is opened once.
    session: Gate<Option<Arc<Session>>>,
    used: AtomicU64,
}

struct Prepared {
    config: PathBuf,
    // Kept for as long as connections may be opened with its key.
    _agent: Option<Agent>,
}

impl Pool {
    /// A pool for so many connection settings. Opens nothing.
    pub(in super::super) fn new(secrets: Secrets, settings: usize, limit: usize) -> Pool {
        Pool {
            lines: Mutex::default(),
            prepared: (0..settings).map(|_| OnceCell::new()).collect(),
            place: OnceCell::new(),
            secrets,
            limit: limit.max(1),
            opened: AtomicU64::new(0),
            clock: AtomicU64::new(0),
        }
    }

    /// How many connections were opened so far.
    pub(in super::super) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// The connection to a host, opened when there is none; and whether it was opened just now.
    pub(super) async fn connection(
        &self,
        host: &str,
        settings: &Settings,
    ) -> Result<(Arc<Session>, bool), String> {
        let line = self.line(host, settings);
        let mut session = line.session.lock().await;
        if let Some(open) = session.as_ref() {
            return Ok((Arc::clone(open), false));
        }
        self.make_room();
        let place = self.place().await?;
        let prepared = self
            .prepared
            .get(settings.number)
            .ok_or_else(|| String::from("the connection is not one of the plan's"))?
            .get_or_try_init(|| self.prepare(place.path(), settings))
            .await?;
        let password = match &settings.password_secret {
            Some(name) => Some(self.secrets.resolve(name, Form::Line).map_err(|error| error.to_string())?),
            None => None,
        };
        let tools = Tools {
            place: place.path(),
            config: &prepared.config,
            password: password.as_ref().map(|secret| (place.helper(), secret)),
        };
        let opened = Arc::new(connect(host, settings, tools).await?);
        self.opened.fetch_add(1, Ordering::Relaxed);
        *session = Some(Arc::clone(&opened));
        Ok((opened, true))
    }

    /// Forgets a connection that turned out to be broken, unless it was replaced already.
    pub(super) async fn forget(&self, host: &str, settings: &Settings, broken: &Arc<Session>) {
        let line = self.line(host, settings);
        let mut session = line.session.lock().await;
        if session.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, broken)) {
            *session = None;
        }
    }

    async fn place(&self) -> Result<&Place, String> {
        self.place
            .get_or_try_init(async || Place::make())
            .await
            .map_err(|error| format!("a private directory for connections cannot be made: {error}"))
    }

    fn line(&self, host: &str, settings: &Settings) -> Arc<Line> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let line = lines.entry((settings.number, host.to_owned())).or_default();
        line.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Arc::clone(line)
    }

    /// Closes connections that nobody uses, the longest unused first, until one more fits.
    fn make_room(&self) {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open: Vec<&Arc<Line>> = Vec::new();
        let mut count = 0_usize;
        for line in lines.values() {
            match line.session.try_lock() {
                Ok(session) => match session.as_ref() {
                    Some(session) if Arc::strong_count(session) == 1 => {
                        count = count.saturating_add(1);
                        open.push(line);
                    }
                    Some(_) => count = count.saturating_add(1),
                    None => {}
                },
                // Being opened, or handed out: in use. The one that room is made for is among them.
                Err(_) => count = count.saturating_add(1),
            }
        }
        open.sort_by_key(|line| line.used.load(Ordering::Relaxed));
        for line in open.into_iter().take(count.saturating_sub(self.limit)) {
            if let Ok(mut session) = line.session.try_lock() {
                *session = None;
            }
        }
    }

    async fn prepare(&self, place: &Path, settings: &Settings) -> Result<Prepared, String> {
        let agent = match &settings.key_secret {
            Some(name) => {
                let key = self.secrets.resolve(name, Form::PrivateKey).map_err(|error| error.to_string())?;
                let started = Agent::start(place, settings.number, &key).await;
                Some(started.map_err(|reason| format!("secret `{name}`: {reason}"))?)
            }
            None => None,
        };
        let config = place.join(format!("config{}", settings.number));
        let text = settings.file(agent.as_ref().map(Agent::socket))?;
        std::fs::write(&config, text)
            .map_err(|error| format!("`{}` cannot be written: {error}", config.display()))?;
        Ok(Prepared { config, _agent: agent })
    }
}
