//! Hands out addresses in 127.0.0.0/8 that no other test uses.
//! It does not know which server will listen there.

use crate::{Result, Trouble};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// The port of load balancer front ends.
pub const FRONTEND_PORT: u16 = 28000;
/// The port of Data Plane APIs.
pub const DATAPLANE_PORT: u16 = 25555;
/// The port of the application.
pub const APP_PORT: u16 = 28080;
/// The port of ssh servers.
pub const SSH_PORT: u16 = 22022;

/// Addresses of one process; more than any test suite takes.
const PER_PROCESS: u32 = 500;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A fresh address: its range comes from the process id, its place in it from a counter. An address on which
/// somebody listens on one of the testbed's ports is passed over.
pub fn fresh() -> Result<Ipv4Addr> {
    for _ in 0..PER_PROCESS {
        let address = nth(std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        if is_free(address) {
            return Ok(address);
        }
    }
    Err(Trouble::new("no free address is left in the range of this process in 127.0.0.0/8"))
}

/// 127.64.0.0 to 127.191.255.255: clear of the addresses that people use by hand.
fn nth(process: u32, count: u32) -> Ipv4Addr {
    let count = count % PER_PROCESS;
    let second = 64 + (process / 128) % 128;
    let third = (process % 128) * 2 + count / 250;
    let fourth = 1 + count % 250;
    Ipv4Addr::from((127 << 24) | (second << 16) | (third << 8) | fourth)
}

fn is_free(address: Ipv4Addr) -> bool {
    [FRONTEND_PORT, DATAPLANE_PORT, APP_PORT, SSH_PORT]
        .iter()
        .all(|port| TcpListener::bind((address, *port)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn neighbouring_processes_never_share_an_address() {
        let all: BTreeSet<_> =
            (1000..1100).flat_map(|process| (0..PER_PROCESS).map(move |count| nth(process, count))).collect();
        assert_eq!(all.len(), 100 * PER_PROCESS as usize);
        assert!(all.iter().all(Ipv4Addr::is_loopback));
    }
}
