//! Who is in the cluster of a recording, for those who need its objects.

use super::Traffic;
use super::cluster::Cluster;
use super::random::Random;

/// Everything that flows of a [`Traffic`] come from.
#[derive(Debug, Clone)]
pub struct Population {
    /// Names and addresses of the nodes.
    pub nodes: Vec<(String, String)>,
    /// All workloads, the cluster's DNS among them.
    pub programs: Vec<Program>,
}

/// A workload.
#[derive(Debug, Clone)]
pub struct Program {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// `Deployment`, `StatefulSet` or `DaemonSet`.
    pub kind: &'static str,
    /// The hash of its pod template; the `ReplicaSet` of a Deployment has it behind its name.
    pub hash: String,
    /// Its pods.
    pub pods: Vec<Placed>,
}

/// A pod.
#[derive(Debug, Clone)]
pub struct Placed {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: String,
    /// The name of its node.
    pub node: String,
}

// === impl Population ===

impl Population {
    /// That of `traffic`.
    ///
    /// # Errors
    /// If `traffic` is impossible; says why.
    pub fn of(traffic: &Traffic) -> Result<Self, String> {
        traffic.check()?;
        // The recording draws the cluster first, too, from the same seed.
        let cluster = Cluster::new(traffic, &mut Random::new(traffic.seed));
        let name = |node: usize| {
            let full = &cluster.nodes[node].name;
            full.rsplit('/').next().unwrap_or(full).to_owned()
        };
        let place = |pod: &super::cluster::Pod| Placed {
            name: pod.name.clone(),
            address: pod.address.clone(),
            node: name(pod.node),
        };
        let nodes =
            (0..cluster.nodes.len()).map(|node| (name(node), cluster.nodes[node].address.clone()));
        let programs = cluster.workloads.iter().map(|workload| Program {
            namespace: workload.namespace.clone(),
            name: workload.name.clone(),
            kind: workload.kind.name(),
            hash: workload.hash.clone(),
            pods: cluster.pods[workload.pods.clone()].iter().map(place).collect(),
        });
        Ok(Self { nodes: nodes.collect(), programs: programs.collect() })
    }
}
