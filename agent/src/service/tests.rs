use netenf_api::{WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal};
use netenf_k8s::enforcer::Enforcer;
use netenf_k8s::inquiry::Scope;
use netenf_proto::netenf::v1;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::timeout;

use super::*;
use crate::packed::Packed;
use crate::stored::Stored;

/// The Deployment api gets a proposal and a policy, web a proposal; db may be called by both.
fn stored() -> Stored {
    let mut stored = Stored::default();
    for name in ["web", "api"] {
        let proposal: WorkloadNetworkPolicyProposal = object("WorkloadNetworkPolicyProposal", name);
        let key = ("shop".to_owned(), name.to_owned());
        stored.proposals.insert(key, Packed::new(&proposal).unwrap());
    }
    let policy: WorkloadNetworkPolicy = object("WorkloadNetworkPolicy", "api");
    stored.policies.insert(("shop".to_owned(), "api".to_owned()), policy);
    stored
}

fn object<K: DeserializeOwned>(kind: &str, name: &str) -> K {
    let db = json!({"podSelector": {"matchLabels": {"app": "db"}}});
    serde_json::from_value(json!({
        "apiVersion": "networkenforcer.kubewarden.io/v1alpha1", "kind": kind,
        "metadata": {"name": name, "namespace": "shop", "annotations": {"long": "text"}},
        "spec": {"mode": "monitor", "backend": "kubernetes",
            "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "kubernetes": {"podSelector": {"matchLabels": {"app": name}}, "policyTypes": ["Egress"],
                "egress": [{"to": [db], "ports": [{"port": 5432, "protocol": "TCP"}]}]}},
        "status": {},
    }))
    .unwrap()
}

fn service() -> Service {
    let (index, backend) = (Arc::default(), Backend::Kubernetes);
    let enforcement = Enforcement {
        index: Arc::clone(&index),
        provider: None,
        backend,
        last: Mutex::new(Enforcer::Unknown),
    };
    Service {
        tap: Tap::default(),
        board: Board::default(),
        index,
        stored: Shared::new(stored()),
        config: Config::default(),
        backend,
        enforcement: Arc::new(enforcement),
        leadership: Leadership::unopposed(),
        pending: channel::channel(BTreeSet::new()).1,
        pod: "one".to_owned(),
        started: Timestamp(0),
    }
}

/// Proposals are counted with all their rules, and kept without them.
#[test]
fn a_question_holds_the_rules_of_proposals_once_they_are_lowered() {
    let ours = explain::ours(&service(), Scope::AssumeProtect);
    let counted = ours.counted.policies.iter();
    let counted: Vec<_> = counted
        .map(|one| (&*one.kind, &*one.name, one.rules(netenf_policy::Side::Egress).map(<[_]>::len)))
        .collect();
    let proposal = ("WorkloadNetworkPolicyProposal", "web", Some(1));
    assert_eq!(counted, [proposal, ("WorkloadNetworkPolicy", "api", Some(1))]);
    for object in &ours.objects {
        let is_whole = object.kubernetes().unwrap().egress.is_some();
        assert_eq!(is_whole, object.as_policy().is_some(), "{object:?}");
    }
    assert_eq!(ours.objects.len(), 3);
    let ours = explain::ours(&service(), Scope::InForce);
    assert_eq!((ours.objects.len(), ours.counted.policies.len()), (1, 0), "monitor is no force");
}

fn asked(scope: v1::PolicyScope) -> Request<ExplainRequest> {
    Request::new(ExplainRequest {
        source: "shop/deployment/web".to_owned(),
        destination: "192.0.2.1".to_owned(),
        port: 5432,
        scope: scope.into(),
        ..ExplainRequest::default()
    })
}

#[tokio::test]
async fn one_question_about_proposals_is_answered_at_a_time_and_keeps_no_other_waiting() {
    let limited = Limited::new(service());
    let first = limited.turn(true).await.unwrap();
    let second = tokio::spawn({
        let limited = limited.clone();
        async move { limited.explain(asked(v1::PolicyScope::AssumeProtect)).await }
    });
    let third = tokio::spawn({
        let limited = limited.clone();
        async move { limited.explain(asked(v1::PolicyScope::AssumeProtect)).await }
    });
    // Two wait, and there is still a turn for what is in force.
    let others = timeout(TIMEOUT, limited.explain(asked(v1::PolicyScope::InForce))).await.unwrap();
    assert_eq!(others.unwrap_err().code(), tonic::Code::NotFound, "nothing in force tells of web");
    assert!(!second.is_finished() && !third.is_finished());
    drop(first);
    for waiting in [second, third] {
        let answer = timeout(TIMEOUT, waiting).await.unwrap().unwrap().unwrap().into_inner();
        assert_eq!(answer.verdict(), v1::Verdict::Deny);
    }
}
