//! YAML documents to a plan, with diagnostics.
