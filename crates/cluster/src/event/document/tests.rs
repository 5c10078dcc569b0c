use k8s_openapi::api::core::v1::ObjectReference;
use rstest::rstest;

use super::{Event, EventType, Telling, readable};

fn telling(object: &str, note: &str, instance: &str) -> Telling {
    let event = Event {
        type_: EventType::Warning,
        reason: "Refused".to_owned(),
        action: "Reconcile".to_owned(),
        note: note.to_owned(),
    };
    let object = ObjectReference { name: Some(object.to_owned()), ..ObjectReference::default() };
    Telling::new(event, object, instance)
}

#[rstest]
#[case::short("as it is", "as it is")]
#[case::longest(&"x".repeat(1024), &"x".repeat(1024))]
#[case::too_long(&"x".repeat(1025), &("x".repeat(1021) + "…"))]
#[case::no_half_character(&"é".repeat(600), &("é".repeat(510) + "…"))]
#[case::no_escape_of_a_terminal("a\u{1b}[2Jb", "a\\u{1b}[2Jb")]
#[case::one_line("a\nb\tc", "a\\nb\\tc")]
#[case::no_turned_letters("a\u{202e}b", "a\\u{202e}b")]
#[case::not_even_at_the_end(&("x".repeat(1023) + "\0"), &("x".repeat(1021) + "…"))]
fn a_note_holds_what_the_api_lets_it_and_shows_all_of_it(#[case] note: &str, #[case] shown: &str) {
    assert_eq!(readable(note), shown);
}

#[rstest]
#[case::short("web", "web.")]
#[case::longest(&"x".repeat(253), &("x".repeat(236) + "."))]
#[case::cut_at_a_dot(&("x".repeat(235) + "." + &"y".repeat(17)), &("x".repeat(235) + "."))]
#[case::of_another_alphabet("system:node", "system-node.")]
#[case::nameless("", "unnamed.")]
fn the_name_of_an_event_fits_and_begins_with_the_objects(
    #[case] object: &str,
    #[case] start: &str,
) {
    let name = telling(object, "", "one").name().to_owned();
    let digits = name.strip_prefix(start).unwrap();
    assert!(digits.len() == 16 && digits.chars().all(|c| c.is_ascii_hexdigit()), "{name}");
}

/// As after a restart: what is told in one Event has one name, whatever differs has another.
#[rstest]
#[case::all_alike(telling("web", "a", "one"), true)]
#[case::another_note(telling("web", "b", "one"), false)]
#[case::another_object(telling("db", "a", "one"), false)]
#[case::another_replica(telling("web", "a", "two"), false)]
fn names_are_alike_where_events_are(#[case] other: Telling, #[case] alike: bool) {
    assert_eq!(telling("web", "a", "one").name() == other.name(), alike);
}
