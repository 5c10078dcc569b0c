//! Why a replay cannot go on.

use std::io;
use std::sync::Arc;

use super::Location;
use crate::{Format, Seen};

/// Why a replay cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// An input is not there, or may not be read.
    #[error("cannot open the recording {input}")]
    Open {
        /// The input.
        input: Arc<str>,
        /// Why.
        source: io::Error,
    },
    /// Reading or unpacking an input failed.
    #[error("cannot read the recording {input} after line {line}")]
    Read {
        /// The input.
        input: Arc<str>,
        /// The last line that was read.
        line: u64,
        /// Why.
        source: io::Error,
    },
    /// A line is bad, and the replay is strict.
    #[error("{location}: {reason}")]
    Parse {
        /// Where.
        location: Location,
        /// Why.
        reason: String,
    },
    /// In all inputs there was nothing that a source of flows writes.
    #[error("{}", nothing_decodable(input, seen, *forced))]
    NothingDecodable {
        /// The first input.
        input: Arc<str>,
        /// What it begins like.
        seen: Seen,
        /// The format that was asked for.
        forced: Option<Format>,
        /// The first line that could not be decoded, and why.
        first_bad: Option<(Location, String)>,
    },
}

/// What was expected, what is there, and what to do next.
fn nothing_decodable(input: &str, seen: &Seen, forced: Option<Format>) -> String {
    let begins = match seen {
        Seen::Nothing => "it is empty".to_owned(),
        seen => format!("it begins like {seen}"),
    };
    match (forced, seen) {
        (Some(forced), Seen::Record(format)) if *format != forced => format!(
            "{input} holds no flows of {forced}: {begins} (leave --provider out, or name that source)"
        ),
        (Some(forced), _) => format!("{input} holds no flows of {forced}: {begins}"),
        (None, Seen::Record(_)) => format!("{input} holds no flows that can be read: {begins}"),
        (None, _) => format!(
            "{input} holds no flows that can be read: {begins} (JSON of Hubble, Goldmane or \
             ztunnel is needed, one text on a line; --provider says which)"
        ),
    }
}
