//! Prose for terminals: broken between words; what is piped is never broken.

use std::io::IsTerminal as _;

/// The width of the terminal that standard output goes to.
pub(crate) fn width() -> Option<usize> {
    let out = std::io::stdout();
    let (terminal_size::Width(width), _) =
        out.is_terminal().then(|| terminal_size::terminal_size_of(&out))??;
    (width >= 40).then_some(usize::from(width))
}

/// `text` in lines of at most `width` characters; all but the first are indented. A longer word stands alone.
pub(crate) fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last().map_or(0, |line| line.chars().count());
        let is_first = last == 0 || lines.last().is_some_and(|line| line.trim().is_empty());
        if !is_first && last + 1 + word.chars().count() > width {
            lines.push(" ".repeat(indent) + word);
        } else if let Some(line) = lines.last_mut() {
            if last > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 20, 2), "one two three");
        assert_eq!(wrapped("one two three", 9, 2), "one two\n  three");
        assert_eq!(wrapped("a-very-long-word b", 5, 2), "a-very-long-word\n  b");
        assert_eq!(wrapped("", 5, 2), "");
    }
}
