//! Names of any length.

use serde_json::Value;

use crate::person::Person;
use crate::place::Scene;

const PROMOTED_FROM: &str = "networkenforcer.kubewarden.io/promoted-from";

/// W23: a workload is learned, promoted and protected whatever its name, and two long names are never one.
#[test]
fn workloads_of_every_name_are_learned_and_protected() {
    let Scene { plane, feed, agent, .. } = Scene::new();
    let namespace = "n".repeat(63);
    let person = Person::moving_to(plane.admin(), &namespace);
    // Up to the limits of a label's value and of an object's name, and just over what fits without being cut.
    let names: Vec<String> = [45, 46, 63, 252, 253]
        .map(|length| format!("{length:03}{}", "w".repeat(length - 3)))
        .into();
    for name in &names {
        feed.connects(&format!("{namespace}/{name} > {namespace}/db:5432"));
    }
    feed.wait(&agent);
    let items = |kind: &str| -> Vec<Value> {
        let list: Value =
            serde_json::from_str(&person.run(&format!("get {kind} -o json"))).unwrap();
        list["items"].as_array().unwrap().clone()
    };
    let of = |items: Vec<Value>, name: &str| -> Value {
        let is_own = |it: &&Value| {
            it["spec"]["targetRef"]["name"] == name && it["spec"]["direction"] == "Egress"
        };
        items
            .iter()
            .find(is_own)
            .cloned()
            .unwrap_or_else(|| panic!("nothing is for {name}: {items:#?}"))
    };
    let proposals: Vec<String> = names
        .iter()
        .map(|name| of(items("wnpp"), name)["metadata"]["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(proposals[0], format!("deployment-{}-egress", names[0]));
    for proposal in &proposals {
        assert!(proposal.len() <= 63, "{proposal}");
        person.run(&format!("label wnpp/{proposal} networkenforcer.kubewarden.io/promote=protect"));
    }
    for (name, proposal) in names.iter().zip(&proposals) {
        person.wait("it is protected", |it| it.get(&format!("networkpolicy/{proposal}")).is_some());
        let policy = of(items("wnp"), name);
        assert_eq!(policy["metadata"]["labels"][PROMOTED_FROM], proposal.as_str());
        assert_eq!(policy["metadata"]["name"], proposal.as_str());
        person
            .wait("it is told", |it| it.events().contains(&format!("Normal Promoted {proposal}")));
    }
    assert_eq!(items("networkpolicies").len(), names.len(), "each has its own");
}
