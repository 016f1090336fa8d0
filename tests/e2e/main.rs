//! End-to-end tests of the program: the real binary in a tree of its own, read as a person or a script reads it.
//! They must not look inside; what they know is what the program prints, returns and leaves on disk.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod base;
mod demo;
mod documents;
mod layout;
mod overtaken;
mod real;
mod reference;
mod run;
mod world;
