//! The rules of the definitions, evaluated on objects as the API server would evaluate them.

use kube::CustomResourceExt;
use kube::core::cel::Validator;
use netenf_api::{WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal};
use rstest::rstest;
use serde_json::{Value, json};

const ONE_BODY: &str = "backend must match exactly one populated backend spec";
const KUBERNETES_SELECTOR: &str =
    "kubernetes.podSelector must have matchLabels or matchExpressions";
const ISTIO_SELECTOR: &str = "istio.selector must have matchLabels or matchExpressions";
const POLICY_TYPES: &str = "kubernetes.policyTypes must be exactly the direction";
const ISTIO_EGRESS: &str = "the istio backend has no Egress: ztunnel enforces inbound traffic";
const IMMUTABLE: &str = "backend is immutable";

/// The messages of the rules that an object with this spec breaks.
fn messages<Kind: CustomResourceExt>(spec: &str, old: Option<&str>) -> Vec<String> {
    let definition = serde_json::to_value(Kind::crd()).unwrap();
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let object = |spec: &str| json!({"spec": serde_saphyr::from_str::<Value>(spec).unwrap()});
    match Validator::new().validate(schema, &object(spec), old.map(object).as_ref()) {
        Ok(()) => Vec::new(),
        Err(errors) => errors.into_vec().into_iter().map(|error| error.message).collect(),
    }
}

#[rstest]
#[case::kubernetes(
    "{backend: kubernetes, kubernetes: {podSelector: {matchLabels: {app: web}}}}",
    &[]
)]
#[case::kubernetes_expressions(
    "{backend: kubernetes, kubernetes: {podSelector: {matchExpressions: [{key: app, operator: Exists}]}}}",
    &[]
)]
#[case::istio("{backend: istio, istio: {selector: {matchLabels: {app: web}}}}", &[])]
#[case::istio_expressions(
    "{backend: istio, istio: {selector: {matchExpressions: [{key: app, operator: Exists}]}}}",
    &[]
)]
#[case::both_types_without_direction(
    "{backend: kubernetes, kubernetes: {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress, Egress]}}",
    &[]
)]
#[case::ingress(
    "{backend: kubernetes, direction: Ingress, kubernetes: {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress]}}",
    &[]
)]
#[case::egress(
    "{backend: kubernetes, direction: Egress, kubernetes: {podSelector: {matchLabels: {app: web}}, policyTypes: [Egress]}}",
    &[]
)]
#[case::istio_ingress(
    "{backend: istio, direction: Ingress, istio: {selector: {matchLabels: {app: web}}}}",
    &[]
)]
#[case::no_body("{backend: kubernetes}", &[ONE_BODY])]
#[case::no_istio_body("{backend: istio}", &[ONE_BODY])]
#[case::other_body("{backend: istio, kubernetes: {podSelector: {matchLabels: {app: web}}}}", &[ONE_BODY])]
#[case::other_istio_body("{backend: kubernetes, istio: {selector: {matchLabels: {app: web}}}}", &[ONE_BODY])]
#[case::both_bodies(
    "{backend: istio, istio: {selector: {matchLabels: {app: web}}}, kubernetes: {podSelector: {matchLabels: {app: web}}}}",
    &[ONE_BODY]
)]
#[case::no_selector("{backend: kubernetes, kubernetes: {}}", &[KUBERNETES_SELECTOR])]
#[case::empty_selector("{backend: kubernetes, kubernetes: {podSelector: {}}}", &[KUBERNETES_SELECTOR])]
#[case::empty_labels(
    "{backend: kubernetes, kubernetes: {podSelector: {matchLabels: {}, matchExpressions: []}}}",
    &[KUBERNETES_SELECTOR]
)]
#[case::empty_istio_selector("{backend: istio, istio: {selector: {}}}", &[ISTIO_SELECTOR])]
#[case::empty_istio_labels(
    "{backend: istio, istio: {selector: {matchLabels: {}, matchExpressions: []}}}",
    &[ISTIO_SELECTOR]
)]
#[case::other_type(
    "{backend: kubernetes, direction: Egress, kubernetes: {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress]}}",
    &[POLICY_TYPES]
)]
#[case::one_type_too_many(
    "{backend: kubernetes, direction: Egress, kubernetes: {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress, Egress]}}",
    &[POLICY_TYPES]
)]
#[case::direction_without_types(
    "{backend: kubernetes, direction: Ingress, kubernetes: {podSelector: {matchLabels: {app: web}}}}",
    &[POLICY_TYPES]
)]
#[case::istio_egress(
    "{backend: istio, direction: Egress, istio: {selector: {matchLabels: {app: web}}}}",
    &[ISTIO_EGRESS]
)]
fn a_spec_breaks_exactly_the_rules_it_should(#[case] spec: &str, #[case] expected: &[&str]) {
    assert_eq!(messages::<WorkloadNetworkPolicyProposal>(spec, None), expected);
    assert_eq!(messages::<WorkloadNetworkPolicy>(spec, None), expected);
}

#[test]
fn the_backend_stays_as_it_was_created_and_all_else_may_change() {
    let kubernetes = "{backend: kubernetes, kubernetes: {podSelector: {matchLabels: {app: web}}}}";
    let changed = "{mode: protect, direction: Ingress, backend: kubernetes, kubernetes: \
                   {podSelector: {matchLabels: {app: api}}, policyTypes: [Ingress]}}";
    let istio = "{backend: istio, istio: {selector: {matchLabels: {app: web}}}}";
    assert_eq!(messages::<WorkloadNetworkPolicy>(changed, Some(kubernetes)), [""; 0]);
    assert_eq!(messages::<WorkloadNetworkPolicy>(istio, Some(kubernetes)), [IMMUTABLE]);
    assert_eq!(messages::<WorkloadNetworkPolicyProposal>(istio, Some(kubernetes)), [IMMUTABLE]);
}
