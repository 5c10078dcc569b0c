use std::collections::BTreeSet;

use rstest::rstest;

use super::*;

/// Patterns, each in a rule at its place in the list.
fn rules(patterns: &str) -> BTreeMap<Pattern, Row> {
    let rules = patterns.split_whitespace().zip(0..);
    rules.map(|(text, position)| (Pattern::parse(text).unwrap(), Row::of(&[position]))).collect()
}

#[rstest]
#[case::named("a.b.io", &[0, 1])]
#[case::below_two_wildcards("x.a.b.io", &[0, 2])]
#[case::further_below("y.x.a.b.io", &[0, 2])]
#[case::below_one_wildcard("x.b.io", &[0])]
#[case::below_a_named_one("x.c.b.io", &[0])]
#[case::apex_that_is_named("b.io", &[4])]
#[case::above_all("io", &[])]
#[case::elsewhere("b.com", &[])]
fn a_name_has_the_rules_of_every_pattern_that_means_it(
    #[case] name: &str,
    #[case] expected: &[u32],
) {
    let mut names = Names::default();
    names.rebuild(&rules("*.b.io a.b.io *.a.b.io c.b.io b.io"));
    let rows = names.class(&Name::parse(name).unwrap()).and_then(|class| names.rows.value(class));
    let expected = (!expected.is_empty()).then(|| Row::of(expected));
    assert_eq!(rows.map(|row| &**row), expected.as_ref());
}

#[rstest]
#[case::other_rules("a.io *.b.io", "*.b.io a.io", &[])]
#[case::new("a.io", "a.io *.b.io", &["*.b.io"])]
#[case::gone("a.io *.b.io", "*.b.io", &["a.io"])]
#[case::replaced("a.io *.b.io", "c.io *.b.io d.io", &["c.io", "d.io", "a.io"])]
#[case::all_gone("a.io", "", &["a.io"])]
fn only_patterns_that_came_or_went_change_the_classes_of_names(
    #[case] before: &str,
    #[case] after: &str,
    #[case] expected: &[&str],
) {
    let mut names = Names::default();
    names.rebuild(&rules(before));
    let classes = names.numbers.clone();
    let changed: Vec<String> =
        names.rebuild(&rules(after)).iter().map(Pattern::to_string).collect();
    assert_eq!(changed, expected);
    let mut kept = names.numbers.iter().filter(|(pattern, _)| classes.contains_key(*pattern));
    assert!(kept.all(|(pattern, class)| classes[pattern] == *class));
    let distinct: BTreeSet<u32> = names.numbers.values().copied().collect();
    assert_eq!(distinct.len(), names.numbers.len());
}
