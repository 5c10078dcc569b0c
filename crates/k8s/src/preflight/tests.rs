use std::sync::Arc;

use netenf_api::WorkloadNetworkPolicyProposal;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn egress(rules: &Value, evidence: &Value) -> Resource {
    let object: WorkloadNetworkPolicyProposal = serde_json::from_value(json!({
        "metadata": {"name": "deployment-web-egress", "namespace": "shop"},
        "spec": {"backend": "kubernetes", "direction": "Egress", "kubernetes": {
            "podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Egress"], "egress": rules,
        }},
        "status": {"rules": evidence},
    }))
    .unwrap();
    object.into()
}

fn evidence(provenance: &str, kind: &str, first: &str) -> Value {
    json!([{
        "peer": {"kind": kind, "namespace": "openshift-dns"}, "port": 5353, "protocol": "UDP",
        "provenance": provenance, "count": 1, "firstSeen": first,
    }])
}

fn of(object: &Resource) -> Vec<Item> {
    let facts = Facts {
        object,
        window: Some(90_000),
        last: Some(100_000),
        denied: None,
        cluster_state: &[],
        enforcer: Enforcer::Unknown,
    };
    let limits = Limits { min_window: 86_400, quiet_period: 3_600, accept: Vec::new() };
    check(&facts, &limits)
}

fn result(items: &[Item], name: &str) -> Verdict {
    items.iter().find(|item| item.name == name).unwrap().result
}

fn named(labels: &Value) -> Value {
    let namespace = json!({"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}});
    json!({"namespaceSelector": namespace, "podSelector": {"matchLabels": labels}})
}

/// A port alone does not make a rule one for DNS: peer, protocol and port do.
#[rstest]
#[case::everything(json!([{}]), Verdict::Pass)]
#[case::the_port_to_everyone(json!([{"ports": [{"port": 53, "protocol": "UDP"}]}]), Verdict::Pass)]
#[case::the_dns_pods(json!([{"to": [named(&json!({"k8s-app": "kube-dns"}))], "ports": [{"port": 53, "protocol": "UDP"}]}]), Verdict::Pass)]
#[case::behind_its_target_port(json!([{"to": [named(&json!({"k8s-app": "kube-dns"}))], "ports": [{"port": 5353, "protocol": "UDP"}]}]), Verdict::Pass)]
#[case::by_its_name(json!([{"to": [named(&json!({"k8s-app": "kube-dns"}))], "ports": [{"port": "dns", "protocol": "UDP"}]}]), Verdict::Pass)]
#[case::in_a_range(json!([{"to": [{"namespaceSelector": {}}], "ports": [{"port": 50, "endPort": 60, "protocol": "UDP"}]}]), Verdict::Pass)]
#[case::all_ports_of_another(json!([{"to": [{"podSelector": {"matchLabels": {"app": "db"}}}]}]), Verdict::Fail)]
#[case::own_namespace(json!([{"to": [{"podSelector": {}}], "ports": [{"port": 53, "protocol": "UDP"}]}]), Verdict::Fail)]
#[case::other_pods_there(json!([{"to": [named(&json!({"app": "metrics"}))], "ports": [{"port": 53, "protocol": "UDP"}]}]), Verdict::Fail)]
#[case::tcp_only(json!([{"ports": [{"port": 53, "protocol": "TCP"}]}]), Verdict::Fail)]
#[case::other_port(json!([{"ports": [{"port": 5432, "protocol": "UDP"}]}]), Verdict::Fail)]
#[case::nothing(json!([]), Verdict::Fail)]
fn dns_is_allowed_if_a_question_reaches_a_server(#[case] rules: Value, #[case] expected: Verdict) {
    assert_eq!(result(&of(&egress(&rules, &json!([]))), "dns"), expected);
}

#[rstest]
#[case::known("Dns", "openshift-dns", Verdict::Pass)]
#[case::not_known("Deployment", "openshift-dns", Verdict::Fail)]
#[case::elsewhere("Dns", "shop", Verdict::Fail)]
fn a_dns_of_another_name_is_known_by_the_evidence(
    #[case] kind: &str,
    #[case] namespace: &str,
    #[case] expected: Verdict,
) {
    let rules = json!([{
        "to": [{
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "podSelector": {"matchLabels": {"dns": "default"}},
        }],
        "ports": [{"port": 5353, "protocol": "UDP"}],
    }]);
    let known = evidence("infrastructure", kind, "1970-01-01T00:00:00Z");
    assert_eq!(result(&of(&egress(&rules, &known)), "dns"), expected);
}

/// The last flow is at 100,000 s, 1970-01-02T03:46:40Z.
#[rstest]
#[case::old("observed", "1970-01-02T02:46:00Z", Verdict::Pass)]
#[case::new("observed", "1970-01-02T02:47:00Z", Verdict::Fail)]
#[case::infrastructure("infrastructure", "1970-01-02T02:47:00Z", Verdict::Pass)]
fn quiet_is_when_nothing_new_was_observed(
    #[case] provenance: &str,
    #[case] first: &str,
    #[case] expected: Verdict,
) {
    let object = egress(&json!([{}]), &evidence(provenance, "Deployment", first));
    assert_eq!(result(&of(&object), "quiet"), expected);
}

#[rstest]
#[case(0, "0s")]
#[case(59, "59s")]
#[case(60, "1m")]
#[case(3_600, "1h")]
#[case(3_660, "61m")]
#[case(86_400, "24h")]
#[case(90_000, "25h")]
#[case(200_001, "2d")]
fn spans_are_told_in_the_unit_they_fit(#[case] seconds: i64, #[case] expected: &str) {
    assert_eq!(words(seconds), expected);
}

/// Web talked to an address outside three times, and once to db.
fn denied() -> Vec<Denied> {
    let end = |peer| std::sync::Arc::new(learn::proposal::SeenEnd { peer, labels: None });
    let named = |kind: &str, name: &str| learn::proposal::Peer {
        kind: Some(kind.into()),
        namespace: Some("shop".into()),
        name: Some(name.into()),
        ..learn::proposal::Peer::default()
    };
    let outside = learn::proposal::Peer {
        kind: Some("External".into()),
        address: Some("203.0.113.7".parse().unwrap()),
        ..learn::proposal::Peer::default()
    };
    let edge = |destination, port, count| Denied {
        policy: ("shop".to_owned(), "deployment-web-egress".to_owned()),
        direction: Direction::Egress,
        rule: None,
        edge: learn::proposal::SeenEdge {
            source: end(named("Deployment", "web")),
            destination: end(destination),
            protocol: netenf_policy::Protocol::Tcp,
            port_names: Vec::new(),
            port,
            count,
            observations: count,
            learned: false,
            skipped: None,
            first: None,
            last: None,
        },
    };
    vec![edge(outside, 443, 3), edge(named("StatefulSet", "db"), 5432, 1)]
}

fn with_uncovered(accepted: &[bool]) -> Resource {
    let all = [
        json!({"id": "u1out", "peer": {"kind": "External", "addresses": ["203.0.113.6", "203.0.113.7"], "names": ["api.example.com"]},
            "port": 443, "protocol": "TCP", "reason": "External", "count": 3}),
        json!({"id": "u2db", "peer": {"kind": "StatefulSet", "namespace": "shop", "name": "db"},
            "port": 5432, "protocol": "TCP", "reason": "NoSelector", "count": 1}),
    ];
    let listed = all.into_iter().zip(accepted).map(|(mut item, accepted)| {
        item["accepted"] = json!(accepted);
        item
    });
    let mut object = egress(&json!([{}]), &json!([]));
    let Resource::Proposal(proposal) = &mut object else { panic!("{object:?}") };
    let uncovered: Vec<Value> = listed.collect();
    Arc::make_mut(proposal).status.as_mut().unwrap().uncovered =
        serde_json::from_value(json!(uncovered)).unwrap();
    object
}

#[rstest]
#[case::none_is_listed(&[], &[], Verdict::Fail, "denied: 4, listed as uncovered: 0", 0)]
#[case::one_is_listed(&[false], &[], Verdict::Fail, "denied: 4, listed as uncovered: 3", 0)]
#[case::all_are_listed(&[false, false], &[], Verdict::Fail, "denied: 4, listed as uncovered: 4", 0)]
#[case::one_is_accepted(&[true, false], &[], Verdict::Fail, "denied: 4, listed as uncovered: 4", 0)]
#[case::all_are_accepted(&[true, true], &[], Verdict::Accepted, "denied: 4, listed as uncovered: 4", 2)]
#[case::accepted_as_a_whole(&[], &["traffic"], Verdict::Accepted, "denied: 4, listed as uncovered: 0", 2)]
fn what_would_be_denied_is_told_whether_it_is_listed_or_not(
    #[case] accepted: &[bool],
    #[case] accept: &[&str],
    #[case] result: Verdict,
    #[case] message: &str,
    #[case] details: usize,
) {
    let (object, denied) = (with_uncovered(accepted), denied());
    let facts = Facts {
        object: &object,
        window: None,
        last: None,
        denied: Some(&denied),
        cluster_state: &[],
        enforcer: Enforcer::Unknown,
    };
    let accept = accept.iter().map(|name| (*name).to_owned()).collect();
    let items = check(&facts, &Limits { min_window: 0, quiet_period: 0, accept });
    let item = items.iter().find(|item| item.name == "traffic").unwrap();
    assert_eq!((item.result, item.details.len()), (result, details), "{item:?}");
    assert!(item.message.ends_with(message), "{item:?}");
}

#[test]
fn another_protocol_or_port_is_not_what_is_listed() {
    let object = with_uncovered(&[true, true]);
    let [mut one, _] = <[Denied; 2]>::try_from(denied()).unwrap();
    assert_eq!(listed(object.uncovered(), &one).unwrap().id, "u1out");
    one.edge.port = 80;
    assert_eq!(listed(object.uncovered(), &one), None);
    one.edge.port = 443;
    one.edge.protocol = UDP;
    assert_eq!(listed(object.uncovered(), &one), None);
}

#[rstest]
#[case::nothing(&[], Verdict::Pass, "uncovered: 0")]
#[case::open(&[false], Verdict::Fail, "uncovered: 1 (External api.example.com 443/TCP [u1out])")]
#[case::accepted(&[true, true], Verdict::Accepted, "uncovered: 0, accepted: 2 (u1out, u2db)")]
#[case::both(&[false, true], Verdict::Fail, "uncovered: 1 (External api.example.com 443/TCP [u1out]), accepted: 1")]
fn what_is_accepted_is_never_told_as_if_it_were_not_there(
    #[case] accepted: &[bool],
    #[case] result: Verdict,
    #[case] message: &str,
) {
    let items = of(&with_uncovered(accepted));
    let item = items.iter().find(|item| item.name == "uncovered").unwrap();
    assert_eq!((item.result, item.message.as_str()), (result, message));
}

#[rstest]
#[case::whole(json!([]), Verdict::Pass, "window 25h >= 24h")]
#[case::with_losses(json!([{"node": "n1", "reason": "LostEvents (ring buffer)", "lost": 7}, {"reason": "NodeUnavailable"}]), Verdict::Warn, "window 25h >= 24h, but with 2 gaps (7 events lost)")]
fn a_window_with_gaps_is_told(
    #[case] gaps: Value,
    #[case] expected: Verdict,
    #[case] message: &str,
) {
    let Resource::Proposal(mut proposal) = egress(&json!([{}]), &json!([])) else { panic!() };
    Arc::make_mut(&mut proposal).status.as_mut().unwrap().gaps =
        serde_json::from_value(gaps).unwrap();
    let items = of(&Resource::Proposal(proposal));
    assert_eq!((items[0].name, items[0].result), ("window", expected));
    assert_eq!(items[0].message, message);
}
