//! Our definitions in a genuine API server. Which objects they refuse is a table of the crate `api`;
//! here stands that the server comes to the same.

use rstest::rstest;

use crate::{admin, apply, create_namespace, refusal};

const KINDS: [(&str, &str); 2] = [
    ("WorkloadNetworkPolicy", "workloadnetworkpolicies"),
    ("WorkloadNetworkPolicyProposal", "workloadnetworkpolicyproposals"),
];

fn object(kind: &str, name: &str, namespace: &str, spec: &str) -> String {
    format!(
        "apiVersion: networkenforcer.kubewarden.io/v1alpha1
kind: {kind}
metadata: {{name: {name}, namespace: {namespace}}}
spec: {spec}
"
    )
}

#[rstest]
#[case::no_body("{backend: kubernetes}", "backend must match exactly one populated backend spec")]
#[case::empty_selector(
    "{backend: kubernetes, kubernetes: {podSelector: {}}}",
    "kubernetes.podSelector must have matchLabels or matchExpressions"
)]
#[case::empty_istio_selector(
    "{backend: istio, istio: {selector: {}}}",
    "istio.selector must have matchLabels or matchExpressions"
)]
#[case::other_type(
    "{backend: kubernetes, direction: Egress, kubernetes: {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress]}}",
    "kubernetes.policyTypes must be exactly the direction"
)]
#[case::istio_egress(
    "{backend: istio, direction: Egress, istio: {selector: {matchLabels: {app: web}}}}",
    "the istio backend has no Egress: ztunnel enforces inbound traffic"
)]
fn a_wrong_spec_is_refused(#[case] spec: &str, #[case] expected: &str) {
    for (kind, _) in KINDS {
        let object = object(kind, "wrong", "default", spec);
        let answer = admin().kubectl_reading(&object, &["create", "-f", "-", "--dry-run=server"]);
        let refused = refusal(answer);
        assert!(refused.ends_with(expected), "{refused}");
    }
}

#[test]
fn the_backend_stays_as_it_was_created() {
    create_namespace("immutable");
    let kubernetes = "{backend: kubernetes, kubernetes: {podSelector: {matchLabels: {app: web}}}}";
    let istio = "{backend: istio, istio: {selector: {matchLabels: {app: web}}}}";
    for (kind, _) in KINDS {
        apply(&object(kind, "web", "immutable", kubernetes));
        let replace = ["replace", "-f", "-"];
        let answer = admin().kubectl_reading(&object(kind, "web", "immutable", istio), &replace);
        let refused = refusal(answer);
        assert!(refused.contains("backend is immutable"), "{refused}");
    }
}

/// What `kubectl get` prints: words with one space between them, and `0s` for every age.
fn printed(resource: &str) -> Vec<String> {
    let word = |word: &str| {
        let is_age = word.starts_with(|first: char| first.is_ascii_digit())
            && word.ends_with(['s', 'm', 'h', 'd', 'y']);
        if is_age { "0s".to_owned() } else { word.to_owned() }
    };
    let printed = admin().kubectl(&["get", resource, "-n=shop"]).unwrap();
    let lines = printed.lines().map(|line| line.split_whitespace().map(word).collect::<Vec<_>>());
    lines.map(|words| words.join(" ")).collect()
}

#[rstest]
#[case::policies(
    "wnp",
    include_str!("../../crates/api/tests/testdata/policy.yaml"),
    &[
        "NAME MODE ACTIVE VIOLATIONS WORKLOAD DIRECTION ENFORCED AGE",
        "deployment-web-egress monitor 1 web Egress False 0s",
    ],
)]
#[case::proposals(
    "wnpp",
    include_str!("../../crates/api/tests/testdata/proposal.yaml"),
    &[
        "NAME KIND WORKLOAD DIRECTION BACKEND RULES UNCOVERED LAST-NEW-RULE AGE",
        "deployment-web-egress Deployment web Egress kubernetes 2 1 0s 0s",
    ],
)]
fn kubectl_prints_the_columns(
    #[case] resource: &str,
    #[case] manifest: &str,
    #[case] expected: &[&str],
) {
    apply("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}");
    apply(manifest);
    let status = ["apply", "--server-side", "--subresource=status", "-f", "-"];
    admin().kubectl_reading(manifest, &status).unwrap();
    assert_eq!(printed(resource), expected);
}
