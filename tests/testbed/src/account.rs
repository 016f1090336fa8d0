//! The user that test hosts run as and that ssh logs in.
//! As root that is `tester`, made when missing; otherwise it is the user who runs the tests.

use crate::process::{program, run};
use crate::{Context, Result, Trouble};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The user of the hosts when root runs the tests.
const TESTER: &str = "tester";

/// A user of this machine.
#[derive(Clone, Debug)]
pub struct Account {
    /// The login name.
    pub name: String,
    uid: u32,
    gid: u32,
    /// Whether the tests run as root, and have to become this user.
    switch: bool,
}

impl Account {
    /// The account of the hosts.
    pub fn of_hosts() -> Result<Account> {
        let uid = run(Command::new(program("id", "coreutils")?).arg("-u"))?;
        if uid.trim() != "0" {
            let name = run(Command::new("id").arg("-un"))?;
            return Account::find(name.trim(), false)?.ok_or_else(|| Trouble::new("the user has no account"));
        }
        if let Some(found) = Account::find(TESTER, true)? {
            return Ok(found);
        }
        // Two tests may do this at once: what counts is that the user is there afterwards.
        let made = run(Command::new(program("useradd", "passwd")?).args(["-m", "-s", "/bin/bash", TESTER]));
        // `*`: no password fits, and unlike `!` a root sshd does not refuse the account.
        let opened = run(Command::new(program("usermod", "passwd")?).args(["-p", "*", TESTER]));
        match Account::find(TESTER, true)? {
            Some(found) => Ok(found),
            None => made.and(opened).and(Err(Trouble::new("`useradd` made no user"))),
        }
    }

    fn find(name: &str, switch: bool) -> Result<Option<Account>> {
        let users = std::fs::read_to_string("/etc/passwd").doing("reading the users")?;
        let found = users.lines().find_map(|line| {
            let mut fields = line.split(':');
            let (its_name, _, uid, gid) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
            (its_name == name).then(|| Some((uid.parse().ok()?, gid.parse().ok()?)))?
        });
        Ok(found.map(|(uid, gid)| Account { name: name.to_owned(), uid, gid, switch }))
    }

    /// Makes a command run as this user.
    pub fn run_as(&self, command: &mut Command) {
        if self.switch {
            command.uid(self.uid).gid(self.gid);
        }
    }

    /// Gives a file or folder, with all inside, to this user.
    pub fn give(&self, path: &Path) -> Result<()> {
        if !self.switch {
            return Ok(());
        }
        let owner = format!("{}:{}", self.uid, self.gid);
        run(Command::new(program("chown", "coreutils")?).arg("-R").arg(owner).arg(path))?;
        Ok(())
    }
}
