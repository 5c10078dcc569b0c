use netenf_k8s::object::read;

use super::*;

fn object(text: &str) -> Object {
    read("test", text).0.remove(0)
}

fn policy(name: &str) -> Object {
    object(&format!(
        "{{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {{name: {name}, namespace: shop}}, spec: {{}}}}"
    ))
}

fn istio(name: &str) -> Object {
    object(&format!(
        "{{apiVersion: security.istio.io/v1, kind: AuthorizationPolicy, metadata: {{name: {name}, namespace: shop}}}}"
    ))
}

fn names(touched: &BTreeSet<Name>) -> Vec<&str> {
    touched.iter().map(|(_, name)| name.as_str()).collect()
}

/// A list of one kind tells of what it no longer holds too, and of no other kind.
#[test]
fn every_name_that_a_change_is_about_is_told() {
    let mut stored = Stored::default();
    let touched =
        stored.take(&Change::Replaced(Kind::NetworkPolicy, vec![policy("a"), policy("b")]));
    assert_eq!(names(&touched), ["a", "b"]);
    assert_eq!(names(&stored.take(&Change::Applied(istio("a")))), ["a"]);
    let touched =
        stored.take(&Change::Replaced(Kind::NetworkPolicy, vec![policy("b"), policy("c")]));
    assert_eq!(names(&touched), ["a", "b", "c"]);
    let native =
        |kind, name: &str| stored.native(kind, &("shop".to_owned(), name.to_owned())).is_some();
    assert!(!native(NativeKind::NetworkPolicy, "a") && native(NativeKind::NetworkPolicy, "c"));
    assert!(native(NativeKind::AuthorizationPolicy, "a"));
    assert_eq!(names(&stored.take(&Change::Deleted(policy("c")))), ["c"]);
    let pod = object("{kind: Pod, metadata: {name: a, namespace: shop}}");
    assert_eq!(names(&stored.take(&Change::Applied(pod))), [] as [&str; 0]);
}

fn proposal() -> Object {
    object(
        "{apiVersion: networkenforcer.kubewarden.io/v1alpha1, kind: WorkloadNetworkPolicyProposal, \
         metadata: {name: a, namespace: shop}, spec: {backend: kubernetes}}",
    )
}

/// What became unreadable is not taken for what it was, nor for absent, until it can be read again or is gone.
#[test]
fn what_cannot_be_read_is_known_to_be_there() {
    let mut stored = Stored::default();
    let name = ("shop".to_owned(), "a".to_owned());
    let unreadable = |is_gone| {
        Change::Unreadable(Unreadable {
            kind: Kind::Proposal,
            namespace: "shop".to_owned(),
            name: "a".to_owned(),
            uid: None,
            is_gone,
            message: "unknown backend".to_owned(),
        })
    };
    let list = || Change::Replaced(Kind::Proposal, Vec::new());
    let steps = vec![
        (Change::Applied(proposal()), true, false),
        (unreadable(false), false, true),
        (Change::Replaced(Kind::Policy, Vec::new()), false, true),
        (Change::Applied(proposal()), true, false),
        (unreadable(false), false, true),
        (unreadable(true), false, false),
        (unreadable(false), false, true),
        (list(), false, false),
    ];
    for (change, is_read, is_unreadable) in steps {
        let told = format!("{change:?}");
        stored.take(&change);
        let found = (stored.proposals.contains_key(&name), stored.unreadable(&name).is_some());
        assert_eq!(found, (is_read, is_unreadable), "after {told}");
    }
    assert_eq!(names(&stored.take(&unreadable(false))), ["a"]);
}
