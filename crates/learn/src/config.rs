//! What the person decides about learning.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::identity::Workload;

/// Settings of a learner. [`Config::default`] is what the product does unasked.
#[derive(Debug, Clone)]
pub struct Config {
    /// Which policies are written.
    pub backend: Backend,
    /// Which workloads are subjects.
    pub scope: Scope,
    /// Which kinds are subjects.
    pub subjects: Subjects,
    /// What becomes of addresses outside the cluster (DESIGN D1).
    pub external: ExternalPeers,
    /// Limits.
    pub caps: Caps,
    /// Reports of one 5-tuple within this time are one connection (DESIGN D3).
    pub pairing_window: Duration,
    /// An answer later than this does not count (DESIGN D2).
    pub answer_within: Duration,
    /// How many distinct client ports prove the direction of packets that do not tell (case B05).
    pub repetition: usize,
    /// The cluster's DNS domain.
    pub cluster_domain: Arc<str>,
    /// Prefix length of the address that Istio ambient gives to IPv6 probes (case B44: sources disagree).
    pub ambient_probe_v6_prefix: u8,
    /// Deviations from Kubernetes' rules that the network plugin is known for.
    pub compat: Compat,
}

/// What enforces the policies that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    /// NetworkPolicy: Calico, Cilium, our own dataplane.
    Kubernetes,
    /// Istio's AuthorizationPolicy on ambient workloads: inbound TCP.
    Istio,
}

/// Which workloads are subjects. Everything counts as a peer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// If not empty: only these namespaces.
    pub namespaces: BTreeSet<Arc<str>>,
    /// Never these namespaces.
    pub exclude_namespaces: BTreeSet<Arc<str>>,
    /// If not empty: only these workloads (and all of `namespaces`, if that is not empty).
    pub workloads: BTreeSet<Workload>,
    /// Never these workloads.
    pub exclude_workloads: BTreeSet<Workload>,
}

/// Which kinds are subjects (DESIGN D15).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subjects {
    /// Deployment, `StatefulSet`, `DaemonSet`.
    Standard,
    /// Also `ReplicaSet`, Job, `CronJob` and Pod.
    All,
}

/// What becomes of addresses outside the cluster (DESIGN D1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExternalPeers {
    /// They are uncovered until a person allows them.
    Uncovered,
    /// Each address becomes a rule.
    Addresses,
}

/// Deviations of network plugins from Kubernetes' rules, to which proposals are fitted on request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compat {
    /// A rule must also name the service's own port, before translation (case B11).
    pub service_ports: bool,
    /// Traffic from a pod's own node, such as the kubelet's probes, is not let pass (case B43).
    pub node_probes: bool,
}

/// Limits, so that a scan cannot mint a thousand rules. Hitting one is shown, never silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Peers in a proposal.
    pub rules: usize,
    /// Ports of one peer.
    pub ports: usize,
    /// Ports of all peers in a proposal: an object of more entries than this comes too near to what the API
    /// server (1.5 MiB) and the folder store (4 MiB) hold.
    pub entries: usize,
    /// Uncovered items in a proposal.
    pub uncovered: usize,
    /// Proposals.
    pub proposals: usize,
    /// Distinct edges in memory.
    pub edges: usize,
    /// Connections in memory that may still be paired.
    pub connections: usize,
    /// From how many ports of one peer on a range is suggested (case B16).
    pub suggest_range: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            backend: Backend::Kubernetes,
            scope: Scope::default(),
            subjects: Subjects::Standard,
            external: ExternalPeers::Uncovered,
            caps: Caps::default(),
            pairing_window: Duration::from_mins(1),
            answer_within: Duration::from_secs(30),
            repetition: 10,
            cluster_domain: "cluster.local".into(),
            ambient_probe_v6_prefix: 128,
            compat: Compat::default(),
        }
    }
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            rules: 250,
            ports: 100,
            entries: 1_500,
            uncovered: 250,
            proposals: 10_000,
            edges: 1_000_000,
            connections: 1 << 17,
            suggest_range: 20,
        }
    }
}

// === impl Scope ===

impl Scope {
    /// Namespaces that are no subjects unless they are named.
    pub const SYSTEM: [&'static str; 1] = ["kube-system"];

    /// Whether `workload` is a subject.
    pub fn covers(&self, workload: &Workload) -> bool {
        if self.exclude_namespaces.contains(&workload.namespace)
            || self.exclude_workloads.contains(workload)
        {
            return false;
        }
        let named =
            self.namespaces.contains(&workload.namespace) || self.workloads.contains(workload);
        let open = self.namespaces.is_empty() && self.workloads.is_empty();
        named || (open && !Self::SYSTEM.contains(&&*workload.namespace))
    }
}

// === impl Subjects ===

impl Subjects {
    /// Whether workloads of `kind` are subjects.
    pub fn cover(self, kind: &str) -> bool {
        match kind {
            "Deployment" | "StatefulSet" | "DaemonSet" => true,
            "ReplicaSet" | "Job" | "CronJob" | "Pod" => self == Self::All,
            _ => false,
        }
    }
}
