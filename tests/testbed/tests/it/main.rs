//! Proves each piece of the testbed against the real servers.
//! One binary with modules, since each further one is linked anew.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests stop the test, as tests do"
)]

mod bridge;
mod faults;
mod hosts;
mod load_balancer;
mod scripted;
mod site;
