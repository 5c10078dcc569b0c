use netenf_api::{
    AuthorizationPolicy, Backend, Mode, PeerRef, Protocol, UncoveredReason, ViolationReason,
    WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal,
};
use rstest::rstest;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

fn parse<Kind: DeserializeOwned>(yaml: &str) -> Kind {
    serde_saphyr::from_str(yaml).unwrap()
}

/// The object as it is written after it was read.
fn written<Kind: DeserializeOwned + Serialize>(yaml: &str) -> Value {
    serde_json::to_value(parse::<Kind>(yaml)).unwrap()
}

#[rstest]
#[case::seed_kubernetes(include_str!("../testdata/seed-kubernetes-proposal.yaml"))]
#[case::seed_istio(include_str!("../testdata/seed-istio-proposal.yaml"))]
#[case::all_fields(include_str!("../testdata/proposal.yaml"))]
fn a_proposal_is_written_as_it_was_read(#[case] yaml: &str) {
    assert_eq!(written::<WorkloadNetworkPolicyProposal>(yaml), parse::<Value>(yaml));
}

#[rstest]
#[case::seed(include_str!("../testdata/seed-policy.yaml"))]
#[case::all_fields(include_str!("../testdata/policy.yaml"))]
fn a_policy_is_written_as_it_was_read(#[case] yaml: &str) {
    assert_eq!(written::<WorkloadNetworkPolicy>(yaml), parse::<Value>(yaml));
}

#[test]
fn the_mode_of_a_policy_is_monitor_unless_it_says_otherwise() {
    let yaml = include_str!("../testdata/seed-policy.yaml").replace("  mode: protect\n", "");
    assert_eq!(parse::<WorkloadNetworkPolicy>(&yaml).spec.mode, Mode::Monitor);
}

#[test]
fn counts_of_violations_are_written_even_when_there_are_none() {
    let mut policy: WorkloadNetworkPolicy = parse(include_str!("../testdata/seed-policy.yaml"));
    policy.status = Some(serde_json::from_value(json!({})).unwrap());
    let status = serde_json::to_value(policy.status).unwrap();
    assert_eq!(status, json!({"violationCount": 0, "activeViolationCount": 0}));
}

#[test]
fn fields_of_a_newer_version_are_passed_over() {
    let yaml = include_str!("../testdata/policy.yaml")
        .replace("spec:\n", "spec:\n  newInSpec: 1\n")
        .replace("  revision: 2\n", "  revision: 2\n  newInStatus: {a: [b]}\n")
        .replace("    dstPort: 6379\n", "    dstPort: 6379\n    newInViolation: x\n");
    let newer: WorkloadNetworkPolicy = parse(&yaml);
    assert_eq!(newer, parse(include_str!("../testdata/policy.yaml")));
}

#[test]
fn the_values_of_a_policy_are_understood() {
    let policy: WorkloadNetworkPolicy = parse(include_str!("../testdata/policy.yaml"));
    let status = policy.status.unwrap();
    let violation = &status.violations[0];
    assert_eq!(policy.spec.backend, Backend::Kubernetes);
    assert_eq!(violation.dst_port, Some(6379));
    assert_eq!(violation.reason, ViolationReason::NoRule);
    assert_eq!(violation.first_seen.0, "2026-09-01T10:00:00Z".parse().unwrap());
    assert_eq!(status.acknowledged_violations[0].violation.protocol, Protocol::Udp);
    assert_eq!(status.uncovered[0].reason, UncoveredReason::Unanswered);
    assert_eq!(status.rules[0].peer, PeerRef { kind: Some("Dns".into()), ..PeerRef::default() });
}

#[rstest]
#[case::kubernetes(include_str!("../testdata/proposal.yaml"))]
#[case::istio(include_str!("../testdata/seed-istio-proposal.yaml"))]
fn promotion_and_demotion_lose_nothing(#[case] yaml: &str) {
    let proposal: WorkloadNetworkPolicyProposal = parse(yaml);
    let policy = proposal.spec.to_policy_spec(Mode::Protect);
    assert_eq!(policy.mode, Mode::Protect);
    assert_eq!(policy.to_proposal_spec(), proposal.spec);
}

#[test]
fn an_istio_policy_and_the_object_it_becomes_share_their_rules() {
    let proposal: WorkloadNetworkPolicyProposal =
        parse(include_str!("../testdata/seed-istio-proposal.yaml"));
    let foreign: AuthorizationPolicy = serde_json::from_value(json!({
        "apiVersion": "security.istio.io/v1",
        "kind": "AuthorizationPolicy",
        "metadata": {"name": "deployment-http-server-ingress", "namespace": "demo"},
        "spec": {
            "selector": {"matchLabels": {"app": "http-server"}},
            "action": "ALLOW",
            "rules": serde_json::to_value(&proposal.spec.istio.as_ref().unwrap().rules).unwrap(),
        },
    }))
    .unwrap();
    assert_eq!(foreign.spec.rules, proposal.spec.istio.unwrap().rules);
}

#[test]
fn an_istio_source_without_principals_stays_every_source() {
    let yaml =
        "{selector: {matchLabels: {app: web}}, rules: [{from: [{}], to: [{operation: {}}]}]}";
    assert_eq!(
        written::<netenf_api::IstioPolicySpec>(yaml),
        json!({"selector": {"matchLabels": {"app": "web"}}, "rules": [{"from": [{}], "to": [{}]}]})
    );
}
