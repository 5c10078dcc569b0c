//! What a spec allows, and which evidence each of its rules rests on.
//!
//! Evidence names a workload, a spec the labels of its pods. Evidence that tells how the pods were selected is
//! for the rule that selects them so, or else for one that selects them all. Where it does not, all that may be
//! meant is told and nothing is guessed: a label may well carry the name of another workload.

use ipnet::IpNet;
use k8s_openapi::api::networking::v1::{NetworkPolicyPeer, NetworkPolicyPort};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use netenf_api::{Direction, PeerRef, RuleEvidence};

use super::body;
use super::choice::named_namespace;
use super::peer::{blocks, is_same};
use super::resource::Resource;
use super::rule::{self, Rule};
use crate::lower;
use crate::merge::{principal_matches, selects_all};
use crate::render::{NAMESPACE_NAME, pods_of};

/// One peer and port that a spec allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Permit<'a> {
    /// Into the workload or out of it.
    pub direction: Direction,
    /// Whom it admits.
    pub peer: Permitted,
    /// Which port; `None` for every port of every protocol.
    pub port: Option<NetworkPolicyPort>,
    /// What was seen of it.
    pub basis: Basis<'a>,
}

/// Whom a rule admits. Peers that mean the same are equal.
#[derive(Debug, Clone, PartialEq)]
pub enum Permitted {
    /// Everyone.
    Everyone,
    /// Pods or addresses; pods always with the namespaces that they are in.
    Peer(NetworkPolicyPeer),
    /// A mesh identity, or a pattern of some.
    Principal(String),
}

/// What was seen of a rule.
#[derive(Debug, Clone, PartialEq)]
pub enum Basis<'a> {
    /// Nothing.
    Nothing,
    /// This.
    Seen(Vec<&'a RuleEvidence>),
    /// Some of this: it does not tell whether it is for this rule or for another one.
    Perhaps(Vec<&'a RuleEvidence>),
}

/// Everything that the spec of `object` allows, each peer and port once, in the order of the spec.
pub fn permits(object: &Resource) -> Vec<Permit<'_>> {
    let mut permits = Vec::new();
    for (direction, rules) in bodies(object) {
        let evidence = seen(object, direction);
        let peers = grouped(&rules);
        let meant: Vec<Vec<usize>> = evidence.iter().map(|one| one.meant(&peers)).collect();
        let meant = told_apart(&evidence, &peers, meant);
        for (position, (peer, ports)) in peers.iter().enumerate() {
            permits.extend(ports.iter().map(|port| Permit {
                direction,
                peer: peer.clone(),
                port: port.clone(),
                basis: basis(&evidence, &meant, position, port.as_ref()),
            }));
        }
    }
    permits
}

/// A rule of either backend: whom it admits, and on which ports.
type Admission = (Permitted, Vec<Option<NetworkPolicyPort>>);

/// The rules of both directions; a spec may hold rules of both.
fn bodies(object: &Resource) -> Vec<(Direction, Vec<Admission>)> {
    let namespace = object.metadata().namespace.as_deref().unwrap_or_default();
    let mut bodies = Vec::new();
    if let Some(body) = object.kubernetes() {
        let mut body = body.clone();
        for direction in [Direction::Ingress, Direction::Egress] {
            let rules = rule::take(&mut body, direction);
            let rules = rules.iter().flat_map(|rule| admissions(rule, namespace));
            bodies.push((direction, rules.collect()));
        }
    }
    if let Some(body) = object.istio() {
        bodies.push((Direction::Ingress, body.rules.iter().flat_map(mesh_admissions).collect()));
    }
    bodies
}

fn admissions(rule: &Rule, namespace: &str) -> Vec<Admission> {
    let ports: Vec<_> = match rule.ports.as_slice() {
        [] => vec![None],
        ports => ports.iter().map(|port| Some(plain_port(port))).collect(),
    };
    let peers: Vec<_> = match rule.peers.as_slice() {
        [] => vec![Permitted::Everyone],
        peers => peers.iter().map(|peer| Permitted::Peer(plain_peer(peer, namespace))).collect(),
    };
    peers.into_iter().map(|peer| (peer, ports.clone())).collect()
}

fn mesh_admissions(rule: &netenf_api::istio::IstioRule) -> Vec<Admission> {
    let mut ports: Vec<_> = Vec::new();
    for to in &rule.to {
        match to.operation.ports.as_slice() {
            [] => ports.push(None),
            own => ports.extend(own.iter().map(|port| Some(mesh_port(port)))),
        }
    }
    if rule.to.is_empty() {
        ports.push(None);
    }
    let mut peers: Vec<_> = Vec::new();
    for from in &rule.from {
        match from.source.principals.as_slice() {
            [] => peers.push(Permitted::Everyone),
            own => peers.extend(own.iter().cloned().map(Permitted::Principal)),
        }
    }
    if rule.from.is_empty() {
        peers.push(Permitted::Everyone);
    }
    peers.into_iter().map(|peer| (peer, ports.clone())).collect()
}

fn mesh_port(port: &str) -> NetworkPolicyPort {
    let number = port.parse().map(IntOrString::Int);
    NetworkPolicyPort {
        protocol: Some("TCP".to_owned()),
        port: Some(number.unwrap_or_else(|_| IntOrString::String(port.to_owned()))),
        end_port: None,
    }
}

/// The peer in the one form of all that mean the same.
fn plain_peer(peer: &NetworkPolicyPeer, namespace: &str) -> NetworkPolicyPeer {
    if let Some(block) = &peer.ip_block {
        let mut block = block.clone();
        block.except = block.except.filter(|ranges| !ranges.is_empty());
        block.except.iter_mut().for_each(|ranges| ranges.sort());
        return NetworkPolicyPeer { ip_block: Some(block), ..NetworkPolicyPeer::default() };
    }
    let namespaces = peer.namespace_selector.as_ref().map(plain_selector);
    NetworkPolicyPeer {
        ip_block: None,
        namespace_selector: Some(namespaces.unwrap_or_else(|| namespace_selector(namespace))),
        pod_selector: peer
            .pod_selector
            .as_ref()
            .map(plain_selector)
            .filter(|selector| !body::is_empty(selector)),
    }
}

/// Selects one namespace.
fn namespace_selector(namespace: &str) -> LabelSelector {
    let labels = [(NAMESPACE_NAME.to_owned(), namespace.to_owned())].into();
    LabelSelector { match_labels: Some(labels), match_expressions: None }
}

fn plain_selector(selector: &LabelSelector) -> LabelSelector {
    LabelSelector {
        match_labels: selector.match_labels.clone().filter(|labels| !labels.is_empty()),
        match_expressions: selector.match_expressions.clone().filter(|all| !all.is_empty()),
    }
}

fn plain_port(port: &NetworkPolicyPort) -> NetworkPolicyPort {
    let protocol = port.protocol.clone().unwrap_or_else(|| "TCP".to_owned());
    NetworkPolicyPort { protocol: Some(protocol), ..port.clone() }
}

/// Each peer once, with all of its ports, each once.
fn grouped(rules: &[Admission]) -> Vec<Admission> {
    let mut peers: Vec<Admission> = Vec::new();
    for (peer, ports) in rules {
        let at = peers.iter().position(|(known, _)| known == peer).unwrap_or_else(|| {
            peers.push((peer.clone(), Vec::new()));
            peers.len() - 1
        });
        for port in ports {
            if !peers[at].1.contains(port) {
                peers[at].1.push(port.clone());
            }
        }
    }
    peers
}

/// Everything that was seen of one end, selected in one way, and is not refused.
struct Seen<'a> {
    peer: &'a PeerRef,
    entries: Vec<&'a RuleEvidence>,
}

/// The evidence by ends. A spec that states its direction has evidence for that one only.
fn seen(object: &Resource, direction: Direction) -> Vec<Seen<'_>> {
    let mut ends: Vec<Seen<'_>> = Vec::new();
    if object.direction().is_some_and(|own| own != direction) {
        return ends;
    }
    for entry in object.evidence().iter().filter(|entry| !entry.refused) {
        let is_known = |end: &&mut Seen<'_>| {
            is_same(end.peer, &entry.peer) && end.entries[0].selector == entry.selector
        };
        match ends.iter_mut().find(is_known) {
            Some(end) => end.entries.push(entry),
            None => ends.push(Seen { peer: &entry.peer, entries: vec![entry] }),
        }
    }
    ends
}

// === impl Seen ===

impl Seen<'_> {
    /// The peers of the spec that it may be for.
    fn meant(&self, peers: &[Admission]) -> Vec<usize> {
        let selector = self.entries.iter().find_map(|entry| entry.selector.as_ref());
        let Some((namespace, selector)) = self.peer.namespace.as_deref().zip(selector) else {
            return self.fitting(peers, |peer| peer.may_be(self.peer));
        };
        let written = Permitted::Peer(plain_peer(&pods_of(namespace, selector.clone()), namespace));
        let exact = self.fitting(peers, |peer| *peer == written);
        if !exact.is_empty() {
            return exact;
        }
        // A person widened it; of several that admit the pods one is as good as the other.
        let wider = self.fitting(peers, |peer| peer.may_be(self.peer) && peer.selects(selector));
        wider.into_iter().take(1).collect()
    }

    /// Those of the peers that are wanted and have all of its ports, or else some.
    fn fitting(&self, peers: &[Admission], wanted: impl Fn(&Permitted) -> bool) -> Vec<usize> {
        let fits = |(peer, ports): &Admission, entry: &RuleEvidence| {
            wanted(peer) && ports.iter().any(|port| names(port.as_ref(), entry))
        };
        let positions = |wanted: &dyn Fn(&Admission) -> bool| -> Vec<usize> {
            (0..peers.len()).filter(|position| wanted(&peers[*position])).collect()
        };
        let all = positions(&|one| self.entries.iter().all(|entry| fits(one, entry)));
        if !all.is_empty() {
            return all;
        }
        positions(&|one| self.entries.iter().any(|entry| fits(one, entry)))
    }

    /// Whether the peer has these ports and no others.
    fn has_ports(&self, ports: &[Option<NetworkPolicyPort>]) -> bool {
        let is_equal = |port: &Option<NetworkPolicyPort>, entry: &&RuleEvidence| {
            port.as_ref().is_some_and(|port| rule::is_equal(port, &port_of(entry)))
        };
        ports.len() == self.entries.len()
            && ports.iter().all(|port| self.entries.iter().any(|entry| is_equal(port, entry)))
    }
}

/// Where several peers may be meant, the one with the very same ports is, as long as no other end claims it.
fn told_apart(
    evidence: &[Seen<'_>],
    peers: &[Admission],
    meant: Vec<Vec<usize>>,
) -> Vec<Vec<usize>> {
    let narrowed: Vec<Vec<usize>> = evidence
        .iter()
        .zip(&meant)
        .map(|(end, positions)| match positions.as_slice() {
            [] | [_] => positions.clone(),
            several => {
                let exact = several.iter().filter(|at| end.has_ports(&peers[**at].1));
                exact.copied().collect()
            }
        })
        .collect();
    let claims = |position: usize| narrowed.iter().filter(|one| **one == [position]).count();
    let decide = |(before, after): (Vec<usize>, &Vec<usize>)| match after.as_slice() {
        [only] if claims(*only) == 1 => vec![*only],
        _ => before,
    };
    meant.into_iter().zip(&narrowed).map(decide).collect()
}

fn basis<'a>(
    evidence: &[Seen<'a>],
    meant: &[Vec<usize>],
    position: usize,
    port: Option<&NetworkPolicyPort>,
) -> Basis<'a> {
    let (mut certain, mut possible) = (Vec::new(), Vec::new());
    for (end, positions) in evidence.iter().zip(meant) {
        let own = end.entries.iter().copied().filter(|entry| names(port, entry));
        match positions.as_slice() {
            [only] if *only == position => certain.extend(own),
            several if several.contains(&position) => possible.extend(own),
            _ => {}
        }
    }
    match (certain.is_empty(), possible.is_empty()) {
        (false, _) => Basis::Seen(certain),
        (true, false) => Basis::Perhaps(possible),
        (true, true) => Basis::Nothing,
    }
}

fn names(port: Option<&NetworkPolicyPort>, entry: &RuleEvidence) -> bool {
    port.is_none_or(|port| rule::contains(port, &port_of(entry)))
}

fn port_of(entry: &RuleEvidence) -> NetworkPolicyPort {
    rule::port(entry.protocol, entry.port, entry.end_port)
}

// === impl Permitted ===

impl Permitted {
    /// Whether it admits all pods that the selector selects, wherever they are.
    fn selects(&self, pods: &LabelSelector) -> bool {
        match self {
            Self::Everyone => true,
            Self::Principal(_) => false,
            Self::Peer(peer) => {
                peer.ip_block.is_none()
                    && peer.pod_selector.as_ref().is_none_or(|own| {
                        selects_all(&lower::selector(own).0, &lower::selector(pods).0)
                    })
            }
        }
    }

    /// Whether the end may be one of those that it admits.
    fn may_be(&self, end: &PeerRef) -> bool {
        match self {
            Self::Everyone => true,
            Self::Principal(pattern) => {
                end.identity.as_ref().is_some_and(|own| principal_matches(pattern, own))
            }
            Self::Peer(peer) => match &peer.ip_block {
                Some(block) => is_in_block(&block.cidr, block.except.as_deref(), end),
                None => is_in_namespaces(peer.namespace_selector.as_ref(), end),
            },
        }
    }
}

fn is_in_block(cidr: &str, except: Option<&[String]>, end: &PeerRef) -> bool {
    let addresses = blocks(end);
    if addresses.is_empty() {
        // The API server is a pod or an address, and not always told which.
        return end.kind.as_deref() == Some("ApiServer");
    }
    let excluded: Vec<IpNet> =
        except.unwrap_or_default().iter().filter_map(|range| range.parse().ok()).collect();
    let holds = |block: &IpNet| {
        cidr.parse::<IpNet>().is_ok_and(|cidr| cidr.contains(block))
            && !excluded.iter().any(|range| range.contains(block))
    };
    end.namespace.is_none() && addresses.iter().any(holds)
}

fn is_in_namespaces(selector: Option<&LabelSelector>, end: &PeerRef) -> bool {
    let Some(namespace) = &end.namespace else {
        return end.address.is_none() && end.identity.is_none();
    };
    selector.and_then(named_namespace).is_none_or(|named| named == namespace)
}

#[cfg(test)]
mod tests;
