//! The model of the cluster-wide policies: AdminNetworkPolicy and BaselineAdminNetworkPolicy (v1alpha1)
//! and ClusterNetworkPolicy (v1alpha2, v1beta1), lowered to one form.

use std::sync::Arc;

use ipnet::IpNet;

use crate::domain::Pattern;
use crate::evaluate::Side;
use crate::network_policy::PortMatch;
use crate::selector::Selector;

/// Where a policy stands in the order of evaluation: per direction Admin, then NetworkPolicy, then
/// Baseline, then the cluster's default, which is to allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// Before the policies of namespaces.
    Admin,
    /// The policies of namespaces (networking.k8s.io/v1).
    NetworkPolicy,
    /// For what no NetworkPolicy isolates in that direction.
    Baseline,
}

/// What a rule does with what it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Allowed, finally (v1alpha1: Allow).
    Accept,
    /// Denied, finally.
    Deny,
    /// Leaves the tier at once; lower policies of the same tier are not asked.
    Pass,
}

/// A cluster-wide policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterPolicy {
    /// The kind of the object it came from.
    pub kind: Arc<str>,
    /// Name of the object.
    pub name: Arc<str>,
    /// Its tier; [`Tier::NetworkPolicy`] is none of these policies' tiers and counts as Baseline.
    pub tier: Tier,
    /// Lower comes first; policies of one priority are ordered by name.
    pub priority: i32,
    /// The pods it applies to.
    pub subject: PodSet,
    /// Rules for connections into the subject, in order.
    pub ingress: Vec<ClusterRule>,
    /// Rules for connections out of the subject, in order.
    pub egress: Vec<ClusterRule>,
}

/// Pods by the labels of their namespace and their own. Host-network pods are in no such set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PodSet {
    /// Namespaces by labels.
    pub namespaces: Selector,
    /// Pods by labels.
    pub pods: Selector,
}

/// One rule: the first that matches decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterRule {
    /// Name, if it has one.
    pub name: Option<Arc<str>>,
    /// What it does.
    pub action: Action,
    /// Peers; the API asks for at least one, so none is taken as one that is not understood.
    pub peers: Vec<ClusterPeer>,
    /// Ports; `None` is every port of every protocol, ICMP and unknown protocols too.
    pub ports: Option<Vec<ClusterPort>>,
}

/// A peer of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterPeer {
    /// Pods (`namespaces` is a set without a pod selector).
    Pods(PodSet),
    /// The addresses of the nodes with these labels.
    Nodes(Selector),
    /// Addresses, of pods and nodes too.
    Networks(Vec<IpNet>),
    /// Addresses that these names were resolved to; in Accept rules for egress only (NPEP-133).
    Domains(Vec<Pattern>),
    /// A peer that is not understood.
    Unknown,
}

/// A port of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClusterPort {
    /// A protocol and its ports.
    Of(PortMatch),
    /// The destination pod's container port of that name, of whichever protocol it is.
    Named(Arc<str>),
    /// A port that is not understood.
    Unknown,
}

// === impl ClusterPolicy ===

impl ClusterPolicy {
    /// What orders policies: (tier, priority, name), and the kind where even these are equal.
    pub fn precedence(&self) -> (Tier, i32, &str, &str) {
        let tier = match self.tier {
            Tier::Admin => Tier::Admin,
            Tier::NetworkPolicy | Tier::Baseline => Tier::Baseline,
        };
        (tier, self.priority, &self.name, &self.kind)
    }

    /// The rules of one side, in order.
    pub fn rules(&self, side: Side) -> &[ClusterRule] {
        match side {
            Side::Egress => &self.egress,
            Side::Ingress => &self.ingress,
        }
    }
}

// === impl ClusterRule ===

impl ClusterRule {
    /// What holds of a rule that is not fully understood: "For 'Accept' rules, 'fail closed' means: 'treat
    /// the rule as matching no traffic'. For 'Deny' and 'Pass' rules, 'fail closed' means: 'treat the rule
    /// as a Deny all rule'" (ClusterNetworkPolicy, peers).
    pub fn effective(&self) -> Effective {
        let unknown = self.peers.is_empty()
            || self.peers.iter().any(|peer| matches!(peer, ClusterPeer::Unknown))
            || self.ports.iter().flatten().any(|port| matches!(port, ClusterPort::Unknown));
        match (unknown, self.action) {
            (false, _) => Effective::AsWritten,
            (true, Action::Accept) => Effective::Nothing,
            (true, Action::Deny | Action::Pass) => Effective::DenyAll,
        }
    }

    /// What it then does with what it matches; `None` if that is nothing.
    pub(crate) fn effective_action(&self) -> Option<Action> {
        match self.effective() {
            Effective::AsWritten => Some(self.action),
            Effective::Nothing => None,
            Effective::DenyAll => Some(Action::Deny),
        }
    }
}

/// What a rule does once what is not understood is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effective {
    /// Everything in it is understood.
    AsWritten,
    /// It matches nothing.
    Nothing,
    /// It denies everything.
    DenyAll,
}
