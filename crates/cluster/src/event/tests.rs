use rstest::rstest;

use super::cut;

#[rstest]
#[case::short("as it is", 8)]
#[case::longest(&"x".repeat(1024), 1024)]
#[case::too_long(&"x".repeat(1025), 1024)]
#[case::no_half_character(&"é".repeat(600), 1024)]
#[case::not_even_at_the_end(&format!("x{}", "é".repeat(600)), 1023)]
fn a_note_holds_what_the_api_lets_it(#[case] note: &str, #[case] expected: usize) {
    assert_eq!(cut(note).len(), expected);
}
