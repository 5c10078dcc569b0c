use netenf_policy::Protocol;
use rstest::rstest;

use super::{Counted, Inquiry, NothingRecorded, Question, Scope, counted, outline};
use crate::Index;
use crate::lifecycle::Resource;
use crate::object::{Object, read};
use crate::reach::Reach;
use crate::unclear::{Fault, Hint};

const STATE: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: shop}
spec: {selector: {matchLabels: {app: api}}, template: {metadata: {labels: {app: api}}}}
---
apiVersion: v1
kind: Service
metadata: {name: api, namespace: shop}
spec: {selector: {app: api}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: networkenforcer.kubewarden.io/v1alpha1
kind: WorkloadNetworkPolicy
metadata: {name: deployment-api-ingress, namespace: shop}
spec:
  backend: kubernetes
  mode: monitor
  targetRef: {kind: Deployment, name: api}
  direction: Ingress
  kubernetes: {podSelector: {matchLabels: {app: api}}, policyTypes: [Ingress]}
---
apiVersion: networkenforcer.kubewarden.io/v1alpha1
kind: WorkloadNetworkPolicyProposal
metadata: {name: deployment-api-ingress, namespace: shop}
spec:
  backend: kubernetes
  targetRef: {kind: Deployment, name: api}
  direction: Ingress
  kubernetes:
    podSelector: {matchLabels: {app: api}}
    policyTypes: [Ingress]
    ingress: [{}]
";

fn state() -> (Index, Vec<Resource>) {
    let (objects, told) = read("state", STATE);
    assert_eq!(told, []);
    let ours = objects.iter().filter_map(|object| match object {
        Object::Policy(policy) => Some(Resource::from(policy.clone())),
        Object::Proposal(proposal) => Some(Resource::from(proposal.clone())),
        _ => None,
    });
    let ours = ours.collect();
    (Index::of(objects), ours)
}

/// The verdict, or why there is none.
fn ask(from: &str, to: &str, port: u16, scope: Scope) -> Result<bool, (Fault, Vec<Hint>)> {
    let (index, ours) = state();
    let inquiry =
        Inquiry { index: &index, ours: &ours, namespace: Some("shop"), recorded: &NothingRecorded };
    let counted = counted(&ours, scope);
    let reach = Reach::new(&counted.policies, []);
    let asked = Question::new(&inquiry, from, to, (Protocol::Tcp, port));
    let answer = asked.and_then(|asked| asked.answer(&inquiry, &reach));
    let answer = answer.map(|(answer, _)| answer.denied == 0).map_err(|it| (it.fault, it.hints));
    assert_eq!(ask_of_outlines(&index, &ours, (from, to, port), &counted), answer);
    answer
}

/// The same where the rules of proposals are let go of once they are counted.
fn ask_of_outlines(
    index: &Index,
    ours: &[Resource],
    (from, to, port): (&str, &str, u16),
    counted: &Counted,
) -> Result<bool, (Fault, Vec<Hint>)> {
    let outlined = |object: &Resource| match object {
        Resource::Proposal(proposal) => outline((**proposal).clone()),
        Resource::Policy(_) => object.clone(),
    };
    let ours: Vec<Resource> = ours.iter().map(outlined).collect();
    let inquiry =
        Inquiry { index, ours: &ours, namespace: Some("shop"), recorded: &NothingRecorded };
    let reach = Reach::new(&counted.policies, []);
    let asked = Question::new(&inquiry, from, to, (Protocol::Tcp, port));
    let answer = asked.and_then(|asked| asked.answer(&inquiry, &reach));
    answer.map(|(answer, _)| answer.denied == 0).map_err(|it| (it.fault, it.hints))
}

#[test]
fn an_outline_is_small_and_says_whose_it_is() {
    let (_, ours) = state();
    let proposals = ours.iter().filter_map(|object| match object {
        Resource::Proposal(proposal) => Some((object, outline((**proposal).clone()))),
        Resource::Policy(_) => None,
    });
    let mut seen = 0;
    for (whole, outline) in proposals {
        assert_eq!((outline.key(), outline.target_ref()), (whole.key(), whole.target_ref()));
        let spec = outline.kubernetes().unwrap();
        assert_eq!(spec.pod_selector, whole.kubernetes().unwrap().pod_selector);
        assert!(spec.ingress.is_none() && spec.egress.is_none() && outline.gaps().is_empty());
        seen += 1;
    }
    assert!(seen > 0);
}

#[rstest]
#[case::in_force(Scope::InForce, true)]
#[case::assumed(Scope::AssumeProtect, false)]
fn a_policy_in_monitor_counts_where_protection_is_assumed(
    #[case] scope: Scope,
    #[case] allowed: bool,
) {
    assert_eq!(ask("deploy/web", "deploy/api", 8080, scope), Ok(allowed));
    assert_eq!(ask("deploy/web", "svc/api", 80, scope), Ok(allowed), "through its Service");
}

#[test]
fn a_proposal_gives_way_to_the_policy_of_its_name() {
    let (_, ours) = state();
    let kinds = counted(&ours, Scope::AssumeProtect).policies;
    let kinds: Vec<&str> = kinds.iter().map(|policy| &*policy.kind).collect();
    assert_eq!(kinds, ["WorkloadNetworkPolicy"]);
}

#[rstest]
#[case::no_end("nonsense", "deploy/api", 80, Fault::Malformed)]
#[case::no_address("10.0.0.999", "deploy/api", 80, Fault::Malformed)]
#[case::no_workload("deploy/wbe", "deploy/api", 80, Fault::Unknown)]
#[case::no_node("node/n1", "deploy/api", 80, Fault::Unknown)]
#[case::no_namespace("ns/nowhere", "deploy/api", 80, Fault::Unknown)]
#[case::no_api_server("apiserver", "deploy/api", 80, Fault::Unknown)]
#[case::no_service("deploy/web", "svc/nothing", 80, Fault::Unknown)]
#[case::no_port_of_it("deploy/web", "svc/api", 81, Fault::Unknown)]
fn what_is_malformed_is_told_from_what_is_unknown(
    #[case] from: &str,
    #[case] to: &str,
    #[case] port: u16,
    #[case] expected: Fault,
) {
    let (fault, hints) = ask(from, to, port, Scope::InForce).unwrap_err();
    assert_eq!(fault, expected);
    assert!(fault == Fault::Unknown || !hints.is_empty(), "how to write it is told");
}

#[test]
fn a_name_like_a_known_one_is_offered() {
    let (_, hints) = ask("deploy/wbe", "deploy/api", 80, Scope::InForce).unwrap_err();
    assert_eq!(
        hints,
        [Hint::Plain("did you mean shop/deployment/web?".to_owned()), Hint::Objects(None)]
    );
}
