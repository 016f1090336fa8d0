//! A scripted world in the place of HAProxy: members whose reads follow a sequence that a test wrote.
//! It answers in HAProxy's columns, so that everything above it is the code that also faces the real one.

use super::backend::{Backend, Gone, Refusal};
use crate::socket::Row;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A member as it is now.
#[derive(Clone, Debug)]
pub struct Member {
    /// The administrative mask: 0 ready, 8 drain, 1 maintenance, and the others that HAProxy knows.
    pub mask: u32,
    /// The operational state: 0 down, 1 starting, 2 up, 3 stopping.
    pub op: u64,
    /// Sessions now.
    pub scur: u64,
    /// Queued requests.
    pub qcur: u64,
    /// The weight.
    pub weight: u64,
    /// Whether HAProxy checks it; without checks its status is `no check`.
    pub checks: bool,
    /// Whether checks find the application well; with checks, a member forced down comes up again when it is.
    pub well: bool,
    /// How long checks need to bring it up again.
    pub recovery: Duration,
    /// A status text that hides the computed one.
    pub status: Option<String>,
    /// Changes are accepted and do nothing.
    pub deaf: bool,
    up_at: Option<Instant>,
}

impl Default for Member {
    fn default() -> Member {
        Member {
            mask: 0,
            op: 2,
            scur: 0,
            qcur: 0,
            weight: 1,
            checks: true,
            well: true,
            recovery: Duration::from_millis(20),
            status: None,
            deaf: false,
            up_at: None,
        }
    }
}

impl Member {
    fn words(&self) -> String {
        if let Some(status) = &self.status {
            return status.clone();
        }
        let words = match (self.mask, self.op) {
            (mask, _) if mask & 32 != 0 => "MAINT (resolution)",
            (mask, _) if mask & (1 | 2) != 0 => "MAINT",
            // HAProxy shows a dead drained server as down, never as drained.
            (_, 0) => "DOWN",
            (mask, _) if mask & (8 | 16) != 0 => "DRAIN",
            (_, 3) => "NOLB",
            _ if !self.checks => "no check",
            _ => "UP",
        };
        words.to_owned()
    }
}

/// A change that a script makes to a member.
pub type Change = Arc<dyn Fn(&mut Member) + Send + Sync>;

/// What starts a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Now.
    Now,
    /// The first order to drain the member.
    Drained,
    /// The first order to put it back.
    Restored,
}

/// When the next change of a script comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Just before the next list of servers is read.
    NextRead,
    /// So long after the script began.
    After(Duration),
}

struct Script {
    member: String,
    trigger: Trigger,
    began: Option<Instant>,
    steps: Vec<(Pace, Change)>,
}

struct State {
    members: BTreeMap<String, Member>,
    scripts: Vec<Script>,
    pid: u64,
    began: Instant,
    dead: bool,
}

/// A scripted load balancer; clones share the world.
#[derive(Clone)]
pub struct Scripted {
    backend: String,
    state: Arc<Mutex<State>>,
}

impl Scripted {
    /// A backend with members that are all ready and up.
    pub fn new(backend: &str, members: &[&str]) -> Scripted {
        let members = members.iter().map(|name| ((*name).to_owned(), Member::default())).collect();
        let state = State { members, scripts: vec![], pid: 1000, began: Instant::now(), dead: false };
        Scripted { backend: backend.to_owned(), state: Arc::new(Mutex::new(state)) }
    }

    /// Changes a member now.
    pub fn change(&self, member: &str, change: impl FnOnce(&mut Member)) {
        if let Some(member) = self.state().members.get_mut(member) {
            change(member);
        }
    }

    /// The member as it is now.
    pub fn member(&self, member: &str) -> Option<Member> {
        let mut state = self.state();
        state.advance(false);
        state.members.get(member).cloned()
    }

    /// Adds a member.
    pub fn add(&self, name: &str, member: Member) {
        self.state().members.insert(name.to_owned(), member);
    }

    /// Takes a member out of the backend.
    pub fn remove(&self, name: &str) {
        self.state().members.remove(name);
    }

    /// Changes that come one after another. Each read of the list makes at most one `NextRead` change a script.
    pub fn script(&self, member: &str, trigger: Trigger, steps: Vec<(Pace, Change)>) {
        let began = (trigger == Trigger::Now).then(Instant::now);
        self.state().scripts.push(Script { member: member.to_owned(), trigger, began, steps });
    }

    /// A reload by somebody else: another process, all forced states forgotten.
    pub fn reload(&self) {
        let mut state = self.state();
        state.pid += 1;
        state.began = Instant::now();
        for member in state.members.values_mut() {
            member.mask &= !(1 | 8);
            member.op = 2;
        }
    }

    /// HAProxy ends, or comes back.
    pub fn set_dead(&self, dead: bool) {
        self.state().dead = dead;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic in a test's closure must not hide itself behind a second one here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn alive(&self) -> Result<MutexGuard<'_, State>, Gone> {
        let state = self.state();
        if state.dead {
            Err(Gone("dial unix scripted: connect: connection refused".to_owned()))
        } else {
            Ok(state)
        }
    }
}

impl State {
    /// Lets time, and for a read of the list the scripts, go on.
    fn advance(&mut self, read: bool) {
        let State { members, scripts, .. } = self;
        for script in scripts.iter_mut() {
            let (Some(began), Some(member)) = (script.began, members.get_mut(&script.member)) else {
                continue;
            };
            let mut reads = u32::from(read);
            while let Some((pace, change)) = script.steps.first() {
                match pace {
                    Pace::NextRead if reads > 0 => reads -= 1,
                    Pace::After(time) if began.elapsed() >= *time => {}
                    Pace::NextRead | Pace::After(_) => break,
                }
                change(member);
                script.steps.remove(0);
            }
        }
        for member in members.values_mut() {
            if member.well && member.up_at.is_some_and(|at| at <= Instant::now()) {
                (member.op, member.up_at) = (2, None);
            }
        }
    }

    fn trigger(&mut self, name: &str, trigger: Trigger) {
        let waiting = self
            .scripts
            .iter_mut()
            .filter(|script| script.member == name && script.trigger == trigger && script.began.is_none());
        waiting.for_each(|script| script.began = Some(Instant::now()));
    }
}

impl Backend for Scripted {
    fn name(&self) -> String {
        "scripted".to_owned()
    }

    fn servers(&self, backend: &str) -> Result<Option<Vec<Row>>, Gone> {
        let mut state = self.alive()?;
        if backend != self.backend {
            return Ok(None);
        }
        state.advance(true);
        let rows = state.members.iter().enumerate().map(|(place, (name, member))| {
            row(&[
                ("be_id", "3"),
                ("be_name", &self.backend),
                ("srv_id", &(place + 1).to_string()),
                ("srv_name", name),
                ("srv_addr", "10.0.0.1"),
                ("srv_port", "8080"),
                ("srv_op_state", &member.op.to_string()),
                ("srv_admin_state", &member.mask.to_string()),
                ("srv_uweight", &member.weight.to_string()),
                ("srv_iweight", &member.weight.to_string()),
                ("srv_fqdn", "-"),
                ("srvrecord", "-"),
                ("srv_check_addr", "-"),
                ("srv_agent_addr", "-"),
            ])
        });
        Ok(Some(rows.collect()))
    }

    fn stats(&self) -> Result<Vec<Row>, Gone> {
        let state = self.alive()?;
        let servers = state.members.iter().map(|(name, member)| {
            row(&[
                ("pxname", &self.backend),
                ("svname", name),
                ("type", "2"),
                ("scur", &member.scur.to_string()),
                ("qcur", &member.qcur.to_string()),
                ("weight", &member.weight.to_string()),
                ("status", &member.words()),
                ("check_status", if member.checks { "L7OK" } else { "" }),
                ("act", "1"),
                ("bck", "0"),
                ("mode", "http"),
            ])
        });
        let whole = row(&[
            ("pxname", &self.backend),
            ("svname", "BACKEND"),
            ("type", "1"),
            ("scur", "0"),
            ("qcur", "0"),
            ("status", "UP"),
        ]);
        Ok(servers.chain([whole]).collect())
    }

    fn info(&self) -> Result<Row, Gone> {
        let state = self.alive()?;
        Ok(row(&[
            ("Version", "2.6.12"),
            ("Pid", &state.pid.to_string()),
            ("Uptime_sec", &state.began.elapsed().as_secs().to_string()),
            ("Stopping", "0"),
        ]))
    }

    fn set(&self, backend: &str, server: &str, what: &str, value: &str) -> Result<(), Refusal> {
        let mut state = self.alive().map_err(|Gone(words)| Refusal::Gone(words))?;
        let known = backend == self.backend;
        let Some(member) = state.members.get_mut(server).filter(|_| known) else {
            return Err(Refusal::Words("scripted [3]  No such server.".to_owned()));
        };
        if !member.deaf {
            obey(member, what, value);
        }
        match (what, value) {
            ("state", "drain") => state.trigger(server, Trigger::Drained),
            ("state", "ready") => state.trigger(server, Trigger::Restored),
            _ => {}
        }
        Ok(())
    }
}

/// What HAProxy does with an order. Only the forced bits are an order's to change.
fn obey(member: &mut Member, what: &str, value: &str) {
    let was_in_maintenance = member.mask & 1 != 0;
    match (what, value) {
        ("state", "drain") => member.mask = (member.mask & !1) | 8,
        ("state", "maint") => (member.mask, member.op, member.up_at) = ((member.mask & !8) | 1, 0, None),
        ("state", _) => member.mask &= !(1 | 8),
        ("health", "down") => {
            member.op = 0;
            member.up_at = member.checks.then(|| Instant::now() + member.recovery);
        }
        ("health", "stopping") => member.op = 3,
        ("health", _) => member.op = 2,
        ("weight", number) => member.weight = number.parse().unwrap_or(member.weight),
        _ => {}
    }
    // Out of maintenance a server counts as up at once, before any check.
    if was_in_maintenance && member.mask & 1 == 0 && what == "state" {
        member.op = 2;
    }
}

fn row(columns: &[(&str, &str)]) -> Row {
    columns.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
