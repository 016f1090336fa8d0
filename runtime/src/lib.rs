//! Executes plans: journal, transports, providers, secrets.

pub mod clock;
pub mod drive;
pub mod journal;
pub mod lock;
pub mod observe;
pub mod perform;
pub mod private;
pub mod providers;
pub mod secrets;
pub mod setup;
pub mod transport;
