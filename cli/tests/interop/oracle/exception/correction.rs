//! Other words for what a document means.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use netenf_policy::cluster::NamedPort;
use netenf_policy::{Cluster, Selector, Side};
use serde_json::{Value, json};

use crate::oracle::document::{Document, fields, list, name, rules};

const SIDES: [Side; 2] = [Side::Egress, Side::Ingress];
/// A port that no packet has.
const NO_PORT: u16 = 1;

/// A selector of what is not there.
fn nothing() -> Value {
    json!({"matchLabels": {"nothing": "nothing"}})
}

/// A peer of a cluster-wide policy that matches nothing.
fn no_peer() -> Value {
    json!({"pods": {"namespaceSelector": {}, "podSelector": nothing()}})
}

/// A selector as it is understood; what is refused in it is told.
fn lowered(selector: &Value) -> (Selector, bool) {
    let selector: LabelSelector = serde_json::from_value(selector.clone()).unwrap();
    let (selector, diagnostics) = netenf_k8s::lower::selector(&selector);
    (selector, !diagnostics.is_empty())
}

/// Whether an API server refuses a selector.
pub(super) fn is_refused(selector: &Value) -> bool {
    lowered(selector).1
}

pub(super) fn fill_defaults(document: &mut Document) {
    for policy in document.network_policies() {
        for_each_port(policy, fill_protocol);
        let spec = &mut policy["spec"];
        if spec.get("policyTypes").is_none() {
            let egress = spec["egress"].as_array().is_some_and(|rules| !rules.is_empty());
            let types: &[&str] = if egress { &["Ingress", "Egress"] } else { &["Ingress"] };
            spec["policyTypes"] = types.into();
        }
    }
    for policy in document.admin_policies() {
        for_each_port(policy, |port| {
            port.get_mut("portNumber").map(fill_protocol);
        });
    }
}

fn for_each_port(policy: &mut Value, change: impl Fn(&mut Value)) {
    for side in SIDES {
        for rule in rules(policy, side) {
            list(rule, "ports").iter_mut().for_each(&change);
        }
    }
}

fn fill_protocol(port: &mut Value) {
    if port.get("protocol").is_none() {
        port["protocol"] = "TCP".into();
    }
}

pub(super) fn drop_empty_rules(document: &mut Document) {
    for policy in document.network_policies() {
        for side in SIDES {
            let field = fields(side).0;
            if policy["spec"][field] == json!([]) {
                policy["spec"].as_object_mut().unwrap().remove(field);
            }
        }
    }
}

/// Applies `change` to each peer of the NetworkPolicies.
fn change_peers(document: &mut Document, change: impl Fn(&mut Value)) {
    for policy in document.network_policies() {
        for side in SIDES {
            for rule in rules(policy, side) {
                list(rule, fields(side).1).iter_mut().for_each(&change);
            }
        }
    }
}

/// Whether a text is a CIDR; octets have no leading zeros, which the parser of `ipnet` takes.
fn is_block(text: &str) -> bool {
    let Some((address, prefix)) = text.split_once('/') else { return false };
    let (address, prefix) = (address.parse(), prefix.parse());
    address
        .is_ok_and(|address| prefix.is_ok_and(|prefix| ipnet::IpNet::new(address, prefix).is_ok()))
}

pub(super) fn close_unreadable_blocks(document: &mut Document) {
    change_peers(document, |peer| {
        let cidr = peer["ipBlock"]["cidr"].as_str();
        if cidr.is_some_and(|cidr| !is_block(cidr)) {
            *peer = json!({"podSelector": nothing()});
        }
    });
}

pub(super) fn close_refused_selectors(document: &mut Document) {
    change_peers(document, |peer| {
        if ["podSelector", "namespaceSelector"]
            .iter()
            .any(|field| peer.get(field).is_some_and(is_refused))
        {
            *peer = json!({"podSelector": nothing()});
        }
    });
}

/// The port in place of its name: each port of the destination that has the name.
fn resolve(named: &Value, ports: &[NamedPort]) -> Vec<(&'static str, u16)> {
    let own = ports.iter().filter(|port| *named == *port.name);
    own.map(|port| (name(port.protocol), port.number)).collect()
}

/// Replaces each port by those that it stands for; a rule without ports would be one for every port.
fn replace_ports(rule: &mut Value, none: Value, replaced: impl Fn(&Value) -> Vec<Value>) {
    let ports: Vec<Value> = list(rule, "ports").iter().flat_map(replaced).collect();
    if rule.get("ports").is_some() {
        rule["ports"] = if ports.is_empty() { none } else { ports.into() };
    }
}

pub(super) fn resolve_admin_names(document: &mut Document, side: Side, ports: &[NamedPort]) {
    let number =
        |(protocol, port): (&str, u16)| json!({"portNumber": {"protocol": protocol, "port": port}});
    for policy in document.admin_policies() {
        for rule in rules(policy, side) {
            let none = json!([number(("TCP", NO_PORT))]);
            replace_ports(rule, none, |port| match port.get("namedPort") {
                Some(named) => resolve(named, ports).into_iter().map(number).collect(),
                None => vec![port.clone()],
            });
        }
    }
}

pub(super) fn resolve_policy_names(document: &mut Document, side: Side, ports: &[NamedPort]) {
    for policy in document.network_policies() {
        for rule in rules(policy, side) {
            let none = json!([{"protocol": "TCP", "port": NO_PORT}]);
            replace_ports(rule, none, |port| {
                if !port["port"].is_string() {
                    return vec![port.clone()];
                }
                let own = resolve(&port["port"], ports).into_iter();
                let own = own.filter(|(protocol, _)| port["protocol"] == *protocol);
                own.map(|(protocol, port)| json!({"protocol": protocol, "port": port})).collect()
            });
        }
    }
}

pub(super) fn spell_nodes_as_networks(document: &mut Document, cluster: &Cluster) {
    for policy in document.admin_policies() {
        for rule in rules(policy, Side::Egress) {
            for peer in list(rule, "to") {
                if let Some(selector) = peer.get("nodes") {
                    *peer = networks_of_nodes(selector, cluster);
                }
            }
        }
    }
}

fn networks_of_nodes(selector: &Value, cluster: &Cluster) -> Value {
    let (selector, _) = lowered(selector);
    let nodes = cluster.nodes.values().filter(|node| selector.matches(&node.labels));
    let addresses = nodes.flat_map(|node| &node.addresses);
    let networks: Vec<String> =
        addresses.map(|address| ipnet::IpNet::from(*address).to_string()).collect();
    if networks.is_empty() { no_peer() } else { json!({"networks": networks}) }
}

pub(super) fn close_denied_domains(document: &mut Document) {
    for policy in document.cluster_policies() {
        for rule in rules(policy, Side::Egress) {
            if matches!(rule["action"].as_str(), Some("Allow" | "Accept")) {
                continue;
            }
            let named =
                list(rule, "to").iter_mut().filter(|peer| peer.get("domainNames").is_some());
            named.for_each(|peer| *peer = no_peer());
        }
    }
}

pub(super) fn drop_finished_pods(document: &mut Document) {
    document.objects.retain(|object| {
        !matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
    });
}

pub(super) fn drop_policies_of_other_side(document: &mut Document, side: Side) {
    document.objects.retain(|object| object["kind"] != "NetworkPolicy" || isolates(object, side));
}

/// Leaves the rules of one side. On the other everything is allowed, so that the verdict is that of this side.
pub(super) fn open_other_side(document: &mut Document, side: Side) {
    let (other, other_type) = match side {
        Side::Egress => (Side::Ingress, "Ingress"),
        Side::Ingress => (Side::Egress, "Egress"),
    };
    let field = fields(other).0;
    for policy in document.cluster_policies() {
        policy["spec"].as_object_mut().unwrap().remove(field);
    }
    for policy in document.network_policies() {
        if isolates(policy, side) {
            policy["spec"].as_object_mut().unwrap().remove(field);
            policy["spec"]["policyTypes"] = json!([type_of(side)]);
        } else {
            policy["spec"][field] = json!([{}]);
            policy["spec"]["policyTypes"] = json!([other_type]);
        }
    }
}

fn isolates(policy: &Value, side: Side) -> bool {
    let types = policy["spec"]["policyTypes"].as_array();
    types.is_some_and(|types| types.iter().any(|one| one == type_of(side)))
}

fn type_of(side: Side) -> &'static str {
    match side {
        Side::Egress => "Egress",
        Side::Ingress => "Ingress",
    }
}
