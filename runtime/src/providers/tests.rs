//! What holds for all providers: how they are built, what the network can do to them, what never leaves.

mod certificates;
mod network;
pub(super) mod rogue;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use manent_grammar::Quantity;
use manent_plan::{Capabilities, Floor, OnTimeout, Pool, TargetIx};

use super::{Limits, Provider, Refusal, Surroundings, Wanted, build};
use crate::secrets::Secrets;

/// Builds a provider whose secrets all have one value, out of files.
pub(super) fn built(pool: &Pool, secret: &str, limits: Limits) -> Result<Box<dyn Provider>, Refusal> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, secret).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let declared = ["lb", "token"].map(|name| (name.to_owned(), format!("file:{}", file.display())));
    let secrets = Secrets::new(folder.path(), &declared.into());
    build(pool, &Surroundings { root: folder.path(), secrets: &secrets, limits })
}

/// A pool with a provider and settings.
pub(super) fn pool(provider: &str, settings: &[(&str, &str)]) -> Pool {
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Pool {
        provider: provider.to_owned(),
        settings,
        capabilities: Capabilities {
            sees_members: true,
            sees_health: true,
            sees_connections: true,
            checks_while_out: true,
            can_harden: true,
            drain_delay_ms: None,
            first_poll_ms: 50,
        },
        drain_timeout_ms: 1000,
        restore_timeout_ms: 1000,
        poll_interval_ms: 100,
        on_timeout: OnTimeout::Fail,
        floor: Floor { wanted: Quantity::parse("1").unwrap(), members: 3, members_declared: false, need: 1 },
        promises: Vec::new(),
    }
}

/// A target whose host is its member name.
pub(super) fn wanted(member: &str) -> Wanted {
    Wanted {
        ix: TargetIx(0),
        member: member.to_owned(),
        host: member.to_owned(),
        port: None,
        labels: BTreeMap::new(),
    }
}

#[test]
fn providers_of_a_later_version_say_so() {
    let secrets = Secrets::new(Path::new("/"), &BTreeMap::new());
    let around = Surroundings { root: Path::new("/"), secrets: &secrets, limits: Limits::default() };
    let refusal = |name: &str| build(&pool(name, &[]), &around).err().unwrap();
    for name in ["aws-elb", "f5", "nginx-plus", "nginx", "iis-arr", "nlb"] {
        assert_eq!(refusal(name), Refusal::Later(name.to_owned()));
    }
    assert_eq!(
        refusal("f5").to_string(),
        "provider `f5` is known to this version for planning only; its runtime comes later"
    );
    assert_eq!(refusal("traefik").to_string(), "provider `traefik` is unknown");
}

#[test]
fn the_first_refusal_names_the_setting() {
    let secrets = Secrets::new(Path::new("/"), &BTreeMap::new());
    let around = Surroundings { root: Path::new("/"), secrets: &secrets, limits: Limits::default() };
    let settings =
        [("dataplane_urls", "https://127.0.0.1:1"), ("backend", "shop"), ("credentials_secret", "lb")];
    let refusal = build(&pool("haproxy", &settings), &around).err().unwrap();
    assert_eq!(
        refusal.to_string(),
        "setting `credentials_secret`: secret `lb` (undeclared): it is not declared under `secrets`"
    );
}
