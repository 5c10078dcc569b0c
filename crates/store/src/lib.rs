//! The folder store: one YAML file an object, written atomically.
