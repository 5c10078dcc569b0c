//! What policies let pass between what is in the cluster, before any of it is enforced.
//!
//! ```text
//! Index -> ends of workloads ─┐
//! policies -> blocks -> world ─┴─ Policies::explain, ::parts -> Answer, Link
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use netenf_learn::Workload;
use netenf_policy::space::{self, AddressRange};
use netenf_policy::{
    ClusterPolicy, Connection, End, Explanation, NetworkPolicy, Pod, Policies, Protocol, Side,
    Transports, connectivity,
};

use crate::index::Index;

mod change;

pub use change::{Change, Scene, compare};

/// Policies, and all addresses as far as they tell them apart.
#[derive(Debug)]
pub struct Reach<'a> {
    policies: Policies<'a>,
    world: Vec<AddressRange>,
}

/// Whether a connection is allowed between every two ends that are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Why: that of a denied one, if one is.
    pub explanation: Explanation,
    /// The ends that it is about.
    pub ends: (End, End),
    /// How many pairs of ends policies tell apart.
    pub pairs: usize,
    /// For how many of them it is denied.
    pub denied: usize,
}

/// What passes between two places.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// From where.
    pub source: Place,
    /// To where.
    pub destination: Place,
    /// What passes from some end to some end.
    pub transports: Transports,
    /// Whether it does not pass between all ends.
    pub is_partial: bool,
}

/// A place in a map of what may talk to what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A workload.
    Workload(Workload),
    /// Addresses that nothing in the cluster has.
    World(Vec<AddressRange>),
}

// === impl Reach ===

impl<'a> Reach<'a> {
    /// What these policies let pass.
    pub fn new(
        network: impl IntoIterator<Item = &'a NetworkPolicy>,
        cluster: impl IntoIterator<Item = &'a ClusterPolicy>,
    ) -> Self {
        let policies = Policies::new(network, cluster);
        let world = space::divide(&policies.blocks());
        Self { policies, world }
    }

    /// The policies.
    pub fn policies(&self) -> &Policies<'a> {
        &self.policies
    }

    /// All addresses of the families that matter, in ranges that no policy tells apart. IPv6 matters where a
    /// policy or the cluster knows an address of it.
    pub fn world(&self, index: &Index) -> Vec<AddressRange> {
        let has_v6 =
            index.has_ipv6() || self.world.iter().filter(|one| one.first.is_ipv6()).count() > 1;
        let is_held = |range: &AddressRange| {
            range.first == range.last && !matches!(index.end_at(range.first), End::Address(_))
        };
        let of_family = self.world.iter().filter(|range| has_v6 || range.first.is_ipv4());
        of_family.copied().filter(|range| !is_held(range)).collect()
    }

    /// The part of the world that is in a block.
    pub fn within(&self, block: AddressRange) -> Vec<AddressRange> {
        let cut = |range: &AddressRange| {
            let cut = AddressRange::new(range.first.max(block.first), range.last.min(block.last));
            (cut.first.is_ipv4() == cut.last.is_ipv4() && cut.first <= cut.last).then_some(cut)
        };
        self.world.iter().filter_map(cut).collect()
    }

    /// Whether `port` is allowed from each of `sources` to each of `destinations`.
    pub fn check(
        &self,
        sources: &[End],
        destinations: &[End],
        (protocol, port): (Protocol, u16),
    ) -> Option<Answer> {
        let (sources, destinations) = self.told_apart(sources, destinations);
        let mut answer: Option<Answer> = None;
        for source in &sources {
            for destination in &destinations {
                let ends = (source.clone(), destination.clone());
                let (source, destination) = ends.clone();
                let connection = Connection { source, destination, protocol, port };
                let explanation = self.policies.explain(&connection);
                let is_denied = !explanation.allowed();
                let known = answer.get_or_insert_with(|| Answer {
                    explanation: explanation.clone(),
                    ends: ends.clone(),
                    pairs: 0,
                    denied: 0,
                });
                if is_denied && known.denied == 0 {
                    (known.explanation, known.ends) = (explanation, ends);
                }
                known.pairs += 1;
                known.denied += usize::from(is_denied);
            }
        }
        answer
    }

    /// What passes from some of `sources` to some of `destinations`, and whether it does between all of them.
    pub fn passing(&self, sources: &[End], destinations: &[End]) -> (Transports, bool) {
        let (sources, destinations) = self.told_apart(sources, destinations);
        let selecting = |ends: &[End]| -> Vec<Policies<'a>> {
            ends.iter().map(|end| self.policies.selecting(end)).collect()
        };
        let (egress, ingress) = (selecting(&sources), selecting(&destinations));
        let mut all: Option<(Transports, bool)> = None;
        for (source, egress) in sources.iter().zip(&egress) {
            for (destination, ingress) in destinations.iter().zip(&ingress) {
                let out = egress.parts(Side::Egress, source, destination);
                let into = ingress.parts(Side::Ingress, source, destination);
                let passes =
                    connectivity::allowed(&out).intersection(&connectivity::allowed(&into));
                all = Some(match all {
                    None => (passes, false),
                    Some((known, is_partial)) => {
                        let is_partial = is_partial || known != passes;
                        (known.union(&passes), is_partial)
                    }
                });
            }
        }
        all.unwrap_or_default()
    }

    /// What passes between workloads, and between them and the world, as far as `wanted` wants one of the two;
    /// nothing is left out that passes, save from a workload to itself.
    pub fn map(
        &self,
        index: &Index,
        workloads: &[(Workload, Vec<End>)],
        wanted: impl Fn(&Workload) -> bool,
    ) -> Vec<Link> {
        let world = self.world(index);
        let mut links = self.between(workloads, &wanted);
        for (workload, ends) in workloads.iter().filter(|(workload, _)| wanted(workload)) {
            links.extend(self.links_with_world(workload, ends, &world));
        }
        links.sort();
        links
    }

    /// What passes between workloads, as far as `wanted` wants one of the two.
    fn between(
        &self,
        workloads: &[(Workload, Vec<End>)],
        wanted: impl Fn(&Workload) -> bool,
    ) -> Vec<Link> {
        let mut links = Vec::new();
        for (source, from) in workloads {
            for (destination, to) in workloads {
                if source != destination && (wanted(source) || wanted(destination)) {
                    let place = |workload: &Workload| Place::Workload(workload.clone());
                    links.extend(self.link((place(source), from), (place(destination), to)));
                }
            }
        }
        links
    }

    fn link(&self, source: (Place, &[End]), destination: (Place, &[End])) -> Option<Link> {
        let (transports, is_partial) = self.passing(source.1, destination.1);
        let (source, destination) = (source.0, destination.0);
        (!transports.is_empty()).then_some(Link { source, destination, transports, is_partial })
    }

    /// Ranges of addresses to and from which the same passes are one place.
    fn links_with_world(
        &self,
        workload: &Workload,
        ends: &[End],
        world: &[AddressRange],
    ) -> Vec<Link> {
        let own = Place::Workload(workload.clone());
        let mut all = Vec::new();
        for side in [Side::Egress, Side::Ingress] {
            let mut alike: BTreeMap<(Transports, bool), Vec<AddressRange>> = BTreeMap::new();
            for range in world {
                let outside = [End::Address(range.first)];
                let passing = match side {
                    Side::Egress => self.passing(ends, &outside),
                    Side::Ingress => self.passing(&outside, ends),
                };
                alike.entry(passing).or_default().push(*range);
            }
            let links = alike.into_iter().filter(|((transports, _), _)| !transports.is_empty());
            all.extend(links.map(|((transports, is_partial), ranges)| {
                let world = Place::World(space::join(ranges));
                let (source, destination) = match side {
                    Side::Egress => (own.clone(), world),
                    Side::Ingress => (world, own.clone()),
                };
                Link { source, destination, transports, is_partial }
            }));
        }
        all
    }

    /// The ends without those that policies cannot tell from another. Of pods that may be on both sides two of a
    /// sort are kept: one may be the other end or not. Nodes of pods matter where a node is on the other side.
    fn told_apart(&self, sources: &[End], destinations: &[End]) -> (Vec<End>, Vec<End>) {
        (self.apart_from(sources, destinations), self.apart_from(destinations, sources))
    }

    fn apart_from(&self, ends: &[End], others: &[End]) -> Vec<End> {
        let pods = others.iter().filter_map(pod);
        let there: BTreeSet<_> = pods.map(|pod| (&pod.namespace, &pod.name)).collect();
        let has_node = others.iter().any(|end| matches!(end, End::Node { .. }));
        let mut alike: BTreeMap<_, usize> = BTreeMap::new();
        let mut kept = Vec::new();
        for end in ends {
            if let Some(pod) = pod(end) {
                let node = pod.node.as_ref().filter(|_| has_node);
                let ranges: Vec<usize> =
                    pod.addresses.iter().map(|address| self.range_of(*address)).collect();
                let sort = (&pod.namespace, &pod.labels, &pod.ports, ranges, node);
                let count = alike.entry(sort).or_default();
                *count += 1;
                if *count > 1 + usize::from(there.contains(&(&pod.namespace, &pod.name))) {
                    continue;
                }
            }
            kept.push(end.clone());
        }
        kept
    }

    fn range_of(&self, address: IpAddr) -> usize {
        self.world.partition_point(|range| range.last < address)
    }
}

fn pod(end: &End) -> Option<&Pod> {
    match end {
        End::Pod(pod) => Some(pod),
        End::Node { .. } | End::Address(_) | End::Name(_) | End::Unknown => None,
    }
}
