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
    #[error("{}", nothing_decodable(input, *others, seen, *forced))]
    NothingDecodable {
        /// The first input.
        input: Arc<str>,
        /// How many inputs there were besides it.
        others: usize,
        /// What the first one begins like.
        seen: Seen,
        /// The format that was asked for.
        forced: Option<Format>,
        /// The first line that is broken, not merely of something else, and why.
        first_broken: Option<(Location, String)>,
    },
}

/// What was expected, and what is there.
fn nothing_decodable(input: &str, others: usize, seen: &Seen, forced: Option<Format>) -> String {
    let (inputs, first) = match others {
        0 => (format!("{input} holds"), "it"),
        others => (format!("{input} and {others} more hold"), "the first"),
    };
    let flows = match forced {
        Some(forced) => format!("no flows of {forced}"),
        None => "no flows".to_owned(),
    };
    match seen {
        Seen::Nothing => format!("{inputs} {flows}: {first} is empty"),
        seen => format!("{inputs} {flows}: {first} begins like {seen}"),
    }
}
