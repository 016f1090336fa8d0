//! End-to-end tests of the program: the real binary in a tree of its own, read as a person or a script reads it.
//! They must not look inside; what they know is what the program prints, returns and leaves on disk.

mod base;
mod documents;
mod layout;
mod run;
mod world;
