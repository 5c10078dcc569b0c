use rstest::rstest;

use super::*;

fn names(text: &str) -> (Vec<String>, Vec<Diagnostic>) {
    let (objects, diagnostics) = read("in", text);
    let name = |object: Object| match object {
        Object::Pod(it) => format!("Pod/{}", it.metadata.name.unwrap()),
        Object::Service(it) => format!("Service/{}", it.metadata.name.unwrap()),
        Object::Namespace(it) => format!("Namespace/{}", it.metadata.name.unwrap()),
        Object::NetworkPolicy(it) => format!("NetworkPolicy/{}", it.metadata.name.unwrap()),
        Object::ClusterPolicy(it) => format!("{}/{}", it.kind, it.name()),
        Object::Other(it) => format!("Other/{}", it["metadata"]["name"].as_str().unwrap_or("?")),
        Object::Broken { kind, name } => format!("Broken {kind}/{name}"),
        other => format!("{other:?}"),
    };
    (objects.into_iter().map(name).collect(), diagnostics)
}

#[rstest]
#[case::yaml("kind: Pod\nmetadata: {name: a}", &["Pod/a"])]
#[case::documents("kind: Pod\nmetadata: {name: a}\n---\nkind: Namespace\nmetadata: {name: b}\n", &["Pod/a", "Namespace/b"])]
#[case::empty_documents("---\nkind: Pod\nmetadata: {name: a}\n---\n---\n# nothing\n", &["Pod/a"])]
#[case::json(r#"{"kind": "Pod", "metadata": {"name": "a"}}"#, &["Pod/a"])]
#[case::several_json(r#"{"kind": "Pod", "metadata": {"name": "a"}} {"kind": "Pod", "metadata": {"name": "b"}}"#, &["Pod/a", "Pod/b"])]
#[case::flow_style("{kind: Pod, metadata: {name: a}}", &["Pod/a"])]
#[case::list("kind: List\nitems:\n- {kind: Pod, metadata: {name: a}}\n- {kind: Namespace, metadata: {name: b}}", &["Pod/a", "Namespace/b"])]
#[case::typed_list("kind: PodList\nitems: [{metadata: {name: a}}, {metadata: {name: b}}]", &["Pod/a", "Pod/b"])]
#[case::list_in_a_list("kind: List\nitems: [{kind: PodList, items: [{metadata: {name: a}}]}]", &["Pod/a"])]
#[case::json_list(r#"{"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "a"}}]}"#, &["Pod/a"])]
#[case::empty_list("kind: List\nitems: []", &[])]
#[case::nothing("", &[])]
#[case::unknown_kind("kind: Rollout\nmetadata: {name: a}", &["Other/a"])]
#[case::knative("apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}", &["Other/a"])]
#[case::calico("apiVersion: projectcalico.org/v3\nkind: NetworkPolicy\nmetadata: {name: a}\nspec: {selector: all()}", &["Other/a"])]
#[case::native("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a}\nspec: {podSelector: {}}", &["NetworkPolicy/a"])]
#[case::admin("apiVersion: policy.networking.k8s.io/v1alpha1\nkind: AdminNetworkPolicy\nmetadata: {name: a}", &["AdminNetworkPolicy/a"])]
#[case::baseline("apiVersion: policy.networking.k8s.io/v1alpha1\nkind: BaselineAdminNetworkPolicy\nmetadata: {name: default}", &["BaselineAdminNetworkPolicy/default"])]
#[case::cluster("apiVersion: policy.networking.k8s.io/v1alpha2\nkind: ClusterNetworkPolicy\nmetadata: {name: a}", &["ClusterNetworkPolicy/a"])]
#[case::cluster_later("apiVersion: policy.networking.k8s.io/v1beta1\nkind: ClusterNetworkPolicy\nmetadata: {name: a}", &["ClusterNetworkPolicy/a"])]
#[case::cluster_without_version("kind: ClusterNetworkPolicy\nmetadata: {name: a}", &["ClusterNetworkPolicy/a"])]
#[case::cluster_list("apiVersion: policy.networking.k8s.io/v1beta1\nkind: ClusterNetworkPolicyList\nitems: [{metadata: {name: a}}, {metadata: {name: b}}]", &["ClusterNetworkPolicy/a", "ClusterNetworkPolicy/b"])]
#[case::list_of_cluster("kind: List\nitems: [{apiVersion: policy.networking.k8s.io/v1beta1, kind: ClusterNetworkPolicy, metadata: {name: a}}]", &["ClusterNetworkPolicy/a"])]
#[case::antrea("apiVersion: crd.antrea.io/v1beta1\nkind: ClusterNetworkPolicy\nmetadata: {name: a}", &["Other/a"])]
#[case::antrea_list("apiVersion: crd.antrea.io/v1beta1\nkind: ClusterNetworkPolicyList\nitems: [{metadata: {name: a}}]", &["Other/a"])]
fn objects_are_read_in_every_form_that_kubectl_prints(
    #[case] text: &str,
    #[case] expected: &[&str],
) {
    assert_eq!(names(text), (expected.iter().map(ToString::to_string).collect(), Vec::new()));
}

#[rstest]
#[case::no_kind("metadata: {name: x}", "document 1", "no kind", "")]
#[case::wrong_type(
    "kind: Pod\nmetadata: {name: x, labels: [a]}",
    "document 1",
    "Pod/x cannot be read",
    "Broken Pod/x"
)]
#[case::a_text("just words", "document 1", "no kind", "")]
#[case::broken_item(
    "kind: List\nitems: [{kind: Pod, metadata: {name: x, labels: 1}}]",
    "item 1",
    "Pod/x",
    "Broken Pod/x"
)]
#[case::version_to_come(
    "apiVersion: policy.networking.k8s.io/v1\nkind: ClusterNetworkPolicy\nmetadata: {name: x}",
    "document 1",
    "policy.networking.k8s.io/v1 has no such kind here, and no verdict asks it",
    "Broken ClusterNetworkPolicy/x"
)]
#[case::kind_of_another_version(
    "apiVersion: policy.networking.k8s.io/v1beta1\nkind: AdminNetworkPolicy\nmetadata: {name: x}",
    "document 1",
    "AdminNetworkPolicy/x cannot be read and was left out",
    "Broken AdminNetworkPolicy/x"
)]
fn what_cannot_be_read_is_told_and_costs_no_other(
    #[case] text: &str,
    #[case] place: &str,
    #[case] message: &str,
    #[case] broken: &str,
) {
    let broken: Vec<&str> = Some(broken).filter(|broken| !broken.is_empty()).into_iter().collect();
    let (objects, told) = names(text);
    assert_eq!(objects, broken);
    assert!(told[0].place.contains(place) && told[0].message.contains(message), "{told:?}");
    let (objects, told) = names(&format!("{text}\n---\nkind: Pod\nmetadata: {{name: good}}"));
    assert_eq!(objects, [broken, vec!["Pod/good"]].concat());
    assert_eq!(told.len(), 1);
}

#[test]
fn text_that_is_no_yaml_is_told() {
    let (objects, told) = names("kind: [Pod");
    assert_eq!((objects, told.len()), (vec!["Broken /in".to_owned()], 1));
    assert_eq!(told[0].place, "in");
}

#[rstest]
#[case::nothing("podSelector: {matchLabels: {a: b}}, policyTypes: [Ingress], ingress: [], egress: null", &[])]
#[case::selector("podSelectors: {}", &["spec.podSelectors"])]
#[case::null("podSelectors: null", &[])]
#[case::deep("podSelector: {}, ingress: [{}, {from: [{namespaces: {a: b}, podSelector: {matchLabel: {a: b}}}], port: []}]", &["spec.ingress[1].from[0].namespaces", "spec.ingress[1].from[0].podSelector.matchLabel", "spec.ingress[1].port"])]
#[case::expression("podSelector: {matchExpressions: [{key: a, operator: Exists, value: b}]}", &["spec.podSelector.matchExpressions[0].value"])]
#[case::beside_the_spec("podSelector: {}}, specs: {", &["specs"])]
#[case::status("podSelector: {}}, status: {", &[])]
fn fields_that_a_network_policy_does_not_have_are_told(#[case] spec: &str, #[case] paths: &[&str]) {
    let (objects, told) = read(
        "in",
        &format!(
            "{{kind: NetworkPolicy, metadata: {{name: p, namespace: shop}}, spec: {{{spec}}}}}"
        ),
    );
    let mut places: Vec<String> = told.into_iter().map(|it| it.place).collect();
    places.sort();
    let place = |path| format!("in, document 1: NetworkPolicy shop/p: {path}");
    assert_eq!((objects.len(), places), (1, paths.iter().map(place).collect()));
}
