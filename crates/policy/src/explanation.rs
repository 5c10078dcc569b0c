//! Why a connection is allowed or denied.

use std::sync::Arc;

use crate::cluster_policy::{Action, ClusterPolicy, ClusterRule, Tier};
use crate::network_policy::NetworkPolicy;

mod words;

/// The verdict on a connection, explained: both directions must allow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// What holds for the way out of the source.
    pub egress: Finding,
    /// What holds for the way into the destination.
    pub ingress: Finding,
}

/// What one direction says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whether it lets the connection pass.
    pub allowed: bool,
    /// What decided.
    pub by: Decider,
    /// For a denial the rule that came nearest to allowing the connection.
    pub nearest: Option<Nearest>,
}

/// What decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decider {
    /// The end is no pod: no policy applies to it.
    NoPod,
    /// A pod may always reach itself.
    Itself,
    /// A node may always reach the pods that run on it ("kubelet probes").
    OwnNode,
    /// A rule.
    Rule(RuleId),
    /// NetworkPolicies isolate the pod and none allows the connection.
    Isolated(Vec<Object>),
    /// No rule decides and no NetworkPolicy isolates the pod: the cluster's default is to allow.
    Default,
}

/// A rule of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleId {
    /// The tier of the policy.
    pub tier: Tier,
    /// The policy.
    pub object: Object,
    /// Index of the rule among those of its direction.
    pub index: usize,
    /// Name of the rule, if it has one.
    pub name: Option<Arc<str>>,
    /// What it did.
    pub action: Action,
}

/// A policy as an object of the API.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Object {
    /// Namespace, if it is in one.
    pub namespace: Option<Arc<str>>,
    /// Name.
    pub name: Arc<str>,
    /// Kind.
    pub kind: Arc<str>,
}

/// An allowing rule and what kept it from applying.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// The rule.
    pub rule: RuleId,
    /// What it lacked.
    pub lacked: Vec<Lack>,
}

/// What a rule lacked to allow a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lack {
    /// Everything matches, but a rule before it denies.
    Precedence,
    /// The port of this protocol.
    Port,
    /// The protocol.
    Protocol,
    /// The peer's labels match, its namespace does not.
    Namespace,
    /// The peer's address is in a block, and in what the block leaves out.
    Excepted,
    /// The peer.
    Peer,
    /// It holds something that is not understood, and allows nothing.
    Understanding,
}

// === impl Explanation ===

impl Explanation {
    /// Whether the connection is allowed.
    pub fn allowed(&self) -> bool {
        self.egress.allowed && self.ingress.allowed
    }
}

// === impl Finding ===

impl Finding {
    pub(crate) fn allowed(by: Decider) -> Self {
        Self { allowed: true, by, nearest: None }
    }
}

// === impl RuleId ===

impl RuleId {
    /// The rule at `index` of its direction.
    pub fn of_network(policy: &NetworkPolicy, index: usize) -> Self {
        let (tier, object) = (Tier::NetworkPolicy, Object::of_network(policy));
        Self { tier, object, index, name: None, action: Action::Accept }
    }

    /// The rule with the action that is written.
    pub fn of_cluster(policy: &ClusterPolicy, index: usize, rule: &ClusterRule) -> Self {
        Self {
            tier: policy.precedence().0,
            object: Object::of_cluster(policy),
            index,
            name: rule.name.clone(),
            action: rule.action,
        }
    }
}

// === impl Object ===

impl Object {
    /// The object that the policy came from.
    pub fn of_network(policy: &NetworkPolicy) -> Self {
        Self {
            namespace: Some(policy.namespace.clone()),
            name: policy.name.clone(),
            kind: policy.kind.clone(),
        }
    }

    /// The object that the policy came from.
    pub fn of_cluster(policy: &ClusterPolicy) -> Self {
        Self { namespace: None, name: policy.name.clone(), kind: policy.kind.clone() }
    }
}
