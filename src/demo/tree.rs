//! The demo's folder: a copy of `examples/demo` with ports and paths of this run, and the first release on every server.
//! It must not start anything. The folder is gone when it is dropped, unless it is to be kept.

use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tokio::net::TcpListener;

use super::run::SCRATCH;
use super::service::CONTROL;
use super::supervisor::Server;

/// The release that the servers run at first.
pub(super) const FIRST: &str = "1.0.0";

/// `examples/demo`, file by file.
const FILES: [(&str, &str); 8] = [
    (
        "envconfig/demo/shop/loopback.yml",
        include_str!("../../examples/demo/envconfig/demo/shop/loopback.yml"),
    ),
    (
        "envconfig/demo/shop/undrained.yml",
        include_str!("../../examples/demo/envconfig/demo/shop/undrained.yml"),
    ),
    ("descriptors/shop.yml", include_str!("../../examples/demo/descriptors/shop.yml")),
    ("bin/update", include_str!("../../examples/demo/bin/update")),
    ("bin/current", include_str!("../../examples/demo/bin/current")),
    ("dist/1.0.0/shop.conf", include_str!("../../examples/demo/dist/1.0.0/shop.conf")),
    ("dist/2.0.0/shop.conf", include_str!("../../examples/demo/dist/2.0.0/shop.conf")),
    ("dist/2.1.0/shop.conf", include_str!("../../examples/demo/dist/2.1.0/shop.conf")),
];

/// Names of the servers, with the ports that stand for theirs in `examples/demo`.
const SERVERS: [(&str, &str); 4] =
    [("shop1", "18081"), ("shop2", "18082"), ("shop3", "18083"), ("shop4", "18084")];
/// Port of the Data Plane API there.
const API: &str = "15555";
/// Lines that are replaced as a whole.
const TREE: &str = "tree: /tmp/manent-demo ";
const TREE_ALONE: &str = "tree: /tmp/manent-demo\n";
const PROGRAM: &str = "manent: manent";

/// A demo's folder and addresses.
#[derive(Debug)]
pub(super) struct Tree {
    folder: tempfile::TempDir,
    /// The servers.
    pub(super) servers: Vec<Server>,
    /// `user:password` of the Data Plane API.
    pub(super) credentials: String,
}

/// Listeners of the demo.
#[derive(Debug)]
pub(super) struct Listeners {
    /// For requests.
    pub(super) requests: TcpListener,
    /// For the Data Plane API.
    pub(super) api: TcpListener,
    /// For `demo-service`.
    pub(super) control: TcpListener,
    /// Keeps the ports of the servers from other demos while a server is down.
    _claim: std::net::TcpListener,
}

impl Tree {
    /// Takes ports and writes the folder.
    ///
    /// # Errors
    /// The folder cannot be written, or no port is free.
    pub(super) async fn create(program: &Path, keep: bool) -> io::Result<(Tree, Listeners)> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("manent-demo-").permissions(fs::Permissions::from_mode(0o700)).disable_cleanup(keep);
        let folder = builder.tempdir()?;
        let (claim, first) = claim_ports()?;
        let loopback = |port: u16| TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let listeners = Listeners {
            requests: loopback(0).await?,
            api: loopback(0).await?,
            control: loopback(0).await?,
            _claim: claim,
        };
        let servers: Vec<Server> = (first..)
            .zip(SERVERS)
            .map(|(port, (name, _))| Server {
                name: name.to_owned(),
                port,
                home: folder.path().join("servers").join(port.to_string()),
            })
            .collect();
        let tree = Tree { folder, servers, credentials: format!("demo:{:016x}", unguessable()) };
        tree.write(program, &listeners)?;
        Ok((tree, listeners))
    }

    /// Where it is.
    pub(super) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// A path in it.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// Names and addresses of the servers.
    pub(super) fn addresses(&self) -> Vec<(String, SocketAddr)> {
        let address = |server: &Server| SocketAddr::from((Ipv4Addr::LOCALHOST, server.port));
        self.servers.iter().map(|server| (server.name.clone(), address(server))).collect()
    }

    fn write(&self, program: &Path, listeners: &Listeners) -> io::Result<()> {
        let api = listeners.api.local_addr()?.port().to_string();
        for (name, text) in FILES {
            let path = self.path(name);
            fs::create_dir_all(path.parent().unwrap_or(self.root()))?;
            let text = if name.starts_with("envconfig/") {
                self.fill(text, program, &api)?
            } else {
                text.to_owned()
            };
            fs::write(path, text)?;
        }
        fs::write(self.path(CONTROL), listeners.control.local_addr()?.to_string())?;
        fs::create_dir_all(self.path("secrets"))?;
        fs::create_dir_all(self.path(SCRATCH))?;
        let mut secret = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(self.path("secrets/dataplane"))?;
        io::Write::write_all(&mut secret, self.credentials.as_bytes())?;
        for server in &self.servers {
            let release = server.home.join("releases").join(FIRST);
            fs::create_dir_all(&release)?;
            fs::copy(self.path("dist").join(FIRST).join("shop.conf"), release.join("shop.conf"))?;
            symlink(Path::new("releases").join(FIRST), server.home.join("current"))?;
            fs::write(server.home.join("release"), format!("{FIRST}\n"))?;
        }
        Ok(())
    }

    /// An envconfig with this run's ports and paths in the place of those of the example.
    fn fill(&self, text: &str, program: &Path, api: &str) -> io::Result<String> {
        let mut text = text.replace(API, api);
        // By way of the names in brackets, since a port of this run may be one of the example's others.
        for (name, port) in SERVERS {
            text = text.replace(port, &format!("[{name}]"));
        }
        for server in &self.servers {
            text = text.replace(&format!("[{}]", server.name), &server.port.to_string());
        }
        let tree = format!("tree: {}", quoted(self.root())?);
        text = text.replace(TREE_ALONE, &format!("{tree}\n")).replace(TREE, &format!("{tree} "));
        let program = format!("manent: {}", quoted(program)?);
        Ok(text.replace(PROGRAM, &program))
    }
}

/// A path as a YAML scalar that is also a template.
fn quoted(path: &Path) -> io::Result<String> {
    let text = path.to_str().ok_or_else(|| io::Error::other("a path is not UTF-8"))?;
    serde_json::to_string(text).map_err(io::Error::other)
}

/// A block of ports for the servers, outside the range from which systems take ports for outgoing connections: a server
/// that restarts must find its port free. The listener on the block's first port keeps other demos away from it.
fn claim_ports() -> io::Result<(std::net::TcpListener, u16)> {
    const BLOCK: u16 = 8;
    const BLOCKS: u64 = 2_500;
    const LOWEST: u16 = 10_240;
    let start = unguessable();
    for step in 0..BLOCKS {
        let block = u16::try_from(start.wrapping_add(step) % BLOCKS).unwrap_or_default();
        let base = LOWEST + block * BLOCK;
        let free = |port: u16| std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let Ok(claim) = free(base) else { continue };
        if (base + 1..base + 5).all(|port| free(port).is_ok()) {
            return Ok((claim, base + 1));
        }
    }
    Err(io::Error::other("no free ports on 127.0.0.1"))
}

/// A number that the system draws for each process anew.
fn unguessable() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_port_and_path_of_the_example_is_replaced() {
        let (tree, listeners) = Tree::create(Path::new("/opt/ma nent"), false).await.unwrap();
        let api = listeners.api.local_addr().unwrap().port();
        for name in ["loopback", "undrained"] {
            let text = fs::read_to_string(tree.path(&format!("envconfig/demo/shop/{name}.yml"))).unwrap();
            // The head of the file names the ports of the example; they are replaced there too.
            for old in ["[shop", "/tmp/manent-demo\n", "manent: manent"] {
                assert!(!text.contains(old), "{name} still has {old}:\n{text}");
            }
            assert!(text.contains(r#"manent: "/opt/ma nent""#));
            assert!(text.contains(&format!("tree: \"{}\"", tree.root().display())));
            assert!(name == "undrained" || text.contains(&format!("http://127.0.0.1:{api}")));
            for server in &tree.servers {
                assert!(text.contains(&format!("port: {}, ", server.port)));
            }
        }
        let secret = fs::metadata(tree.path("secrets/dataplane")).unwrap();
        assert_eq!(secret.permissions().mode() & 0o777, 0o600);
    }
}
