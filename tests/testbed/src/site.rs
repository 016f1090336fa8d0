//! A whole site: load balancers with their APIs, hosts with ssh and the application, a project tree for manent.
//! It says what is true, read from HAProxy's sockets, the disks and the application's own record.

use crate::app::{Behaviour, Host, pack_release};
use crate::dataplane::{Bridge, Options};
use crate::haproxy::{Config, Haproxy, Server};
use crate::load::{self, Load};
use crate::socket::Truth;
use crate::sshd::{Client, Sshd};
use crate::{Context, Folder, Result, Trouble};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

mod tree;

pub use tree::Rollout;

/// What a site consists of.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How many hosts; they are named `h1`, `h2`, …
    pub hosts: usize,
    /// How many load balancers.
    pub instances: usize,
    /// The release that runs everywhere in the beginning.
    pub release: String,
    /// How the application behaves.
    pub behaviour: Behaviour,
    /// How the Data Plane APIs behave.
    pub api: Options,
    /// Clients stay with their server by a cookie.
    pub sticky: bool,
    /// Whether HAProxy checks health.
    pub checks: bool,
    /// Commands go over ssh; otherwise manent runs them on this machine (`connection: local`).
    pub ssh: bool,
    /// What stands in the envconfig.
    pub rollout: Rollout,
    /// Size of a release beside its few bytes, in KiB.
    pub padding_kib: usize,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            hosts: 4,
            instances: 2,
            release: "1.0.0".to_owned(),
            behaviour: Behaviour::default(),
            api: Options::default(),
            sticky: false,
            checks: true,
            ssh: true,
            rollout: Rollout::default(),
            padding_kib: 0,
        }
    }
}

/// A running site. Its parts are open to tests, which break them.
pub struct Site {
    /// What it was made from.
    pub plan: Plan,
    /// The Data Plane APIs, one in front of each load balancer.
    pub bridges: Vec<Bridge>,
    /// The load balancers.
    pub haproxies: Vec<Haproxy>,
    /// The ssh servers, in the order of the hosts; none without ssh.
    pub sshds: Vec<Sshd>,
    /// The hosts.
    pub hosts: Vec<Host>,
    /// The ssh client's side.
    pub client: Client,
    folder: Folder,
}

/// Releases packed as artifacts: the one that runs at first, a good one, a broken one.
pub const RELEASES: [&str; 3] = ["1.0.0", "2.0.0", "3.0.0-bad"];

impl Site {
    /// Starts everything: hosts with the first release, then load balancers that find them healthy.
    pub fn start(plan: Plan) -> Result<Site> {
        let folder = Folder::new("site")?;
        let client = Client::create(&folder)?;
        let hosts = (1..=plan.hosts)
            .map(|number| Host::create(&folder, &format!("h{number}"), &plan.behaviour))
            .collect::<Result<Vec<_>>>()?;
        let dist = folder.path().join("project/dist");
        for release in RELEASES {
            pack_release(&dist, release, plan.padding_kib)?;
        }
        let first = pack_release(&dist, &plan.release, plan.padding_kib)?;
        for host in &hosts {
            host.install_artifact(&plan.release, &first)?;
            host.service("start")?;
        }
        let sshds = match plan.ssh {
            true => hosts.iter().map(|host| Sshd::start(host, &client)).collect::<Result<Vec<_>>>()?,
            false => vec![],
        };
        let servers =
            hosts.iter().map(|host| Server { checks: plan.checks, ..Server::new(&host.name, host.address) });
        let config = Config { sticky: plan.sticky, ..Config::new(servers.collect()) };
        let haproxies = (1..=plan.instances)
            .map(|number| Haproxy::start(&folder, &format!("lb{number}"), &config))
            .collect::<Result<Vec<_>>>()?;
        let bridges = haproxies
            .iter()
            .map(|haproxy| Bridge::start(haproxy.socket(), plan.api.clone()))
            .collect::<Result<Vec<_>>>()?;
        let site = Site { plan, bridges, haproxies, sshds, hosts, client, folder };
        site.write_tree(&site.plan.rollout)?;
        site.all_in_service()?;
        Ok(site)
    }

    /// The folder with everything.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The root of the project tree.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// The environment's name for manent.
    pub fn environment(&self) -> &'static str {
        "shop/shop/prod"
    }

    /// A host by its name.
    pub fn host(&self, name: &str) -> Result<&Host> {
        self.hosts
            .iter()
            .find(|host| host.name == name)
            .ok_or_else(|| Trouble::new(format!("no host `{name}`")))
    }

    /// Packs another release as an artifact of the project.
    pub fn pack(&self, release: &str) -> Result<PathBuf> {
        pack_release(&self.root().join("dist"), release, self.plan.padding_kib)
    }

    /// Writes the project tree, with another rollout than before.
    pub fn write_tree(&self, rollout: &Rollout) -> Result<()> {
        tree::write(self, rollout)
    }

    /// Starts clients on all load balancers.
    pub fn load(&self) -> Load {
        Load::start(self.load_config())
    }

    /// The clients that `load` starts, for tests that want them otherwise.
    pub fn load_config(&self) -> load::Config {
        load::Config::new(self.haproxies.iter().map(Haproxy::frontend).collect())
    }

    /// What each load balancer truly thinks of each member, from its own socket.
    pub fn pool(&self) -> Result<Vec<BTreeMap<String, Truth>>> {
        self.haproxies.iter().map(|haproxy| haproxy.socket().truth(haproxy.backend())).collect()
    }

    /// Members that every load balancer has in service.
    pub fn in_service(&self) -> Result<Vec<String>> {
        let pool = self.pool()?;
        let everywhere =
            |name: &str| pool.iter().all(|instance| instance.get(name).is_some_and(Truth::in_service));
        Ok(self.hosts.iter().map(|host| host.name.clone()).filter(|name| everywhere(name)).collect())
    }

    /// Waits until every member is in service everywhere.
    pub fn all_in_service(&self) -> Result<()> {
        crate::process::until("all members in service", Duration::from_secs(10), || {
            self.in_service().ok().filter(|names| names.len() == self.hosts.len()).map(|_| ())
        })
        .map_err(|trouble| Trouble::new(format!("{trouble}; the pool is {:?}", self.pool())))
    }

    /// The release on each host's disk.
    pub fn releases(&self) -> BTreeMap<String, Option<String>> {
        self.hosts.iter().map(|host| (host.name.clone(), host.release())).collect()
    }

    /// The release that answers on each host.
    pub fn running(&self) -> BTreeMap<String, Option<String>> {
        self.hosts.iter().map(|host| (host.name.clone(), host.running_release())).collect()
    }

    /// The releases that each host's application was started with, in order, the first one included.
    pub fn starts(&self) -> BTreeMap<String, Vec<String>> {
        self.hosts.iter().map(|host| (host.name.clone(), host.starts())).collect()
    }

    /// Whether `word` stands in any file below the project tree, the hosts and the client's folder: for canaries.
    pub fn files_with(&self, word: &str) -> Result<Vec<PathBuf>> {
        let mut found = vec![];
        let mut folders = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in
                std::fs::read_dir(&folder).doing(format_args!("reading {}", folder.display()))?.flatten()
            {
                let path = entry.path();
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file()
                    && std::fs::read(&path).is_ok_and(|bytes| contains(&bytes, word.as_bytes()))
                {
                    found.push(path);
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    !word.is_empty() && bytes.windows(word.len()).any(|part| part == word)
}
