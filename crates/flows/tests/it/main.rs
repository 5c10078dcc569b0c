//! Decoders and replay over recordings: ours, those of genuine servers, and hostile ones.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod compressed;
mod documents;
mod genuine;
mod hostile;
mod nothing;
mod recording;
mod replay;
mod spelling;
