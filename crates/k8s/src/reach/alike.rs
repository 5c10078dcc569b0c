//! Ends that policies cannot tell apart, so that one of them is asked about for all.
//!
//! A packet has addresses of one family. An end with addresses of both is two ends, each with those of one family,
//! and no pair is of two families: what passes between all pairs passes between two pods in every family that both
//! have.
//!
//! Two things hold between some ends of a sort and not between others: a pod may reach itself, and a node its own
//! pods. Between two sorts there are hence two pairs at most: one of which such a thing holds, and one of which
//! none does.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use netenf_policy::domain::Name;
use netenf_policy::{ClusterPeer, ClusterPolicy, End, Labels, Pod, Policies, Protocol, Selector};

use super::Reach;

/// Ends of one sort, in their order; never none, and all of one family.
pub(super) struct Sort<'a> {
    ends: Vec<End>,
    /// The policies that select them.
    pub(super) policies: Policies<'a>,
}

/// What policies can see of an end. Its ranges tell its family too.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Seen {
    Pod {
        namespace: Arc<str>,
        labels: Labels,
        ports: Vec<(Arc<str>, Protocol, u16)>,
        ranges: BTreeSet<usize>,
    },
    Node {
        /// Which of the policies' selectors of nodes match.
        selectors: Vec<bool>,
        ranges: BTreeSet<usize>,
    },
    Address(usize),
    Name(Name),
    Unknown,
}

/// What relates two ends whatever policies say.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Relation<'e> {
    /// They are this pod.
    Pod(&'e str, &'e str),
    /// The one is this node, the other runs on it.
    Node(&'e str),
}

/// The selectors of nodes that policies hold.
pub(super) fn node_selectors<'a>(policies: &[&'a ClusterPolicy]) -> Vec<&'a Selector> {
    let rules = policies.iter().flat_map(|policy| policy.egress.iter().chain(&policy.ingress));
    let peers = rules.flat_map(|rule| &rule.peers);
    let selectors = peers.filter_map(|peer| match peer {
        ClusterPeer::Nodes(selector) => Some(selector),
        ClusterPeer::Pods(_)
        | ClusterPeer::Networks(_)
        | ClusterPeer::Domains(_)
        | ClusterPeer::Unknown => None,
    });
    selectors.collect()
}

impl<'a> Reach<'a> {
    /// The ends by their sorts, in the order of their first ends.
    pub(super) fn sorts(&self, ends: &[End]) -> Vec<Sort<'a>> {
        let mut places: BTreeMap<Seen, usize> = BTreeMap::new();
        let mut sorts: Vec<Sort<'a>> = Vec::new();
        for end in ends.iter().flat_map(of_one_family) {
            let place = *places.entry(self.seen(&end)).or_insert(sorts.len());
            match sorts.get_mut(place) {
                Some(sort) => sort.ends.push(end),
                None => {
                    let policies = self.policies.selecting(&end);
                    sorts.push(Sort { ends: vec![end], policies });
                }
            }
        }
        sorts
    }

    /// What policies can see of an end, of each family by itself.
    pub(super) fn seen_of(&self, end: &End) -> Vec<Seen> {
        of_one_family(end).iter().map(|end| self.seen(end)).collect()
    }

    fn seen(&self, end: &End) -> Seen {
        match end {
            End::Pod(pod) => Seen::Pod {
                namespace: pod.namespace.clone(),
                labels: pod.labels.clone(),
                ports: pod.ports.clone(),
                ranges: self.ranges_of(&pod.addresses),
            },
            End::Node { labels, addresses, .. } => Seen::Node {
                selectors: self.node_selectors.iter().map(|one| one.matches(labels)).collect(),
                ranges: self.ranges_of(addresses),
            },
            End::Address(address) => Seen::Address(self.range_of(*address)),
            End::Name(name) => Seen::Name(name.clone()),
            End::Unknown => Seen::Unknown,
        }
    }

    fn ranges_of(&self, addresses: &[IpAddr]) -> BTreeSet<usize> {
        addresses.iter().map(|address| self.range_of(*address)).collect()
    }

    fn range_of(&self, address: IpAddr) -> usize {
        self.world.partition_point(|range| range.last < address)
    }
}

// === impl Sort ===

impl Sort<'_> {
    /// Pairs of ends that stand for all pairs with `destinations`.
    pub(super) fn pairs<'s>(
        &'s self,
        destinations: &'s Sort<'_>,
    ) -> impl Iterator<Item = (&'s End, &'s End)> {
        let meets = match (is_ipv6(&self.ends[0]), is_ipv6(&destinations.ends[0])) {
            (Some(one), Some(other)) => one == other,
            (None, _) | (_, None) => true,
        };
        let pairs = [self.unrelated(destinations), self.related(destinations)];
        pairs.into_iter().flatten().filter(move |_| meets)
    }

    fn unrelated<'s>(&'s self, destinations: &'s Sort<'_>) -> Option<(&'s End, &'s End)> {
        self.ends.iter().find_map(|source| {
            let relation = of_source(source);
            let is_other = |destination: &&End| {
                relation.as_ref().is_none_or(|own| !of_destination(destination).contains(own))
            };
            destinations.ends.iter().find(is_other).map(|destination| (source, destination))
        })
    }

    fn related<'s>(&'s self, destinations: &'s Sort<'_>) -> Option<(&'s End, &'s End)> {
        let sources: BTreeMap<Relation<'_>, &End> =
            self.ends.iter().filter_map(|end| Some((of_source(end)?, end))).collect();
        if sources.is_empty() {
            return None;
        }
        destinations.ends.iter().find_map(|destination| {
            let relations = of_destination(destination);
            let source = relations.iter().find_map(|relation| sources.get(relation))?;
            Some((*source, destination))
        })
    }
}

/// The end by its addresses of IPv4 and by those of IPv6; as it is where it has not both.
fn of_one_family(end: &End) -> Vec<End> {
    let addresses = addresses(end);
    let (v4, v6): (Vec<IpAddr>, Vec<IpAddr>) = addresses.iter().partition(|one| one.is_ipv4());
    if v4.is_empty() || v6.is_empty() {
        return vec![end.clone()];
    }
    let with = |addresses| match end.clone() {
        End::Pod(pod) => End::Pod(Pod { addresses, ..pod }),
        End::Node { name, labels, .. } => End::Node { name, labels, addresses },
        end @ (End::Address(_) | End::Name(_) | End::Unknown) => end,
    };
    vec![with(v4), with(v6)]
}

/// The family of the end's addresses, if one is known.
fn is_ipv6(end: &End) -> Option<bool> {
    addresses(end).first().map(IpAddr::is_ipv6)
}

fn addresses(end: &End) -> &[IpAddr] {
    match end {
        End::Pod(pod) => &pod.addresses,
        End::Node { addresses, .. } => addresses,
        End::Address(address) => std::slice::from_ref(address),
        End::Name(_) | End::Unknown => &[],
    }
}

fn of_source(end: &End) -> Option<Relation<'_>> {
    match end {
        End::Pod(pod) => Some(Relation::Pod(&pod.namespace, pod.name.as_deref()?)),
        End::Node { name, .. } => Some(Relation::Node(name)),
        End::Address(_) | End::Name(_) | End::Unknown => None,
    }
}

fn of_destination(end: &End) -> Vec<Relation<'_>> {
    match end {
        End::Pod(pod) => {
            let itself = pod.name.as_deref().map(|name| Relation::Pod(&pod.namespace, name));
            let host = pod.node.as_deref().map(Relation::Node);
            itself.into_iter().chain(host).collect()
        }
        End::Node { .. } | End::Address(_) | End::Name(_) | End::Unknown => Vec::new(),
    }
}
