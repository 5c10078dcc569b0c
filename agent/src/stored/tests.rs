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
