use rstest::rstest;

use super::*;
use crate::object;

const OURS: &str = "{apiVersion: networkenforcer.kubewarden.io/v1alpha1, kind: WorkloadNetworkPolicy, name: web, uid: u, controller: true}";

fn native(owner: &str) -> object::Object {
    let text = format!(
        "{{kind: NetworkPolicy, metadata: {{name: web, namespace: shop, ownerReferences: [{owner}]}}, spec: {{podSelector: {{}}}}}}"
    );
    object::read("test", &text).0.remove(0)
}

fn names<'a>(policies: impl Iterator<Item = &'a NetworkPolicy>) -> Vec<&'a str> {
    policies.map(|policy| &*policy.name).collect()
}

#[rstest]
#[case::what_ours_became(OURS, ("shop", "web"), &[], &[])]
#[case::of_one_of_ours_that_is_not_asked(OURS, ("shop", "api"), &["web"], &[])]
#[case::of_the_name_in_another_namespace(OURS, ("other", "web"), &["web"], &[])]
#[case::without_an_owner("", ("shop", "web"), &["web"], &["NetworkPolicy shop/web"])]
#[case::whose_owner_does_not_control_it(&OURS.replace("true", "false"), ("shop", "web"), &["web"], &["NetworkPolicy shop/web"])]
#[case::of_another_of_ours(&OURS.replace("name: web", "name: api"), ("shop", "web"), &["web"], &["NetworkPolicy shop/web"])]
#[case::of_a_kind_of_that_name_elsewhere(&OURS.replace("kubewarden.io", "other.io"), ("shop", "web"), &["web"], &["NetworkPolicy shop/web"])]
#[case::of_a_proposal(&OURS.replace("kind: WorkloadNetworkPolicy", "kind: WorkloadNetworkPolicyProposal"), ("shop", "web"), &["web"], &["NetworkPolicy shop/web"])]
#[case::foreign_without_one_of_ours("", ("shop", "api"), &["web"], &[])]
fn ours_stands_for_the_native_policy_that_it_controls(
    #[case] owner: &str,
    #[case] ours: (&str, &str),
    #[case] beside: &[&str],
    #[case] conflicts: &[&str],
) {
    let index = Index::of([native(owner)]);
    let told: Vec<String> = index.conflicts([ours]).map(|it| it.place).collect();
    assert_eq!(names(index.natives_beside([ours])), beside);
    assert_eq!(told, conflicts);
}

#[rstest]
#[case::that_ours_gave_up([OURS, ""], &["web"])]
#[case::that_ours_took_over(["", OURS], &[])]
fn a_newer_version_tells_who_controls_a_native_policy(
    #[case] owners: [&str; 2],
    #[case] expected: &[&str],
) {
    let index = Index::of(owners.map(native));
    assert_eq!(names(index.natives_beside([("shop", "web")])), expected);
}
