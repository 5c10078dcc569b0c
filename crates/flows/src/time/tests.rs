use proptest::prelude::*;
use rstest::rstest;

use super::{rfc3339, utc};

#[rstest]
#[case::nanoseconds("2026-11-30T01:54:03.690729757Z", 1_796_003_643_690_729_757)]
#[case::microseconds("2026-11-30T01:51:53.838508Z", 1_796_003_513_838_508_000)]
#[case::seconds("1970-01-01T00:00:01Z", 1_000_000_000)]
#[case::before_the_epoch("1969-12-31T23:59:59.5Z", -500_000_000)]
#[case::leap_day("2024-02-29T00:00:00Z", 1_709_164_800_000_000_000)]
#[case::century("2000-03-01T00:00:00Z", 951_868_800_000_000_000)]
#[case::offset("2026-11-30T03:54:03+02:00", 1_796_003_643_000_000_000)]
#[case::lower_case("2026-11-30t01:54:03z", 1_796_003_643_000_000_000)]
#[case::leap_second("2016-12-31T23:59:60Z", 1_483_228_799_000_000_000)]
fn times_are_read(#[case] text: &str, #[case] expected: i64) {
    assert_eq!(rfc3339(text).map(|time| time.0), Some(expected));
}

#[rstest]
#[case::empty("")]
#[case::date_only("2026-11-30")]
#[case::no_such_day("2026-02-29T00:00:00Z")]
#[case::no_such_month("2026-13-01T00:00:00Z")]
#[case::no_such_hour("2026-01-01T25:00:00Z")]
#[case::no_zone("2026-01-01T00:00:00")]
#[case::too_early("0001-01-01T00:00:00Z")]
#[case::too_late("9999-01-01T00:00:00Z")]
#[case::cut_inside_a_character("2026-01-01T00:00:0é")]
fn what_is_no_time_is_none(#[case] text: &str) {
    assert_eq!(rfc3339(text), None);
}

proptest! {
    #[test]
    fn the_quick_way_agrees_with_jiff(nanoseconds in any::<i64>()) {
        let time = jiff::Timestamp::from_nanosecond(nanoseconds.into()).unwrap();
        prop_assert_eq!(utc(time.to_string().as_bytes()).map(|time| time.0), Some(nanoseconds));
    }

    #[test]
    fn any_text_is_time_or_none(text in "[0-9TZtz:.+-]{0,40}") {
        let _ = rfc3339(&text);
    }
}
