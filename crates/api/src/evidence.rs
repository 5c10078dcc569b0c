//! Why a rule is there, what was seen but is no rule, and what may have been missed.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reference::{PeerRef, Protocol};
use crate::word::words;

words! {
    /// Where a rule comes from.
    "provenance"
    pub enum Provenance {
        /// Traffic was seen.
        Observed = "observed",
        /// A manifest says so.
        Declared = "declared",
        /// The cluster itself needs it, such as DNS and the kube-apiserver.
        Infrastructure = "infrastructure",
        /// Concluded from incomplete data, such as labels of flows without the objects.
        Inferred = "inferred",
        /// A hint beside a manifest asks for it.
        Hint = "hint",
        /// A person wrote it.
        Manual = "manual",
    }
}

words! {
    /// Why something that was seen is no rule yet.
    "reason"
    pub enum UncoveredReason {
        /// The peer is an address outside the cluster.
        External = "External",
        /// The peer is a node.
        Node = "Node",
        /// The connection came or went through a node port.
        NodePort = "NodePort",
        /// The peer is a pod on the network of its node.
        HostNetwork = "HostNetwork",
        /// The peer is the kube-apiserver and its addresses are not known.
        ApiServer = "ApiServer",
        /// The peer is the DNS of the cluster and its pods are not known.
        Dns = "Dns",
        /// The peer is a link-local address.
        LinkLocal = "LinkLocal",
        /// The peer is the monitoring of the cluster and its pods are not known.
        Monitoring = "Monitoring",
        /// The peer is a pod that the source does not manage.
        Unmanaged = "Unmanaged",
        /// The peer is a pod whose owner is not known.
        UnknownOwner = "UnknownOwner",
        /// The peer has neither a name nor an address.
        NoAddress = "NoAddress",
        /// Nothing tells who opened the connection.
        Ambiguous = "Ambiguous",
        /// No attempt was answered.
        Unanswered = "Unanswered",
        /// The peer has no labels that select it.
        NoSelector = "NoSelector",
        /// A limit on rules or ports was reached.
        Truncated = "Truncated",
        /// No rule can name the protocol, such as ICMP.
        Protocol = "Protocol",
        /// It was learned while the proposal became a policy, whose rules a person had chosen by then.
        Late = "Late",
    }
}

/// The evidence for one peer, port and protocol of a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = crate::schema::without_null, transform = crate::schema::atomic_selectors)]
pub struct RuleEvidence {
    /// The other end of the connections.
    pub peer: PeerRef,
    /// First or only port of the server; absent for every port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i32>", range(min = 1, max = 65535))]
    pub port: Option<u16>,
    /// Last port, where the rule names a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i32>", range(min = 1, max = 65535))]
    pub end_port: Option<u16>,
    /// Protocol of the connections.
    pub protocol: Protocol,
    /// How the rule was written to select the pods of the peer; absent where it names addresses or an
    /// identity. Where the policy selects otherwise by now, a person changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// Where the rule comes from.
    pub provenance: Provenance,
    /// Number of connections seen; 0 for a rule that was declared and not seen, or not since learning
    /// began anew.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub count: i64,
    /// When a connection was first seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_seen: Option<Time>,
    /// When a connection was last seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Time>,
    /// Whether a person removed the rule; it is then not added again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// How the peer was addressed: `svc/NAME:PORT`, or `direct` for a pod address; the first few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
    /// Remarks for the reviewer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// One pair of pods between which a connection was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<Example>,
}

/// One pair of pods between which a connection was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Example {
    /// The pod that opened the connection, as namespace/name.
    pub source: String,
    /// The pod that served it, as namespace/name.
    pub destination: String,
}

/// Connections that were seen or declared and that no rule allows yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = crate::schema::without_null, transform = crate::schema::atomic_selectors)]
pub struct UncoveredPeer {
    /// Short stable name of this entry within the object.
    pub id: String,
    /// The other end of the connections.
    pub peer: PeerRef,
    /// Port of the server; absent where the protocol has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i32>", range(min = 1, max = 65535))]
    pub port: Option<u16>,
    /// How the pods of the peer are selected, so that a person can allow them; absent where nothing selects them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// Protocol of the connections.
    pub protocol: Protocol,
    /// Why this is no rule.
    pub reason: UncoveredReason,
    /// Number of connections seen; 0 for a peer that was declared and not seen.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub count: i64,
    /// When a connection was first seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_seen: Option<Time>,
    /// When a connection was last seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Time>,
    /// Remarks for the reviewer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether a person accepted that no rule allows this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
}

/// A wider rule that would stand for several learned ones, if a person wants it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = crate::schema::without_null)]
pub struct Suggestion {
    /// Short stable name of this entry within the object.
    pub id: String,
    /// The other end of the connections.
    pub peer: PeerRef,
    /// Protocol of the connections.
    pub protocol: Protocol,
    /// First or only port of the suggested rule; absent for every port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i32>", range(min = 1, max = 65535))]
    pub port: Option<u16>,
    /// Last port of the suggested rule, where it names a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i32>", range(min = 1, max = 65535))]
    pub end_port: Option<u16>,
    /// Number of distinct ports that were seen.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub port_count: i64,
    /// Why this is suggested.
    pub reason: String,
}

/// A time or place of which nothing was seen, so that rules may be missing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = crate::schema::without_null)]
pub struct Gap {
    /// Node that did not report; absent when none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Why nothing was seen.
    pub reason: String,
    /// When the gap began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// When the gap ended; absent while it lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Number of observations that the source says it lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub lost: Option<i64>,
}

// === impl RuleEvidence ===

impl RuleEvidence {
    /// A rule of which nothing is known but what it is.
    pub fn new(
        peer: PeerRef,
        port: Option<u16>,
        protocol: Protocol,
        provenance: Provenance,
    ) -> Self {
        Self {
            peer,
            port,
            end_port: None,
            protocol,
            selector: None,
            provenance,
            count: 0,
            first_seen: None,
            last_seen: None,
            refused: false,
            services: Vec::new(),
            notes: Vec::new(),
            example: None,
        }
    }
}
