//! Conditions that come true by themselves: awaited up to a deadline.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;

/// Between two looks. Short beside what is awaited, long beside what a look costs.
const PAUSE: Duration = Duration::from_millis(50);

/// What `look` gives once it gives something.
///
/// # Errors
/// If that takes longer than `limit`; the error names `what` was awaited. An error of `look` ends
/// the waiting.
pub fn within<T>(
    limit: Duration,
    what: &str,
    mut look: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let start = Instant::now();
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if start.elapsed() > limit {
            bail!("{what}: not within {} s", limit.as_secs());
        }
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests;
