//! The draft of one proposal, put together from all traffic of its subject.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use netenf_policy::Protocol;

use super::fit::{Fit, dns_rule};
use super::settle::Subject;
use super::{At, Placer, Side, Thing, Traffic, Way};
use crate::config::Backend;
use crate::directory::Directory;
use crate::identity::{Party, WorkloadSelector};
use crate::learner::Learner;
use crate::observation::{Direction, Network};
use crate::outcome::cast::Cast;
use crate::outcome::draft::{Draft, Item, Sum};
use crate::outcome::{Sorted, peer};
use crate::proposal::{Peer, Provenance, Reason, RulePeer, listed};
use crate::sum::NoteSum;

/// Probes of Istio ambient, by the workload that was probed.
pub(super) type Probes = Sorted<u32, Vec<(At, IpAddr, NoteSum)>>;

/// DNS waits until all else is there: what was asked decides how the cluster's DNS is described (D4).
struct Waiting {
    rules: Vec<RulePeer>,
    peer: Peer,
    sum: Sum,
    at: At,
}

/// What stands at a port that only the network plugin asks for.
fn compat_sum(sum: &Sum) -> Sum {
    let note = "compat: the network plugin checks the service's own port too";
    let mut sum = Sum { provenance: Some(Provenance::Infrastructure), ..sum.clone() };
    sum.notes.insert(note.into());
    sum
}

pub(super) fn probes<D>(learner: &Learner<D>, cast: &Cast) -> Probes {
    let mut probes = Probes::new();
    for ((id, port, protocol, address), sum) in &learner.probes {
        let one = ((*protocol, *port), *address, *sum);
        probes.entry(cast.of(*id)).or_default().push(one);
    }
    probes
}

impl<D: Directory> Placer<'_, D> {
    /// The draft of the proposal for `subject`, from `things` of which one side is its own.
    pub(in crate::outcome) fn draft(
        &self,
        subject: Subject,
        selector: &WorkloadSelector,
        things: impl Iterator<Item = u32>,
    ) -> Draft {
        let mut draft = Draft::new(selector.clone());
        let mut waiting = Vec::new();
        for id in things {
            let traffic = self.traffic(id);
            waiting.extend(self.add(&mut draft, id, &traffic, subject.direction));
        }
        for one in waiting {
            self.add_waiting(&mut draft, &one);
        }
        match subject.direction {
            Direction::Ingress => self.add_probes(&mut draft, subject.id),
            Direction::Egress => self.add_dns(&mut draft, subject.id),
        }
        draft
    }

    /// Adds one side of traffic, unless it has to wait.
    fn add(
        &self,
        draft: &mut Draft,
        id: u32,
        traffic: &Traffic,
        direction: Direction,
    ) -> Option<Waiting> {
        let side = traffic.side(direction);
        let Way::Draft(fit) = self.way(traffic, side) else { return None };
        let peer = peer::describe(self.learner, &self.cast, side.peer);
        let mut sum = self.sum(id);
        let notes = &self.learner.parties[side.peer as usize].notes;
        sum.notes.extend(notes.iter().map(|note| Arc::from(*note)));
        match (fit, traffic.at) {
            (Fit::Rules(rules, provenance), Some(at)) => {
                sum.provenance = sum.provenance.max(Some(provenance));
                sum.notes.extend(self.admits_besides(side.peer));
                let ports = self.service_ports(id, side, at);
                for rule in rules {
                    let peer = peer::by_rule(&peer, &rule);
                    for port in &ports {
                        let compat = compat_sum(&sum);
                        draft.add_rule(rule.clone(), peer.clone(), (at.0, *port), compat);
                    }
                    draft.add_rule(rule, peer, at, sum.clone());
                }
                None
            }
            (Fit::Dns(rules), Some(at)) => {
                sum.provenance = Some(Provenance::Infrastructure);
                Some(Waiting { rules, peer, sum, at })
            }
            (Fit::Not(reason, note), _) => {
                sum.reason = Some(reason);
                sum.notes.extend(note.map(Arc::from));
                sum.rule = self.rule_of(side.peer);
                let (item, sum) = self.item(id, side.peer, peer, sum);
                draft.add_uncovered(item, sum);
                None
            }
            (Fit::Rules(..) | Fit::Dns(_), None) => None,
        }
    }

    /// Whom a rule for the peer admits besides: nothing is widened silently.
    fn admits_besides(&self, peer: u32) -> Option<Arc<str>> {
        if let Party::Account(identity) = &self.learner.parties[peer as usize].party {
            let (namespace, account) = peer::account_of(identity)?;
            let users = self.learner.directory.running_as(namespace, account);
            let shared = users.len() > 1;
            return shared.then(|| format!("{} share this identity", listed(&users)).into());
        }
        let also = &self.cast.selector(peer).ok()?.also;
        (!also.is_empty()).then(|| format!("its selector selects {} too", listed(also)).into())
    }

    /// The services' own ports by which the clients came, where the network plugin checks them as well
    /// (case B11).
    fn service_ports(&self, id: u32, side: Side, at: At) -> BTreeSet<u16> {
        let Thing::Edge(_, edge) = self.thing(id) else { return BTreeSet::new() };
        if side.direction == Direction::Ingress || !self.learner.config.compat.service_ports {
            return BTreeSet::new();
        }
        let mut ports = self.merged.service_ports(edge, self.learner);
        ports.remove(&at.1);
        ports
    }

    /// One item a name where DNS told one, else one an address (D1).
    pub(super) fn item(&self, id: u32, end: u32, mut peer: Peer, mut sum: Sum) -> (Item, Sum) {
        if peer.kind.as_deref() == Some("External") {
            sum.addresses.extend(peer.address);
            let names = peer::meant_names(self.learner, &self.cast, end);
            if let Some(first) = names.first().or(peer.names.first()).cloned() {
                sum.names.extend(names);
                peer.address = None;
                peer.names = vec![first];
            }
        }
        sum.addresses.extend(self.addresses(end, sum.reason));
        sum.notes.extend(self.hint(end));
        let port = self.traffic(id).at.map(|(_, port)| port);
        (Item { peer, protocol: self.protocol(id), port }, sum)
    }

    /// What an end may be of which no address was seen: a hint to a person, and nothing to allow by.
    fn hint(&self, id: u32) -> Option<Arc<str>> {
        let Party::Network(Network::Private) = &self.learner.parties[id as usize].party else {
            return None;
        };
        let mut nodes = self.learner.directory.node_addresses(None);
        nodes.sort_unstable();
        let (shown, more) = (nodes.iter().take(5), nodes.len().saturating_sub(5));
        let shown = shown.map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!nodes.is_empty()).then(|| format!("may be a node: {shown}{rest}").into())
    }

    /// Addresses by which a person may allow an end that no selector means.
    fn addresses(&self, id: u32, reason: Option<Reason>) -> Vec<IpAddr> {
        let directory = &self.learner.directory;
        match &self.learner.parties[id as usize].party {
            Party::Node { name, workload } => {
                peer::node_addresses(directory, name, workload.as_ref())
            }
            Party::Router { node } => directory.node_addresses(Some(node)),
            // What else listens on its hosts is another matter.
            Party::ApiServer if reason == Some(Reason::ApiServer) => {
                self.api_server.iter().flat_map(|target| target.addresses.clone()).collect()
            }
            Party::Workload(_)
            | Party::Pods { .. }
            | Party::Pod { .. }
            | Party::Account(_)
            | Party::NodePort { .. }
            | Party::ApiServer
            | Party::External(_)
            | Party::Name(_)
            | Party::Network(_)
            | Party::Unmanaged(_)
            | Party::Remote { .. }
            | Party::IngressProxy
            | Party::Unknown => Vec::new(),
        }
    }

    fn add_waiting(&self, draft: &mut Draft, waiting: &Waiting) {
        let Waiting { rules, peer, sum, at: (asked, port) } = waiting;
        let known = self.dns.as_ref().map(dns_rule);
        for rule in rules {
            // Whether it was asked already or not, the cluster's DNS is one peer.
            let peer = if Some(rule) == known.as_ref() { self.dns_peer() } else { peer.clone() };
            draft.add_rule(rule.clone(), peer.clone(), (*asked, *port), sum.clone());
            for protocol in [Protocol::Tcp, Protocol::Udp] {
                draft.add_infrastructure(rule.clone(), peer.clone(), (protocol, *port));
            }
        }
    }

    /// The rule to the cluster's DNS in every egress proposal (D4), seen or not.
    fn add_dns(&self, draft: &mut Draft, subject: u32) {
        let Some(target) = &self.dns else { return };
        let namespace = self.learner.parties[subject as usize].party.namespace();
        let own = namespace == Some(&target.namespace)
            && target.selector.matches(&draft.selector().labels);
        if own || self.learner.config.backend == Backend::Istio {
            return;
        }
        for protocol in [Protocol::Tcp, Protocol::Udp] {
            draft.add_infrastructure(dns_rule(target), self.dns_peer(), (protocol, target.port));
        }
    }

    fn dns_peer(&self) -> Peer {
        let namespace = self.dns.as_ref().map(|target| target.namespace.clone());
        Peer { kind: Some("Dns".into()), namespace, ..Peer::default() }
    }

    /// What Istio's documentation tells to allow for probes of ambient pods (case B44). ztunnel itself lets
    /// them pass, and its policies have no rule for addresses.
    fn add_probes(&self, draft: &mut Draft, subject: u32) {
        if self.learner.config.backend == Backend::Istio {
            return;
        }
        for (at, address, sum) in self.probes.get(&subject).into_iter().flatten() {
            let prefix = match address {
                IpAddr::V4(_) => 32,
                IpAddr::V6(_) => self.learner.config.ambient_probe_v6_prefix,
            };
            let block =
                IpNet::new(*address, prefix).unwrap_or_else(|_| peer::single(*address)).trunc();
            let peer =
                Peer { kind: Some("Probe".into()), address: Some(*address), ..Peer::default() };
            let sum = Sum {
                count: sum.observations,
                first: Some(sum.first),
                last: Some(sum.last),
                provenance: Some(Provenance::Infrastructure),
                notes: ["kubelet probes under Istio ambient".into()].into(),
                ..Sum::default()
            };
            draft.add_rule(RulePeer::Block(block), peer, *at, sum);
        }
    }
}
