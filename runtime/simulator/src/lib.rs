//! A world model that drives the real engine: load balancers, hosts, clients, faults and crashes on a virtual clock, and
//! a judge that knows only the invariants. It knows no real clock, no chance but its seed, and nothing of the engine's
//! state.

pub mod chance;
pub mod facts;
pub mod judge;
pub mod random;
pub mod sabotage;
pub mod scenario;
pub mod setup;
pub mod trial;
pub mod world;
