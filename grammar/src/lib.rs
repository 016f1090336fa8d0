//! The little languages inside YAML strings.
