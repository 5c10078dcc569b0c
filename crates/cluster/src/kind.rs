//! The kinds of objects that the agent looks at.

use std::fmt;

use netenf_k8s::object;
use netenf_k8s::object::ClusterKind;

/// A kind that is watched. Its text is the name of its resource, as `kubectl get` and RBAC know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Namespaces.
    Namespace,
    /// Nodes.
    Node,
    /// Pods.
    Pod,
    /// `ReplicaSets`.
    ReplicaSet,
    /// Deployments.
    Deployment,
    /// `StatefulSets`.
    StatefulSet,
    /// `DaemonSets`.
    DaemonSet,
    /// Jobs.
    Job,
    /// `CronJobs`.
    CronJob,
    /// Services.
    Service,
    /// `EndpointSlices`.
    EndpointSlice,
    /// Native policies.
    NetworkPolicy,
    /// Our proposals.
    Proposal,
    /// Our policies.
    Policy,
    /// Cluster-wide policies of the Admin tier, v1alpha1.
    AdminNetworkPolicy,
    /// Cluster-wide policies of the Baseline tier, v1alpha1.
    BaselineAdminNetworkPolicy,
    /// Cluster-wide policies of either tier, v1alpha2 and v1beta1.
    ClusterNetworkPolicy,
    /// Istio's policies.
    AuthorizationPolicy,
}

/// Whether a cluster may lack a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The agent cannot do without it.
    Required,
    /// Its definition may be missing, or come later.
    Optional,
}

// === impl Kind ===

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 18] = [
        Self::Namespace,
        Self::Node,
        Self::Pod,
        Self::ReplicaSet,
        Self::Deployment,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::Job,
        Self::CronJob,
        Self::Service,
        Self::EndpointSlice,
        Self::NetworkPolicy,
        Self::Proposal,
        Self::Policy,
        Self::AdminNetworkPolicy,
        Self::BaselineAdminNetworkPolicy,
        Self::ClusterNetworkPolicy,
        Self::AuthorizationPolicy,
    ];

    /// The name of its resource and group, which is also that of its definition where it has one.
    pub fn resource(self) -> &'static str {
        match self {
            Self::Namespace => "namespaces",
            Self::Node => "nodes",
            Self::Pod => "pods",
            Self::ReplicaSet => "replicasets.apps",
            Self::Deployment => "deployments.apps",
            Self::StatefulSet => "statefulsets.apps",
            Self::DaemonSet => "daemonsets.apps",
            Self::Job => "jobs.batch",
            Self::CronJob => "cronjobs.batch",
            Self::Service => "services",
            Self::EndpointSlice => "endpointslices.discovery.k8s.io",
            Self::NetworkPolicy => "networkpolicies.networking.k8s.io",
            Self::Proposal => "workloadnetworkpolicyproposals.networkenforcer.kubewarden.io",
            Self::Policy => "workloadnetworkpolicies.networkenforcer.kubewarden.io",
            Self::AdminNetworkPolicy => "adminnetworkpolicies.policy.networking.k8s.io",
            Self::BaselineAdminNetworkPolicy => {
                "baselineadminnetworkpolicies.policy.networking.k8s.io"
            }
            Self::ClusterNetworkPolicy => "clusternetworkpolicies.policy.networking.k8s.io",
            Self::AuthorizationPolicy => "authorizationpolicies.security.istio.io",
        }
    }

    /// Whether a cluster may lack it.
    pub fn presence(self) -> Presence {
        match self {
            Self::Namespace
            | Self::Node
            | Self::Pod
            | Self::ReplicaSet
            | Self::Deployment
            | Self::StatefulSet
            | Self::DaemonSet
            | Self::Job
            | Self::CronJob
            | Self::Service
            | Self::EndpointSlice
            | Self::NetworkPolicy
            | Self::Proposal
            | Self::Policy => Presence::Required,
            Self::AdminNetworkPolicy
            | Self::BaselineAdminNetworkPolicy
            | Self::ClusterNetworkPolicy
            | Self::AuthorizationPolicy => Presence::Optional,
        }
    }
}

impl From<Kind> for object::Kind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Namespace => Self::Namespace,
            Kind::Node => Self::Node,
            Kind::Pod => Self::Pod,
            Kind::ReplicaSet => Self::ReplicaSet,
            Kind::Deployment => Self::Deployment,
            Kind::StatefulSet => Self::StatefulSet,
            Kind::DaemonSet => Self::DaemonSet,
            Kind::Job => Self::Job,
            Kind::CronJob => Self::CronJob,
            Kind::Service => Self::Service,
            Kind::EndpointSlice => Self::EndpointSlice,
            Kind::NetworkPolicy => Self::NetworkPolicy,
            Kind::Proposal => Self::Proposal,
            Kind::Policy => Self::Policy,
            Kind::AdminNetworkPolicy => Self::ClusterPolicy(ClusterKind::AdminNetworkPolicy),
            Kind::BaselineAdminNetworkPolicy => {
                Self::ClusterPolicy(ClusterKind::BaselineAdminNetworkPolicy)
            }
            Kind::ClusterNetworkPolicy => Self::ClusterPolicy(ClusterKind::ClusterNetworkPolicy),
            Kind::AuthorizationPolicy => Self::Other("AuthorizationPolicy".into()),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.resource())
    }
}
