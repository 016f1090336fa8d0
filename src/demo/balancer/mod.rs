//! The demo's load balancer: round robin over small servers, health checks, and HAProxy's Data Plane API to drive it.
//! It must not know of releases or of manent; it is what a real one is to manent, something to be asked over HTTP.

mod api;
mod checks;
mod member;
mod proxy;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use base64::Engine;
use tokio::net::TcpListener;

use member::{Admin, Member};

/// The backend's name.
pub(crate) const BACKEND: &str = "shop";

/// A running load balancer. It serves as long as the executor runs.
#[derive(Debug)]
pub(crate) struct Balancer {
    state: Mutex<State>,
    authorization: String,
    began: Instant,
}

#[derive(Debug)]
struct State {
    members: Vec<Member>,
    /// Whose turn it is.
    turn: usize,
    /// Requests in flight on members at the moment when they were taken out.
    in_flight_when_taken_out: u64,
}

impl Balancer {
    /// Serves requests on one listener and the Data Plane API on the other.
    pub(crate) fn start(
        members: &[(String, SocketAddr)],
        requests: TcpListener,
        api: TcpListener,
        credentials: &str,
    ) -> Arc<Balancer> {
        let balancer = Arc::new(Balancer {
            state: Mutex::new(State {
                members: members.iter().map(|(name, address)| Member::new(name, *address)).collect(),
                turn: 0,
                in_flight_when_taken_out: 0,
            }),
            authorization: authorization(credentials),
            began: Instant::now(),
        });
        tokio::spawn(proxy::serve(Arc::clone(&balancer), requests));
        tokio::spawn(api::serve(Arc::clone(&balancer), api));
        for place in 0..members.len() {
            tokio::spawn(checks::watch(Arc::clone(&balancer), place));
        }
        balancer
    }

    /// How many requests were in flight on members when they were taken out of rotation: what a restart at that moment
    /// would have cut.
    pub(crate) fn in_flight_when_taken_out(&self) -> u64 {
        self.state().in_flight_when_taken_out
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements that hold the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a request to the next member that takes new ones.
    fn pick(self: &Arc<Self>) -> Option<Session> {
        let mut state = self.state();
        let count = state.members.len();
        let from = state.turn;
        let place = (0..count)
            .map(|step| (from + step) % count.max(1))
            .find(|place| state.members.get(*place).is_some_and(Member::takes_new))?;
        state.turn = place + 1;
        let member = state.members.get_mut(place)?;
        member.sessions += 1;
        member.given += 1;
        let (name, address) = (member.name.clone(), member.address);
        Some(Session { balancer: Arc::clone(self), place, name, address })
    }

    fn set_admin(&self, name: &str, wanted: Admin) {
        let mut state = self.state();
        let Some(member) = state.members.iter_mut().find(|member| member.name == name) else { return };
        let leaves = member.admin() == Admin::Ready && wanted != Admin::Ready;
        member.set_admin(wanted);
        if leaves {
            let in_flight = member.sessions;
            state.in_flight_when_taken_out += in_flight;
        }
    }

    fn force(&self, name: &str, up: bool) {
        if let Some(member) = self.state().members.iter_mut().find(|member| member.name == name) {
            member.force(up);
        }
    }

    fn members(&self) -> Vec<Member> {
        self.state().members.clone()
    }
}

/// A request on a member; counted until it is dropped.
struct Session {
    balancer: Arc<Balancer>,
    place: usize,
    name: String,
    address: SocketAddr,
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(member) = self.balancer.state().members.get_mut(self.place) {
            member.sessions = member.sessions.saturating_sub(1);
        }
    }
}

/// The `Authorization` header for `user:password`.
pub(crate) fn authorization(credentials: &str) -> String {
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(credentials))
}

#[cfg(test)]
mod tests;
