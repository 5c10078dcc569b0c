use std::collections::BTreeSet;
use std::sync::Arc;

use netenf_api::{PeerRef, WorkloadNetworkPolicyProposal};
use proptest::prelude::*;

use super::*;

/// One rule of a spec: namespace, label, port, and the name under which it was seen, if it was.
type Written = (String, String, i32, Option<String>);

/// A proposal with these rules, two peers to a rule where they share a port.
fn proposal(rules: &[Written]) -> Resource {
    let object = json!({
        "apiVersion": "networkenforcer.kubewarden.io/v1alpha1", "kind": "WorkloadNetworkPolicyProposal",
        "metadata": {"name": "deployment-web-egress", "namespace": "shop"},
        "spec": {"backend": "kubernetes", "direction": "Egress", "kubernetes": {
            "podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Egress"],
            "egress": rules.chunk_by(|a, b| a.2 == b.2).map(|same| json!({
                "to": same.iter().map(|(namespace, label, ..)| json!({
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                    "podSelector": {"matchLabels": {"app": label}},
                })).collect::<Vec<_>>(),
                "ports": [{"protocol": "TCP", "port": same[0].2}],
            })).collect::<Vec<_>>(),
        }},
        "status": {"rules": rules.iter().filter_map(|(namespace, _, port, name)| Some(json!({
            "peer": PeerRef {
                kind: Some("Deployment".to_owned()), namespace: Some(namespace.clone()),
                name: Some(name.clone()?), ..PeerRef::default()
            },
            "port": port, "protocol": "TCP", "provenance": "observed", "count": 1,
        }))).collect::<Vec<_>>()},
    });
    let proposal: WorkloadNetworkPolicyProposal = serde_json::from_value(object).unwrap();
    proposal.into()
}

/// Namespace, label and port of what a line shows, read from what programs are given.
fn parsed(line: &Line) -> (String, String, i64) {
    let rule = line.rule.as_ref().unwrap().json();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let namespaces = &rule["peer"]["namespaceSelector"]["matchLabels"];
    (
        text(&namespaces["kubernetes.io/metadata.name"]),
        text(&rule["peer"]["podSelector"]["matchLabels"]["app"]),
        rule["port"]["port"].as_i64().unwrap(),
    )
}

fn rules() -> impl Strategy<Value = Vec<Written>> {
    // Names and labels are of one alphabet: what is called so may be labelled otherwise.
    let seen = prop::option::of("[wxyz]");
    prop::collection::vec(("shop|data", "[wxyz]", 80..83, seen), 0..8)
}

proptest! {
    #[test]
    fn the_rules_that_are_shown_are_those_of_the_spec(rules in rules()) {
        let lines = compare(None, Some(&proposal(&rules)));
        let shown: Vec<_> = lines.iter().map(parsed).collect();
        let written: BTreeSet<_> = rules
            .iter()
            .map(|(namespace, label, port, _)| (namespace.clone(), label.clone(), i64::from(*port)))
            .collect();
        prop_assert_eq!(shown.iter().cloned().collect::<BTreeSet<_>>(), written.clone());
        prop_assert_eq!(shown.len(), written.len());
        // And a person can tell them apart.
        let texts: BTreeSet<_> = lines.iter().map(|line| (&line.peer, &line.port)).collect();
        prop_assert_eq!(texts.len(), written.len());
    }

    #[test]
    fn what_two_specs_have_in_common_is_the_same_and_the_rest_is_gone_or_new(
        old in rules(),
        new in rules(),
    ) {
        let lines = compare(Some(&proposal(&old)), Some(&proposal(&new)));
        let keys = |rules: &[Written]| -> BTreeSet<_> {
            rules.iter().map(|(a, b, port, _)| (a.clone(), b.clone(), i64::from(*port))).collect()
        };
        let (old, new) = (keys(&old), keys(&new));
        for line in &lines {
            let key = parsed(line);
            let expected = match (old.contains(&key), new.contains(&key)) {
                (true, true) => vec![Sign::Same],
                (true, false) => vec![Sign::Removed],
                (false, _) => vec![Sign::Added, Sign::Changed],
            };
            prop_assert!(expected.contains(&line.sign), "{:?}", line);
        }
        prop_assert_eq!(lines.len(), old.union(&new).count());
    }
}

#[test]
fn a_rule_that_admits_more_than_what_was_seen_is_not_called_by_it() {
    let mut wide = proposal(&[("data".to_owned(), "x".to_owned(), 80, Some("db".to_owned()))]);
    let Resource::Proposal(own) = &mut wide else { panic!("{wide:?}") };
    let body = Arc::make_mut(own).spec.kubernetes.as_mut().unwrap();
    let rule = &mut body.egress.as_mut().unwrap()[0];
    rule.to.as_mut().unwrap()[0].pod_selector = None;
    let [line] = compare(None, Some(&wide)).try_into().unwrap();
    assert_eq!((line.peer.as_str(), line.seen.count), ("data/*", Some(1)));
}
