//! The verdict over all tiers and its explanation, straight from the text of the APIs: for clarity, not for speed.
//!
//! Per direction: Admin tier, then NetworkPolicy, then Baseline tier, then the default, which is to allow.
//! Inside a tier policies come by priority and name, rules in the order of their list, and the first that
//! matches decides; Pass leaves the tier. "Both must accept": a connection needs both directions.
//!
//! Baseline is for pods that no NetworkPolicy isolates in that direction. The text ("not selected by any
//! NetworkPolicy") can be read per pod too; per direction is what NetworkPolicy itself calls isolation.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;

use crate::cluster::{self, Cluster};
use crate::cluster_policy::{
    Action, ClusterPeer, ClusterPolicy, ClusterPort, ClusterRule, Effective, PodSet, Tier,
};
use crate::domain::{Asker, DomainCache, Pattern};
use crate::evaluate::{
    self, Connection, End, Judgement, Pod, Question, Side, is_in, name_matches, port_matches,
};
use crate::explanation::{Decider, Explanation, Finding, Object, RuleId};
use crate::label::Labels;
use crate::network_policy::{NetworkPolicy, Peer};
use crate::packet::Packet;

mod connectivity;
mod nearest;

/// Policies in their order, and what names were resolved to.
#[derive(Debug, Default)]
pub struct Policies<'a> {
    network: Vec<&'a NetworkPolicy>,
    cluster: Vec<&'a ClusterPolicy>,
    domains: Option<&'a DomainCache>,
    now: Duration,
}

/// A question on one side with what only a cluster knows.
struct Asked<'a> {
    question: Question<'a>,
    /// Labels of the nodes that have the peer's address.
    nodes: Vec<&'a Labels>,
    /// Who asks for names.
    asker: Asker,
}

// === impl Policies ===

impl<'a> Policies<'a> {
    /// These policies, in whichever order.
    pub fn new(
        network: impl IntoIterator<Item = &'a NetworkPolicy>,
        cluster: impl IntoIterator<Item = &'a ClusterPolicy>,
    ) -> Self {
        let mut network: Vec<_> = network.into_iter().collect();
        let mut cluster: Vec<_> = cluster.into_iter().collect();
        network.sort_by_key(|policy| (&policy.namespace, &policy.name));
        cluster.sort_by_key(|policy| policy.precedence());
        Self { network, cluster, ..Self::default() }
    }

    /// The same with names as `domains` knows them at `now`, of what nodes were told.
    #[must_use]
    pub fn with_domains(self, domains: &'a DomainCache, now: Duration) -> Self {
        Self { domains: Some(domains), now, ..self }
    }

    /// Those of them that select `end`: asked about it, they decide as all of them do.
    #[must_use]
    pub fn selecting(&self, end: &End) -> Self {
        let (mut network, mut cluster) = (Vec::new(), Vec::new());
        if let End::Pod(pod) = end {
            let own = |policy: &&NetworkPolicy| policy.namespace < pod.namespace;
            let first = self.network.partition_point(own);
            let here = self.network[first..].iter();
            let here = here.take_while(|policy| policy.namespace == pod.namespace);
            network = here.copied().filter(|policy| evaluate::applies(policy, pod)).collect();
            let all = self.cluster.iter().copied();
            cluster = all.filter(|policy| set_matches(&policy.subject, pod)).collect();
        }
        Self { network, cluster, domains: self.domains, now: self.now }
    }

    /// The NetworkPolicies, by namespace and name.
    pub fn network(&self) -> &[&'a NetworkPolicy] {
        &self.network
    }

    /// The cluster-wide policies, in their order.
    pub fn cluster(&self) -> &[&'a ClusterPolicy] {
        &self.cluster
    }

    /// The blocks of addresses that they tell apart.
    pub fn blocks(&self) -> BTreeSet<IpNet> {
        let rules = |side| self.network.iter().filter_map(move |policy| policy.rules(side));
        let rules = [Side::Egress, Side::Ingress].into_iter().flat_map(rules).flatten();
        let peers = rules.flat_map(|rule| rule.peers.iter().flatten());
        let mut blocks = BTreeSet::new();
        for peer in peers {
            if let Peer::Block { cidr, except } = peer {
                blocks.insert(*cidr);
                blocks.extend(except);
            }
        }
        let rules =
            self.cluster.iter().flat_map(|policy| policy.egress.iter().chain(&policy.ingress));
        for peer in rules.flat_map(|rule| &rule.peers) {
            if let ClusterPeer::Networks(networks) = peer {
                blocks.extend(networks);
            }
        }
        blocks
    }

    /// Evaluates a connection between given ends. Each has addresses of one family: where a rule admits one of
    /// them, the connection may use it.
    pub fn explain(&self, connection: &Connection) -> Explanation {
        let finding = |side| self.finding(side, connection);
        Explanation { egress: finding(Side::Egress), ingress: finding(Side::Ingress) }
    }

    /// Evaluates one direction of a connection between given ends.
    pub fn finding(&self, side: Side, connection: &Connection) -> Finding {
        match free(side, &connection.source, &connection.destination) {
            Some(by) => Finding::allowed(by),
            None => self.find(&Asked::between(connection.question(side))),
        }
    }

    fn find(&self, asked: &Asked<'_>) -> Finding {
        let End::Pod(pod) = asked.question.subject else {
            return Finding::allowed(Decider::NoPod);
        };
        let finding = self
            .tier(Tier::Admin, pod, asked)
            .or_else(|| self.network_policies(asked))
            .or_else(|| self.tier(Tier::Baseline, pod, asked))
            .unwrap_or(Finding::allowed(Decider::Default));
        let nearest = if finding.allowed { None } else { self.nearest(pod, asked, &finding.by) };
        Finding { nearest, ..finding }
    }

    /// What a tier decides; `None` if no rule matches or the first that does passes.
    fn tier(&self, tier: Tier, pod: &Pod, asked: &Asked<'_>) -> Option<Finding> {
        let (policy, index, rule) = self
            .rules(tier, pod, asked.question.side)
            .find(|(_, _, rule)| self.hits(rule, asked))?;
        let action = rule.effective_action()?;
        let allowed = match action {
            Action::Accept => true,
            Action::Deny => false,
            Action::Pass => return None,
        };
        let by = Decider::Rule(RuleId { action, ..RuleId::of_cluster(policy, index, rule) });
        Some(Finding { allowed, by, nearest: None })
    }

    /// The rules of a tier for a pod, in order.
    fn rules(
        &self,
        tier: Tier,
        pod: &Pod,
        side: Side,
    ) -> impl Iterator<Item = (&'a ClusterPolicy, usize, &'a ClusterRule)> {
        let selects = move |policy: &&ClusterPolicy| {
            policy.precedence().0 == tier && set_matches(&policy.subject, pod)
        };
        self.cluster.iter().copied().filter(selects).flat_map(move |policy| {
            let rules = policy.rules(side).iter().enumerate();
            rules.map(move |(index, rule)| (policy, index, rule))
        })
    }

    fn hits(&self, rule: &ClusterRule, asked: &Asked<'_>) -> bool {
        match rule.effective() {
            Effective::Nothing => false,
            Effective::DenyAll => true,
            Effective::AsWritten => {
                rule.peers.iter().any(|peer| self.peer_hits(peer, rule.action, asked))
                    && rule.ports.as_ref().is_none_or(|ports| {
                        ports.iter().any(|port| port_hits(port, &asked.question))
                    })
            }
        }
    }

    fn peer_hits(&self, peer: &ClusterPeer, action: Action, asked: &Asked<'_>) -> bool {
        match (peer, asked.question.peer) {
            (ClusterPeer::Pods(set), End::Pod(pod)) => set_matches(set, pod),
            (ClusterPeer::Pods(_) | ClusterPeer::Unknown, _) => false,
            (ClusterPeer::Nodes(selector), _) => {
                asked.nodes.iter().any(|labels| selector.matches(labels))
            }
            (ClusterPeer::Networks(networks), end) => {
                // A pod may be in none of them with some network plugins: only a denial holds it for sure.
                let may_be_in = |network: &IpNet| {
                    action == Action::Deny && network.prefix_len() == 0 && may_be_anywhere(end)
                };
                networks.iter().any(|network| is_in(end, network, &[]) || may_be_in(network))
            }
            (ClusterPeer::Domains(patterns), end) => {
                action == Action::Accept
                    && asked.question.side == Side::Egress
                    && patterns.iter().any(|pattern| self.is_named(pattern, end, &asked.asker))
            }
        }
    }

    /// Whether names that the pattern means lead to `end`.
    fn is_named(&self, pattern: &Pattern, end: &End, asker: &Asker) -> bool {
        let holds = |address: &IpAddr| {
            self.domains.is_some_and(|known| known.holds(pattern, *address, asker, self.now))
        };
        match end {
            End::Name(name) => pattern.matches(name),
            End::Pod(pod) => pod.addresses.iter().any(holds),
            End::Node { addresses, .. } => addresses.iter().any(holds),
            End::Address(address) => holds(address),
            End::Unknown => false,
        }
    }

    fn network_policies(&self, asked: &Asked<'_>) -> Option<Finding> {
        let judgement = evaluate::judge(self.network.iter().copied(), &asked.question);
        let (allowed, by) = match judgement {
            Judgement::NotIsolated => return None,
            Judgement::Rule(policy, rule) => {
                (true, Decider::Rule(RuleId::of_network(policy, rule)))
            }
            Judgement::NoRule(policies) => {
                (false, Decider::Isolated(policies.into_iter().map(Object::of_network).collect()))
            }
        };
        Some(Finding { allowed, by, nearest: None })
    }
}

// === impl Asked ===

impl<'a> Asked<'a> {
    /// A question between given ends.
    fn between(question: Question<'a>) -> Self {
        let nodes = match question.peer {
            End::Node { labels, .. } => vec![labels],
            End::Pod(_) | End::Address(_) | End::Name(_) | End::Unknown => Vec::new(),
        };
        Self { question, nodes, asker: Asker::Node }
    }
}

/// Whether no address of the end is known: whichever it has, a denial of all addresses denies it.
fn may_be_anywhere(end: &End) -> bool {
    match end {
        End::Pod(pod) => pod.addresses.is_empty(),
        End::Node { addresses, .. } => addresses.is_empty(),
        End::Name(_) | End::Unknown => true,
        End::Address(_) => false,
    }
}

/// Why no policy is asked about a side: "a pod cannot block access to itself", and "traffic to and from the
/// node where a Pod is running is always allowed" (Kubernetes, concepts, Network Policies), of which the APIs for
/// administrators keep the way from a node to its pods.
fn free(side: Side, source: &End, destination: &End) -> Option<Decider> {
    match (side, source, destination) {
        (_, End::Pod(one), End::Pod(other)) => {
            let same = (&one.namespace, &one.name) == (&other.namespace, &other.name);
            (same && one.name.is_some()).then_some(Decider::Itself)
        }
        (Side::Ingress, End::Node { name, .. }, End::Pod(pod)) => {
            (pod.node.as_ref() == Some(name)).then_some(Decider::OwnNode)
        }
        _ => None,
    }
}

// === impl Cluster ===

impl Cluster {
    /// Evaluates a packet at `now`, its ends being who has its addresses.
    pub fn explain(&self, packet: &Packet, now: Duration) -> Explanation {
        let (source, destination) = (self.owner(packet.source), self.owner(packet.destination));
        if source.is_some() && source == destination {
            let itself = Finding::allowed(Decider::Itself);
            return Explanation { egress: itself.clone(), ingress: itself };
        }
        let policies = Policies::new(
            self.network_policies.values().map(|one| &**one),
            self.cluster_policies.values().map(|one| &**one),
        )
        .with_domains(&self.domains, now);
        let from = self.end(source, packet.source);
        let to = self.end(destination, packet.destination);
        let asker = source.map_or(Asker::Node, cluster::Pod::asker);
        let find = |side| {
            let peer = match side {
                Side::Egress => packet.destination,
                Side::Ingress => packet.source,
            };
            policies.find(&Asked {
                question: Question::new(side, &from, &to, packet.transport),
                nodes: self.nodes_at(peer).map(|node| &node.labels).collect(),
                asker: asker.clone(),
            })
        };
        let own_node = self
            .nodes_at(packet.source)
            .any(|node| destination.is_some_and(|pod| pod.node.as_ref() == Some(&node.name)));
        let ingress =
            if own_node { Finding::allowed(Decider::OwnNode) } else { find(Side::Ingress) };
        Explanation { egress: find(Side::Egress), ingress }
    }

    /// An end as policies see it: of a pod's addresses the one that is used.
    pub(crate) fn end(&self, pod: Option<&cluster::Pod>, address: IpAddr) -> End {
        let Some(pod) = pod else { return End::Address(address) };
        let port = |port: &cluster::NamedPort| (port.name.clone(), port.protocol, port.number);
        End::Pod(Pod {
            namespace: pod.namespace.clone(),
            name: Some(pod.name.clone()),
            node: pod.node.clone(),
            namespace_labels: self.namespace_labels(&pod.namespace),
            labels: pod.labels.clone(),
            addresses: vec![address],
            ports: pod.ports.iter().map(port).collect(),
        })
    }
}

fn set_matches(set: &PodSet, pod: &Pod) -> bool {
    set.namespaces.matches(&pod.namespace_labels) && set.pods.matches(&pod.labels)
}

fn port_hits(port: &ClusterPort, question: &Question<'_>) -> bool {
    match port {
        ClusterPort::Of(port) => port_matches(port, question),
        ClusterPort::Named(name) => name_matches(name, question),
        ClusterPort::Unknown => false,
    }
}
