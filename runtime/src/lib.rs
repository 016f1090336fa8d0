//! Executes plans: journal, transports, providers, secrets.

pub mod clock;
pub mod drive;
pub mod observe;
pub mod providers;
