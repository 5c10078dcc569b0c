//! Control bytes from data never reach the terminal.

/// `text` with control characters and Unicode's invisible direction marks written out; line breaks stay.
pub(crate) fn escaped(text: &str) -> String {
    let hostile = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
    };
    if !text.contains(hostile) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| if hostile(c) { c.escape_unicode().to_string() } else { c.to_string() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn control_bytes_are_written_out_and_text_is_left_alone() {
        assert_eq!(escaped("a\u{1b}[31mb\u{7}\r"), "a\\u{1b}[31mb\\u{7}\\u{d}");
        assert_eq!(escaped("pay\u{202e}gpj"), "pay\\u{202e}gpj");
        assert_eq!(escaped("line\nüber"), "line\nüber");
    }
}
