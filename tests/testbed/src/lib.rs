//! Real and fake servers for the end-to-end tests.
