//! Logs: one JSON object a line, on standard error.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

const HINT: &str = "a level is error, warn, info, debug or trace, or info,MODULE=debug";

/// Starts to log what `level` lets through: a level, or levels by module (`info,netenf_cluster=debug`).
pub(crate) fn start(level: &Level) {
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_env_filter(EnvFilter::new(&level.0))
        .with_writer(std::io::stderr)
        .init();
}

/// Directives that were found to be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Level(String);

// === impl Level ===

impl std::str::FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A word that is no level is the name of a module to the filter, which would log nothing else.
        let is_level = |word: &str| word.parse::<LevelFilter>().is_ok();
        if text.split(',').any(|part| !part.contains('=') && !is_level(part.trim())) {
            return Err(format!("{text:?} is no level; {HINT}"));
        }
        EnvFilter::try_new(text)
            .map(|_| Self(text.to_owned()))
            .map_err(|error| format!("{error}; {HINT}"))
    }
}
