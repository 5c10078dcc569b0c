use rstest::rstest;

use super::{Joiner, Unwrapped};

/// What a joiner makes of lines, with `-` for "goes on" and `!` for "too long".
fn texts(limit: usize, lines: &[&str]) -> Vec<String> {
    let mut joiner = Joiner::new(limit);
    let mut texts = Vec::new();
    for line in lines {
        texts.push(match joiner.unwrap(line.as_bytes()) {
            Unwrapped::From(offset) => line[offset..].to_owned(),
            Unwrapped::Joined => String::from_utf8(joiner.joined().to_vec()).unwrap(),
            Unwrapped::Partial => "-".to_owned(),
            Unwrapped::TooLong => "!".to_owned(),
        });
    }
    if joiner.finish() {
        texts.push("open".to_owned());
    }
    texts
}

#[rstest]
#[case::bare(&["{\"a\":1}"], &["{\"a\":1}"])]
#[case::whole(&["2026-11-30T01:51:53.838508000Z stdout F {} x"], &["{} x"])]
#[case::offset(&["2026-11-30T02:51:53.838508000+01:00 stderr F {}"], &["{}"])]
#[case::further_tags(&["2026-11-30T01:51:53.838508000Z stdout F:x {}"], &["{}"])]
#[case::empty_text(&["2026-11-30T01:51:53.838508000Z stdout F "], &[""])]
#[case::no_text(&["2026-11-30T01:51:53.838508000Z stdout F"], &[""])]
#[case::joined(
    &["2026-11-30T01:51:53.1Z stdout P ab", "2026-11-30T01:51:53.1Z stdout P cd", "2026-11-30T01:51:53.1Z stdout F ef", "2026-11-30T01:51:53.1Z stdout F gh"],
    &["-", "-", "abcdef", "gh"]
)]
#[case::interleaved(
    &["2026-11-30T01:51:53.1Z stdout P ab", "2026-11-30T01:51:53.1Z stderr P 12", "2026-11-30T01:51:53.1Z stdout F cd", "2026-11-30T01:51:53.1Z stderr F 34"],
    &["-", "-", "abcd", "1234"]
)]
#[case::never_ends(&["2026-11-30T01:51:53.1Z stdout P ab"], &["-", "open"])]
#[case::another_stream(&["2026-11-30T01:51:53.1Z stdin F ab"], &["2026-11-30T01:51:53.1Z stdin F ab"])]
#[case::another_tag(&["2026-11-30T01:51:53.1Z stdout X ab"], &["2026-11-30T01:51:53.1Z stdout X ab"])]
#[case::text(&["2 stdout F ab"], &["2 stdout F ab"])]
fn lines_of_the_runtime(#[case] lines: &[&str], #[case] expected: &[&str]) {
    assert_eq!(texts(100, lines), expected);
}

#[test]
fn a_line_that_grows_too_long_is_lost_once() {
    let lines = [
        "2026-11-30T01:51:53.1Z stdout P abc",
        "2026-11-30T01:51:53.1Z stdout P def",
        "2026-11-30T01:51:53.1Z stdout P ghi",
        "2026-11-30T01:51:53.1Z stdout F jkl",
        "2026-11-30T01:51:53.1Z stdout F m",
    ];
    assert_eq!(texts(5, &lines), ["-", "!", "-", "-", "m"]);
}
