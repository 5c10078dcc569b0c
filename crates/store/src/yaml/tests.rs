use insta::assert_snapshot;
use netenf_api::{WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal};

use super::*;

/// The example of DESIGN's appendix, as a person would write it in a hurry.
const PROPOSAL: &str = "
apiVersion: networkenforcer.kubewarden.io/v1alpha1
kind: WorkloadNetworkPolicyProposal
metadata: {namespace: shop, name: deployment-web-egress, uid: 1-2-3, resourceVersion: '7', generation: 3,
  creationTimestamp: 2026-09-01T10:00:00Z, managedFields: [{manager: netenf}], labels: {}}
status:
  learnedSince: 2026-09-01T10:00:00Z
  lastNewRule: 2026-09-01T10:03:00Z
  ruleCount: 1
  uncoveredCount: 1
  rules:
  - {peer: {kind: StatefulSet, namespace: shop, name: db}, port: 5432, protocol: TCP, provenance: observed,
     count: 812, firstSeen: 2026-09-01T10:00:00Z, lastSeen: 2026-09-02T10:00:00Z}
  uncovered:
  - {id: u3f9k, peer: {address: 203.0.113.7, names: [api.example.com]}, port: 443, protocol: TCP, reason: External,
     count: 97, firstSeen: 2026-09-01T10:00:00Z, lastSeen: 2026-09-02T10:00:00Z}
  conditions:
  - {lastTransitionTime: 2026-09-01T11:03:00Z, message: no new rule for 1h, reason: Quiet, status: 'True', type: Stable}
spec:
  kubernetes:
    egress:
    - ports: [{port: 5432, protocol: TCP}]
      to:
      - podSelector: {matchLabels: {app: db}}
        namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}
    ingress: []
    policyTypes: [Egress]
    podSelector: {matchLabels: {app: web}}
  backend: kubernetes
  direction: Egress
  targetRef: {kind: Deployment, name: web}
";

fn proposal(text: &str) -> Resource {
    serde_saphyr::from_str::<WorkloadNetworkPolicyProposal>(text).unwrap().into()
}

#[test]
fn the_example_of_the_design_is_neat() {
    assert_snapshot!(to_neat_yaml(&proposal(PROPOSAL)).unwrap(), @r#"
    apiVersion: networkenforcer.kubewarden.io/v1alpha1
    kind: WorkloadNetworkPolicyProposal
    metadata:
      name: deployment-web-egress
      namespace: shop
    spec:
      backend: kubernetes
      targetRef:
        kind: Deployment
        name: web
      direction: Egress
      kubernetes:
        podSelector:
          matchLabels:
            app: web
        policyTypes:
        - Egress
        egress:
        - to:
          - namespaceSelector:
              matchLabels:
                kubernetes.io/metadata.name: shop
            podSelector:
              matchLabels:
                app: db
          ports:
          - protocol: TCP
            port: 5432
    status:
      conditions:
      - type: Stable
        status: "True"
        reason: Quiet
        message: no new rule for 1h
        lastTransitionTime: "2026-09-01T11:03:00Z"
      ruleCount: 1
      rules:
      - peer:
          kind: StatefulSet
          namespace: shop
          name: db
        port: 5432
        protocol: TCP
        provenance: observed
        count: 812
        firstSeen: "2026-09-01T10:00:00Z"
        lastSeen: "2026-09-02T10:00:00Z"
      uncoveredCount: 1
      uncovered:
      - id: u3f9k
        peer:
          address: "203.0.113.7"
          names:
          - api.example.com
        port: 443
        protocol: TCP
        reason: External
        count: 97
        firstSeen: "2026-09-01T10:00:00Z"
        lastSeen: "2026-09-02T10:00:00Z"
      learnedSince: "2026-09-01T10:00:00Z"
      lastNewRule: "2026-09-01T10:03:00Z"
    "#);
}

#[test]
fn a_policy_has_its_mode_first() {
    let text = "
apiVersion: networkenforcer.kubewarden.io/v1alpha1
kind: WorkloadNetworkPolicy
metadata: {namespace: shop, name: web, annotations: {note: \"two\\nlines\\n\", long: a b c}}
status: {violationCount: 0}
spec: {backend: istio, istio: {rules: [{to: [{operation: {ports: ['8080']}}]}], selector: {matchLabels: {app: web}}}}
";
    let policy = serde_saphyr::from_str::<WorkloadNetworkPolicy>(text).unwrap();
    assert_snapshot!(to_neat_yaml(&policy.into()).unwrap(), @r#"
    apiVersion: networkenforcer.kubewarden.io/v1alpha1
    kind: WorkloadNetworkPolicy
    metadata:
      name: web
      namespace: shop
      annotations:
        long: a b c
        note: |
          two
          lines
    spec:
      mode: monitor
      backend: istio
      istio:
        selector:
          matchLabels:
            app: web
        rules:
        - to:
          - operation:
              ports:
              - "8080"
    "#);
}

#[test]
fn what_was_written_is_read_and_written_again_as_it_was() {
    let once = to_neat_yaml(&proposal(PROPOSAL)).unwrap();
    assert_eq!(to_neat_yaml(&proposal(&once)).unwrap(), once);
}

#[test]
fn a_label_may_have_the_name_of_a_field() {
    let text = PROPOSAL.replace("labels: {}", "labels: {metadata: a, ports: b, status: ''}");
    let written = to_neat_yaml(&proposal(&text)).unwrap();
    assert_eq!(
        proposal(&written).metadata().labels,
        proposal(&text).metadata().labels,
        "{written}"
    );
}
