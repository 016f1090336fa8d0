//! Executes plans: journal, transports, providers, secrets.
