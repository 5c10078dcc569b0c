//! The time of a recording, which passes by itself.

use std::fmt::Write;

use super::random::Random;

/// 2026-01-01T00:00:00Z, when every recording begins, in seconds since 1970.
const START: u64 = 1_767_225_600;

/// Days of the months of a year without a leap day; recordings end within it.
const MONTHS: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// A clock.
pub(super) struct Clock {
    /// Seconds since [`START`].
    second: u64,
    nanos: u64,
    /// The longest time between two events, in nanoseconds; half of it is the mean.
    longest: usize,
    text: String,
}

// === impl Clock ===

impl Clock {
    /// A clock at the start of a recording with `rate` events a second.
    pub(super) fn new(rate: u64) -> Self {
        let longest = usize::try_from(2_000_000_000 / rate.max(1)).unwrap_or(usize::MAX);
        Self { second: 0, nanos: 0, longest, text: String::new() }
    }

    /// Goes on to the next event.
    pub(super) fn advance(&mut self, random: &mut Random) {
        self.nanos += 1 + random.below(self.longest) as u64;
        self.second += self.nanos / 1_000_000_000;
        self.nanos %= 1_000_000_000;
        self.text.clear();
        let (month, day) = date(self.second / 86_400);
        let (hour, minute) = (self.second / 3600 % 24, self.second / 60 % 60);
        // Servers leave out trailing zeros in threes; an odd last digit leaves none.
        let (second, nanos) = (self.second % 60, self.nanos | 1);
        let text = &mut self.text;
        let _ =
            write!(text, "2026-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z");
    }

    /// The time in nanoseconds, as RFC 3339 writes it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The time in microseconds, as RFC 3339 writes it.
    pub(super) fn micros(&self) -> &str {
        self.text.get(..26).unwrap_or_default()
    }

    /// Seconds since 1970.
    pub(super) const fn seconds(&self) -> u64 {
        START + self.second
    }
}

/// Month and day of the `day`th day of the year, from 0 on.
fn date(mut day: u64) -> (u64, u64) {
    for (month, days) in (1..).zip(MONTHS) {
        if day < days {
            return (month, day + 1);
        }
        day -= days;
    }
    (12, 31)
}
