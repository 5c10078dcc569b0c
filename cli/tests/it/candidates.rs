//! Candidates that our completion program prints, and that genuine kubectl passes on: the tests of both include this.

/// `at` gives what is printed for words in a folder with the demo learned into `policies`.
pub(crate) fn are_given(at: impl Fn(&[&str]) -> String) {
    insta::assert_snapshot!(at(&["pro"]), @"
    promote	Turn proposals into policies, and monitored policies into protecting ones
    :4
    ");
    insta::assert_snapshot!(at(&["promote", "--dir", "policies", ""]), @"
    deployment/api
    deployment/web
    statefulset/db
    statefulset/prometheus
    :4
    ");
    insta::assert_snapshot!(at(&["get", "--dir", "policies", "-n", ""]), @"
    monitoring
    shop
    :4
    ");
    insta::assert_snapshot!(at(&["diff", "--output=m"]), @"
    --output=markdown
    :4
    ");
    insta::assert_snapshot!(at(&["promote", "--accept"]), @"
    --accept	Preflight items to accept whatever they say: window, quiet, traffic, enforcer, dns
    --accept-uncovered	Uncovered items whose loss is accepted, by id, or all
    :4
    ");
    insta::assert_snapshot!(at(&["learn", "--input-file", ""]), @":0");
    insta::assert_snapshot!(at(&["get", "--dir", "nothere", ""]), @":4");
}
