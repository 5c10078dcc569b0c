//! Violations that the policy allows by now.

use std::net::IpAddr;

use netenf_api::{
    Direction, PeerRef, StateReason, Violation, ViolationReason, WorkloadNetworkPolicy,
};
use netenf_learn::{self as learn, Workload};
use netenf_policy::{End, NetworkPolicy};

use super::Step;
use super::event::Event;
use crate::index::Index;
use crate::lifecycle::peer::other_end;
use crate::lifecycle::{Kind, Resource};
use crate::lower;
use crate::merge::{istio_allows, network_policy_allows, protocol};

/// Takes what the policy allows by now off its lists, acknowledged or not: whoever mended the policy need not say so
/// (W18). Asked is the policy itself, by the engine; who its peers are is told by the index, and what cannot be told
/// stays listed, as does what another policy denies.
pub fn clear(policy: &WorkloadNetworkPolicy, index: &Index) -> Vec<Step> {
    if policy.metadata.deletion_timestamp.is_some() || !lists_violations(policy) {
        return Vec::new();
    }
    let mut cleared = policy.clone();
    let allowed = Allowed::new(policy, index);
    let status = cleared.status.get_or_insert_default();
    let before = status.violations.len();
    status.violations.retain(|one| !allowed.is(one));
    status.acknowledged_violations.retain(|one| !allowed.is(&one.violation));
    status.active_violation_count = i64::try_from(status.violations.len()).unwrap_or(i64::MAX);
    let count = before - status.violations.len();
    if cleared.status == policy.status {
        return Vec::new();
    }
    let event = (count > 0).then(|| {
        let cleared = learn::wording::count(count, "violation");
        let message = format!("{cleared} cleared: the policy allows by now what it denied");
        Step::Event(Event::new(
            super::policy::key(policy),
            StateReason::ViolationsCleared,
            &message,
        ))
    });
    [Step::ReplaceStatus(Resource::from(cleared))].into_iter().chain(event).collect()
}

/// Whether there is something that could be cleared.
pub fn lists_violations(policy: &WorkloadNetworkPolicy) -> bool {
    let status = policy.status.as_ref();
    status.is_some_and(|it| !it.violations.is_empty() || !it.acknowledged_violations.is_empty())
}

/// What a policy allows.
struct Allowed<'a> {
    policy: &'a WorkloadNetworkPolicy,
    native: Option<NetworkPolicy>,
    index: &'a Index,
}

// === impl Allowed ===

impl<'a> Allowed<'a> {
    fn new(policy: &'a WorkloadNetworkPolicy, index: &'a Index) -> Self {
        let key = super::policy::key(policy);
        let lowered =
            |body| lower::network_policy(Kind::Policy.as_str(), &key.namespace, &key.name, body).0;
        Self { policy, native: policy.spec.kubernetes.as_ref().map(lowered), index }
    }

    fn is(&self, violation: &Violation) -> bool {
        let Some(port) = violation.dst_port else { return false };
        if violation.reason == ViolationReason::DeniedByPolicy {
            return false;
        }
        let peer = other_end(violation);
        if let Some(spec) = &self.policy.spec.istio {
            return istio_allows(spec, peer.identity.as_deref().unwrap_or_default(), port);
        }
        let (Some(policy), Some(protocol)) = (&self.native, protocol(violation.protocol)) else {
            return false;
        };
        let direction = match violation.direction {
            Direction::Ingress => learn::Direction::Ingress,
            Direction::Egress => learn::Direction::Egress,
        };
        let ends = self.ends(peer);
        !ends.is_empty()
            && ends
                .iter()
                .all(|end| network_policy_allows(policy, direction, end, (protocol, port)))
    }

    /// All that the peer may have been; none where that is not known.
    fn ends(&self, peer: &PeerRef) -> Vec<End> {
        if let (Some(kind), Some(namespace), Some(name)) = (&peer.kind, &peer.namespace, &peer.name)
        {
            let workload = Workload::new(namespace.as_str(), kind.as_str(), name.as_str());
            return self.index.ends_of(&workload).unwrap_or_default();
        }
        if let (Some("Node"), Some(name)) = (peer.kind.as_deref(), &peer.name) {
            return self.index.end_of_node(name).into_iter().collect();
        }
        let addresses = peer.address.iter().chain(&peer.addresses);
        let ends: Result<Vec<End>, _> =
            addresses.map(|text| text.parse::<IpAddr>().map(End::Address)).collect();
        ends.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
