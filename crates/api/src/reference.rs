//! Names of things: the workload a policy is for, the peers it talks to, direction and protocol.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::word::words;

words! {
    /// The kind of workload that a policy can be for.
    "workload kind"
    pub enum TargetKind {
        /// `Deployment` of `apps/v1`.
        Deployment = "Deployment",
        /// `StatefulSet` of `apps/v1`.
        StatefulSet = "StatefulSet",
        /// `DaemonSet` of `apps/v1`.
        DaemonSet = "DaemonSet",
        /// `ReplicaSet` of `apps/v1` without a `Deployment`.
        ReplicaSet = "ReplicaSet",
        /// `Job` of `batch/v1` without a `CronJob`.
        Job = "Job",
        /// `CronJob` of `batch/v1`.
        CronJob = "CronJob",
        /// A pod without an owner.
        Pod = "Pod",
    }
}

words! {
    /// The direction of traffic, as the workload of the policy sees it.
    "direction"
    pub enum Direction {
        /// Connections that others open to the workload.
        Ingress = "Ingress",
        /// Connections that the workload opens.
        Egress = "Egress",
    }
}

words! {
    /// The protocol of a connection.
    "protocol"
    pub enum Protocol {
        /// TCP.
        Tcp = "TCP",
        /// UDP.
        Udp = "UDP",
        /// SCTP.
        Sctp = "SCTP",
        /// ICMP of either IP version, which no rule can name.
        Icmp = "ICMP",
        /// Any other protocol, which no rule can name.
        Other = "Other",
    }
}

/// The workload in the same namespace that a policy is for.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct TargetRef {
    /// Kind of the workload.
    pub kind: TargetKind,
    /// Name of the workload.
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    pub name: String,
}

/// What is at one end of a connection, as far as it is known.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = crate::schema::without_null)]
pub struct PeerRef {
    /// Kind of the peer: a workload kind, `ServiceAccount`, `Node`, `Service`, `ApiServer`, `Dns`,
    /// `External` and the like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Namespace of the peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// SPIFFE identity of the peer, without `spiffe://`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// IP address or CIDR of the peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// All addresses seen, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Domain names under which DNS gave the address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Service through which the peer was addressed, as namespace/name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
}
