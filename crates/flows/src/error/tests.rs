use proptest::prelude::*;
use rstest::rstest;

use super::{EXCERPT, excerpt};

#[rstest]
#[case::plain("web-x ünï", "web-x ünï")]
#[case::escape("\u{1b}[31mred", "\\u{1b}[31mred")]
#[case::line_end("a\nb\0", "a\\nb\\u{0}")]
#[case::direction("a\u{202e}b", "a\\u{202e}b")]
fn control_characters_are_escaped(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(excerpt(text), expected);
}

proptest! {
    #[test]
    fn an_excerpt_is_short_and_printable(text in any::<String>()) {
        let excerpt = excerpt(&text);
        prop_assert!(excerpt.chars().count() <= EXCERPT + 1);
        prop_assert!(!excerpt.chars().any(char::is_control));
    }
}
