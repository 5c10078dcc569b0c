//! Generated bindings of the wire formats we speak: of Hubble, of Goldmane and our own.
//!
//! The definitions stand in `proto/`; `make generate` writes the bindings, and a test fails while
//! they are stale. They hold no decision: what a flow means is decided where it is read.
//!
//! Fields of an enum type are plain numbers, so that a value of a newer server survives; read them
//! with the type's `try_from`.

#![expect(
    clippy::pedantic,
    clippy::large_enum_variant,
    reason = "this crate holds generated code only"
)]

/// What Hubble says of one event.
pub mod flow {
    include!("generated/flow.rs");
}

/// What Hubble Relay says of its nodes.
pub mod relay {
    include!("generated/relay.rs");
}

/// How flows are read from Hubble.
pub mod observer {
    include!("generated/observer.rs");
}

/// How flows are read from Goldmane.
pub mod goldmane {
    include!("generated/goldmane.rs");
}

/// Our own formats.
pub mod netenf {
    /// The first version, to which fields may be added.
    pub mod v1 {
        include!("generated/netenf.v1.rs");
    }
}
