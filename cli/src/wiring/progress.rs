//! A progress bar for recordings that take over a second; none where nobody watches.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use netenf_flows::Progress;

/// How many records pass between two looks at the clock: a fraction of their cost, and soon over where a
/// source writes only some in a second.
const STRIDE: u32 = 64;

/// A bar that shows itself when reading takes long.
pub(crate) struct Bar {
    started: Instant,
    records: u32,
    watched: bool,
    bar: Option<ProgressBar>,
}

// === impl Bar ===

impl Bar {
    pub(crate) fn new() -> Self {
        let watched = std::io::stderr().is_terminal();
        Self { started: Instant::now(), records: 0, watched, bar: None }
    }

    /// Whether to look at the progress now.
    pub(crate) fn is_due(&mut self) -> bool {
        self.records = self.records.wrapping_add(1);
        self.watched
            && self.records.is_multiple_of(STRIDE)
            && self.started.elapsed() > Duration::from_secs(1)
    }

    /// Shows it.
    pub(crate) fn show(&mut self, progress: Progress) {
        let bar = self.bar.get_or_insert_with(|| bar(progress.total));
        bar.set_position(progress.read);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => {
            (ProgressBar::new(total), "{bar:30} {bytes}/{total_bytes} {binary_bytes_per_sec} {eta}")
        }
        None => (ProgressBar::new_spinner(), "{spinner} {bytes} {binary_bytes_per_sec}"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
