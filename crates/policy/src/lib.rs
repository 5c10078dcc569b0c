//! What a network policy decides about a connection: pure, no I/O.
