//! What policies let pass between what is in the cluster, before any of it is enforced.
//!
//! ```text
//! Index -> ends of workloads ─┐
//! policies -> blocks -> world ─┴─ Policies::explain, ::parts -> Answer, Link
//! ```

use netenf_learn::Workload;
use netenf_policy::space::{self, AddressRange};
use netenf_policy::{
    ClusterPolicy, Connection, End, Explanation, NetworkPolicy, Policies, Protocol, Selector, Side,
    Transports, connectivity,
};

use crate::index::Index;

mod alike;
mod change;
mod outside;
mod place;
mod world;

use alike::Sort;
pub use change::{Change, Scene, compare};
use outside::Outside;
pub use place::Place;

/// Policies, and all addresses as far as they tell them apart.
#[derive(Debug)]
pub struct Reach<'a> {
    policies: Policies<'a>,
    world: Vec<AddressRange>,
    /// Whether a policy names addresses of IPv6.
    names_ipv6: bool,
    /// By which policies tell nodes apart.
    node_selectors: Vec<&'a Selector>,
}

/// A workload with its ends, and what was looked up of them once.
type Known<'a, 'e> = (&'e Workload, Vec<Sort<'a>>);

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
    /// What passes.
    pub passing: Passing,
}

/// What passes between the ends of two places.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Passing {
    /// From some end to some end.
    pub some: Transports,
    /// From every end to every end.
    pub all: Transports,
}

// === impl Reach ===

impl<'a> Reach<'a> {
    /// What these policies let pass.
    pub fn new(
        network: impl IntoIterator<Item = &'a NetworkPolicy>,
        cluster: impl IntoIterator<Item = &'a ClusterPolicy>,
    ) -> Self {
        let cluster: Vec<&ClusterPolicy> = cluster.into_iter().collect();
        let node_selectors = alike::node_selectors(&cluster);
        let policies = Policies::new(network, cluster);
        let blocks = policies.blocks();
        let names_ipv6 = blocks.iter().any(|block| block.addr().is_ipv6());
        Self { world: space::divide(&blocks), policies, names_ipv6, node_selectors }
    }

    /// The policies.
    pub fn policies(&self) -> &Policies<'a> {
        &self.policies
    }

    /// Whether `port` is allowed from each of `sources` to each of `destinations`, in every family of addresses that
    /// both have; `None` if there is no end, or none of which one has an address of the family of the other.
    pub fn check(
        &self,
        sources: &[End],
        destinations: &[End],
        (protocol, port): (Protocol, u16),
    ) -> Option<Answer> {
        let (sources, destinations) = (self.sorts(sources), self.sorts(destinations));
        let mut answer: Option<Answer> = None;
        for (source, destination) in pairs(&sources, &destinations) {
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
        answer
    }

    /// What passes from `sources` to `destinations`.
    pub fn passing(&self, sources: &[End], destinations: &[End]) -> Passing {
        passing(&self.sorts(sources), &self.sorts(destinations))
    }

    /// What passes between workloads, and between them and nodes, names that rules for them name, and the world, as
    /// far as `wanted` wants one of the two; nothing is left out that passes, save from a workload to itself.
    pub fn map(
        &self,
        index: &Index,
        workloads: &[(Workload, Vec<End>)],
        wanted: impl Fn(&Workload) -> bool,
    ) -> Vec<Link> {
        let known = self.known(workloads);
        let outside = Outside {
            ranges: self.world(index),
            nodes: self.nodes(index, self.node_groups(index)),
            names: outside::names(&known),
        };
        let mut links = between(&known, &wanted);
        let wanted = known.iter().filter(|(workload, _)| wanted(workload));
        links.extend(wanted.flat_map(|one| self.links_outside(one, &outside)).map(Link::joined));
        links.sort();
        links
    }

    fn known<'e>(&self, workloads: &'e [(Workload, Vec<End>)]) -> Vec<Known<'a, 'e>> {
        workloads.iter().map(|(workload, ends)| (workload, self.sorts(ends))).collect()
    }
}

// === impl Passing ===

impl Passing {
    /// Whether nothing passes from any end to any end.
    pub fn is_empty(&self) -> bool {
        self.some.is_empty()
    }

    /// Whether something passes between some ends and not between others.
    pub fn is_partial(&self) -> bool {
        self.some != self.all
    }
}

// === impl Link ===

impl Link {
    /// The same with ranges of addresses that touch as one.
    fn joined(self) -> Self {
        Self { source: self.source.joined(), destination: self.destination.joined(), ..self }
    }
}

/// Pairs of ends that stand for all.
fn pairs<'s>(
    sources: &'s [Sort<'_>],
    destinations: &'s [Sort<'_>],
) -> impl Iterator<Item = (&'s End, &'s End)> {
    sources.iter().flat_map(|from| destinations.iter().flat_map(|to| from.pairs(to)))
}

/// What passes between workloads, as far as `wanted` wants one of the two.
fn between(known: &[Known<'_, '_>], wanted: impl Fn(&Workload) -> bool) -> Vec<Link> {
    let mut links = Vec::new();
    for (source, from) in known {
        for (destination, to) in known {
            if source == destination || !(wanted(source) || wanted(destination)) {
                continue;
            }
            let passing = passing(from, to);
            if !passing.is_empty() {
                let place = |workload: &Workload| Place::Workload(workload.clone());
                let (source, destination) = (place(source), place(destination));
                links.push(Link { source, destination, passing });
            }
        }
    }
    links
}

/// What passes between ends.
fn passing(sources: &[Sort<'_>], destinations: &[Sort<'_>]) -> Passing {
    let mut known: Option<Passing> = None;
    for from in sources {
        for to in destinations {
            for (source, destination) in from.pairs(to) {
                let out = from.policies.parts(Side::Egress, source, destination);
                let into = to.policies.parts(Side::Ingress, source, destination);
                let passes =
                    connectivity::allowed(&out).intersection(&connectivity::allowed(&into));
                known = Some(match known {
                    None => Passing { some: passes.clone(), all: passes },
                    Some(Passing { some, all }) => {
                        Passing { some: some.union(&passes), all: all.intersection(&passes) }
                    }
                });
            }
        }
    }
    known.unwrap_or_default()
}

#[cfg(test)]
mod tests;
