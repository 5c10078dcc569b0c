//! Members of Goldmane's enums, by name or number.

use std::borrow::Cow;

use netenf_learn::{Direction, Network, Reporter, Verdict};

use crate::value::{Enum, Open};

/// `goldmane.EndpointType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndpointType {
    Unknown,
    Workload,
    Host,
    NetworkSet,
    Network,
}

/// `goldmane.Action`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Allow,
    Deny,
    Pass,
    Unknown,
}

/// `goldmane.Reporter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReportedBy(pub(super) Option<Reporter>);

// === impl EndpointType ===

impl EndpointType {
    /// The number of the proto.
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::Workload => 1,
            Self::Host => 2,
            Self::NetworkSet => 3,
            Self::Network => 4,
        }
    }
}

impl Enum for EndpointType {
    fn of_name(name: &str) -> Self {
        match name {
            "WorkloadEndpoint" => Self::Workload,
            "HostEndpoint" => Self::Host,
            "NetworkSet" => Self::NetworkSet,
            "Network" => Self::Network,
            _ => Self::Unknown,
        }
    }

    fn of_number(number: i64) -> Self {
        match number {
            1 => Self::Workload,
            2 => Self::Host,
            3 => Self::NetworkSet,
            4 => Self::Network,
            _ => Self::Unknown,
        }
    }
}

/// The network of this name: Goldmane tells public from private, and nothing more.
pub(super) fn network(name: &str) -> Option<Network> {
    match name {
        "pub" => Some(Network::Public),
        "pvt" => Some(Network::Private),
        _ => None,
    }
}

// === impl Action ===

impl Action {
    /// What became of the connections.
    pub(super) const fn verdict(self) -> Verdict {
        match self {
            Self::Allow => Verdict::Forwarded,
            Self::Deny => Verdict::Dropped,
            Self::Pass | Self::Unknown => Verdict::Unknown,
        }
    }
}

impl Enum for Action {
    fn of_name(name: &str) -> Self {
        match name {
            "Allow" => Self::Allow,
            "Deny" => Self::Deny,
            "Pass" => Self::Pass,
            _ => Self::Unknown,
        }
    }

    fn of_number(number: i64) -> Self {
        match number {
            1 => Self::Allow,
            2 => Self::Deny,
            3 => Self::Pass,
            _ => Self::Unknown,
        }
    }
}

// === impl ReportedBy ===

impl Enum for ReportedBy {
    fn of_name(name: &str) -> Self {
        Self(match name {
            "Src" => Some(Reporter::Source),
            "Dst" => Some(Reporter::Destination),
            _ => None,
        })
    }

    fn of_number(number: i64) -> Self {
        Self(match number {
            1 => Some(Reporter::Source),
            2 => Some(Reporter::Destination),
            _ => None,
        })
    }
}

/// The source's node sees a connection leave, the destination's sees it come in.
pub(super) const fn direction(reporter: Reporter) -> Direction {
    match reporter {
        Reporter::Source => Direction::Egress,
        Reporter::Destination => Direction::Ingress,
    }
}

/// The name of a member of `goldmane.PolicyKind`, which is open: Calico adds and removes kinds.
pub(super) fn policy_kind<'a>(kind: &'a Open<'_>) -> Cow<'a, str> {
    match kind {
        Open::Name(name) => (&**name).into(),
        Open::Number(number) => {
            let index = usize::try_from(*number).ok();
            match index.and_then(|index| POLICY_KINDS.get(index)) {
                Some(name) => (*name).into(),
                None => number.to_string().into(),
            }
        }
    }
}

/// Names of `goldmane.PolicyKind` by number; 7 and 8 are from before Calico 3.32.
const POLICY_KINDS: [&str; 12] = [
    "",
    "CalicoNetworkPolicy",
    "GlobalNetworkPolicy",
    "StagedNetworkPolicy",
    "StagedGlobalNetworkPolicy",
    "StagedKubernetesNetworkPolicy",
    "NetworkPolicy",
    "AdminNetworkPolicy",
    "BaselineAdminNetworkPolicy",
    "Profile",
    "EndOfTier",
    "ClusterNetworkPolicy",
];
