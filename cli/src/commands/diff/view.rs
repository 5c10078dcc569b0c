//! An object as connectivity: one line a peer and port.

use std::collections::BTreeMap;

use k8s_openapi::api::networking::v1::{NetworkPolicyPeer, NetworkPolicyPort};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use netenf_api::{Direction, RuleEvidence};
use netenf_store::Resource;

use crate::{clock, output};

/// One line of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) sign: Sign,
    /// `allow`, `uncovered`, `refused` or `suggest`.
    pub(super) what: &'static str,
    pub(super) direction: Direction,
    pub(super) peer: String,
    pub(super) port: String,
    pub(super) evidence: String,
}

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Added,
    Removed,
    Changed,
    Uncovered,
    Same,
}

// === impl Sign ===

impl Sign {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "+",
            Self::Removed => "-",
            Self::Changed => "~",
            Self::Uncovered => "?",
            Self::Same => " ",
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Uncovered => "uncovered",
            Self::Same => "same",
        }
    }
}

/// Peer and port as text, and what was seen of them.
type Allowed = BTreeMap<(String, String), String>;

/// The lines of a comparison: what is gone, what is new, what stays, then what has no rule.
pub(super) fn compare(old: Option<&Resource>, new: Option<&Resource>) -> Vec<Line> {
    let Some(direction) = new.or(old).and_then(Resource::direction) else { return Vec::new() };
    let (before, after) = (allowed(old), allowed(new));
    let line = |sign, what, (peer, port): &(String, String), evidence: &str| Line {
        sign,
        what,
        direction,
        peer: peer.clone(),
        port: port.clone(),
        evidence: evidence.to_owned(),
    };
    let mut lines = Vec::new();
    for (key, evidence) in &before {
        if !after.contains_key(key) {
            lines.push(line(Sign::Removed, "allow", key, evidence));
        }
    }
    for (key, evidence) in &after {
        let known_peer = before.keys().any(|(peer, _)| *peer == key.0);
        let sign = match before.contains_key(key) {
            true => Sign::Same,
            false if known_peer => Sign::Changed,
            false => Sign::Added,
        };
        lines.push(line(sign, "allow", key, evidence));
    }
    if let Some(new) = new {
        lines.extend(open_items(new, direction));
    }
    lines
}

/// What has no rule: uncovered, refused, and ranges that are suggested.
fn open_items(object: &Resource, direction: Direction) -> Vec<Line> {
    let mut lines = Vec::new();
    for item in object.uncovered().iter().filter(|item| !item.accepted) {
        let notes = item.notes.iter().map(|note| format!("; {note}")).collect::<String>();
        let port = item
            .port
            .map_or_else(|| item.protocol.to_string(), |port| format!("{port}/{}", item.protocol));
        lines.push(Line {
            sign: Sign::Uncovered,
            what: "uncovered",
            direction,
            peer: peer_words(&item.peer),
            port,
            evidence: format!("{}x  {} [{}]{notes}", item.count, item.reason, item.id),
        });
    }
    for rule in object.evidence().iter().filter(|rule| rule.refused) {
        lines.push(Line {
            sign: Sign::Same,
            what: "refused",
            direction,
            peer: output::peer(&rule.peer),
            port: evidence_port(rule),
            evidence: seen(rule),
        });
    }
    for one in object.suggestions() {
        let range = format!(
            "{}-{}/{}",
            one.port.unwrap_or_default(),
            one.end_port.unwrap_or_default(),
            one.protocol
        );
        lines.push(Line {
            sign: Sign::Same,
            what: "suggest",
            direction,
            peer: output::peer(&one.peer),
            port: range,
            evidence: format!("{} [{}]", one.reason, one.id),
        });
    }
    lines
}

fn peer_words(peer: &netenf_api::PeerRef) -> String {
    let own = output::peer(peer);
    match peer.addresses.len() {
        0 | 1 => own,
        many => format!("{own} ({many} addresses)"),
    }
}

fn allowed(object: Option<&Resource>) -> Allowed {
    let Some(object) = object else { return Allowed::new() };
    let mut allowed = Allowed::new();
    if let Some(spec) = object.kubernetes() {
        let namespace = object.key().namespace;
        let ingress = spec.ingress.iter().flatten().map(|rule| (&rule.from, &rule.ports));
        let egress = spec.egress.iter().flatten().map(|rule| (&rule.to, &rule.ports));
        for (peers, ports) in ingress.chain(egress) {
            add(
                &mut allowed,
                object,
                &namespace,
                peers.as_deref().unwrap_or_default(),
                ports.as_deref().unwrap_or_default(),
            );
        }
    }
    for rule in object.istio().iter().flat_map(|spec| &spec.rules) {
        let principals: Vec<&String> =
            rule.from.iter().flat_map(|from| &from.source.principals).collect();
        let ports: Vec<&String> = rule.to.iter().flat_map(|to| &to.operation.ports).collect();
        for principal in &principals {
            let own = object
                .evidence()
                .iter()
                .filter(|one| one.peer.identity.as_ref() == Some(principal));
            let own: Vec<&RuleEvidence> = own.collect();
            if ports.is_empty() {
                allowed.insert(((*principal).clone(), "all ports".to_owned()), String::new());
            }
            for port in &ports {
                let evidence = own
                    .iter()
                    .find(|one| one.port.map(|port| port.to_string()).as_ref() == Some(port));
                let text = evidence.map(|one| seen(one)).unwrap_or_default();
                allowed.insert(((*principal).clone(), format!("{port}/TCP")), text);
            }
        }
    }
    allowed
}

fn add(
    allowed: &mut Allowed,
    object: &Resource,
    namespace: &str,
    peers: &[NetworkPolicyPeer],
    ports: &[NetworkPolicyPort],
) {
    let names: Vec<(String, Option<&NetworkPolicyPeer>)> = if peers.is_empty() {
        vec![("everyone".to_owned(), None)]
    } else {
        peers.iter().map(|peer| (peer_text(namespace, peer), Some(peer))).collect()
    };
    for (name, peer) in names {
        if ports.is_empty() {
            allowed.insert((name, "all ports".to_owned()), String::new());
            continue;
        }
        for port in ports {
            let evidence = peer.and_then(|peer| evidence_of(object, namespace, peer, port));
            let shown = evidence.map_or_else(
                || name.clone(),
                |one| match one.peer.kind.as_deref() {
                    Some("External" | "Probe") | None => name.clone(),
                    Some(_) => output::peer(&one.peer),
                },
            );
            let text = evidence.map_or_else(|| "manual".to_owned(), seen);
            allowed.insert((shown, port_text(port)), text);
        }
    }
}

/// The evidence that the rule rests on, where exactly one can be meant.
fn evidence_of<'a>(
    object: &'a Resource,
    namespace: &str,
    peer: &NetworkPolicyPeer,
    port: &NetworkPolicyPort,
) -> Option<&'a RuleEvidence> {
    let wanted = port_text(port);
    let place = peer.namespace_selector.as_ref().and_then(named_namespace).unwrap_or(namespace);
    let cidr = peer.ip_block.as_ref().map(|block| block.cidr.split('/').next().unwrap_or_default());
    let mut same = object.evidence().iter().filter(|one| {
        let here = match cidr {
            Some(address) => {
                one.peer.address.as_deref() == Some(address)
                    || one.peer.kind.as_deref() == Some("ApiServer")
            }
            None => one.peer.namespace.as_deref() == Some(place),
        };
        here && !one.refused && evidence_port(one) == wanted
    });
    let first = same.next()?;
    same.next().is_none().then_some(first)
}

fn named_namespace(selector: &LabelSelector) -> Option<&str> {
    selector.match_labels.as_ref()?.get("kubernetes.io/metadata.name").map(String::as_str)
}

fn peer_text(namespace: &str, peer: &NetworkPolicyPeer) -> String {
    if let Some(block) = &peer.ip_block {
        let except = block.except.as_deref().unwrap_or_default().join(",");
        return if except.is_empty() {
            block.cidr.clone()
        } else {
            format!("{} without {except}", block.cidr)
        };
    }
    let place = match &peer.namespace_selector {
        None => namespace.to_owned(),
        Some(selector) => named_namespace(selector)
            .map_or_else(|| format!("namespaces{{{}}}", selector_text(selector)), str::to_owned),
    };
    match &peer.pod_selector {
        None => format!("{place}/*"),
        Some(selector) => format!("{place}{{{}}}", selector_text(selector)),
    }
}

fn selector_text(selector: &LabelSelector) -> String {
    let labels =
        selector.match_labels.iter().flatten().map(|(key, value)| format!("{key}={value}"));
    let expressions = selector.match_expressions.iter().flatten().map(|one| {
        format!(
            "{} {} ({})",
            one.key,
            one.operator,
            one.values.as_deref().unwrap_or_default().join(",")
        )
    });
    labels.chain(expressions).collect::<Vec<_>>().join(",")
}

fn port_text(port: &NetworkPolicyPort) -> String {
    let protocol = port.protocol.as_deref().unwrap_or("TCP");
    match (&port.port, port.end_port) {
        (None, _) => format!("all {protocol}"),
        (Some(IntOrString::Int(first)), Some(last)) => format!("{first}-{last}/{protocol}"),
        (Some(IntOrString::Int(number)), None) => format!("{number}/{protocol}"),
        (Some(IntOrString::String(name)), _) => format!("{name}/{protocol}"),
    }
}

fn evidence_port(rule: &RuleEvidence) -> String {
    match (rule.port, rule.end_port) {
        (Some(first), Some(last)) => format!("{first}-{last}/{}", rule.protocol),
        (Some(port), None) => format!("{port}/{}", rule.protocol),
        (None, _) => format!("all {}", rule.protocol),
    }
}

fn seen(rule: &RuleEvidence) -> String {
    let last = rule
        .last_seen
        .as_ref()
        .map(|time| format!("  last {} ago", clock::age(Some(time))))
        .unwrap_or_default();
    let provenance = match rule.provenance {
        netenf_api::Provenance::Observed => String::new(),
        other => format!("  {other}"),
    };
    let notes = rule.notes.iter().map(|note| format!("; {note}")).collect::<String>();
    format!("{}x{last}{provenance}{notes}", rule.count)
}
