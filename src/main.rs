//! The command line of manent.

fn main() {}
