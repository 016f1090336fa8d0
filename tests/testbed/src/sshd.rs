//! Real ssh servers, one a host, each on its own address with its own key.
//! They let the account of the hosts in with one client key; what is run over them is not their business.

use crate::account::Account;
use crate::app::Host;
use crate::process::{Process, Signal, descendants, program, run, signal_to};
use crate::{Context, Folder, Result, address};
use std::fs::Permissions;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The client's side: key, known hosts, an ssh configuration.
pub struct Client {
    place: PathBuf,
    user: String,
}

impl Client {
    /// A new key in `folder/client`.
    pub fn create(folder: &Folder) -> Result<Client> {
        let place = folder.sub("client")?;
        keygen(&place.join("id"))?;
        let client = Client { place, user: Account::of_hosts()?.name };
        std::fs::write(client.known_hosts(), "").doing("writing known hosts")?;
        let (key, known) = (client.key(), client.known_hosts());
        let config = format!(
            "Host 127.*\n  Port {}\n  User {}\n  IdentityFile {}\n  IdentitiesOnly yes\n  \
             UserKnownHostsFile {}\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n  BatchMode yes\n",
            address::SSH_PORT,
            client.user,
            key.display(),
            known.display(),
        );
        std::fs::write(client.config(), config).doing("writing an ssh configuration")?;
        Ok(client)
    }

    /// The login name.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The private key, without a passphrase.
    pub fn key(&self) -> PathBuf {
        self.place.join("id")
    }

    /// The known hosts file; every server started with this client is in it.
    pub fn known_hosts(&self) -> PathBuf {
        self.place.join("known_hosts")
    }

    /// A configuration for `ssh -F`.
    pub fn config(&self) -> PathBuf {
        self.place.join("config")
    }

    /// Runs a command line on a host with the plain ssh client.
    pub fn run(&self, host: Ipv4Addr, line: &str) -> Result<String> {
        let mut command = Command::new(program("ssh", "openssh-client")?);
        command.arg("-F").arg(self.config()).arg(host.to_string()).arg(line);
        run(&mut command)
    }
}

/// A running ssh server.
pub struct Sshd {
    process: Process,
    address: SocketAddrV4,
    place: PathBuf,
    account: Account,
}

impl Sshd {
    /// Starts the ssh server of a host and makes its key known to the client. Sessions have a home folder of
    /// their own, so that hosts do not share state files.
    pub fn start(host: &Host, client: &Client) -> Result<Sshd> {
        let place = host.place().join("sshd");
        std::fs::create_dir_all(&place).doing("creating a folder")?;
        let address = SocketAddrV4::new(*host.address.ip(), address::SSH_PORT);
        keygen(&place.join("host_key"))?;
        std::fs::copy(client.place.join("id.pub"), place.join("authorized_keys")).doing("copying a key")?;
        std::fs::write(place.join("sshd_config"), configuration(&place, host, address))
            .doing("writing an sshd configuration")?;
        host.account().give(&place)?;
        let process = launch(&place, address, host.account())?;
        let server = Sshd { process, address, place, account: host.account().clone() };
        server.make_known(client)?;
        Ok(server)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddrV4 {
        self.address
    }

    /// What it logged; with `LogLevel VERBOSE` every accepted connection is a line.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// How many connections it has accepted.
    pub fn connections(&self) -> usize {
        self.log().lines().filter(|line| line.contains("Accepted publickey")).count()
    }

    /// Gives the host another key, as after a reinstallation, or an attack. Clients still know the old one.
    pub fn swap_host_key(&mut self) -> Result<()> {
        for old in ["host_key", "host_key.pub"] {
            std::fs::remove_file(self.place.join(old)).doing("removing a host key")?;
        }
        keygen(&self.place.join("host_key"))?;
        self.account.give(&self.place)?;
        self.kill()?;
        self.start_again()
    }

    /// Tells the client the present host key.
    pub fn make_known(&self, client: &Client) -> Result<()> {
        let key = std::fs::read_to_string(self.place.join("host_key.pub")).doing("reading a host key")?;
        let key: Vec<&str> = key.split_whitespace().take(2).collect();
        let name = format!("[{}]:{}", self.address.ip(), self.address.port());
        let known = std::fs::read_to_string(client.known_hosts()).doing("reading known hosts")?;
        let others = known.lines().filter(|line| !line.starts_with(&name)).map(|line| format!("{line}\n"));
        let text = format!("{}{name} {}\n", others.collect::<String>(), key.join(" "));
        std::fs::write(client.known_hosts(), text).doing("writing known hosts")
    }

    /// Stops the server and its sessions in their tracks: connections hang, as with a host that is stuck.
    pub fn freeze(&self) -> Result<()> {
        self.signal_all(Signal::STOP)
    }

    /// Lets them go on.
    pub fn thaw(&self) -> Result<()> {
        self.signal_all(Signal::CONT)
    }

    /// Ends the server and all sessions at once: connections break, new ones are refused. Commands that have
    /// left their session go on, as on a host that lost its network.
    pub fn kill(&mut self) -> Result<()> {
        let sessions = descendants(self.process.pid(), "sshd");
        self.process.kill();
        for session in sessions {
            // It may have ended with its server.
            let _ = signal_to(session, Signal::KILL);
        }
        Ok(())
    }

    /// Starts it again, with the key that is on the disk.
    pub fn start_again(&mut self) -> Result<()> {
        self.process = launch(&self.place, self.address, &self.account)?;
        Ok(())
    }

    fn signal_all(&self, signal: Signal) -> Result<()> {
        self.process.signal(signal)?;
        for session in descendants(self.process.pid(), "sshd") {
            // It may have ended meanwhile.
            let _ = signal_to(session, signal);
        }
        Ok(())
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.thaw();
        let _ = self.kill();
    }
}

fn configuration(place: &Path, host: &Host, address: SocketAddrV4) -> String {
    let home = host.place().join("home");
    let (place, home) = (place.display(), home.display());
    // `StrictModes no`: the folder lies under /tmp, which all may write.
    format!(
        "Port {port}\nListenAddress {ip}\nHostKey {place}/host_key\nAuthorizedKeysFile {place}/authorized_keys\n\
         PidFile none\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nStrictModes no\n\
         Subsystem sftp internal-sftp\nMaxStartups 200:30:400\nMaxSessions 100\nPrintMotd no\nLogLevel VERBOSE\n\
         SetEnv HOME={home} TEST_HOST={name}\n",
        port = address.port(),
        ip = address.ip(),
        name = host.name,
    )
}

fn launch(place: &Path, address: SocketAddrV4, account: &Account) -> Result<Process> {
    // sshd runs itself anew for each connection and insists on an absolute path.
    let binary = program("sshd", "openssh-server")?;
    let mut command = Command::new(binary);
    command.args(["-D", "-e", "-f"]).arg(place.join("sshd_config")).current_dir("/");
    account.run_as(&mut command);
    let mut process = Process::start("sshd", &mut command, &place.join("log"))?;
    let patience = Duration::from_millis(200);
    process.until("a listening port", || TcpStream::connect_timeout(&address.into(), patience).ok())?;
    Ok(process)
}

fn keygen(path: &Path) -> Result<()> {
    let mut command = Command::new(program("ssh-keygen", "openssh-client")?);
    run(command.args(["-q", "-t", "ed25519", "-N", "", "-C", "testbed", "-f"]).arg(path))?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).doing("protecting a key")
}
