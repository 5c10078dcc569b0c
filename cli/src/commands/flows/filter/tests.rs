use clap::Parser as _;

use super::{Filter, FilterArgs, point};
use crate::error::Exit;

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    filter: FilterArgs,
}

fn understood(words: &str, namespace: Option<&str>) -> String {
    let line = Line::try_parse_from(words.split(' ')).unwrap();
    Filter::new(&line.filter, namespace).unwrap().to_string()
}

#[test]
fn values_of_one_flag_are_alternatives_and_flags_must_all_hold() {
    assert_eq!(
        understood("flows --port 80 --port 443 --protocol tcp --to world", Some("shop")),
        "either end is namespace/shop\nreceiver is world\nport is 80 or 443\nprotocol is TCP\n"
    );
}

#[test]
fn a_negated_filter_says_so() {
    assert_eq!(
        understood("flows deploy/web --not-peer host --not-verdict would-deny", None),
        "either end is deployment/web\nnot either end is host\nnot verdict is would-deny\n"
    );
}

#[test]
fn no_filter_is_every_flow() {
    assert_eq!(understood("flows", None), "every flow\n");
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
