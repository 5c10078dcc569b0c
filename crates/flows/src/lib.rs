//! Flow sources: decoders and replay of recordings.
