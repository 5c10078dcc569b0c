//! The cluster's DNS: from its objects, else from flows to its well-known pods (DESIGN D4).

use std::sync::Arc;

use netenf_policy::{Labels, Protocol, Selector};

use crate::directory::{Directory, DnsTarget};
use crate::identity::Party;
use crate::learner::Learner;
use crate::outcome::cast::Cast;
use crate::outcome::edge::Merged;

/// The label that DNS pods of Kubernetes carry, whichever server they run.
const LABEL: (&str, &str) = ("k8s-app", "kube-dns");
const NAMESPACE: &str = "kube-system";
/// Ports of DNS pods: the standard one, and that of installations without the right to use it.
const PORTS: [u16; 2] = [53, 5353];

/// Where the cluster's names are resolved.
pub(super) fn target<D: Directory>(
    learner: &Learner<D>,
    cast: &Cast,
    merged: &Merged,
) -> Option<DnsTarget> {
    learner.directory.dns().or_else(|| from_flows(learner, cast, merged))
}

fn from_flows<D: Directory>(
    learner: &Learner<D>,
    cast: &Cast,
    merged: &Merged,
) -> Option<DnsTarget> {
    let asked = merged.edges.iter().map(|(key, _)| key).filter(|key| {
        PORTS.contains(&key.port)
            && matches!(key.protocol, Protocol::Udp | Protocol::Tcp)
            && is_dns_pod(learner, cast, key.destination)
    });
    let port = asked.map(|key| key.port).min()?;
    let labels: Labels =
        [(Arc::<str>::from(LABEL.0), Arc::<str>::from(LABEL.1))].into_iter().collect();
    Some(DnsTarget { namespace: NAMESPACE.into(), selector: Selector::of_labels(labels), port })
}

fn is_dns_pod<D: Directory>(learner: &Learner<D>, cast: &Cast, id: u32) -> bool {
    let party = &learner.parties[id as usize];
    let labelled = |labels: &Labels| labels.value(LABEL.0) == Some(LABEL.1);
    party.party.namespace().is_some_and(|namespace| &**namespace == NAMESPACE)
        && (party.labels.as_ref().is_some_and(labelled)
            || cast.selector(id).is_ok_and(|found| labelled(&found.selector.labels)))
}

/// Whether `id` is (a part of) the cluster's DNS.
pub(super) fn is_target<D: Directory>(
    learner: &Learner<D>,
    cast: &Cast,
    target: &DnsTarget,
    id: u32,
) -> bool {
    let sum = &learner.parties[id as usize];
    let (Party::Workload(_) | Party::Pods { .. }) = sum.party else { return false };
    sum.party.namespace() == Some(&target.namespace)
        && (sum.labels.as_ref().is_some_and(|labels| target.selector.matches(labels))
            || cast.selector(id).is_ok_and(|found| target.selector.matches(&found.selector.labels)))
}
