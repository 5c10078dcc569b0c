use crate::{Backend, Direction, Mode, Protocol, Provenance, TargetKind, UncoveredReason};

/// Claims that text, JSON and `FromStr` of every value agree.
macro_rules! agree {
    ($($name:ident)+) => {
        $(for value in $name::ALL {
            let word = value.to_string();
            assert_eq!(word.parse(), Ok(*value));
            assert_eq!(serde_json::to_value(value).unwrap(), word);
        })+
    };
}

#[test]
fn a_value_has_one_spelling() {
    agree!(Backend Direction Mode Protocol Provenance TargetKind UncoveredReason);
}

#[test]
fn a_wrong_word_is_answered_with_the_right_ones() {
    let error = "Protect".parse::<Mode>().unwrap_err();
    assert_eq!(error.to_string(), r#""Protect" is no mode, expected one of monitor, protect"#);
}

#[test]
fn a_value_fills_a_column() {
    assert_eq!(format!("{:<8}|", Mode::Protect), "protect |");
}
