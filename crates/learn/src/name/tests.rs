use proptest::prelude::*;
use rstest::rstest;

use super::*;

#[rstest]
#[case::short("shop", "Deployment", "web", Direction::Egress, "deployment-web-egress")]
#[case::dots("shop", "Deployment", "web.v2", Direction::Ingress, "deployment-web.v2-ingress")]
fn a_name_that_fits_stays_plain(
    #[case] namespace: &str,
    #[case] kind: &str,
    #[case] name: &str,
    #[case] direction: Direction,
    #[case] expected: &str,
) {
    assert_eq!(policy_name(&Workload::new(namespace, kind, name), direction), expected);
}

#[test]
fn a_long_name_is_cut_and_hashed_by_the_whole_identity() {
    let long = "a".repeat(46);
    let name = policy_name(&Workload::new("shop", "Deployment", &*long), Direction::Egress);
    let hash = short_hash(&format!("shop/Deployment/{long}"));
    assert_eq!(name.len(), 63);
    assert_eq!(name, format!("deployment-{}-{hash}-egress", "a".repeat(63 - 11 - 8 - 7 - 1)));
}

#[rstest]
#[case::namespace("huggingface.co.ai.svc.cluster.local.", "huggingface.co")]
#[case::svc("huggingface.co.svc.cluster.local", "huggingface.co.svc.cluster.local")]
#[case::domain("api.example.com.cluster.local.", "api.example.com")]
#[case::service("api.shop.svc.cluster.local.", "api.shop.svc.cluster.local")]
#[case::outside("API.Example.com.", "api.example.com")]
fn search_domains_are_taken_off(#[case] name: &str, #[case] expected: &str) {
    assert_eq!(without_search_domain(name, "cluster.local"), expected);
}

proptest! {
    #[test]
    fn names_are_valid_short_and_distinct(
        name in "[a-z0-9]([a-z0-9.-]{0,80}[a-z0-9])?",
        other in "[a-z0-9]([a-z0-9.-]{0,80}[a-z0-9])?",
    ) {
        let all: Vec<String> = [Direction::Ingress, Direction::Egress]
            .into_iter()
            .flat_map(|direction| {
                ["Deployment", "StatefulSet"].map(|kind| policy_name(&Workload::new("n", kind, &*name), direction))
            })
            .collect();
        for one in &all {
            prop_assert!(one.len() <= 63);
            prop_assert!(one.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c)));
            prop_assert!(one.starts_with(|c: char| c.is_ascii_alphanumeric()));
            prop_assert!(one.ends_with("gress"));
        }
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        prop_assert_eq!(distinct.len(), all.len());
        if name != other {
            let of = |name: &str| policy_name(&Workload::new("n", "Deployment", name), Direction::Egress);
            prop_assert_ne!(of(&name), of(&other));
        }
    }
}

#[rstest]
#[case("web", true, true)]
#[case("web.v2", true, false)]
#[case("9-a", true, true)]
#[case("", false, false)]
#[case("Web", false, false)]
#[case("-web", false, false)]
#[case("web.", false, false)]
#[case("we b", false, false)]
#[case("web\u{1b}[31m", false, false)]
#[case(&"a".repeat(63), true, true)]
#[case(&"a".repeat(64), true, false)]
#[case(&"a".repeat(254), false, false)]
fn names_are_those_that_kubernetes_allows(
    #[case] text: &str,
    #[case] object: bool,
    #[case] namespace: bool,
) {
    assert_eq!((is_object_name(text), is_namespace_name(text)), (object, namespace));
}

#[rstest]
#[case("app", "web", true)]
#[case("app", "", true)]
#[case("app.kubernetes.io/name", "Web_1.2-x", true)]
#[case("App_x", "w", true)]
#[case("", "web", false)]
#[case("/name", "web", false)]
#[case("Upper.io/name", "web", false)]
#[case("a/b/c", "web", false)]
#[case("app", "-web", false)]
#[case("app", "we b", false)]
#[case("app", "web\u{202e}", false)]
#[case("app", &"a".repeat(64), false)]
#[case(&"a".repeat(64), "web", false)]
fn labels_are_those_that_kubernetes_allows(
    #[case] key: &str,
    #[case] value: &str,
    #[case] allowed: bool,
) {
    assert_eq!(is_label(key, value), allowed);
}
