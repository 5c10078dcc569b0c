//! Policies, clusters and expectations as lines of text, so that a table of cases fits on a page.
//!
//! ```text
//! SELECTOR  * | TERM,TERM…       TERM  key=value | key=one|other | key!=one|other | key | !key
//! PEER      ns(SELECTOR) | pods(NAMESPACES;PODS) | own(PODS) | nodes(SELECTOR) | net(CIDR,…)
//!           | block(CIDR!EXCEPT…) | dns(NAME,…) | ?          no peer at all is everyone
//! PORT      tcp:80 | tcp:80-90 | tcp:web | tcp | @web | ?    behind a lone ":"
//! np NAMESPACE/NAME PODS [Ingress] [Egress]        followed by lines "ingress PEER… : PORT…", "egress …"
//! cnp NAME TIER PRIORITY PEER                      followed by lines "ingress ACTION PEER… : PORT…", …
//! ```
//! The label `name` stands for `kubernetes.io/metadata.name`.

use std::sync::Arc;

use netenf_policy::{
    Action, ClusterPeer, ClusterPolicy, ClusterPort, ClusterRule, Labels, NetworkPolicy, Operator,
    Pattern, Peer, PodSet, PortMatch, PortRange, Protocol, Requirement, Rule, Selector, Tier,
};

/// A policy of either sort.
#[derive(Debug, Clone)]
pub(crate) enum Policy {
    Network(NetworkPolicy),
    Cluster(ClusterPolicy),
}

fn key(text: &str) -> Arc<str> {
    if text == "name" { "kubernetes.io/metadata.name".into() } else { text.into() }
}

pub(crate) fn labels(text: &str) -> Labels {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(label, value)| (key(label), value)).collect()
}

pub(crate) fn selector(text: &str) -> Selector {
    let (mut plain, mut requirements) = (Vec::new(), Vec::new());
    for term in text.split(',').filter(|term| *term != "*" && !term.is_empty()) {
        let values = |text: &str| {
            text.split('|').filter(|one| !one.is_empty()).map(Arc::from).collect::<Vec<Arc<str>>>()
        };
        let (label, operator) = if let Some((label, listed)) = term.split_once("!=") {
            (label, Operator::NotIn(values(listed)))
        } else if let Some((label, listed)) = term.split_once('=') {
            if !listed.contains('|') {
                plain.push((key(label), Arc::<str>::from(listed)));
                continue;
            }
            (label, Operator::In(values(listed)))
        } else if let Some(label) = term.strip_prefix('!') {
            (label, Operator::DoesNotExist)
        } else {
            (term, Operator::Exists)
        };
        requirements.push(Requirement { key: key(label), operator });
    }
    Selector { labels: plain.into_iter().collect(), requirements }
}

fn parts(text: &str) -> (&str, &str) {
    let inner = text.strip_suffix(')').and_then(|text| text.split_once('('));
    inner.unwrap_or_else(|| panic!("no peer: {text}"))
}

fn network_peer(text: &str) -> Peer {
    let (kind, inner) = parts(text);
    match kind {
        "ns" => Peer::Pods { namespaces: Some(selector(inner)), pods: None },
        "own" => Peer::Pods { namespaces: None, pods: Some(selector(inner)) },
        "pods" => {
            let (namespaces, pods) = inner.split_once(';').unwrap();
            Peer::Pods { namespaces: Some(selector(namespaces)), pods: Some(selector(pods)) }
        }
        "block" => {
            let mut blocks = inner.split('!').map(|text| text.parse().unwrap());
            Peer::Block { cidr: blocks.next().unwrap(), except: blocks.collect() }
        }
        other => panic!("no peer of a NetworkPolicy: {other}"),
    }
}

fn pod_set(text: &str) -> PodSet {
    match parts(text) {
        ("ns", inner) => PodSet { namespaces: selector(inner), pods: Selector::default() },
        ("pods", inner) => {
            let (namespaces, pods) = inner.split_once(';').unwrap();
            PodSet { namespaces: selector(namespaces), pods: selector(pods) }
        }
        (other, _) => panic!("no set of pods: {other}"),
    }
}

pub(crate) fn cluster_peer(text: &str) -> ClusterPeer {
    if text == "?" {
        return ClusterPeer::Unknown;
    }
    let (kind, inner) = parts(text);
    let list = || inner.split(',').filter(|one| !one.is_empty());
    match kind {
        "nodes" => ClusterPeer::Nodes(selector(inner)),
        "net" => ClusterPeer::Networks(list().map(|cidr| cidr.parse().unwrap()).collect()),
        "dns" => ClusterPeer::Domains(list().map(|name| Pattern::parse(name).unwrap()).collect()),
        _ => ClusterPeer::Pods(pod_set(text)),
    }
}

pub(crate) fn protocol(text: &str) -> Protocol {
    match text {
        "tcp" => Protocol::Tcp,
        "udp" => Protocol::Udp,
        "sctp" => Protocol::Sctp,
        other => panic!("no protocol: {other}"),
    }
}

fn port(text: &str) -> PortMatch {
    let Some((name, range)) = text.split_once(':') else {
        return PortMatch { protocol: protocol(text), range: PortRange::Any };
    };
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let range = match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) => PortRange::Numbers(first, last),
        _ => PortRange::Named(range.into()),
    };
    PortMatch { protocol: protocol(name), range }
}

pub(crate) fn cluster_port(text: &str) -> ClusterPort {
    match text.strip_prefix('@') {
        Some(name) => ClusterPort::Named(name.into()),
        None if text == "?" => ClusterPort::Unknown,
        None => ClusterPort::Of(port(text)),
    }
}

/// Peers, and ports if there are any behind a colon.
fn sides<'a>(words: &[&'a str]) -> (Vec<&'a str>, Option<Vec<&'a str>>) {
    let mut halves = words.split(|word| *word == ":");
    let peers = halves.next().unwrap_or_default().to_vec();
    (peers, halves.next().map(<[&str]>::to_vec))
}

fn rule(words: &[&str]) -> Rule {
    let (peers, ports) = sides(words);
    // "none" is a list that lost all of its peers to lowering: it matches nothing.
    let listed = peers.iter().filter(|peer| **peer != "none").map(|peer| network_peer(peer));
    Rule {
        peers: (!peers.is_empty()).then(|| listed.collect()),
        ports: ports.map(|ports| ports.into_iter().map(port).collect()),
    }
}

pub(crate) fn cluster_rule(words: &[&str]) -> ClusterRule {
    let (peers, ports) = sides(&words[1..]);
    ClusterRule {
        name: None,
        action: action(words[0]),
        peers: peers.into_iter().map(cluster_peer).collect(),
        ports: ports.map(|ports| ports.into_iter().map(cluster_port).collect()),
    }
}

pub(crate) fn action(text: &str) -> Action {
    match text {
        "Accept" => Action::Accept,
        "Deny" => Action::Deny,
        "Pass" => Action::Pass,
        other => panic!("no action: {other}"),
    }
}

/// The policy that a line begins; its rules follow on lines of their own.
pub(crate) fn policy(words: &[&str]) -> Option<Policy> {
    match words {
        ["np", name, pods, types @ ..] => {
            let (namespace, name) = name.split_once('/').unwrap();
            Some(Policy::Network(NetworkPolicy {
                kind: "NetworkPolicy".into(),
                namespace: namespace.into(),
                name: name.into(),
                pods: selector(pods),
                ingress: types.contains(&"Ingress").then(Vec::new),
                egress: types.contains(&"Egress").then(Vec::new),
            }))
        }
        ["cnp", name, tier, priority, subject] => Some(Policy::Cluster(ClusterPolicy {
            kind: "ClusterNetworkPolicy".into(),
            name: (*name).into(),
            tier: if *tier == "Admin" { Tier::Admin } else { Tier::Baseline },
            priority: priority.parse().unwrap(),
            subject: pod_set(subject),
            ingress: Vec::new(),
            egress: Vec::new(),
        })),
        _ => None,
    }
}

// === impl Policy ===

impl Policy {
    /// Adds the rule of a line.
    pub(crate) fn add(&mut self, words: &[&str]) {
        match (self, words[0]) {
            (Self::Network(policy), side) => {
                let rules =
                    if side == "ingress" { &mut policy.ingress } else { &mut policy.egress };
                rules.as_mut().unwrap().push(rule(&words[1..]));
            }
            (Self::Cluster(policy), "ingress") => policy.ingress.push(cluster_rule(&words[1..])),
            (Self::Cluster(policy), _) => policy.egress.push(cluster_rule(&words[1..])),
        }
    }
}
