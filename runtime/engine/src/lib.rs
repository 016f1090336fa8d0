//! Pure decisions of a run.
