//! Real and fake servers for the end-to-end tests: load balancers, hosts, an application, clients.
//! It knows nothing of plans, runs or journals: tests compare what manent says with what is true here.
//!
//! Every handle ends its process when it is dropped, by the process id that it kept. Each server has an address
//! of its own in 127.0.0.0/8, so that tests may run side by side.

mod account;
pub mod address;
pub mod app;
mod binaries;
pub mod dataplane;
mod folder;
pub mod haproxy;
pub mod http;
pub mod load;
pub mod process;
pub mod site;
pub mod socket;
pub mod sshd;
mod trouble;

pub use account::Account;
pub use folder::Folder;
pub use trouble::{Context, Result, Trouble};
