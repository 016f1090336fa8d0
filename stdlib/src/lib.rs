//! Providers, recipes and presets as data.
