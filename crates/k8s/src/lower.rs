//! Policies as objects, to the model that is evaluated.
//!
//! What cannot be understood is told and closes: the evaluation never allows what the cluster would deny.
//! In a NetworkPolicy, whose rules only allow, an invalid peer or port matches nothing. In a cluster-wide
//! policy it is [`ClusterPeer::Unknown`](netenf_policy::ClusterPeer::Unknown) or
//! [`ClusterPort::Unknown`](netenf_policy::ClusterPort::Unknown), which close the whole rule.

mod cidr;
mod cluster_policy;
mod field;
mod network_policy;
mod selector;

pub use cluster_policy::cluster_policy;
pub use network_policy::network_policy;
pub use selector::selector;
