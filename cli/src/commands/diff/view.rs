//! An object as connectivity: one line a peer and port.

use std::collections::BTreeMap;

use k8s_openapi::api::networking::v1::{NetworkPolicyPeer, NetworkPolicyPort};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use netenf_api::{Direction, Provenance, RuleEvidence};
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
    pub(super) seen: Seen,
}

/// What is known of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// By which `allow` knows it.
    pub(super) id: Option<String>,
    /// Why it has no rule, or why it is suggested.
    pub(super) reason: Option<String>,
    pub(super) count: Option<i64>,
    pub(super) last: Option<Time>,
    pub(super) provenance: Option<Provenance>,
    pub(super) notes: Vec<String>,
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

// === impl Line ===

impl Line {
    /// What was seen, for people.
    pub(super) fn evidence(&self) -> String {
        self.seen.words()
    }
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

// === impl Seen ===

impl Seen {
    fn of(rule: &RuleEvidence) -> Self {
        Self {
            count: Some(rule.count),
            last: rule.last_seen.clone(),
            provenance: Some(rule.provenance),
            notes: rule.notes.iter().map(ToString::to_string).collect(),
            ..Self::default()
        }
    }

    /// A rule that nothing was seen of: a person wrote it.
    fn manual() -> Self {
        Self { provenance: Some(Provenance::Manual), ..Self::default() }
    }

    /// For people.
    pub(super) fn words(&self) -> String {
        let mut words = Vec::new();
        words.extend(self.count.map(|count| format!("{count}x")));
        words.extend(self.last.as_ref().map(|time| format!("last {} ago", clock::age(Some(time)))));
        let provenance = self.provenance.filter(|one| *one != Provenance::Observed);
        words.extend(provenance.map(|one| one.to_string()));
        words.extend(self.reason.clone());
        words.extend(self.id.as_ref().map(|id| format!("[{id}]")));
        let notes = self.notes.iter().map(|note| format!("; {note}")).collect::<String>();
        words.join("  ") + &notes
    }
}

/// Peer and port as text, and what was seen of them.
type Allowed = BTreeMap<(String, String), Seen>;

/// The lines of a comparison: what is gone, what is new, what stays, then what has no rule.
pub(super) fn compare(old: Option<&Resource>, new: Option<&Resource>) -> Vec<Line> {
    let Some(direction) = new.or(old).and_then(Resource::direction) else { return Vec::new() };
    let (before, after) = (allowed(old), allowed(new));
    let line = |sign, what, (peer, port): &(String, String), seen: &Seen| Line {
        sign,
        what,
        direction,
        peer: peer.clone(),
        port: port.clone(),
        seen: seen.clone(),
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
        lines.extend(open_items(old, new, direction));
    }
    lines
}

/// A line if the two are not in the same state.
pub(super) fn compare_state(old: Option<&Resource>, new: Option<&Resource>) -> Option<Line> {
    let (before, after) = (state(old?), state(new?));
    let direction = new.or(old).and_then(Resource::direction)?;
    (before != after).then(|| Line {
        sign: Sign::Changed,
        what: "state",
        direction,
        peer: format!("{before} to {after}"),
        port: String::new(),
        seen: Seen::default(),
    })
}

fn state(object: &Resource) -> String {
    object.as_policy().map_or("proposal".to_owned(), |policy| policy.spec.mode.to_string())
}

/// What has no rule: uncovered, refused, and ranges that are suggested.
fn open_items(old: Option<&Resource>, object: &Resource, direction: Direction) -> Vec<Line> {
    let is_known = |id: &str| {
        let mut known = old.iter().flat_map(|old| old.uncovered());
        known.any(|item| item.id == id && !item.accepted)
    };
    let mut lines = Vec::new();
    for item in object.uncovered().iter().filter(|item| !item.accepted) {
        let port = item
            .port
            .map_or_else(|| item.protocol.to_string(), |port| format!("{port}/{}", item.protocol));
        lines.push(Line {
            sign: if is_known(&item.id) { Sign::Same } else { Sign::Uncovered },
            what: "uncovered",
            direction,
            peer: peer_words(&item.peer),
            port,
            seen: Seen {
                id: Some(item.id.clone()),
                reason: Some(item.reason.to_string()),
                count: Some(item.count),
                last: item.last_seen.clone(),
                provenance: None,
                notes: item.notes.iter().map(ToString::to_string).collect(),
            },
        });
    }
    for rule in object.evidence().iter().filter(|rule| rule.refused) {
        lines.push(Line {
            sign: Sign::Same,
            what: "refused",
            direction,
            peer: output::peer(&rule.peer),
            port: evidence_port(rule),
            seen: Seen::of(rule),
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
            seen: Seen {
                id: Some(one.id.clone()),
                reason: Some(one.reason.clone()),
                ..Seen::default()
            },
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
                allowed.insert(((*principal).clone(), "all ports".to_owned()), Seen::default());
            }
            for port in &ports {
                let evidence = own
                    .iter()
                    .find(|one| one.port.map(|port| port.to_string()).as_ref() == Some(port));
                let seen = evidence.map_or_else(Seen::manual, |one| Seen::of(one));
                allowed.insert(((*principal).clone(), format!("{port}/TCP")), seen);
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
            allowed.insert((name, "all ports".to_owned()), Seen::default());
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
            allowed.insert((shown, port_text(port)), evidence.map_or_else(Seen::manual, Seen::of));
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
    let same = object.evidence().iter().filter(|one| {
        let here = match cidr {
            Some(address) => {
                one.peer.address.as_deref() == Some(address)
                    || one.peer.kind.as_deref() == Some("ApiServer")
            }
            None => one.peer.namespace.as_deref() == Some(place),
        };
        here && !one.refused && evidence_port(one) == wanted
    });
    match same.collect::<Vec<_>>().as_slice() {
        [one] => Some(one),
        // Several peers of that namespace on that port: the name is usually the value of a label.
        several => {
            let labels = peer.pod_selector.as_ref().and_then(|one| one.match_labels.as_ref());
            let is_label = |name: &String| labels.iter().any(|own| own.values().any(|v| v == name));
            let mut named =
                several.iter().filter(|one| one.peer.name.as_ref().is_some_and(is_label));
            let first = named.next()?;
            named.next().is_none().then_some(first)
        }
    }
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
