//! Points in time, as whole nanoseconds: cheap to compare and to keep by the million.

use std::time::{Duration, SystemTime};

/// A point in time, in nanoseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

// === impl Timestamp ===

impl Timestamp {
    /// The point `seconds` after 1970-01-01T00:00:00Z.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// The point that lies `duration` before.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration.as_nanos().try_into().unwrap_or(i64::MAX)))
    }

    /// The time that lies between two points, whichever comes first.
    pub const fn distance(self, other: Self) -> Duration {
        Duration::from_nanos(self.0.abs_diff(other.0))
    }
}

impl From<SystemTime> for Timestamp {
    /// What a clock of the system tells; one that stands before 1970 tells 0.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(since.as_nanos().try_into().unwrap_or(i64::MAX))
    }
}
