//! What other programs must find in our definitions and bindings.

mod public;
mod surface;
mod wire;
