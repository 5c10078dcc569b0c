//! Policies for Istio, and what a change of the provider does to those of the other backend.

use netenf_testkit::control_plane::ControlPlane;
use serde_json::{Value, json};

use crate::agent::{Agent, account};
use crate::feed::Feed;
use crate::person::{Person, istio_policy, policy};
use crate::plane;

/// The definition of Istio's kind, as far as it matters here.
const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: authorizationpolicies.security.istio.io}
spec:
  group: security.istio.io
  scope: Namespaced
  names: {kind: AuthorizationPolicy, listKind: AuthorizationPolicyList, plural: authorizationpolicies, singular: authorizationpolicy}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
";

const POLICY: &str = "wnp/deployment-web-ingress";
const NATIVE: &str = "authorizationpolicy/deployment-web-ingress";

/// A plane in which Istio is.
fn mesh() -> ControlPlane {
    let plane = plane();
    plane.admin().kubectl_reading(DEFINITION, &["apply", "-f", "-"]).unwrap();
    plane
}

/// A pod of a Deployment, as the controllers make it; its name.
fn pod(person: &Person<'_>, name: &str) -> String {
    let labels = json!({"app": name});
    let template = json!({
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]},
    });
    let spec = json!({"selector": {"matchLabels": labels}, "template": template});
    let owned = |kind: &str, name: String, owner: Option<(&str, &str)>| {
        let owners = owner.map(|(kind, name)| {
            let uid = person.get(&format!("{kind}/{name}")).unwrap()["metadata"]["uid"].clone();
            json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": true}])
        });
        let metadata = json!({"name": name, "labels": labels, "ownerReferences": owners});
        let (version, spec) = match kind {
            "Pod" => ("v1", &template["spec"]),
            _ => ("apps/v1", &spec),
        };
        person.apply(
            &json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}),
        );
        name
    };
    owned("Deployment", name.to_owned(), None);
    let set = owned("ReplicaSet", format!("{name}-7d9f8b6c5"), Some(("Deployment", name)));
    owned("Pod", format!("{set}-abcde"), Some(("ReplicaSet", &set)))
}

/// ztunnel's line about a connection from an account of the namespace to a pod.
fn access(account: &str, pod: &str, port: u16) -> Value {
    json!({
        "level": "info", "time": crate::feed::now(), "scope": "access", "message": "connection complete",
        "src.addr": format!("10.1.0.6:{}", 30_000 + port), "src.workload": format!("{account}-0"), "src.namespace": "shop",
        "src.identity": format!("spiffe://cluster.local/ns/shop/sa/{account}"),
        "dst.addr": "10.1.0.7:15008", "dst.hbone_addr": format!("10.1.0.7:{port}"), "dst.workload": pod,
        "dst.namespace": "shop", "dst.identity": "spiffe://cluster.local/ns/shop/sa/default",
        "direction": "inbound", "bytes_sent": 16, "bytes_recv": 16, "duration": "4ms",
    })
}

/// The same of one that a policy denied.
fn rejected(account: &str, pod: &str, port: u16) -> Value {
    let mut line = access(account, pod, port);
    line["level"] = json!("error");
    line["error"] =
        json!("connection closed due to policy rejection: allow policies exist, but none allowed");
    line
}

/// W6: what the mesh cannot express is refused, and what was in force stays.
#[test]
fn a_selector_of_expressions_is_refused_and_never_widened() {
    let plane = mesh();
    let _agent = Agent::start_with(&account(&plane), "one", &["--backend=istio"]);
    let person = Person::moving_to(plane.admin(), "shop");
    person.apply(&istio_policy("deployment-web-ingress", "protect"));
    person.wait("it is enforced", |it| it.get(NATIVE).is_some());
    let before = person.get(NATIVE).unwrap();
    assert_eq!(before["spec"]["selector"]["matchLabels"], json!({"app": "web"}));

    let expressions = json!([{"key": "tier", "operator": "In", "values": ["front"]}]);
    person.patch(
        POLICY,
        &json!({"spec": {"istio": {"selector": {"matchExpressions": expressions}}}}),
    );
    person.wait_for(POLICY, "Ready", "False", "InvalidSpec");
    let told = person.condition(POLICY, "Ready").unwrap();
    assert!(told["message"].as_str().unwrap().contains("matchExpressions"), "{told}");
    assert_eq!(person.get(NATIVE).unwrap(), before, "what was in force stays as it is");

    let mut alone = istio_policy("deployment-api-ingress", "protect");
    alone["spec"]["istio"]["selector"] = json!({"matchExpressions": expressions});
    person.apply(&alone);
    person.wait_for("wnp/deployment-api-ingress", "Ready", "False", "InvalidSpec");
    assert_eq!(person.get("authorizationpolicy/deployment-api-ingress"), None);
    person.wait("it is told", |it| {
        it.events().contains("Warning InvalidSpec deployment-api-ingress")
    });
}

/// W7, W13, W17: a rejected connection teaches nothing and is a violation with identity and port; a rule that a person
/// opened stays open.
#[test]
fn rejected_connections_are_violations_and_no_rules() {
    let plane = mesh();
    let account = account(&plane);
    let person = Person::moving_to(plane.admin(), "shop");
    let (web, api) = (pod(&person, "web"), pod(&person, "api"));
    let feed = Feed::new(&account, "lines");
    let agent = feed.start_with(&account, "one", &["--backend=istio"]);
    person.apply(&istio_policy("deployment-web-ingress", "protect"));
    person.wait("it is enforced", |it| it.get(NATIVE).is_some());
    for port in [8080, 9090] {
        feed.tell_line(&rejected("batch", &web, port));
    }
    feed.tell_line(&rejected("stranger", &api, 8080));
    feed.tell_line(&access("cli", &api, 8080));
    feed.wait(&agent);
    let violations = || person.get(POLICY).unwrap()["status"]["violations"].clone();
    person.wait("both are told", |_| violations().as_array().is_some_and(|all| all.len() == 2));
    let all = violations();
    let told = all.as_array().unwrap().iter();
    let mut told: Vec<_> =
        told.map(|it| (it["dstPort"].clone(), it["source"]["identity"].clone())).collect();
    told.sort_by_key(|(port, _)| port.as_u64());
    let batch = json!("cluster.local/ns/shop/sa/batch");
    assert_eq!(told, [(json!(8080), batch.clone()), (json!(9090), batch)], "{all:#}");

    let learned = "wnpp/deployment-api-ingress";
    let rules = || person.get(learned).unwrap()["spec"]["istio"]["rules"].clone();
    let principal = |identity: &str| json!([{"source": {"principals": [identity]}}]);
    let cli = principal("cluster.local/ns/shop/sa/cli");
    assert_eq!(rules(), json!([{"from": cli, "to": [{"operation": {"ports": ["8080"]}}]}]));

    person.patch(learned, &json!({"spec": {"istio": {"rules": [{"from": cli}]}}}));
    feed.tell_line(&access("cli", &api, 9090));
    feed.tell_line(&access("batch", &api, 8080));
    feed.wait(&agent);
    let batch = principal("cluster.local/ns/shop/sa/batch");
    let added = json!({"from": batch, "to": [{"operation": {"ports": ["8080"]}}]});
    let rules = rules();
    assert!(rules.as_array().unwrap().contains(&json!({"from": cli})), "it stays open: {rules:#}");
    assert!(rules.as_array().unwrap().contains(&added), "what is new is added: {rules:#}");
    assert_eq!(rules.as_array().unwrap().len(), 2, "{rules:#}");
}

/// W25: policies of the other backend are left alone, and so is what they wrote, until the provider is back.
#[test]
fn a_change_of_the_provider_leaves_everything_as_it_is_and_says_so() {
    let plane = mesh();
    let account = account(&plane);
    let person = Person::moving_to(plane.admin(), "shop");
    let (other, network) = ("wnp/deployment-web-egress", "networkpolicy/deployment-web-egress");
    person.apply(&policy("deployment-web-egress", "protect"));
    person.apply(&istio_policy("deployment-web-ingress", "protect"));
    let agent = Agent::start(&account, "one");
    person.wait("one is enforced", |it| it.get(network).is_some());
    person.wait_for(other, "Ready", "True", "Valid");
    person.wait_for(POLICY, "Ready", "False", "OtherBackend");
    assert_eq!(person.get(NATIVE), None);
    let enforced = person.get(network);
    agent.stop();

    let agent = Agent::start_with(&account, "two", &["--backend=istio"]);
    person.wait("the other is enforced", |it| it.get(NATIVE).is_some());
    person.wait_for(other, "Ready", "False", "OtherBackend");
    person.wait_for(other, "Enforced", "Unknown", "OtherBackend");
    person.wait_for(POLICY, "Ready", "True", "Valid");
    assert_eq!(person.get(network), enforced, "it is left alone");
    let meshed = person.get(NATIVE);
    // Neither is a policy changed while it is of the other backend.
    person.patch(other, &json!({"spec": {"mode": "monitor"}}));
    person.wait("that is seen", |it| {
        let policy = it.get(other).unwrap();
        policy["status"]["observedGeneration"] == policy["metadata"]["generation"]
    });
    assert_eq!(person.get(network), enforced, "it is left alone");
    agent.stop();

    let agent = Agent::start(&account, "three");
    person.wait("monitoring takes it away", |it| it.get(network).is_none());
    person.wait_for(other, "Enforced", "False", "Monitoring");
    person.wait_for(POLICY, "Ready", "False", "OtherBackend");
    assert_eq!(person.get(NATIVE), meshed, "it is left alone");
    agent.stop();
}
