use netenf_api::Mode;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::reconcile::sample::{foreign, now, stored, told};

const KUBERNETES: Backend = Backend::Kubernetes;
const ISTIO: Backend = Backend::Istio;
const PRESENT: Enforcer = Enforcer::Present { name: "Cilium" };

fn written(backend: Backend, mode: Mode) -> WorkloadNetworkPolicy {
    crate::reconcile::sample::policy(backend, mode)
}

/// What is done about the policy with an enforcer in the cluster, and nothing known of earlier.
fn plan(own: &WorkloadNetworkPolicy, native: Option<&Native>) -> Vec<String> {
    told(&steps(own, native))
}

fn steps(own: &WorkloadNetworkPolicy, native: Option<&Native>) -> Vec<Step> {
    let (backend, enforcer) = (own.spec.backend, PRESENT);
    policy(&Policy { policy: own, native, backend, enforcer, refused: None, now: &now() })
}

const MONITORING: &str =
    "status of policy Conflict=False/NameFree Enforced=False/Monitoring Ready=True/Valid";
const PROTECTING: &str =
    "status of policy Conflict=False/NameFree Enforced=True/Protecting Ready=True/Valid";
const TAKEN: &str = "status of policy Conflict=True/ForeignObject Enforced=False/ForeignObject \
     Ready=False/ForeignObject";

/// "Kubernetes: nothing in monitor, a NetworkPolicy in protect. Istio: dry-run in monitor, none in protect.
/// Foreign object of that name → Conflict" (DESIGN §5).
#[rstest]
#[case::kubernetes_monitor(KUBERNETES, Mode::Monitor, None, &[MONITORING])]
#[case::kubernetes_back_to_monitor(KUBERNETES, Mode::Monitor, Some(stored(&written(KUBERNETES, Mode::Monitor))),
    &["delete NetworkPolicy", MONITORING])]
#[case::kubernetes_monitor_beside_a_foreign_one(KUBERNETES, Mode::Monitor, Some(foreign(KUBERNETES)),
    &["status of policy Conflict=True/ForeignObject Enforced=False/Monitoring Ready=True/Valid",
      "Warning ForeignObject"])]
#[case::kubernetes_protect(KUBERNETES, Mode::Protect, None, &["create NetworkPolicy", PROTECTING])]
#[case::kubernetes_protected(KUBERNETES, Mode::Protect, Some(stored(&written(KUBERNETES, Mode::Protect))),
    &[PROTECTING])]
#[case::kubernetes_conflict_w24(KUBERNETES, Mode::Protect, Some(foreign(KUBERNETES)),
    &[TAKEN, "Warning ForeignObject"])]
#[case::istio_monitor(ISTIO, Mode::Monitor, None, &["create AuthorizationPolicy", MONITORING])]
#[case::istio_monitored(ISTIO, Mode::Monitor, Some(stored(&written(ISTIO, Mode::Monitor))), &[MONITORING])]
#[case::istio_to_protect(ISTIO, Mode::Protect, Some(stored(&written(ISTIO, Mode::Monitor))),
    &["replace AuthorizationPolicy", PROTECTING])]
#[case::istio_back_to_monitor(ISTIO, Mode::Monitor, Some(stored(&written(ISTIO, Mode::Protect))),
    &["replace AuthorizationPolicy", MONITORING])]
#[case::istio_conflict_w24(ISTIO, Mode::Protect, Some(foreign(ISTIO)), &[TAKEN, "Warning ForeignObject"])]
fn the_mode_and_what_is_there_decide(
    #[case] backend: Backend,
    #[case] mode: Mode,
    #[case] native: Option<Native>,
    #[case] expected: &[&str],
) {
    assert_eq!(plan(&written(backend, mode), native.as_ref()), expected);
}

/// The policy with the status that its plan writes.
fn settled(mut own: WorkloadNetworkPolicy, native: Option<&Native>) -> WorkloadNetworkPolicy {
    let status = steps(&own, native).into_iter().find_map(|step| match step {
        Step::ReplaceStatus(Resource::Policy(policy)) => policy.status.clone(),
        _ => None,
    });
    own.status = status.or(own.status);
    own
}

/// W27: what is as it should be is not written.
#[rstest]
fn nothing_differs_and_nothing_is_written(
    #[values(KUBERNETES, ISTIO)] backend: Backend,
    #[values(Mode::Monitor, Mode::Protect)] mode: Mode,
) {
    let own = written(backend, mode);
    let has_native = (backend, mode) != (KUBERNETES, Mode::Monitor);
    let native = has_native.then(|| stored(&own));
    assert_eq!(plan(&settled(own, native.as_ref()), native.as_ref()), [""; 0]);
}

#[rstest]
#[case::spec(|native: &mut Native| native.spec["podSelector"] = json!({}), true)]
#[case::a_rule_more(|native: &mut Native| native.spec["ingress"] = json!([{}]), true)]
#[case::a_field_that_we_do_not_know(|native: &mut Native| native.spec["targetRefs"] = json!([{"kind": "Gateway"}]), true)]
#[case::not_controlled_any_more_is_foreign(|native: &mut Native| native.metadata.owner_references = None, false)]
#[case::owner(|native: &mut Native| {
    native.metadata.owner_references.as_mut().unwrap()[0].block_owner_deletion = None;
}, true)]
#[case::dry_run(|native: &mut Native| {
    native.metadata.annotations = Some([("istio.io/dry-run".to_owned(), "1".to_owned())].into());
}, true)]
#[case::label_that_went(|native: &mut Native| {
    native.metadata.labels.as_mut().unwrap().remove("team");
}, true)]
#[case::label_of_another(|native: &mut Native| {
    native.metadata.labels.as_mut().unwrap().insert("backup".to_owned(), "yes".to_owned());
}, false)]
#[case::annotation_of_another(|native: &mut Native| {
    native.metadata.annotations = Some([("backup".to_owned(), "yes".to_owned())].into());
}, false)]
#[case::a_default_that_the_server_wrote(|native: &mut Native| native.spec["ingress"][0]["ports"][0]["protocol"] = json!("TCP"), false)]
fn drift_is_reverted(#[case] change: fn(&mut Native), #[case] is_reverted: bool) {
    let own = written(KUBERNETES, Mode::Protect);
    let original = stored(&own);
    let own = settled(own, Some(&original));
    let mut native = original.clone();
    change(&mut native);
    let written = steps(&own, Some(&native)).into_iter().find_map(|step| match step {
        Step::Replace(Document::Native(written)) => Some(*written),
        _ => None,
    });
    assert_eq!(written, is_reverted.then_some(original));
}

#[test]
fn a_label_that_the_policy_lost_goes_and_is_no_drift() {
    let mut own = written(KUBERNETES, Mode::Protect);
    let mut native = stored(&own);
    own = settled(own, Some(&native));
    own.metadata.labels = None;
    native.metadata.labels.as_mut().unwrap().insert("backup".to_owned(), "yes".to_owned());
    let steps = steps(&own, Some(&native));
    assert_eq!(told(&steps), ["replace NetworkPolicy"]);
    let Some(Step::Replace(Document::Native(written))) = steps.first() else { unreachable!() };
    assert_eq!(written.metadata.labels, Some([("backup".to_owned(), "yes".to_owned())].into()));
}

#[test]
fn who_changes_a_native_object_is_told() {
    let own = written(KUBERNETES, Mode::Protect);
    let mut native = stored(&own);
    let own = settled(own, Some(&native));
    native.spec["ingress"] = json!([{}]);
    assert_eq!(plan(&own, Some(&native)), ["replace NetworkPolicy", "Warning DriftReverted"]);
    let mut newer = own;
    newer.metadata.generation = Some(3);
    assert_eq!(plan(&newer, Some(&native)), ["replace NetworkPolicy", PROTECTING]);
}

#[test]
fn a_conflict_heals_when_the_foreign_object_goes() {
    let own = settled(written(KUBERNETES, Mode::Protect), Some(&foreign(KUBERNETES)));
    assert_eq!(plan(&own, Some(&foreign(KUBERNETES))), [""; 0]);
    let healed = [
        "create NetworkPolicy",
        PROTECTING,
        "Normal Valid",
        "Normal Protecting",
        "Normal NameFree",
    ];
    assert_eq!(plan(&own, None), healed);
}

/// The object of a policy that was deleted and written again waits for the garbage collector.
#[test]
fn an_object_of_an_earlier_policy_is_foreign() {
    let mut own = written(KUBERNETES, Mode::Protect);
    let native = stored(&own);
    own.metadata.uid = Some("p2".to_owned());
    assert_eq!(plan(&own, Some(&native)), [TAKEN, "Warning ForeignObject"]);
}

/// W25: "Provider switch: objects of another backend are left alone with a condition" (DESIGN §5).
#[rstest]
#[case::nothing_there(None, "False")]
#[case::own_object(Some(stored(&written(ISTIO, Mode::Protect))), "Unknown")]
#[case::foreign_object(Some(foreign(ISTIO)), "False")]
fn a_policy_of_another_backend_is_left_alone(
    #[case] native: Option<Native>,
    #[case] enforced: &str,
) {
    let own = written(ISTIO, Mode::Protect);
    let facts = Policy {
        policy: &own,
        native: native.as_ref(),
        backend: KUBERNETES,
        enforcer: PRESENT,
        refused: None,
        now: &now(),
    };
    let status = format!(
        "status of policy Conflict=False/NameFree Enforced={enforced}/OtherBackend Ready=False/OtherBackend"
    );
    assert_eq!(told(&policy(&facts)), [&status, "Warning OtherBackend"]);
}

#[rstest]
#[case::absent(Enforcer::Absent { why: "flannel enforces no policies" }, "False/NoEnforcer")]
#[case::unknown(Enforcer::Unknown, "Unknown/EnforcerUnknown")]
#[case::present(PRESENT, "True/Protecting")]
fn without_an_enforcer_nothing_is_enforced(#[case] enforcer: Enforcer, #[case] expected: &str) {
    let own = written(KUBERNETES, Mode::Protect);
    let facts = Policy {
        policy: &own,
        native: None,
        backend: KUBERNETES,
        enforcer,
        refused: None,
        now: &now(),
    };
    let status =
        format!("status of policy Conflict=False/NameFree Enforced={expected} Ready=True/Valid");
    assert_eq!(told(&policy(&facts))[..2], ["create NetworkPolicy".to_owned(), status]);
}

/// W24: what the API server refuses is told, once, and tried again.
#[test]
fn a_refused_write_is_told_before_it_is_tried_again() {
    let mut own = written(KUBERNETES, Mode::Protect);
    let refused = |own: &WorkloadNetworkPolicy| {
        policy(&Policy {
            policy: own,
            native: None,
            backend: KUBERNETES,
            enforcer: PRESENT,
            refused: Some("exceeded quota"),
            now: &now(),
        })
    };
    let first = refused(&own);
    let status =
        "status of policy Conflict=False/NameFree Enforced=False/Refused Ready=False/Refused";
    assert_eq!(told(&first), [status, "Warning Refused"]);
    let Some(Step::ReplaceStatus(Resource::Policy(written))) = first.first() else {
        unreachable!()
    };
    own.status = written.status.clone();
    assert_eq!(told(&refused(&own)), ["create NetworkPolicy"]);
    let healed = ["create NetworkPolicy", PROTECTING, "Normal Valid", "Normal Protecting"];
    assert_eq!(plan(&own, None), healed);
}

fn spoiled(backend: Backend, mode: Mode, body: Value) -> WorkloadNetworkPolicy {
    let mut own = written(backend, mode);
    match backend {
        Backend::Kubernetes => own.spec.kubernetes = serde_json::from_value(body).unwrap(),
        Backend::Istio => own.spec.istio = serde_json::from_value(body).unwrap(),
    }
    own
}

/// The last valid object stays: it is neither widened nor taken away, save where monitor is to block nothing.
#[rstest]
#[case::empty_selector(KUBERNETES, json!({"podSelector": {}}), "its selector is empty")]
#[case::no_body(KUBERNETES, Value::Null, "it has no spec.kubernetes")]
#[case::unknown_type(KUBERNETES, json!({"podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Both"]}),
    "\"Both\" is not known")]
#[case::bad_range(KUBERNETES, json!({"podSelector": {"matchLabels": {"app": "web"}},
    "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/33"}}]}]}), "\"10.0.0.0/33\" is no CIDR")]
#[case::unknown_operator(KUBERNETES, json!({"podSelector": {"matchExpressions": [{"key": "app", "operator": "Is"}]}}),
    "operator \"Is\" is not known")]
#[case::no_label(ISTIO, json!({"selector": {"matchLabels": {"app": "no label"}}}), "is no label")]
#[case::range_of_ports(ISTIO, json!({"selector": {"matchLabels": {"app": "web"}},
    "rules": [{"to": [{"operation": {"ports": ["8000-8010"]}}]}]}), "\"8000-8010\" is no port")]
#[case::expressions_w6(ISTIO, json!({"selector": {"matchLabels": {"app": "web"},
    "matchExpressions": [{"key": "tier", "operator": "Exists"}]}}), "matchExpressions")]
fn an_invalid_spec_changes_nothing(
    #[case] backend: Backend,
    #[case] body: Value,
    #[case] cause: &str,
) {
    let invalid = "status of policy Conflict=False/NameFree Enforced=False/InvalidSpec Ready=False/InvalidSpec";
    let own = spoiled(backend, Mode::Protect, body.clone());
    let native = stored(&written(backend, Mode::Protect));
    for native in [None, Some(&native)] {
        assert_eq!(plan(&own, native), [invalid, "Warning InvalidSpec"]);
    }
    let status = settled(own, Some(&native)).status.unwrap();
    let ready = status.conditions.iter().find(|one| one.type_ == "Ready").unwrap();
    assert!(ready.message.contains(cause), "{}", ready.message);

    let monitored = spoiled(backend, Mode::Monitor, body);
    let step = match backend {
        Backend::Kubernetes => "delete NetworkPolicy",
        Backend::Istio => "replace AuthorizationPolicy",
    };
    assert_eq!(plan(&monitored, Some(&native))[0], step);
}

#[test]
fn what_is_being_deleted_is_left_to_the_garbage_collector() {
    let mut own = written(KUBERNETES, Mode::Protect);
    own.metadata.deletion_timestamp = Some(now());
    assert_eq!(plan(&own, None), [""; 0]);
}

/// A status that stays keeps its time; a generation is noted even if nothing else changes.
#[test]
fn a_condition_tells_since_when_and_of_which_generation() {
    let own = settled(written(KUBERNETES, Mode::Monitor), None);
    let mut newer = own.clone();
    newer.metadata.generation = Some(3);
    newer.spec.mode = Mode::Protect;
    let later = Time("2026-09-03T10:00:00Z".parse().unwrap());
    let facts = Policy {
        policy: &newer,
        native: None,
        backend: KUBERNETES,
        enforcer: PRESENT,
        refused: None,
        now: &later,
    };
    let status = policy(&facts).into_iter().find_map(|step| match step {
        Step::ReplaceStatus(Resource::Policy(policy)) => policy.status.clone(),
        _ => None,
    });
    let status = status.unwrap();
    let times: Vec<_> = status
        .conditions
        .iter()
        .map(|one| (&*one.type_, one.last_transition_time == later, one.observed_generation))
        .collect();
    assert_eq!(
        times,
        [("Conflict", false, Some(3)), ("Enforced", true, Some(3)), ("Ready", false, Some(3))]
    );
    assert_eq!(
        (own.status.unwrap().observed_generation, status.observed_generation),
        (Some(2), Some(3))
    );
}
