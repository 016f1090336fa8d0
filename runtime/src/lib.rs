//! Executes plans: journal, transports, providers, secrets.

pub mod observe;
