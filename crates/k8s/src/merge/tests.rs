use k8s_openapi::api::networking::v1::{NetworkPolicyEgressRule, NetworkPolicySpec};
use netenf_api::{
    Provenance as ApiProvenance, UncoveredReason, WorkloadNetworkPolicyProposal as Object,
};
use netenf_learn::proposal::{
    Denial, Evidence, Gap, Peer, Proposal, Provenance, Reason, RulePeer, SeenEnd, Suggestion,
    Uncovered,
};
use netenf_learn::{Direction, SelectorOrigin, Timestamp, Workload, WorkloadSelector};
use netenf_policy::{Labels, Protocol, Selector};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

mod decision;
mod limit;

/// A proposal of egress of shop/web to the workloads `name:port`, whose pods have the label app=name.
pub(crate) fn learned(rules: &str) -> Proposal {
    let evidence: Vec<Evidence> = rules.split_whitespace().map(evidence).collect();
    let mut proposal = Proposal {
        subject: Workload::new("shop", "Deployment", "web"),
        direction: Direction::Egress,
        backend: netenf_learn::Backend::Kubernetes,
        selector: WorkloadSelector {
            selector: labels("app=web"),
            origin: SelectorOrigin::Object,
            also: Vec::new(),
        },
        rules: std::collections::BTreeMap::new(),
        evidence: Vec::new(),
        uncovered: Vec::new(),
        suggestions: Vec::new(),
        denials: Vec::new(),
        gaps: Vec::new(),
        reporting: std::sync::Arc::default(),
        truncated: None,
        learned_since: Some(Timestamp::from_seconds(100)),
        last_new_rule: Some(Timestamp::from_seconds(100)),
    };
    for one in evidence {
        proposal.rules.entry(one.rule.clone()).or_default().push((one.protocol, one.port));
        proposal.evidence.push(one);
    }
    proposal
}

fn labels(text: &str) -> Selector {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    Selector::of_labels(pairs.collect::<Labels>())
}

fn evidence(text: &str) -> Evidence {
    let (name, port) = text.split_once(':').unwrap();
    let peer = Peer {
        kind: Some("Deployment".into()),
        namespace: Some("shop".into()),
        name: Some(name.into()),
        ..Peer::default()
    };
    Evidence {
        rule: RulePeer::Pods { namespace: "shop".into(), selector: labels(&format!("app={name}")) },
        peer,
        protocol: Protocol::Tcp,
        port: port.parse().unwrap(),
        provenance: Provenance::Observed,
        count: 1,
        first: Some(Timestamp::from_seconds(100)),
        last: Some(Timestamp::from_seconds(200)),
        services: vec!["direct".into()],
        notes: Vec::new(),
        example: None,
    }
}

fn stored(rules: &str) -> Object {
    render::proposal(&learned(rules), Some(Timestamp::from_seconds(200)))
}

fn with_egress(rules: Value) -> Object {
    let mut object = stored("db:5432");
    body(&mut object).egress =
        Some(serde_json::from_value::<Vec<NetworkPolicyEgressRule>>(rules).unwrap());
    object
}

fn merge(stored: &Object, fresh: &Proposal, last: Option<Timestamp>) -> Object {
    super::merge(stored, fresh, &Caps::default(), last)
}

fn is_inferred(object: &Object) -> bool {
    condition::is_true(&object.status.as_ref().unwrap().conditions, SELECTOR_INFERRED)
}

fn body(object: &mut Object) -> &mut NetworkPolicySpec {
    object.spec.kubernetes.as_mut().unwrap()
}

fn again(stored: &Object, rules: &str) -> Object {
    merge(stored, &learned(rules), Some(Timestamp::from_seconds(300)))
}

fn refused(object: &Object) -> Vec<(String, u16)> {
    let rules = object.status.iter().flat_map(|status| &status.rules).filter(|rule| rule.refused);
    rules.map(|rule| (rule.peer.name.clone().unwrap(), rule.port.unwrap())).collect()
}

#[rstest]
#[case::without_peers(json!([{"ports": [{"protocol": "TCP", "port": 5432}]}]))]
#[case::without_ports(json!([{"to": [{"podSelector": {"matchLabels": {"app": "db"}}}]}]))]
#[case::empty_lists(json!([{"to": [], "ports": []}]))]
#[case::everything(json!([{}]))]
#[case::own_namespace(json!([{"to": [{"podSelector": {"matchLabels": {"app": "db"}}}], "ports": [{"port": 5432}]}]))]
#[case::whole_namespace(json!([{"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}], "ports": [{"port": 5432}]}]))]
#[case::all_namespaces(json!([{"to": [{"namespaceSelector": {}}], "ports": [{"port": 5432}]}]))]
#[case::expression(json!([{"to": [{"podSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["api", "db"]}]}}]}]))]
#[case::range(json!([{"to": [{"podSelector": {}}], "ports": [{"protocol": "TCP", "port": 5000, "endPort": 6000}]}]))]
#[case::another_beside(json!([{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}, {"podSelector": {}}], "ports": [{"port": 80}, {"port": 5432}]}]))]
fn a_rule_that_a_person_widened_is_not_duplicated(#[case] rules: Value) {
    let widened = with_egress(rules);
    let merged = again(&widened, "db:5432");
    assert_eq!(merged.spec, widened.spec);
    assert_eq!(refused(&merged), []);
}

#[rstest]
#[case::other_pods(json!([{"to": [{"podSelector": {"matchLabels": {"app": "api"}}}], "ports": [{"port": 5432}]}]))]
#[case::other_port(json!([{"to": [{"podSelector": {}}], "ports": [{"port": 5433}]}]))]
#[case::other_protocol(json!([{"to": [{"podSelector": {}}], "ports": [{"protocol": "UDP", "port": 5432}]}]))]
#[case::narrowed(json!([{"to": [{"podSelector": {"matchLabels": {"app": "db", "tier": "a"}}}], "ports": [{"port": 5432}]}]))]
#[case::addresses_only(json!([{"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}]))]
#[case::removed(json!([]))]
fn a_rule_that_a_person_took_out_stays_out(#[case] rules: Value) {
    let edited = with_egress(rules);
    let merged = again(&edited, "db:5432 cache:6379");
    assert_eq!(refused(&merged), [("db".to_owned(), 5432)]);
    let mut without_new = merged.clone();
    let rules = body(&mut without_new).egress.as_mut().unwrap();
    let before = rules.len();
    rules.retain(|rule| {
        serde_json::to_value(rule).unwrap()
            != json!({"to": [{
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}},
                "podSelector": {"matchLabels": {"app": "cache"}},
            }], "ports": [{"protocol": "TCP", "port": 6379}]})
    });
    assert_eq!(before - rules.len(), 1, "what is new is added");
    assert_eq!(without_new.spec, edited.spec, "and nothing else");
    // And so it is told the next time, too.
    assert_eq!(refused(&again(&merged, "db:5432")), [("db".to_owned(), 5432)]);
    assert_eq!(merged.status.unwrap().rule_count, 1);
}

#[test]
fn a_rule_that_a_person_put_back_is_refused_no_longer() {
    let without = with_egress(json!([]));
    let mut back = again(&without, "db:5432");
    assert_eq!(refused(&back), [("db".to_owned(), 5432)]);
    back.spec = stored("db:5432").spec;
    assert_eq!(refused(&again(&back, "db:5432")), []);
}

#[test]
fn ports_of_a_known_peer_join_its_rule_and_stay_within_what_cilium_takes() {
    let ports: Vec<String> = (1..=39).map(|port| format!("db:{port}")).collect();
    let object = stored(&ports.join(" "));
    let merged = again(&object, "db:1 db:40 db:41");
    let rules = merged.spec.kubernetes.unwrap().egress.unwrap();
    let sizes: Vec<usize> = rules.iter().map(|rule| rule.ports.as_ref().unwrap().len()).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 41);
    assert!(sizes.iter().all(|size| *size <= render::PORTS_IN_RULE), "{sizes:?}");
}

#[test]
fn one_rule_for_several_peers_is_added_once() {
    let mut fresh = learned("db:5432 api:80");
    let mut twin = evidence("db:5432");
    twin.peer.name = Some("db-twin".into());
    fresh.evidence.push(twin);
    let merged = merge(&stored("api:80"), &fresh, None);
    assert_eq!(merged.spec, stored("api:80 db:5432").spec);
}

/// Selectors that come from flows give way to the object's, for the subject and for peers.
#[test]
fn inferred_selectors_are_replaced_by_better_ones() {
    let mut first = learned("db:5432");
    first.selector = WorkloadSelector {
        selector: labels("app=web,tier=x"),
        origin: SelectorOrigin::Inferred,
        also: Vec::new(),
    };
    let narrow = RulePeer::Pods { namespace: "shop".into(), selector: labels("app=db,tier=y") };
    first.evidence[0].rule = narrow.clone();
    first.rules = [(narrow, vec![(Protocol::Tcp, 5432)])].into();
    let stored = render::proposal(&first, None);
    assert!(is_inferred(&stored));
    let merged = again(&stored, "db:5432");
    assert_eq!(merged.spec, super::tests::stored("db:5432").spec);
    assert_eq!(refused(&merged), []);
    assert!(!is_inferred(&merged));
}

/// An agent that ends between its two writes of a new proposal leaves one without status.
#[test]
fn a_status_that_was_never_written_is_made_up_for() {
    let mut fresh = learned("db:5432");
    fresh.selector.origin = SelectorOrigin::Inferred;
    let whole = render::proposal(&fresh, None);
    let cut = Object { status: None, ..whole.clone() };
    assert!(is_inferred(&whole));
    assert_eq!(merge(&cut, &fresh, None), whole);
}

#[test]
fn a_selector_from_an_object_stays_where_flows_come_without_objects() {
    let mut fresh = learned("db:5432");
    fresh.selector = WorkloadSelector {
        selector: labels("app=web,tier=x"),
        origin: SelectorOrigin::Inferred,
        also: Vec::new(),
    };
    let merged = merge(&stored("db:5432"), &fresh, None);
    assert_eq!(merged.spec, stored("db:5432").spec);
    assert!(!is_inferred(&merged));
}

fn uncovered(reason: Reason, address: &str) -> Uncovered {
    Uncovered {
        id: "u1".to_owned(),
        peer: Peer {
            kind: Some("External".into()),
            address: address.parse().ok(),
            ..Peer::default()
        },
        protocol: "TCP".into(),
        port: Some(443),
        reason,
        rule: None,
        count: 3,
        first: Some(Timestamp::from_seconds(100)),
        last: Some(Timestamp::from_seconds(200)),
        notes: Vec::new(),
    }
}

#[rstest]
#[case::address(json!([{"to": [{"ipBlock": {"cidr": "203.0.113.7/32"}}], "ports": [{"port": 443}]}]), true)]
#[case::range(json!([{"to": [{"ipBlock": {"cidr": "203.0.113.0/24"}}]}]), true)]
#[case::excepted(json!([{"to": [{"ipBlock": {"cidr": "203.0.113.0/24", "except": ["203.0.113.7/32"]}}]}]), false)]
#[case::other_port(json!([{"to": [{"ipBlock": {"cidr": "203.0.113.7/32"}}], "ports": [{"port": 80}]}]), false)]
fn what_a_person_allowed_is_uncovered_no_longer(#[case] rules: Value, #[case] gone: bool) {
    let mut fresh = learned("");
    fresh.uncovered.push(uncovered(Reason::External, "203.0.113.7"));
    let merged = merge(&with_egress(rules), &fresh, None);
    let status = merged.status.unwrap();
    assert_eq!(status.uncovered.is_empty(), gone);
    let allowed = status.rules.iter().find(|rule| rule.port == Some(443));
    assert_eq!(
        allowed.map(|rule| (rule.provenance, rule.count)),
        gone.then_some((ApiProvenance::Manual, 3))
    );
}

#[test]
fn an_attempt_that_is_answered_later_is_no_longer_unanswered() {
    let mut first = learned("db:5432");
    first.uncovered.push(uncovered(Reason::Unanswered, "203.0.113.7"));
    let mut second = learned("db:5432");
    second.uncovered.push(uncovered(Reason::External, "203.0.113.7"));
    let merged = merge(&render::proposal(&first, None), &second, None);
    let uncovered = merged.status.unwrap().uncovered;
    assert_eq!(
        (uncovered[0].reason, uncovered[0].count, uncovered.len()),
        (UncoveredReason::External, 6, 1)
    );
}

#[test]
fn no_new_rule_is_no_news() {
    let mut later = learned("db:5432");
    later.evidence[0].first = Some(Timestamp::from_seconds(90_000));
    later.evidence[0].last = Some(Timestamp::from_seconds(90_000));
    later.last_new_rule = Some(Timestamp::from_seconds(90_000));
    let merged = merge(&stored("db:5432"), &later, Some(Timestamp::from_seconds(90_000)));
    let status = merged.status.unwrap();
    assert_eq!(status.last_new_rule, render::time(Timestamp::from_seconds(100)));
    let stable = status.conditions.iter().find(|one| one.type_ == "Stable").unwrap();
    assert_eq!((&*stable.status, &*stable.reason), ("True", "NothingNew"));
}

#[test]
fn gaps_and_suggestions_and_notes_do_not_pile_up() {
    let gap = |lost| Gap {
        node: Some("n1".into()),
        reason: "LostEvents (RING)".to_owned(),
        lost: Some(lost),
        since: Some(Timestamp::from_seconds(1)),
        until: None,
    };
    let suggestion = |port, end_port, ports| Suggestion {
        id: "s1".to_owned(),
        rule: evidence("ftp:1").rule,
        peer: evidence("ftp:1").peer,
        protocol: Protocol::Tcp,
        port,
        end_port,
        ports,
    };
    let mut first = learned("ftp:30000");
    first.gaps.push(gap(3));
    first.suggestions.push(suggestion(30_000, 31_000, 20));
    first.evidence[0].notes = vec!["direction inferred from 20 flows".into()];
    let mut second = learned("ftp:30000");
    second.gaps.push(gap(5));
    second.suggestions.push(suggestion(30_500, 32_000, 25));
    second.evidence[0].notes = vec!["direction inferred from 30 flows".into()];
    let merged = merge(&render::proposal(&first, None), &second, None);
    let status = merged.status.clone().unwrap();
    assert_eq!((status.gaps.len(), status.gaps[0].lost), (1, Some(5)));
    let one = &status.suggestions[0];
    assert_eq!((one.port, one.end_port, one.port_count), (Some(30_000), Some(32_000), 25));
    assert_eq!(status.rules[0].notes, ["direction inferred from 30 flows"]);
    let third = merge(&merged, &learned("ftp:30000"), None);
    assert_eq!(third.status.unwrap().suggestions, status.suggestions, "suggestions stay");
}

#[test]
fn a_proposal_of_another_backend_is_left_alone() {
    let mut fresh = learned("db:5432 cache:6379");
    fresh.backend = netenf_learn::Backend::Istio;
    let merged = merge(&stored("db:5432"), &fresh, None);
    let told = &merged.status.as_ref().unwrap().conditions;
    assert!(told.iter().any(|one| one.reason == "OtherBackend"));
    assert_eq!(merged.spec, stored("db:5432").spec);
}

/// What learning says of an object is what it says now; what others say stays.
#[test]
fn conditions_of_an_earlier_learning_go() {
    let mut before = learned("db:5432");
    before.truncated = Some("3 peers over the limit of 1".to_owned());
    before.selector.selector = labels("app=web,helm.sh/chart=web-1");
    let mut stored = render::proposal(&before, Some(Timestamp::from_seconds(200)));
    let mut ready = condition::selector_inferred(None);
    ready.type_ = "Ready".to_owned();
    stored.status.as_mut().unwrap().conditions.push(ready);
    let types = |object: &Object| -> Vec<String> {
        let conditions = object.status.as_ref().unwrap().conditions.iter();
        conditions.map(|one| one.type_.clone()).collect()
    };
    assert_eq!(types(&stored), ["SelectorVolatile", "Stable", "Truncated", "Ready"]);
    let clean = again(&stored, "db:5432");
    assert_eq!(types(&clean), ["Ready", "Stable"]);
    let mut other = learned("db:5432");
    other.backend = netenf_learn::Backend::Istio;
    let blocked = merge(&clean, &other, Some(Timestamp::from_seconds(300)));
    assert_eq!(types(&blocked), ["Blocked", "Ready", "Stable"]);
    assert_eq!(types(&again(&blocked, "db:5432")), ["Ready", "Stable"]);
}

fn denial(count: u64) -> Denial {
    let end = || SeenEnd { peer: Peer::default(), labels: None };
    Denial {
        source: end(),
        destination: end(),
        direction: Some(Direction::Egress),
        protocol: Some(Protocol::Tcp),
        port: Some(6379),
        by: None,
        count,
        observations: count,
        first: None,
        last: None,
    }
}

/// Whoever goes on with learning after a restart did not see it, and what is not told again is not undone.
#[test]
fn that_something_was_denied_stays_told_until_learning_begins_anew() {
    let mut before = learned("db:5432");
    before.denials.push(denial(3));
    let stored = render::proposal(&before, Some(Timestamp::from_seconds(200)));
    let blocked = |object: &Object| -> Vec<String> {
        let conditions = &object.status.as_ref().unwrap().conditions;
        let blocked = conditions.iter().filter(|one| one.type_ == "Blocked");
        blocked.map(|one| one.message.split(' ').next().unwrap().to_owned()).collect()
    };
    let resumed = again(&stored, "db:5432 cache:6379");
    assert_eq!((blocked(&stored), blocked(&resumed)), (vec!["3".to_owned()], vec!["3".to_owned()]));
    let mut more = learned("db:5432");
    more.denials.push(denial(4));
    assert_eq!(blocked(&merge(&resumed, &more, Some(Timestamp::from_seconds(400)))), ["4"]);
    assert!(blocked(&forget(&resumed)).is_empty());
}

#[rstest]
#[case("cluster.local/ns/a/sa/b", "cluster.local/ns/a/sa/b", true)]
#[case("*", "cluster.local/ns/a/sa/b", true)]
#[case("*/ns/a/sa/b", "cluster.local/ns/a/sa/b", true)]
#[case("cluster.local/ns/a/*", "cluster.local/ns/a/sa/b", true)]
#[case("cluster.local/ns/c/*", "cluster.local/ns/a/sa/b", false)]
#[case("", "cluster.local/ns/a/sa/b", false)]
fn principals_match_as_istio_matches_them(
    #[case] pattern: &str,
    #[case] account: &str,
    #[case] admitted: bool,
) {
    let rule = json!({"from": [{"source": {"principals": [pattern]}}],
        "to": [{"operation": {"ports": ["80"]}}]});
    let spec = serde_json::from_value(json!({"selector": {}, "rules": [rule]})).unwrap();
    assert_eq!(istio_allows(&spec, account, 80), admitted);
    assert!(!istio_allows(&spec, account, 81));
}
