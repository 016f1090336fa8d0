//! The shapes of the documents after decoding: values are typed and have places, names are still words.
//! They must not know what is a default; that is added when the plan is made.

use std::collections::BTreeMap;

use manent_grammar::{Duration, Quantity, SecretRef, Selector, Template};
use manent_plan::{OnFailure, OnTimeout};

use super::Spanned;
use crate::diagnostic::Place;
use crate::yaml::NodeId;

/// An envconfig.
#[derive(Debug)]
pub(crate) struct RawEnv {
    pub(crate) targets: Vec<RawTarget>,
    /// Every target of the file is among `targets`; else checks over all of them would mislead.
    pub(crate) targets_complete: bool,
    pub(crate) connection: Option<RawConnection>,
    /// The key `connection`, where it is written.
    pub(crate) connection_place: Option<Place>,
    pub(crate) vars: BTreeMap<String, Spanned<String>>,
    /// Every variable of the file is among `vars`.
    pub(crate) vars_complete: bool,
    pub(crate) rollout: RawRollout,
    pub(crate) pool: Option<RawPool>,
    /// A pool is written, perhaps one that cannot be read.
    pub(crate) pool_written: bool,
    pub(crate) secrets: Vec<RawSecret>,
    pub(crate) secrets_complete: bool,
    /// The beginning of the document.
    pub(crate) place: Place,
}

impl RawEnv {
    /// An environment of which nothing is known, so that nothing can be missing in it.
    pub(crate) fn unknown(place: Place) -> Self {
        RawEnv {
            targets: Vec::new(),
            targets_complete: false,
            connection: None,
            connection_place: None,
            vars: BTreeMap::new(),
            vars_complete: false,
            rollout: RawRollout::default(),
            pool: None,
            pool_written: false,
            secrets: Vec::new(),
            secrets_complete: false,
            place,
        }
    }
}

#[derive(Debug)]
pub(crate) struct RawTarget {
    pub(crate) host: Spanned<String>,
    pub(crate) port: Option<u16>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) connection: Option<RawConnection>,
}

impl RawTarget {
    /// `host:port`, as people see it.
    pub(crate) fn name(&self) -> String {
        match self.port {
            Some(port) if self.host.value.contains(':') => format!("[{}]:{port}", self.host.value),
            Some(port) => format!("{}:{port}", self.host.value),
            None => self.host.value.clone(),
        }
    }
}

#[derive(Debug)]
pub(crate) enum RawConnection {
    Ssh(Box<RawSsh>),
    Local,
}

#[derive(Debug, Default)]
pub(crate) struct RawSsh {
    pub(crate) user: Option<Spanned<String>>,
    pub(crate) port: Option<u16>,
    pub(crate) key_secret: Option<Spanned<String>>,
    pub(crate) password_secret: Option<Spanned<String>>,
    pub(crate) known_hosts: Option<Spanned<String>>,
    pub(crate) jump: Option<Spanned<String>>,
}

#[derive(Debug, Default)]
pub(crate) struct RawRollout {
    /// The key `rollout`, where it is written.
    pub(crate) place: Option<Place>,
    pub(crate) max_unavailable: Option<Spanned<Quantity>>,
    pub(crate) order: Option<Spanned<Order>>,
    pub(crate) on_failure: Option<Spanned<OnFailure>>,
    pub(crate) min_ready: Option<Spanned<Duration>>,
    pub(crate) parallelism: Option<Spanned<u32>>,
    /// `None` when the key is not written.
    pub(crate) waves: Option<Vec<RawWave>>,
    pub(crate) waves_complete: bool,
}

/// `label.<name>` or `-label.<name>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) label: String,
    pub(crate) descending: bool,
}

#[derive(Debug)]
pub(crate) struct RawWave {
    pub(crate) name: Spanned<String>,
    pub(crate) select: Spanned<Selector>,
    pub(crate) written: String,
    pub(crate) max_unavailable: Option<Spanned<Quantity>>,
    pub(crate) bake: Option<Spanned<Duration>>,
    pub(crate) approval: Option<Place>,
}

#[derive(Debug)]
pub(crate) struct RawPool {
    /// The key `pool`.
    pub(crate) place: Place,
    pub(crate) provider: Spanned<String>,
    pub(crate) member: Option<Spanned<Template>>,
    pub(crate) drain_timeout: Option<Spanned<Duration>>,
    pub(crate) restore_timeout: Option<Spanned<Duration>>,
    pub(crate) poll_interval: Option<Spanned<Duration>>,
    pub(crate) min_healthy: Option<Spanned<Quantity>>,
    pub(crate) members: Option<Spanned<u32>>,
    pub(crate) on_timeout: Option<Spanned<OnTimeout>>,
    /// The key `settings`, where it is written.
    pub(crate) settings_place: Option<Place>,
    pub(crate) settings: Vec<RawSetting>,
}

/// A setting; its value is read once the provider says what it has to be.
#[derive(Debug)]
pub(crate) struct RawSetting {
    pub(crate) name: Spanned<String>,
    pub(crate) value: Spanned<String>,
    pub(crate) node: NodeId,
}

#[derive(Debug)]
pub(crate) struct RawSecret {
    pub(crate) name: Spanned<String>,
    pub(crate) reference: Spanned<SecretRef>,
}

/// A descriptor.
#[derive(Debug)]
pub(crate) struct RawDescriptor {
    pub(crate) app: Option<Spanned<String>>,
    pub(crate) artifact: Option<Spanned<Template>>,
    /// An artifact is named, perhaps one that cannot be read.
    pub(crate) artifact_written: bool,
    pub(crate) deploy: Option<RawDeploy>,
    /// Post-tests, and whether the list is written (perhaps with errors in it).
    pub(crate) post_test: Vec<RawTest>,
    pub(crate) post_test_written: bool,
    pub(crate) steps: Vec<RawCustom>,
    pub(crate) activate: Vec<RawCustom>,
    /// The beginning of the document.
    pub(crate) place: Place,
}

#[derive(Debug)]
pub(crate) struct RawDeploy {
    pub(crate) recipe: Spanned<String>,
    /// Parameters; their values are read once the recipe says what they have to be.
    pub(crate) with: Vec<(Spanned<String>, NodeId)>,
}

#[derive(Debug)]
pub(crate) struct RawTest {
    pub(crate) action: RawAction,
    pub(crate) within: Option<Spanned<Duration>>,
    pub(crate) consecutive: Option<Spanned<u32>>,
    pub(crate) every: Option<Spanned<Duration>>,
}

#[derive(Debug)]
pub(crate) struct RawCustom {
    pub(crate) name: Spanned<String>,
    pub(crate) run: RawAction,
    pub(crate) undo: Option<RawAction>,
}

/// An action as users write it.
#[derive(Debug)]
pub(crate) enum RawAction {
    Run { argv: Vec<Spanned<Template>>, timeout_ms: u64 },
    Sh { script: String, env: BTreeMap<String, Spanned<Template>>, timeout_ms: u64 },
    Http { method: String, url: Spanned<Template>, expect: u16, timeout_ms: u64 },
}
