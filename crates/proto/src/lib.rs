//! Generated bindings of the wire formats we speak.
