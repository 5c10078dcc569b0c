//! What a replay tells about itself: where it is, and what became of every line.

use std::fmt;
use std::sync::Arc;

use crate::{Format, Seen};

/// Where a text stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The input.
    pub input: Arc<str>,
    /// The line on which the text begins or, joined from parts, ends; from 1.
    pub line: u64,
}

/// How far a replay is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that were read, as they stand in the files.
    pub read: u64,
    /// Bytes of all inputs, if all are files.
    pub total: Option<u64>,
}

/// What a replay has met so far. `lines` is the sum of the four counts after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Texts: lines, or documents where those span lines.
    pub lines: u64,
    /// Those that were decoded to a record.
    pub records: u64,
    /// Those that are blank, or a part of a line that the container runtime split.
    pub blank: u64,
    /// Those that are of the source, but not about flows.
    pub ignored: u64,
    /// Those that could not be decoded.
    pub bad: u64,
    /// The first of these, and what is wrong with it.
    pub first_bad: Option<(Location, String)>,
    /// The inputs that were opened, in their order.
    pub inputs: Vec<InputSummary>,
}

/// What a replay has met in one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputSummary {
    /// Its name.
    pub input: Arc<str>,
    /// Its format, as asked for or found out.
    pub format: Option<Format>,
    /// What stands there instead of flows, if nothing in it could be decoded.
    pub seen: Option<Seen>,
    /// Whether the rest was not read, since none of its first lines is of a known source.
    pub is_abandoned: bool,
}

// === impl Location ===

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.input, self.line)
    }
}

// === impl Summary ===

impl Summary {
    /// How many texts could be decoded, whether they are about flows or not.
    pub const fn decoded(&self) -> u64 {
        self.records + self.ignored
    }
}
