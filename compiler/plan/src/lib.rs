//! The plan: the contract between compiler and runtime.
