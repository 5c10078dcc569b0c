//! The documents of a YAML text, by their places in it.

use std::ops::Range;

/// One document: where it is, and where in it the content begins and ends.
///
/// ```text
/// # before the marker belongs to the document that follows      <- whole
/// ---
/// kind: …                                                        <- body
/// ...
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    /// All of it, from the end of the document before.
    pub(super) whole: Range<usize>,
    /// What stands between the markers.
    pub(super) body: Range<usize>,
}

/// Splits `text` at its document markers, which stand at the start of a line whatever is around them.
pub(super) fn split(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut whole = 0;
    let mut body = 0;
    // Before the first marker there may be directives and comments, or a whole document.
    let mut is_prefix = true;
    let mut end_of_body = None;
    for (start, line) in lines(text) {
        if is_marker(line, "...") {
            end_of_body.get_or_insert(start);
        } else if is_marker(line, "---") {
            let content = end_of_body.unwrap_or(start);
            let only_prefix = is_prefix && is_blank(&text[body..content]);
            if !only_prefix {
                spans.push(Span { whole: whole..start, body: body..content });
                whole = start;
            }
            is_prefix = false;
            end_of_body = None;
            body = after_marker(start, line);
        }
    }
    spans.push(Span { whole: whole..text.len(), body: body..end_of_body.unwrap_or(text.len()) });
    spans
}

/// Number of lines before `position`.
pub(super) fn lines_before(text: &str, position: usize) -> usize {
    memchr::memchr_iter(b'\n', &text.as_bytes()[..position]).count()
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let own = start;
        start += line.len();
        (own, line)
    })
}

fn is_marker(line: &str, marker: &str) -> bool {
    // A byte-order mark may stand before the first one.
    line.trim_start_matches('\u{feff}')
        .strip_prefix(marker)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// Where the content begins: after the marker's line, or on it where content stands there.
fn after_marker(start: usize, line: &str) -> usize {
    let marker = start + line.find("---").unwrap_or_default() + 3;
    let rest = line[marker - start..].trim();
    if rest.is_empty() || rest.starts_with('#') { start + line.len() } else { marker }
}

/// Whether the text holds no content: blank lines, comments and directives.
fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').lines().all(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with(['#', '%'])
    })
}

#[cfg(test)]
mod tests;
