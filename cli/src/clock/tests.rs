use super::{point, seconds, span};
use crate::error::Exit;

#[test]
fn lengths_of_time_are_numbers_with_units() {
    for (text, expected) in [
        ("0s", 0),
        ("90s", 90),
        ("10m", 600),
        ("24h", 86_400),
        ("7d", 604_800),
        ("1h30m", 5_400),
        ("1d2h3m4s", 93_784),
    ] {
        assert_eq!(seconds(text), Ok(expected), "{text}");
    }
}

#[test]
fn what_is_no_length_of_time_is_refused_with_an_example() {
    let wrong = ["", "90", "m", "-5m", "1.5h", "5 m", "5w", "1h30", "9223372036854775807d", "5µs"];
    for text in wrong {
        let error = seconds(text).unwrap_err();
        assert!(error.contains("write for example 90s"), "{text}: {error}");
    }
}

#[test]
fn spans_show_the_largest_unit_that_says_enough() {
    for (seconds, expected) in [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (7_199, "119m"),
        (7_200, "2h"),
        (172_799, "47h"),
        (172_800, "2d"),
    ] {
        assert_eq!(span(seconds), expected);
    }
}

#[test]
fn points_in_time_are_times_or_ages() {
    let now = "2026-09-02T12:00:00Z".parse().unwrap();
    let at = |text: &str| point(text, now).map(|time| time.0 / 1_000_000_000);
    let noon = 1_788_350_400;
    assert_eq!(at("2026-09-02T12:00:00Z").unwrap(), noon);
    assert_eq!(at("2026-09-02T14:00:00+02:00").unwrap(), noon);
    assert_eq!(at("5m").unwrap(), noon - 300);
    assert_eq!(at("1d2h").unwrap(), noon - 93_600);
    for wrong in ["", "yesterday", "-5m", "5", "2026-09-02", "9223372036854775807s"] {
        assert_eq!(at(wrong).unwrap_err().code(), Exit::Usage, "{wrong}");
    }
}
