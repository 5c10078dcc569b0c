use rstest::rstest;

use super::*;

/// Checks the documents of `text`: each as what stands between its markers.
#[rstest]
#[case::one("a: 1\n", &["a: 1\n"])]
#[case::one_with_a_marker("---\na: 1\n", &["a: 1\n"])]
#[case::two("a: 1\n---\nb: 2\n", &["a: 1\n", "b: 2\n"])]
#[case::a_comment_before_the_marker("# x\n---\na: 1\n", &["a: 1\n"])]
#[case::a_directive("%YAML 1.2\n---\na: 1\n", &["a: 1\n"])]
#[case::content_on_the_marker("--- {a: 1}\n--- # x\nb: 2\n", &[" {a: 1}\n", "b: 2\n"])]
#[case::an_end("a: 1\n...\n# x\n---\nb: 2\n...\n", &["a: 1\n", "b: 2\n"])]
#[case::a_marker_in_a_block("a: |\n  x\n  ---\n  y\n", &["a: |\n  x\n  ---\n  y\n"])]
#[case::no_marker("---a: 1\n", &["---a: 1\n"])]
#[case::carriage_returns("a: 1\r\n---\r\nb: 2\r\n", &["a: 1\r\n", "b: 2\r\n"])]
#[case::an_empty_document("a: 1\n---\n---\nb: 2\n", &["a: 1\n", "", "b: 2\n"])]
#[case::nothing("", &[""])]
#[case::a_byte_order_mark("\u{feff}---\na: 1\n", &["a: 1\n"])]
fn a_text_is_its_documents(#[case] text: &str, #[case] expected: &[&str]) {
    let spans = split(text);
    let bodies: Vec<&str> = spans.iter().map(|span| &text[span.body.clone()]).collect();
    assert_eq!(bodies, expected);
    let whole: String = spans.iter().map(|span| &text[span.whole.clone()]).collect();
    assert_eq!(whole, text, "nothing is between them");
}
