//! Why a line is not a flow, in words that are safe to print.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Format;

/// The longest text that a message repeats from its input, in characters.
const EXCERPT: usize = 80;

/// Why a text could not be decoded. Messages repeat little of the input, and no control characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The text is not JSON, or a value in it is not what this source writes there.
    #[error("{reason} at column {column}")]
    Parse {
        /// What is wrong.
        reason: String,
        /// Where, counted in bytes from 1.
        column: usize,
    },
    /// The JSON ends before it is whole.
    #[error(
        "the JSON text is cut off after {length} bytes (`jq -c .` writes whole texts, one a line)"
    )]
    Incomplete {
        /// How much there was.
        length: usize,
    },
    /// The text is nothing that this source writes.
    #[error("no record of {format}: it looks like {seen}")]
    Foreign {
        /// The source that was expected.
        format: Format,
        /// What was there instead.
        seen: String,
    },
    /// The text is nothing that any source writes.
    #[error("of no known source: it looks like {seen}")]
    Unknown {
        /// What was there instead.
        seen: String,
    },
}

// === impl DecodeError ===

impl DecodeError {
    /// The error of the JSON parser about a text that begins `before` bytes into its line.
    fn json(error: &serde_json::Error, length: usize, before: usize) -> Self {
        if error.is_eof() {
            return Self::Incomplete { length };
        }
        let message = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        let reason = message.strip_suffix(&position).unwrap_or(&message);
        Self::Parse { reason: excerpt(reason), column: before + error.column() }
    }
}

/// A line as the text that JSON must be.
#[inline]
pub(crate) fn text(line: &[u8]) -> Result<&str, DecodeError> {
    str::from_utf8(line).map_err(|error| DecodeError::Parse {
        reason: "invalid UTF-8".to_owned(),
        column: error.valid_up_to() + 1,
    })
}

/// Reads a whole line. It is checked to be UTF-8 once before: that is much faster than to leave it
/// to the JSON parser, which looks at each string by itself.
#[inline]
pub(crate) fn parse<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, DecodeError> {
    serde_json::from_str(line).map_err(|error| DecodeError::json(&error, line.len(), 0))
}

/// Reads a part of `line` that was passed over before.
pub(crate) fn parse_part<'a, T: Deserialize<'a>>(
    part: &'a RawValue,
    line: &str,
) -> Result<T, DecodeError> {
    serde_json::from_str(part.get()).map_err(|error| {
        let before = part.get().as_ptr().addr().saturating_sub(line.as_ptr().addr());
        DecodeError::json(&error, line.len(), before)
    })
}

/// The beginning of a text, without control characters.
pub(crate) fn excerpt(text: &str) -> String {
    let mut escaped = text.chars().flat_map(|character| {
        let (plain, code) = if is_printable(character) {
            (Some(character), None)
        } else {
            (None, Some(character.escape_default()))
        };
        plain.into_iter().chain(code.into_iter().flatten())
    });
    let mut cut: String = escaped.by_ref().take(EXCERPT).collect();
    if escaped.next().is_some() {
        cut.push('…');
    }
    cut
}

/// Whether a terminal shows this character as itself: no control, no change of direction.
fn is_printable(character: char) -> bool {
    let invisible = matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}');
    !character.is_control() && !invisible
}

#[cfg(test)]
mod tests;
