use super::{escaped, escaped_json};

#[test]
fn control_bytes_are_written_out_and_text_is_left_alone() {
    assert_eq!(escaped("a\u{1b}[31mb\u{7}\r"), "a\\u{1b}[31mb\\u{7}\\u{d}");
    assert_eq!(escaped("pay\u{202e}gpj"), "pay\\u{202e}gpj");
    assert_eq!(escaped("line\nüber"), "line\nüber");
}

#[test]
fn escaped_json_means_the_same() {
    let text = "{\"a\": \"x\u{9b}y\u{202e}z\u{e0041}\"}\n";
    let safe = escaped_json(text);
    assert_eq!(safe, "{\"a\": \"x\\u009by\\u202ez\\udb40\\udc41\"}\n");
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(value(&safe), value(text));
}
