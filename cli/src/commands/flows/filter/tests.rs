use clap::Parser as _;

use super::{Filter, FilterArgs};

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
