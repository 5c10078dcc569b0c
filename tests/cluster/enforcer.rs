//! What the agent says of enforcement while network plugins come and go.

use serde_json::{Value, json};

use crate::agent::{Agent, account};
use crate::person::{Person, policy};
use crate::plane;

/// A network plugin, on the host's network as they are.
fn plugin(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"k8s-app": name}},
            "template": {
                "metadata": {"labels": {"k8s-app": name}},
                "spec": {"hostNetwork": true, "containers": [{"name": "agent", "image": "example.com/agent:1"}]},
            },
        },
    })
}

/// In protect a policy says whether its native object is enforced, whenever that changes, and guesses nothing.
#[test]
fn a_policy_says_whether_anything_in_the_cluster_enforces_it() {
    let plane = plane();
    let _agent = Agent::start(&account(&plane), "one");
    let person = Person::moving_to(plane.admin(), "shop");
    let system = Person::new(plane.admin(), "kube-system");
    let own = "wnp/deployment-web-egress";
    person.apply(&policy("deployment-web-egress", "protect"));
    person.wait_for(own, "Enforced", "Unknown", "EnforcerUnknown");

    let mut impostor = plugin("cilium");
    impostor["spec"]["template"]["spec"]["hostNetwork"] = json!(false);
    person.apply(&impostor);
    system.apply(&plugin("kube-flannel-ds"));
    person.wait_for(own, "Enforced", "False", "NoEnforcer");
    let told = person.condition(own, "Enforced").unwrap();
    assert!(told["message"].as_str().unwrap().contains("flannel enforces no policies"), "{told}");

    system.apply(&plugin("cilium"));
    person.wait_for(own, "Enforced", "True", "Protecting");
    let told = person.condition(own, "Enforced").unwrap();
    assert!(told["message"].as_str().unwrap().ends_with("by Cilium"), "{told}");
    system.run("delete daemonset/cilium");
    person.wait_for(own, "Enforced", "False", "NoEnforcer");
    person.wait("Events tell it", |it| {
        let events = it.events();
        ["Warning EnforcerUnknown", "Warning NoEnforcer", "Normal Protecting"]
            .iter()
            .all(|event| events.contains(event))
    });
}
