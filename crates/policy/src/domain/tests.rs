use rstest::rstest;

use super::*;

#[rstest]
#[case::deep("*.example.com", "a.b.example.com", true)]
#[case::one_label("*.example.com", "www.example.com", true)]
#[case::apex("*.example.com", "example.com", false)]
#[case::other_end("*.example.com", "badexample.com", false)]
#[case::exact("example.com", "example.com", true)]
#[case::exact_is_not_below("example.com", "www.example.com", false)]
#[case::upper_case("EXAMPLE.com", "eXample.COM", true)]
#[case::final_dots("*.example.com.", "www.example.com.", true)]
fn a_pattern_means_names(#[case] pattern: &str, #[case] name: &str, #[case] expected: bool) {
    let (pattern, name) = (Pattern::parse(pattern).unwrap(), Name::parse(name).unwrap());
    assert_eq!(pattern.matches(&name), expected);
}

#[rstest]
#[case::star("*")]
#[case::star_com("*.com")]
#[case::one_label("com")]
#[case::empty("")]
#[case::empty_label("a..com")]
#[case::bracket("a[b.example.com")]
#[case::star_inside("a.*.example.com")]
#[case::dot(".")]
fn what_the_api_refuses_is_no_pattern(#[case] text: &str) {
    assert_eq!(Pattern::parse(text), None);
}
