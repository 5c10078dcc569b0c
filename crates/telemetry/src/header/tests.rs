use rstest::rstest;

use super::parse;

#[rstest]
#[case::none("", &[])]
#[case::one("api-key=s3cret", &[("api-key", "s3cret")])]
#[case::spaces(" A = b , c=d,", &[("a", "b"), ("c", "d")])]
#[case::encoded("authorization=Bearer%20s3cret%3D%2C", &[("authorization", "Bearer s3cret=,")])]
#[case::equals("authorization=Basic czNjcmV0==", &[("authorization", "Basic czNjcmV0==")])]
fn headers_are_read(#[case] text: &str, #[case] expected: &[(&str, &str)]) {
    let headers = parse(text).unwrap();
    let read: Vec<_> =
        headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
    assert_eq!(read, expected);
    assert!(!format!("{headers:?}").contains("s3cret"));
}

#[rstest]
#[case::no_name("a=b,s3cret", "header 2 of the collector is not NAME=VALUE")]
#[case::bad_name("s3 cret=b", "header 1 of the collector is not NAME=VALUE")]
#[case::line_break("a=s3cret%0a", "header 1 of the collector is not NAME=VALUE")]
fn a_wrong_header_is_told_by_its_place(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(format!("{:#}", parse(text).unwrap_err()), expected);
}
