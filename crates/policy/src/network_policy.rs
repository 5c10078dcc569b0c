//! The model of a NetworkPolicy, lowered from its object.

use std::sync::Arc;

use ipnet::IpNet;

use crate::evaluate::Side;
use crate::selector::Selector;

/// Transport protocols that a policy can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

/// A NetworkPolicy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkPolicy {
    /// The kind of the object it came from.
    pub kind: Arc<str>,
    /// Namespace of the object; it selects pods there only.
    pub namespace: Arc<str>,
    /// Name of the object.
    pub name: Arc<str>,
    /// The pods it applies to.
    pub pods: Selector,
    /// Rules for connections into the pods; `None` if the policy does not restrict them.
    pub ingress: Option<Vec<Rule>>,
    /// Rules for connections out of the pods; `None` if the policy does not restrict them.
    pub egress: Option<Vec<Rule>>,
}

/// One allow rule: any of the peers on any of the ports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// Peers; `None` is everyone ("if this field is empty or missing, this rule matches all").
    pub peers: Option<Vec<Peer>>,
    /// Ports; `None` is every port.
    pub ports: Option<Vec<PortMatch>>,
}

/// A peer of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// Pods by labels.
    Pods {
        /// Namespaces by labels; `None` is the policy's own namespace.
        namespaces: Option<Selector>,
        /// Pods by labels; `None` is every pod of those namespaces.
        pods: Option<Selector>,
    },
    /// Addresses.
    Block {
        /// The range.
        cidr: IpNet,
        /// Ranges inside it that are not meant.
        except: Vec<IpNet>,
    },
}

/// A port of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortMatch {
    /// Protocol.
    pub protocol: Protocol,
    /// Port or ports.
    pub range: PortRange,
}

/// Which ports of a protocol.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PortRange {
    /// All of them.
    Any,
    /// From the first to the last, both included.
    Numbers(u16, u16),
    /// The destination pod's container port of that name.
    Named(Arc<str>),
}

// === impl Protocol ===

impl Protocol {
    /// Every protocol that a policy can name.
    pub const ALL: [Self; 3] = [Self::Tcp, Self::Udp, Self::Sctp];
}

// === impl NetworkPolicy ===

impl NetworkPolicy {
    /// The rules of one side; `None` if the policy does not restrict it.
    pub fn rules(&self, side: Side) -> Option<&[Rule]> {
        match side {
            Side::Egress => self.egress.as_deref(),
            Side::Ingress => self.ingress.as_deref(),
        }
    }
}
