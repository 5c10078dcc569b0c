use ClusterKind::{AdminNetworkPolicy, BaselineAdminNetworkPolicy, ClusterNetworkPolicy};
use netenf_policy::cluster_policy::Effective;
use netenf_policy::{ClusterPeer, ClusterPort, Labels, Pattern, PortMatch, PortRange, Protocol};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn lowered(kind: ClusterKind, spec: &Value) -> (ClusterPolicy, Vec<Diagnostic>) {
    let document = json!({"metadata": {"name": "default"}, "spec": spec});
    cluster_policy(&object::ClusterPolicy { kind, document })
}

/// The spec of a policy for every pod with one rule.
fn with_rule(kind: ClusterKind, side: Side, rule: &Value) -> Value {
    let mut spec = json!({"subject": {"namespaces": {}}});
    match kind {
        AdminNetworkPolicy => spec["priority"] = json!(7),
        BaselineAdminNetworkPolicy => {}
        ClusterNetworkPolicy => {
            spec["priority"] = json!(7);
            spec["tier"] = json!("Admin");
        }
    }
    match side {
        Side::Ingress => spec["ingress"] = json!([rule]),
        Side::Egress => spec["egress"] = json!([rule]),
    }
    spec
}

fn accept(kind: ClusterKind) -> &'static str {
    match kind {
        ClusterNetworkPolicy => "Accept",
        AdminNetworkPolicy | BaselineAdminNetworkPolicy => "Allow",
    }
}

fn labelled(label: &str, value: &str) -> Selector {
    let labels: Labels = [(label, value)].into_iter().collect();
    Selector::of_labels(labels)
}

fn everywhere(pods: Selector) -> ClusterPeer {
    ClusterPeer::Pods(PodSet { namespaces: Selector::default(), pods })
}

#[rstest]
#[case::admin(AdminNetworkPolicy, json!({"priority": 7}), Tier::Admin, 7)]
#[case::baseline(BaselineAdminNetworkPolicy, json!({}), Tier::Baseline, 0)]
#[case::cluster_admin(ClusterNetworkPolicy, json!({"tier": "Admin", "priority": 0}), Tier::Admin, 0)]
#[case::cluster_baseline(ClusterNetworkPolicy, json!({"tier": "Baseline", "priority": 1000}), Tier::Baseline, 1000)]
fn a_policy_is_lowered_as_it_is_written(
    #[case] kind: ClusterKind,
    #[case] mut spec: Value,
    #[case] tier: Tier,
    #[case] priority: i32,
) {
    spec["subject"] = json!({"pods": {"namespaceSelector": {"matchLabels": {"ns": "x"}}, "podSelector": {"matchLabels": {"app": "a"}}}});
    spec["ingress"] =
        json!([{"name": "first", "action": accept(kind), "from": [{"namespaces": {}}]}]);
    spec["egress"] = json!([{"action": "Deny", "to": [{"namespaces": {"matchLabels": {"ns": "y"}}}]}, {"action": accept(kind), "to": [{"networks": ["::/0"]}]}]);
    let subject = PodSet { namespaces: labelled("ns", "x"), pods: labelled("app", "a") };
    let other = PodSet { namespaces: labelled("ns", "y"), pods: Selector::default() };
    let rule = |name: Option<&str>, action, peer| ClusterRule {
        name: name.map(Into::into),
        action,
        peers: vec![peer],
        ports: None,
    };
    let expected = ClusterPolicy {
        kind: kind.to_string().into(),
        name: "default".into(),
        tier,
        priority,
        subject,
        ingress: vec![rule(Some("first"), Action::Accept, everywhere(Selector::default()))],
        egress: vec![
            rule(None, Action::Deny, ClusterPeer::Pods(other)),
            rule(None, Action::Accept, ClusterPeer::Networks(vec!["::/0".parse().unwrap()])),
        ],
    };
    assert_eq!(lowered(kind, &spec), (expected, Vec::new()));
}

#[rstest]
#[case::namespaces(ClusterNetworkPolicy, json!({"namespaces": {}}), everywhere(Selector::default()))]
#[case::pods(ClusterNetworkPolicy, json!({"pods": {"podSelector": {"matchLabels": {"app": "a"}}}}), everywhere(labelled("app", "a")))]
#[case::null_is_absent(ClusterNetworkPolicy, json!({"pods": null, "namespaces": {"matchLabels": null}}), everywhere(Selector::default()))]
#[case::nodes(ClusterNetworkPolicy, json!({"nodes": {"matchLabels": {"os": "linux"}}}), ClusterPeer::Nodes(labelled("os", "linux")))]
#[case::networks(ClusterNetworkPolicy, json!({"networks": ["10.0.0.0/8", "FD00::/8"]}), ClusterPeer::Networks(vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()]))]
#[case::masked_later(AdminNetworkPolicy, json!({"networks": ["10.1.2.3/8"]}), ClusterPeer::Networks(vec!["10.0.0.0/8".parse().unwrap()]))]
#[case::names(ClusterNetworkPolicy, json!({"domainNames": ["*.example.com.", "EXAMPLE.com"]}), ClusterPeer::Domains(vec![Pattern::parse("*.example.com").unwrap(), Pattern::parse("example.com").unwrap()]))]
#[case::names_of_the_first_version(AdminNetworkPolicy, json!({"domainNames": ["example.com"]}), ClusterPeer::Domains(vec![Pattern::parse("example.com").unwrap()]))]
fn peers_mean_what_the_api_says(
    #[case] kind: ClusterKind,
    #[case] peer: Value,
    #[case] expected: ClusterPeer,
) {
    let rule = json!({"action": accept(kind), "to": [peer]});
    let (policy, told) = lowered(kind, &with_rule(kind, Side::Egress, &rule));
    assert_eq!((&policy.egress[0].peers, told), (&vec![expected], Vec::new()));
}

fn numbers(protocol: Protocol, first: u16, last: u16) -> ClusterPort {
    ClusterPort::Of(PortMatch { protocol, range: PortRange::Numbers(first, last) })
}

#[rstest]
#[case::number(AdminNetworkPolicy, json!({"portNumber": {"protocol": "UDP", "port": 53}}), numbers(Protocol::Udp, 53, 53))]
#[case::default_protocol(AdminNetworkPolicy, json!({"portNumber": {"port": 53}}), numbers(Protocol::Tcp, 53, 53))]
#[case::range(BaselineAdminNetworkPolicy, json!({"portRange": {"protocol": "SCTP", "start": 1, "end": 65535}}), numbers(Protocol::Sctp, 1, 65535))]
#[case::range_of_one(AdminNetworkPolicy, json!({"portRange": {"start": 80, "end": 80}}), numbers(Protocol::Tcp, 80, 80))]
#[case::name(AdminNetworkPolicy, json!({"namedPort": "web"}), ClusterPort::Named("web".into()))]
#[case::tcp(ClusterNetworkPolicy, json!({"tcp": {"destinationPort": {"number": 80}}}), numbers(Protocol::Tcp, 80, 80))]
#[case::udp(ClusterNetworkPolicy, json!({"udp": {"destinationPort": {"range": {"start": 80, "end": 81}}}}), numbers(Protocol::Udp, 80, 81))]
#[case::sctp(ClusterNetworkPolicy, json!({"sctp": {"destinationPort": {"number": 65535}}}), numbers(Protocol::Sctp, 65535, 65535))]
#[case::later_name(ClusterNetworkPolicy, json!({"destinationNamedPort": "web"}), ClusterPort::Named("web".into()))]
fn ports_mean_what_the_api_says(
    #[case] kind: ClusterKind,
    #[case] port: Value,
    #[case] expected: ClusterPort,
) {
    let rule = json!({"action": "Deny", "from": [{"namespaces": {}}], kind.ports_field(): [port]});
    let (policy, told) = lowered(kind, &with_rule(kind, Side::Ingress, &rule));
    assert_eq!((&policy.ingress[0].ports, told), (&Some(vec![expected]), Vec::new()));
}

#[rstest]
#[case::absent(json!({}))]
#[case::empty(json!({"protocols": []}))]
#[case::null(json!({"protocols": null}))]
fn a_rule_without_ports_is_every_protocol(#[case] mut rule: Value) {
    rule["action"] = json!("Pass");
    rule["from"] = json!([{"namespaces": {}}]);
    let spec = with_rule(ClusterNetworkPolicy, Side::Ingress, &rule);
    let (policy, told) = lowered(ClusterNetworkPolicy, &spec);
    assert_eq!((&policy.ingress[0].ports, told), (&None, Vec::new()));
}

/// What is not understood, in otherwise good rules for egress of a [`ClusterNetworkPolicy`].
#[rstest]
#[case::empty_peer(json!({"to": [{}]}), "to[0]", "is empty")]
#[case::no_peer(json!({"to": []}), "to", "is empty")]
#[case::absent_peers(json!({}), "to", "is missing")]
#[case::peers_are_no_list(json!({"to": {}}), "to", "is no list")]
#[case::peer_is_no_object(json!({"to": [5]}), "to[0]", "is no object")]
#[case::several_members(json!({"to": [{"namespaces": {}, "networks": ["0.0.0.0/0"]}]}), "to[0]", "has several members where the API wants one")]
#[case::unknown_member(json!({"to": [{"services": {}}]}), "to[0].services", "is not known")]
#[case::unknown_field_of_pods(json!({"to": [{"pods": {"podSelector": {}, "sameLabels": ["a"]}}]}), "to[0].pods.sameLabels", "is not known")]
#[case::unknown_field_of_a_selector(json!({"to": [{"namespaces": {"matchLabel": {}}}]}), "to[0].namespaces.matchLabel", "is not known")]
#[case::unknown_field_of_an_expression(json!({"to": [{"namespaces": {"matchExpressions": [{"key": "a", "operator": "Exists", "not": 1}]}}]}), "to[0].namespaces.matchExpressions[0].not", "is not known")]
#[case::operator(json!({"to": [{"nodes": {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}}]}), "to[0].nodes.matchExpressions[0]", "operator In is without values, which the API refuses")]
#[case::no_label(json!({"to": [{"namespaces": {"matchLabels": {"a": "b c"}}}]}), "to[0].namespaces.matchLabels", r#""a": "b c" is no label"#)]
#[case::no_cidr(json!({"to": [{"networks": ["10.0.0.300/24"]}]}), "to[0].networks[0]", r#""10.0.0.300/24" is no CIDR"#)]
#[case::leading_zeros(json!({"to": [{"networks": ["010.0.0.0/8"]}]}), "to[0].networks[0]", r#""010.0.0.0/8" is no CIDR"#)]
#[case::mapped(json!({"to": [{"networks": ["::ffff:10.0.0.0/104"]}]}), "to[0].networks[0]", r#""::ffff:10.0.0.0/104" is no CIDR"#)]
#[case::not_masked(json!({"to": [{"networks": ["0.0.0.0/0", "10.0.0.1/8"]}]}), "to[0].networks[1]", r#""10.0.0.1/8" has bits beyond its prefix: 10.0.0.0/8 has none"#)]
#[case::no_networks(json!({"to": [{"networks": []}]}), "to[0].networks", "is empty")]
#[case::one_label(json!({"to": [{"domainNames": ["com"]}]}), "to[0].domainNames[0]", r#""com" is no domain name of two labels or more"#)]
#[case::star_alone(json!({"to": [{"domainNames": ["*.com"]}]}), "to[0].domainNames[0]", r#""*.com" is no domain name of two labels or more"#)]
#[case::star_inside(json!({"to": [{"domainNames": ["a.*.com"]}]}), "to[0].domainNames[0]", r#""a.*.com" is no domain name of two labels or more"#)]
#[case::outer_dash(json!({"to": [{"domainNames": ["-a.example.com"]}]}), "to[0].domainNames[0]", r#""-a.example.com" is no domain name of two labels or more"#)]
#[case::outer_underscore(json!({"to": [{"domainNames": ["a_.example.com"]}]}), "to[0].domainNames[0]", r#""a_.example.com" is no domain name of two labels or more"#)]
#[case::unknown_field_of_the_rule(json!({"to": [{"namespaces": {}}], "ports": []}), "ports", "is not known")]
#[case::unknown_protocol(json!({"to": [{"namespaces": {}}], "protocols": [{"icmp": {}}]}), "protocols[0].icmp", "is not known")]
#[case::empty_port(json!({"to": [{"namespaces": {}}], "protocols": [{}]}), "protocols[0]", "is empty")]
#[case::empty_tcp(json!({"to": [{"namespaces": {}}], "protocols": [{"tcp": {}}]}), "protocols[0].tcp.destinationPort", "is missing")]
#[case::source_port(json!({"to": [{"namespaces": {}}], "protocols": [{"tcp": {"sourcePort": 1}}]}), "protocols[0].tcp.sourcePort", "is not known")]
#[case::number_and_range(json!({"to": [{"namespaces": {}}], "protocols": [{"tcp": {"destinationPort": {"number": 1, "range": {"start": 1, "end": 2}}}}]}), "protocols[0].tcp.destinationPort", "has several members where the API wants one")]
#[case::port_zero(json!({"to": [{"namespaces": {}}], "protocols": [{"tcp": {"destinationPort": {"number": 0}}}]}), "protocols[0].tcp.destinationPort.number", "0 is not from 1 to 65535")]
#[case::port_too_high(json!({"to": [{"namespaces": {}}], "protocols": [{"udp": {"destinationPort": {"number": 65536}}}]}), "protocols[0].udp.destinationPort.number", "65536 is not from 1 to 65535")]
#[case::port_as_text(json!({"to": [{"namespaces": {}}], "protocols": [{"tcp": {"destinationPort": {"number": "80"}}}]}), "protocols[0].tcp.destinationPort.number", "is no whole number")]
#[case::start_is_end(json!({"to": [{"namespaces": {}}], "protocols": [{"tcp": {"destinationPort": {"range": {"start": 80, "end": 80}}}}]}), "protocols[0].tcp.destinationPort.range", "from 80 to 80 is no range")]
#[case::start_after_end(json!({"to": [{"namespaces": {}}], "protocols": [{"tcp": {"destinationPort": {"range": {"start": 81, "end": 80}}}}]}), "protocols[0].tcp.destinationPort.range", "from 81 to 80 is no range")]
#[case::no_end(json!({"to": [{"namespaces": {}}], "protocols": [{"tcp": {"destinationPort": {"range": {"start": 81}}}}]}), "protocols[0].tcp.destinationPort.range.end", "is missing")]
#[case::no_port_name(json!({"to": [{"namespaces": {}}], "protocols": [{"destinationNamedPort": ""}]}), "protocols[0].destinationNamedPort", "is empty")]
#[case::port_name_of_a_network(json!({"to": [{"networks": ["0.0.0.0/0"]}], "protocols": [{"destinationNamedPort": "web"}]}), "protocols[0]", "names a port beside peers whose ports have no names")]
#[case::a_good_peer_opens_no_rule(json!({"to": [{"namespaces": {}}, {}]}), "to[1]", "is empty")]
fn what_is_not_understood_closes_the_rule(
    #[case] rule: Value,
    #[case] path: &str,
    #[case] what: &str,
) {
    closes(ClusterNetworkPolicy, Side::Egress, &rule, path, what);
}

#[rstest]
#[case::nodes_for_ingress(ClusterNetworkPolicy, Side::Ingress, json!({"from": [{"nodes": {}}]}), "from[0].nodes", "is not known")]
#[case::networks_for_ingress(AdminNetworkPolicy, Side::Ingress, json!({"from": [{"networks": ["0.0.0.0/0"]}]}), "from[0].networks", "is not known")]
#[case::names_for_ingress(ClusterNetworkPolicy, Side::Ingress, json!({"from": [{"domainNames": ["example.com"]}]}), "from[0].domainNames", "is not known")]
#[case::names_of_baseline(BaselineAdminNetworkPolicy, Side::Egress, json!({"to": [{"domainNames": ["example.com"]}]}), "to[0].domainNames", "is not known")]
#[case::same_labels(AdminNetworkPolicy, Side::Ingress, json!({"from": [{"namespaces": {"sameLabels": ["a"]}}]}), "from[0].namespaces.sameLabels", "is not known")]
#[case::protocols_of_the_other_version(AdminNetworkPolicy, Side::Ingress, json!({"from": [{"namespaces": {}}], "protocols": []}), "protocols", "is not known")]
#[case::protocol(AdminNetworkPolicy, Side::Ingress, json!({"from": [{"namespaces": {}}], "ports": [{"portNumber": {"protocol": "ICMP", "port": 1}}]}), "ports[0].portNumber.protocol", r#""ICMP" is not known"#)]
#[case::start_after_end(BaselineAdminNetworkPolicy, Side::Ingress, json!({"from": [{"namespaces": {}}], "ports": [{"portRange": {"start": 2, "end": 1}}]}), "ports[0].portRange", "from 2 to 1 is no range")]
#[case::unknown_port(AdminNetworkPolicy, Side::Ingress, json!({"from": [{"namespaces": {}}], "ports": [{"portSet": "x"}]}), "ports[0].portSet", "is not known")]
#[case::ports_are_no_list(AdminNetworkPolicy, Side::Ingress, json!({"from": [{"namespaces": {}}], "ports": 80}), "ports", "is no list")]
fn versions_and_directions_know_their_own_fields_only(
    #[case] kind: ClusterKind,
    #[case] side: Side,
    #[case] rule: Value,
    #[case] path: &str,
    #[case] what: &str,
) {
    closes(kind, side, &rule, path, what);
}

/// Checks that `rule` accepts nothing if it accepts and denies all if it denies, and what is told of it.
fn closes(kind: ClusterKind, side: Side, rule: &Value, path: &str, what: &str) {
    let cases = [
        (accept(kind), Effective::Nothing, "the rule accepts nothing"),
        ("Deny", Effective::DenyAll, "the rule denies everything"),
    ];
    for (action, expected, effect) in cases {
        let mut rule = rule.clone();
        rule["action"] = json!(action);
        let (policy, told) = lowered(kind, &with_rule(kind, side, &rule));
        let (rules, name) = match side {
            Side::Ingress => (&policy.ingress, "ingress"),
            Side::Egress => (&policy.egress, "egress"),
        };
        assert_eq!(rules[0].effective(), expected);
        let told: Vec<_> = told.into_iter().filter(|it| it.message.ends_with(effect)).collect();
        let place = format!("{kind} default: spec.{name}[0].{path}");
        assert_eq!(told, [Diagnostic { place, message: format!("{what}: {effect}") }]);
    }
}

#[rstest]
#[case::action(json!({"action": "Drop", "to": [{"namespaces": {}}]}), "[0].action", r#""Drop" is not known"#)]
#[case::action_of_the_first_version(json!({"action": "Allow", "to": [{"namespaces": {}}]}), "[0].action", r#""Allow" is not known"#)]
#[case::no_action(json!({"to": [{"namespaces": {}}]}), "[0].action", "is missing")]
#[case::no_object(json!("Deny"), "[0]", "is no object")]
fn a_rule_of_no_known_action_denies_everything(
    #[case] rule: Value,
    #[case] path: &str,
    #[case] what: &str,
) {
    let spec = with_rule(ClusterNetworkPolicy, Side::Egress, &rule);
    let (policy, told) = lowered(ClusterNetworkPolicy, &spec);
    assert_eq!(policy.egress[0].effective(), Effective::DenyAll);
    let place = format!("ClusterNetworkPolicy default: spec.egress{path}");
    assert_eq!(
        told,
        [Diagnostic { place, message: format!("{what}: the rule denies everything") }]
    );
}

#[test]
fn rules_that_are_no_list_deny_everything_in_their_direction() {
    let spec = json!({"tier": "Admin", "priority": 1, "subject": {"namespaces": {}}, "egress": {}});
    let (policy, told) = lowered(ClusterNetworkPolicy, &spec);
    assert_eq!((policy.ingress.len(), policy.egress[0].effective()), (0, Effective::DenyAll));
    assert_eq!(told.len(), 1);
}

/// A policy that accepts, passes and denies.
fn three_rules() -> Value {
    let rule = |action: &str| json!({"action": action, "from": [{"namespaces": {}}]});
    json!({
        "tier": "Baseline", "priority": 5, "subject": {"namespaces": {"matchLabels": {"ns": "x"}}},
        "ingress": [rule("Accept"), rule("Pass"), rule("Deny")],
    })
}

#[rstest]
#[case::no_subject("subject", Value::Null, "subject", "is missing")]
#[case::empty_subject("subject", json!({}), "subject", "is empty")]
#[case::two_subjects("subject", json!({"namespaces": {}, "pods": {}}), "subject", "has several members where the API wants one")]
#[case::unknown_subject("subject", json!({"nodes": {}}), "subject.nodes", "is not known")]
#[case::refused_subject("subject", json!({"namespaces": {"matchExpressions": [{"key": "a", "operator": "In"}]}}), "subject.namespaces.matchExpressions[0]", "operator In is without values, which the API refuses")]
#[case::no_tier("tier", Value::Null, "tier", "is missing")]
#[case::unknown_tier("tier", json!("Developer"), "tier", r#""Developer" is not known"#)]
#[case::no_priority("priority", Value::Null, "priority", "is missing")]
#[case::half_a_priority("priority", json!(1.5), "priority", "is no whole number")]
#[case::endless_priority("priority", json!(1_u64 << 40), "priority", "1099511627776 is no priority")]
fn a_policy_about_something_unknown_keeps_what_it_denies(
    #[case] field: &str,
    #[case] value: Value,
    #[case] path: &str,
    #[case] what: &str,
) {
    let mut spec = three_rules();
    let (whole, _) = lowered(ClusterNetworkPolicy, &spec);
    spec[field] = value;
    let (policy, told) = lowered(ClusterNetworkPolicy, &spec);
    let effect = match field {
        "subject" => "the policy is read as one for every pod",
        "tier" => "the policy is read as one of Admin",
        _ => "the policy comes first in its tier",
    };
    let expected = ClusterPolicy {
        tier: if field == "tier" { Tier::Admin } else { whole.tier },
        priority: if field == "priority" { i32::MIN } else { whole.priority },
        subject: if field == "subject" { PodSet::default() } else { whole.subject.clone() },
        ingress: vec![closed(Action::Accept), closed(Action::Accept), whole.ingress[2].clone()],
        ..whole
    };
    let place = format!("ClusterNetworkPolicy default: spec.{path}");
    let message = format!("{what}: {effect}, and only rules that deny are kept");
    assert_eq!((policy, told), (expected, vec![Diagnostic { place, message }]));
}

#[rstest]
#[case::priority("priority", json!(1001), "spec.priority", "1001 is refused by the API, being not in 0..=1000: the policy is ordered by it all the same")]
#[case::negative("priority", json!(-1), "spec.priority", "-1 is refused by the API, being not in 0..=1000: the policy is ordered by it all the same")]
#[case::unknown_field("description", json!("x"), "spec.description", "is not known: the API server drops it, so it has no effect")]
#[case::subject_without_pods("subject", json!({"pods": {}}), "spec.subject.pods.podSelector", "is missing: it is read as the empty one, which selects all")]
#[case::rules("ingress", json!(vec![json!({"action": "Deny", "from": [{"namespaces": {}}]}); 26]), "spec.ingress", "is refused by the API, having 26 and not at most 25: all of it is used")]
#[case::peers("egress", json!([{"action": "Deny", "to": vec![json!({"namespaces": {}}); 26]}]), "spec.egress[0].to", "is refused by the API, having 26 and not at most 25: all of it is used")]
#[case::networks("egress", json!([{"action": "Deny", "to": [{"networks": vec!["::/0"; 26]}]}]), "spec.egress[0].to[0].networks", "is refused by the API, having 26 and not at most 25: all of it is used")]
#[case::rule_name("egress", json!([{"name": "é".repeat(101), "action": "Deny", "to": [{"namespaces": {}}]}]), "spec.egress[0].name", "is refused by the API, having 101 and not at most 100: all of it is used")]
#[case::no_rule_name("egress", json!([{"name": 5, "action": "Deny", "to": [{"namespaces": {}}]}]), "spec.egress[0].name", "is no text: explanations give the rule no name")]
#[case::names_that_deny("egress", json!([{"action": "Deny", "to": [{"domainNames": ["example.com"]}]}]), "spec.egress[0].to", "names domains in a rule that does not accept: these peers match nothing")]
#[case::names_that_pass("egress", json!([{"action": "Pass", "to": [{"domainNames": ["example.com"]}]}]), "spec.egress[0].to", "names domains in a rule that does not accept: these peers match nothing")]
fn what_changes_no_rule_is_told(
    #[case] field: &str,
    #[case] value: Value,
    #[case] place: &str,
    #[case] message: &str,
) {
    let mut spec = three_rules();
    spec[field] = value;
    let (policy, told) = lowered(ClusterNetworkPolicy, &spec);
    let place = format!("ClusterNetworkPolicy default: {place}");
    assert_eq!(told, [Diagnostic { place, message: message.to_owned() }]);
    let rules = policy.ingress.iter().chain(&policy.egress);
    assert!(rules.clone().all(|rule| rule.effective() == Effective::AsWritten));
}

#[test]
fn a_baseline_policy_of_another_name_is_told() {
    let spec = json!({"subject": {"namespaces": {}}});
    let document = json!({"metadata": {"name": "mine"}, "spec": spec});
    let kind = BaselineAdminNetworkPolicy;
    let (_, told) = cluster_policy(&object::ClusterPolicy { kind, document });
    let place = "BaselineAdminNetworkPolicy mine: metadata.name".to_owned();
    let message = "is refused by the API, being not \"default\": the policy is asked all the same";
    assert_eq!(told, [Diagnostic { place, message: message.to_owned() }]);
}

/// The first version asks for both selectors of `pods`, and its Baseline knows no Pass.
#[test]
fn what_the_first_version_asks_for_is_told() {
    let rule = json!({"action": "Pass", "to": [{"pods": {}}]});
    let spec = with_rule(BaselineAdminNetworkPolicy, Side::Egress, &rule);
    let (policy, told) = lowered(BaselineAdminNetworkPolicy, &spec);
    assert_eq!(policy.egress[0].effective(), Effective::DenyAll);
    let places = told.iter().map(|it| it.place.rsplit_once("[0].").unwrap().1);
    assert_eq!(
        places.collect::<Vec<_>>(),
        ["pods.namespaceSelector", "pods.podSelector", "action"]
    );
}
