//! What a person decided stays, and what was seen of what they promoted is not lost.

use serde_json::{Value, json};

use crate::environment::Environment;
use crate::recording;

const DEMO: &str = "learn --input-file flows.jsonl --cluster-state state.yaml --dir policies";
const EGRESS: &str = "policies/shop/deployment-web-egress";

fn object(environment: &Environment) -> Value {
    let list = environment.good("get deployment-web-egress -n shop --dir policies -o json");
    serde_json::from_str::<Value>(&list).unwrap()["items"][0].clone()
}

fn rules(environment: &Environment) -> Value {
    object(environment)["spec"]["kubernetes"]["egress"].clone()
}

/// The proposal of web's egress as a person leaves it.
fn edit(environment: &Environment, change: impl FnOnce(&mut Value)) {
    let mut own = object(environment);
    change(&mut own);
    environment.write(&format!("{EGRESS}.proposal.yaml"), own.to_string());
}

#[test]
fn a_rule_that_was_removed_by_hand_stays_out_with_and_without_a_fresh_start() {
    for learn in [format!("{DEMO} --fresh"), DEMO.to_owned()] {
        let environment = Environment::learned();
        edit(&environment, |own| {
            let rules = own["spec"]["kubernetes"]["egress"].as_array_mut().unwrap();
            rules.retain(|rule| !rule.to_string().contains("8080"));
        });
        let before = rules(&environment);
        environment.good(&learn);
        assert_eq!(rules(&environment), before);
        let diff = environment.run("diff deployment/web --direction egress --dir policies").stdout;
        assert!(diff.contains("refused"), "{diff}");
    }
}

#[test]
fn an_accepted_range_that_was_removed_stays_out() {
    let environment = Environment::new();
    environment.write("flows.jsonl", recording::with_many_ports());
    environment.good(DEMO);
    let id = recording::suggestion(&environment);
    environment.good(&format!("allow {id} --dir policies"));
    let accepted = rules(&environment);
    environment.good(DEMO);
    assert_eq!(rules(&environment), accepted);
    assert_eq!(object(&environment)["status"]["suggestions"], Value::Null);
    edit(&environment, |own| {
        let rules = own["spec"]["kubernetes"]["egress"].as_array_mut().unwrap();
        rules.retain(|rule| !rule.to_string().contains("20000"));
    });
    for learn in [DEMO.to_owned(), format!("{DEMO} --fresh"), DEMO.to_owned()] {
        environment.good(&learn);
        assert!(!rules(&environment).to_string().contains("200"), "{learn}");
    }
}

#[test]
fn selectors_that_were_narrowed_by_hand_stay() {
    let environment = Environment::new();
    let learn = "learn --input-file flows.jsonl --dir policies";
    environment.good(learn);
    edit(&environment, |own| {
        let body = &mut own["spec"]["kubernetes"];
        body["podSelector"]["matchLabels"]["track"] = "stable".into();
        for rule in body["egress"].as_array_mut().unwrap() {
            rule["to"][0]["podSelector"]["matchLabels"]["role"] = "primary".into();
        }
    });
    let before = object(&environment)["spec"].clone();
    for learn in [learn.to_owned(), DEMO.to_owned(), format!("{DEMO} --fresh")] {
        environment.good(&learn);
        let spec = object(&environment)["spec"].clone();
        assert_eq!(
            spec["kubernetes"]["podSelector"], before["kubernetes"]["podSelector"],
            "{learn}"
        );
        for rule in before["kubernetes"]["egress"].as_array().unwrap() {
            assert!(
                spec["kubernetes"]["egress"].as_array().unwrap().contains(rule),
                "{learn}: {spec}"
            );
        }
    }
}

/// web asks api by ICMP, and a packet of which nobody can tell who opened its connection.
fn without_a_rule() -> String {
    let mut ping = recording::flow();
    ping["flow"]["l4"] = json!({"ICMPv4": {"type": 8}});
    let mut underway = recording::flow();
    underway["flow"]["l4"]["TCP"] =
        json!({"source_port": 40_100, "destination_port": 6_000, "flags": {"ACK": true}});
    underway["flow"].as_object_mut().unwrap().remove("is_reply");
    for flow in [&mut ping, &mut underway] {
        flow["flow"]["time"] = "2026-09-02T12:10:00Z".into();
    }
    format!("{ping}\n{underway}\n")
}

#[test]
fn what_no_rule_expresses_is_listed_in_the_policy_and_holds_protecting_up() {
    let environment = Environment::learned();
    environment.good("promote deployment/web -n shop --direction egress --dir policies");
    environment.write("icmp.jsonl", without_a_rule());
    let learn = "learn --input-file icmp.jsonl --cluster-state state.yaml --dir policies";
    insta::assert_snapshot!(environment.run(learn), @"
    exit 0
    ----- stdout -----
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-api-ingress updated
    shop/workloadnetworkpolicy.networkenforcer.kubewarden.io/deployment-web-egress updated
    ----- stderr -----
    2 received: 0 learned, 2 uncovered, 0 skipped, 0 violations, 0 errors; 0 lost by the source
    1 proposal, 1 policy, 4 uncovered items
    ");
    let reasons = || {
        let uncovered = object(&environment)["status"]["uncovered"].clone();
        let items = uncovered.as_array().unwrap().iter();
        items
            .map(|item| format!("{} {}", item["reason"].as_str().unwrap(), item["count"]))
            .collect::<Vec<_>>()
            .join(", ")
    };
    assert_eq!(reasons(), "External 8, Ambiguous 1, Unanswered 1, Protocol 1");
    environment.good(learn);
    assert_eq!(reasons(), "External 8, Ambiguous 2, Unanswered 1, Protocol 2");
    let run = environment
        .run("promote deployment/web -n shop --direction egress --protect --dir policies");
    assert!(run.code == 1 && run.stdout.contains("uncovered: 4"), "{run}");
}

#[test]
fn names_that_kubernetes_forbids_are_told_and_make_no_object() {
    let environment = Environment::new();
    let named = |what: fn(&mut Value)| {
        let mut flow = recording::flow();
        what(&mut flow["flow"]["source"]);
        format!("{flow}\n")
    };
    for (what, flows) in [
        ("name", named(|end| end["workloads"] = json!([{"kind": "Deployment", "name": "We b"}]))),
        ("namespace", named(|end| end["namespace"] = "sh/op".into())),
        ("label", named(|end| end["labels"] = json!(["k8s:app=we b"]))),
    ] {
        environment.write("odd.jsonl", flows);
        for store in ["", " --dir policies"] {
            let run = environment.run(&format!("learn --input-file odd.jsonl -o name{store}"));
            assert!(run.stdout.contains("deployment-api-ingress"), "{what}: {run}");
            assert!(!run.stdout.contains("egress"), "{what}: {run}");
            assert!(run.stderr.contains("1 UnknownOwner"), "{what}: {run}");
        }
    }
}
