//! Flow sources: decoders of what Hubble, Goldmane and ztunnel write, replay of recordings, and with the feature `node`
//! what our node agents report.
//!
//! ```text
//! file | stdin  ->  gzip, zstd  ->  lines or documents  ->  CRI unwrapped  ->  decoder  ->  Record
//! ```
//!
//! A decoder turns one JSON text into one [`Record`] and never judges it: what a source left out
//! stays out, and the classifier of `netenf-learn` decides. [`Replay`] reads recordings of any size
//! in bounded memory, finds out which source wrote them, and counts every line that it could not use.

mod cache;
mod detect;
mod error;
mod format;
mod time;
mod value;

mod cri;
pub mod goldmane;
pub mod hubble;
#[cfg(feature = "node")]
pub mod node;
pub mod replay;
pub mod ztunnel;

pub use detect::{Seen, detect};
pub use error::DecodeError;
pub use format::{Decoder, Format, Record};
pub use replay::{
    Input, InputSummary, Item, Location, Options, Progress, Replay, ReplayError, Summary,
};
