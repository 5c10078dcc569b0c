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
        /// The first line that could not be decoded, and why.
        first_bad: Option<(Location, String)>,
    },
}

/// What was expected, what is there, and what to do next.
fn nothing_decodable(input: &str, others: usize, seen: &Seen, forced: Option<Format>) -> String {
    let (inputs, first) = match others {
        0 => (format!("{input} holds"), "it"),
        others => (format!("{input} and {others} more hold"), "the first"),
    };
    let begins = match seen {
        Seen::Nothing => format!("{first} is empty"),
        seen => format!("{first} begins like {seen}"),
    };
    match (forced, seen) {
        (Some(forced), Seen::Record(format)) if *format != forced => format!(
            "{inputs} no flows of {forced}: {begins} (leave --provider out, or name that source)"
        ),
        (Some(forced), _) => format!("{inputs} no flows of {forced}: {begins}"),
        (None, Seen::Record(_)) => format!("{inputs} no flows that can be read: {begins}"),
        (None, _) => format!(
            "{inputs} no flows that can be read: {begins} (JSON of Hubble, Goldmane or ztunnel is \
             needed, one text on a line; --provider says which)"
        ),
    }
}
