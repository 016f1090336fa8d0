//! A world model that drives the engine.
