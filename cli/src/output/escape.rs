//! Control bytes from data never reach the terminal.

use std::fmt::Write as _;

/// `text` with control characters and invisible ones written out; line breaks stay.
pub(crate) fn escaped(text: &str) -> String {
    replaced(text, |c, out| out.extend(c.escape_unicode()))
}

/// A JSON or YAML text with such characters written as both write them in quotes: it means the same.
pub(crate) fn escaped_json(text: &str) -> String {
    replaced(text, |c, out| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

fn replaced(text: &str, replace: impl Fn(char, &mut String)) -> String {
    if !text.contains(is_hostile) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hostile(c) {
            replace(c, &mut out);
        } else {
            out.push(c);
        }
    }
    out
}

/// What a terminal does not show as itself: control, change of direction, no width.
fn is_hostile(c: char) -> bool {
    let invisible = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}');
    (c.is_control() && c != '\n') || invisible
}

#[cfg(test)]
mod tests;
