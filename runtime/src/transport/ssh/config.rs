//! Settings of ssh connections, and the configuration file that ssh is given. The file comes before the user's own, so
//! that hosts, users and jumps of theirs hold, and what is strict here cannot be loosened there; ssh hands it on to jumps.
//! It must not hold a secret.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::super::shown;

/// How hosts are reached. Values are checked: they become arguments and lines of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Settings {
    pub user: Option<String>,
    pub port: Option<u16>,
    pub jump: Option<String>,
    /// An absolute path.
    pub known_hosts: Option<PathBuf>,
    /// Names of secrets.
    pub key_secret: Option<String>,
    pub password_secret: Option<String>,
    /// Position among the connections of the plan: one configuration file each.
    pub number: usize,
}

impl Settings {
    /// Checks everything that could be taken for an option or for another line.
    pub(in super::super) fn check(&self) -> Result<(), String> {
        if let Some(user) = &self.user {
            word("user", user, |byte| matches!(byte, b'-' | b'_' | b'.' | b'@' | b'\\' | b'+'))?;
        }
        if let Some(jump) = &self.jump {
            word("jump", jump, |byte| {
                matches!(byte, b'-' | b'_' | b'.' | b'@' | b':' | b',' | b'[' | b']' | b'%')
            })?;
            if jump.split([',', '@']).any(|part| part.starts_with('-')) {
                return Err(format!("`{jump}` is no jump host"));
            }
        }
        if let Some(path) = &self.known_hosts {
            quoted(path)?;
        }
        Ok(())
    }

    /// The text of the configuration file.
    pub(super) fn file(&self, agent: Option<&Path>) -> Result<String, String> {
        let mut text = String::from(
            "# Written by manent for one run.\n\
             Host *\n  StrictHostKeyChecking yes\n  VerifyHostKeyDNS no\n  NoHostAuthenticationForLocalhost no\n  \
             UpdateHostKeys no\n  ConnectTimeout 10\n  ServerAliveInterval 15\n  \
             ServerAliveCountMax 3\n  ForwardAgent no\n  ForwardX11 no\n  ClearAllForwardings yes\n  \
             PermitLocalCommand no\n  RemoteCommand none\n  RequestTTY no\n  Tunnel no\n",
        );
        if let Some(path) = &self.known_hosts {
            let _ =
                writeln!(text, "  UserKnownHostsFile {}\n  GlobalKnownHostsFile /dev/null", quoted(path)?);
        }
        if let Some(agent) = agent {
            let _ = writeln!(text, "  IdentityAgent {}\n  IdentitiesOnly no", quoted(agent)?);
        }
        // Paths that do not exist are passed over.
        text.push_str("Include ~/.ssh/config\nInclude /etc/ssh/ssh_config\n");
        Ok(text)
    }
}

/// The name of a host as an argument of ssh: no option, no user, no address of another scheme.
pub(super) fn check_host(host: &str) -> Result<(), String> {
    word("host", host, |byte| matches!(byte, b'-' | b'_' | b'.' | b':' | b'%'))
}

fn word(what: &str, value: &str, also: impl Fn(u8) -> bool) -> Result<(), String> {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || also(byte);
    if value.is_empty() || value.len() > 255 || value.starts_with('-') || !value.bytes().all(fine) {
        return Err(format!("`{}` cannot be the {what} of an ssh connection", shown(value, 80)));
    }
    Ok(())
}

/// A path between quotes, without what ssh would expand.
fn quoted(path: &Path) -> Result<String, String> {
    let text =
        path.to_str().filter(|text| !text.contains(['"', '\\', '\n', '\r', '\0', '$'])).ok_or_else(|| {
            format!(
                "`{}` cannot be named in an ssh configuration: use another path",
                shown(&path.to_string_lossy(), 200)
            )
        })?;
    Ok(format!("\"{}\"", text.replace('%', "%%")))
}

#[cfg(test)]
mod unit {
    use super::*;

    fn settings() -> Settings {
        Settings {
            user: None,
            port: None,
            jump: None,
            known_hosts: None,
            key_secret: None,
            password_secret: None,
            number: 0,
        }
    }

    #[test]
    fn options_and_other_lines_are_refused_as_names() {
        let payloads = [
            "-oProxyCommand=touch evil",
            "--",
            "-",
            "-l",
            "-F/dev/null",
            "a b",
            "a\nProxyCommand evil",
            "a;b",
            "$(evil)",
            "`evil`",
            "a'b",
            "a\"b",
            "",
            "ssh://h",
            "a/b",
            "a\u{0}b",
            "é",
            "a|b",
            "a&b",
            "a>b",
            "a\tb",
            "a\rb",
            "~",
            "*",
            "?",
            "a=b",
            "(x)",
            "{x}",
            "!x",
            "#x",
            "a\\b",
        ];
        for payload in payloads {
            assert!(check_host(payload).is_err(), "{payload:?}");
            let user = Settings { user: Some(payload.to_owned()), ..settings() };
            assert!(user.check().is_err() || payload == "a\\b", "{payload:?}");
            let jump = Settings { jump: Some(payload.to_owned()), ..settings() };
            assert!(jump.check().is_err(), "{payload:?}");
        }
        assert!(check_host("user@host").is_err());
        for jump in ["a,-oProxyCommand=x", "u@-x", "-u@h"] {
            assert!(Settings { jump: Some(jump.to_owned()), ..settings() }.check().is_err(), "{jump}");
        }
        for path in ["/a\"b", "/a\nb", "/${HOME}/x", "/a\\b"] {
            assert!(Settings { known_hosts: Some(path.into()), ..settings() }.check().is_err(), "{path}");
        }
    }

    #[test]
    fn what_people_use_is_accepted() {
        for host in ["web1", "web-1.example.org", "10.0.0.1", "fe80::1%eth0", "host_2"] {
            check_host(host).unwrap();
        }
        let jump = Some(String::from("ops@gate.example.org:2222,[fe80::2]:22"));
        Settings { user: Some("DOM\\ann".into()), jump, ..settings() }.check().unwrap();
        let file = Settings { known_hosts: Some("/a b/100%".into()), ..settings() }.file(None).unwrap();
        assert!(file.contains("  UserKnownHostsFile \"/a b/100%%\"\n"), "{file}");
    }
}
