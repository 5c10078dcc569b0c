//! What a person does with kubectl alone, and what the agent makes of it.

use serde_json::{Value, json};

use crate::agent::{Agent, account};
use crate::person::{Person, policy, proposal};
use crate::plane;

/// From a proposal to a native object and back (enforcer.md 13).
#[test]
fn a_person_promotes_protects_and_demotes_with_kubectl_alone() {
    let plane = plane();
    let agent = Agent::start(&account(&plane), "one");
    plane.admin().kubectl(&["create", "namespace", "shop"]).unwrap();
    let person = Person::new(plane.admin(), "shop");
    let (name, policy) = ("deployment-web-egress", "wnp/deployment-web-egress");
    let native = "networkpolicy/deployment-web-egress";

    person.apply(&proposal(name));
    person.run("label wnpp/deployment-web-egress networkenforcer.kubewarden.io/promote=monitor");
    person.wait("the policy is there and the proposal is gone", |it| {
        it.get(policy).is_some() && it.get("wnpp/deployment-web-egress").is_none()
    });
    let promoted = person.get(policy).unwrap();
    assert_eq!(promoted["spec"]["mode"], "monitor");
    assert_eq!(promoted["spec"]["kubernetes"], proposal(name)["spec"]["kubernetes"]);
    person.wait("it is told that it monitors", |it| it.is(policy, "Ready", "True", "Valid"));
    assert_eq!(person.get(native), None);

    person.run(r#"patch wnp/deployment-web-egress --type=merge -p {"spec":{"mode":"protect"}}"#);
    person.wait("the native object is there", |it| it.get(native).is_some());
    let enforced = person.get(native).unwrap();
    assert_eq!(enforced["spec"], proposal(name)["spec"]["kubernetes"]);
    assert_eq!(enforced["metadata"]["ownerReferences"][0]["uid"], promoted["metadata"]["uid"]);

    // Drift is taken back.
    person.run(r#"patch networkpolicy/deployment-web-egress --type=json -p [{"op":"remove","path":"/spec/egress"}]"#);
    person.wait("the rules are back", |it| {
        it.get(native).is_some_and(|it| it["spec"]["egress"] == enforced["spec"]["egress"])
    });

    person.run(r#"patch wnp/deployment-web-egress --type=merge -p {"spec":{"mode":"monitor"}}"#);
    person.wait("the native object is gone", |it| it.get(native).is_none());
    drop(agent);
}

/// A foreign object of the name is never written over, which is told, and healed when it goes (W24).
#[test]
fn a_foreign_object_is_a_conflict_until_it_goes() {
    let plane = plane();
    let _agent = Agent::start(&account(&plane), "one");
    plane.admin().kubectl(&["create", "namespace", "shop"]).unwrap();
    let person = Person::new(plane.admin(), "shop");
    let foreign = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": "deployment-web-egress", "namespace": "shop"}, "spec": {"podSelector": {}},
    });
    person.apply(&foreign);
    let before = person.get("networkpolicy/deployment-web-egress").unwrap();
    let mut policy = proposal("deployment-web-egress");
    policy["kind"] = json!("WorkloadNetworkPolicy");
    policy["spec"]["mode"] = json!("protect");
    person.apply(&policy);
    let own = "wnp/deployment-web-egress";
    person.wait("the conflict is told", |it| it.is(own, "Conflict", "True", "ForeignObject"));
    assert_eq!(person.get("networkpolicy/deployment-web-egress").unwrap()["spec"], before["spec"]);
    person.wait("an Event tells it", |it| it.run("get events").contains("ForeignObject"));

    person.run("delete networkpolicy/deployment-web-egress");
    person.wait("ours takes its place", |it| {
        it.get("networkpolicy/deployment-web-egress")
            .is_some_and(|it| it["spec"] == policy["spec"]["kubernetes"])
    });
    person.wait("the conflict is over", |it| it.is(own, "Conflict", "False", "NameFree"));
}

/// What kubectl applied last is kept, so that it takes out what was taken out of the file.
#[test]
fn what_a_repository_takes_out_is_taken_out_after_the_agent_wrote() {
    let plane = plane();
    let _agent = Agent::start(&account(&plane), "one");
    let person = Person::moving_to(plane.admin(), "shop");
    let mut policy = policy("deployment-web-egress", "protect");
    let selector = "/spec/kubernetes/podSelector/matchLabels";
    policy.pointer_mut(selector).unwrap()["tier"] = json!("front");
    policy["metadata"]["labels"] = json!({"team": "one"});
    person.apply(&policy);
    let own = "wnp/deployment-web-egress";
    person.wait_for(own, "Ready", "True", "Valid");
    let team = |it: &Person<'_>| {
        let native = it.get("networkpolicy/deployment-web-egress");
        native.map(|native| native["metadata"]["labels"]["team"].clone())
    };
    person.wait("its object has the label", |it| team(it) == Some(json!("one")));
    // An annotation that the agent takes off, which replaces the object.
    person.run("annotate wnp/deployment-web-egress networkenforcer.kubewarden.io/acknowledge-x=y");
    person.wait("the agent wrote", |it| !it.run("get wnp -o yaml").contains("acknowledge-x: y"));
    policy.pointer_mut(selector).unwrap().as_object_mut().unwrap().remove("tier");
    policy["metadata"]["labels"] = json!({});
    person.apply(&policy);
    let stored = person.get(own).unwrap();
    assert_eq!(stored.pointer(selector), Some(&json!({"app": "web"})), "{stored:#}");
    assert_eq!(stored.pointer("/metadata/labels/team"), None, "{stored:#}");
    person.wait("nor has its object", |it| team(it) == Some(Value::Null));
}

/// A poison object is told, and stops no other one.
#[test]
fn a_wrong_word_is_told_and_stops_no_other_proposal() {
    let plane = plane();
    let _agent = Agent::start(&account(&plane), "one");
    plane.admin().kubectl(&["create", "namespace", "shop"]).unwrap();
    let person = Person::new(plane.admin(), "shop");
    for name in ["deployment-bad-egress", "deployment-good-egress"] {
        person.apply(&proposal(name));
    }
    person.run("label wnpp/deployment-bad-egress networkenforcer.kubewarden.io/promote=enforce");
    person.run("label wnpp/deployment-good-egress networkenforcer.kubewarden.io/promote=protect");
    person.wait("the good one protects", |it| {
        it.get("networkpolicy/deployment-good-egress").is_some()
    });
    person.wait("the bad one is told", |it| {
        it.is("wnpp/deployment-bad-egress", "Promoted", "False", "InvalidMode")
    });
    assert_eq!(person.get("wnp/deployment-bad-egress"), None);
}

/// The whole loop: flows become proposals, a label makes one a policy, and that a native object. What is known
/// costs no write when it is seen again, by another replica too.
#[test]
fn a_recording_becomes_proposals_that_kubectl_promotes() {
    let plane = plane();
    let account = account(&plane);
    for namespace in ["shop", "monitoring"] {
        plane.admin().kubectl(&["create", "namespace", namespace]).unwrap();
    }
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/demo/flows.jsonl");
    let endpoint = format!("--provider-endpoint={recording}");
    let replay = ["--provider-name=replay", &endpoint, "--learning-flush-interval=1h"];
    let agent = Agent::start_with(&account, "one", &replay);
    let person = Person::new(plane.admin(), "shop");
    person.wait("all proposals are written", |it| {
        agent.has_learned() && it.get("wnpp/deployment-web-egress").is_some()
    });
    assert_eq!(person.run("get wnpp -o name").lines().count(), 5);
    // One creation and one status for each of the six, those of the other namespace too.
    assert_eq!(agent.writes(), 12);
    let proposal = person.get("wnpp/deployment-web-egress").unwrap();
    let rules = proposal["spec"]["kubernetes"]["egress"].as_array().unwrap();
    let ports = rules.iter().flat_map(|rule| rule["ports"].as_array().unwrap());
    let ports: Vec<u64> = ports.map(|port| port["port"].as_u64().unwrap()).collect();
    assert!(ports.contains(&8080), "{proposal}");
    assert!(!proposal["status"]["rules"].as_array().unwrap().is_empty(), "{proposal}");

    person.run("label wnpp/deployment-web-egress networkenforcer.kubewarden.io/promote=protect");
    let native = "networkpolicy/deployment-web-egress";
    person.wait("the native object is there", |it| it.get(native).is_some());
    assert_eq!(person.get(native).unwrap()["spec"], proposal["spec"]["kubernetes"]);
    person.wait("the proposal is gone", |it| it.get("wnpp/deployment-web-egress").is_none());
    person.wait("it is told", |it| {
        it.is("wnp/deployment-web-egress", "Enforced", "Unknown", "EnforcerUnknown")
    });
    // Whoever comes next begins where this one ended.
    agent.stop();

    let versions = || {
        person.run("get wnpp,wnp,networkpolicy -o jsonpath={.items[*].metadata.resourceVersion}")
    };
    let before = versions();
    let agent = Agent::start_with(&account, "two", &replay);
    person.wait("the second replica has read it all", |_| agent.has_ended());
    assert_eq!((versions(), agent.writes()), (before, 0), "what is known is written again");
}
