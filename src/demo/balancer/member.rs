//! One member of the demo's load balancer, by the rules that HAProxy has for a server. Pure: it knows no clock, no sockets
//! and no requests, only what it is told.

use std::net::SocketAddr;

/// Good checks in a row that bring a member up.
const RISE: u32 = 2;
/// Bad checks in a row that bring it down.
const FALL: u32 = 2;
/// Health of a member whose last checks were all good.
const WHOLE: u32 = RISE + FALL - 1;

/// What an administrator wants of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admin {
    /// It takes requests.
    Ready,
    /// It takes no new requests, ends those in flight, and is checked on.
    Drain,
    /// It takes none and is not checked.
    Maint,
}

impl Admin {
    /// The word of the Data Plane API.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Admin::Ready => "ready",
            Admin::Drain => "drain",
            Admin::Maint => "maint",
        }
    }

    /// From that word.
    pub(crate) fn parse(word: &str) -> Option<Admin> {
        [Admin::Ready, Admin::Drain, Admin::Maint].into_iter().find(|admin| admin.word() == word)
    }
}

/// A member.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// Its name in the backend.
    pub(crate) name: String,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Requests in flight.
    pub(crate) sessions: u64,
    /// Requests that it was ever given.
    pub(crate) given: u64,
    admin: Admin,
    /// 0 to [`WHOLE`]; from [`RISE`] on it is up.
    health: u32,
    last_check: Option<bool>,
}

impl Member {
    /// Like a server at the start of HAProxy: ready, and up until a first check says otherwise.
    pub(crate) fn new(name: &str, address: SocketAddr) -> Member {
        Member {
            name: name.to_owned(),
            address,
            sessions: 0,
            given: 0,
            admin: Admin::Ready,
            health: RISE,
            last_check: None,
        }
    }

    /// What the administrator wants.
    pub(crate) fn admin(&self) -> Admin {
        self.admin
    }

    /// Obeys an administrator.
    pub(crate) fn set_admin(&mut self, wanted: Admin) {
        match (self.admin, wanted) {
            (_, Admin::Maint) => self.health = 0,
            // Out of maintenance it counts as up before any check has seen it. Out of a drain the last checks count.
            (Admin::Maint, Admin::Ready | Admin::Drain) => self.health = RISE,
            (Admin::Ready | Admin::Drain, Admin::Ready | Admin::Drain) => {}
        }
        self.admin = wanted;
    }

    /// Somebody says that it is up or down; the checks go on from there.
    pub(crate) fn force(&mut self, up: bool) {
        if self.admin != Admin::Maint {
            self.health = if up { WHOLE } else { 0 };
        }
    }

    /// A check ended.
    pub(crate) fn checked(&mut self, well: bool) {
        if self.admin == Admin::Maint {
            return;
        }
        self.last_check = Some(well);
        self.health = match (well, self.is_up()) {
            (true, true) => WHOLE.min(self.health + 1),
            (true, false) if self.health + 1 >= RISE => WHOLE,
            (true, false) => self.health + 1,
            (false, true) if self.health > RISE => self.health - 1,
            (false, _) => 0,
        };
    }

    /// Whether checks find it well.
    pub(crate) fn is_up(&self) -> bool {
        self.health >= RISE
    }

    /// Whether it is given new requests.
    pub(crate) fn takes_new(&self) -> bool {
        self.admin == Admin::Ready && self.is_up()
    }

    /// The status in HAProxy's counters. A dead drained server shows as down, never as drained.
    pub(crate) fn status(&self) -> String {
        let word = match (self.admin, self.is_up()) {
            (Admin::Maint, _) => return String::from("MAINT"),
            (_, false) => "DOWN",
            (Admin::Drain, true) => "DRAIN",
            (Admin::Ready, true) => "UP",
        };
        match self.health {
            0 | WHOLE => word.to_owned(),
            health if health < RISE => format!("{word} {health}/{RISE}"),
            health => format!("{word} {}/{FALL}", health + 1 - RISE),
        }
    }

    /// The last check in HAProxy's counters; none before the first.
    pub(crate) fn check_status(&self) -> Option<&'static str> {
        self.last_check.map(|well| if well { "L7OK" } else { "L7STS" })
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn member() -> Member {
        let mut member = Member::new("shop1", (Ipv4Addr::LOCALHOST, 1).into());
        member.checked(true);
        member
    }

    #[test]
    fn two_bad_checks_bring_it_down_and_two_good_ones_up() {
        let mut member = member();
        let mut seen = vec![member.status()];
        for well in [false, false, false, true, true] {
            member.checked(well);
            seen.push(member.status());
        }
        assert_eq!(seen, ["UP", "UP 1/2", "DOWN", "DOWN", "DOWN 1/2", "UP"]);
    }

    #[test]
    fn checks_go_on_while_it_is_drained() {
        let mut member = member();
        member.set_admin(Admin::Drain);
        assert_eq!(member.status(), "DRAIN");
        member.force(false);
        assert_eq!(member.status(), "DOWN");
        member.checked(true);
        assert!(!member.is_up());
        member.checked(true);
        assert!(member.is_up() && !member.takes_new());
        member.set_admin(Admin::Ready);
        assert!(member.takes_new());
    }

    #[test]
    fn ready_trusts_the_last_check() {
        let mut down = member();
        down.set_admin(Admin::Drain);
        down.checked(false);
        down.checked(false);
        down.set_admin(Admin::Ready);
        assert!(!down.takes_new(), "the last checks said that it is down");
        let mut dead = member();
        dead.set_admin(Admin::Drain);
        dead.set_admin(Admin::Ready);
        assert!(dead.takes_new(), "no check has looked since");
    }

    #[test]
    fn out_of_maintenance_it_counts_as_up_before_any_check() {
        let mut member = member();
        member.set_admin(Admin::Maint);
        member.checked(true);
        assert_eq!((member.status().as_str(), member.is_up()), ("MAINT", false));
        member.set_admin(Admin::Ready);
        assert_eq!((member.status().as_str(), member.takes_new()), ("UP 1/2", true));
        member.checked(false);
        assert_eq!(member.status(), "DOWN");
    }
}
