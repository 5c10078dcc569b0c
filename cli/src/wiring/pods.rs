//! How a peer's pods are selected, as far as the folder tells.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use netenf_api::{PeerRef, TargetRef};
use netenf_k8s::render;
use netenf_learn::label::is_volatile;
use netenf_learn::proposal::{SeenEdge, SeenEnd};
use netenf_store::{Resource, Stored};

use super::store::Session;
use crate::error::CommandError;

/// Selects the pods of `peer`: as a proposal or policy of its own does, else by the labels with which it was
/// recorded.
pub(crate) fn selector(
    session: &Session,
    peer: &PeerRef,
) -> Result<Option<LabelSelector>, CommandError> {
    let own = |stored: &&Stored| {
        peer.namespace.as_ref() == Some(&stored.object.key().namespace)
            && target(&stored.object).is_some_and(|one| {
                Some(one.kind.to_string()) == peer.kind && Some(&one.name) == peer.name.as_ref()
            })
    };
    let mut objects = session.listing().objects.iter().filter(own);
    let declared = objects.find_map(|stored| stored.object.kubernetes()?.pod_selector.clone());
    match declared {
        Some(selector) => Ok(Some(selector)),
        None => Ok(recorded(&session.state()?.edges(), peer)),
    }
}

fn target(object: &Resource) -> Option<&TargetRef> {
    match object {
        Resource::Proposal(proposal) => proposal.spec.target_ref.as_ref(),
        Resource::Policy(policy) => policy.spec.target_ref.as_ref(),
    }
}

/// The labels that all of its pods had and that stay; none if another workload was seen with them.
fn recorded(edges: &[SeenEdge], peer: &PeerRef) -> Option<LabelSelector> {
    let name = |peer: &PeerRef| (peer.kind.clone(), peer.namespace.clone(), peer.name.clone());
    let ends = || edges.iter().flat_map(|edge| [&edge.source, &edge.destination]);
    let is_own = |end: &SeenEnd| name(&render::peer(&end.peer)) == name(peer);
    let labels = |end: &SeenEnd| -> Option<BTreeMap<String, String>> {
        let labels = end.labels.as_ref()?.iter();
        Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
    };
    let mut common: Option<BTreeMap<String, String>> = None;
    for own in ends().filter(|end| is_own(end)).filter_map(|end| labels(end)) {
        let known = common.get_or_insert_with(|| own.clone());
        known.retain(|key, value| own.get(key) == Some(value) && !is_volatile(key));
    }
    let common = common.filter(|labels| !labels.is_empty())?;
    let has_all = |labels: &BTreeMap<String, String>| {
        common.iter().all(|(key, value)| labels.get(key) == Some(value))
    };
    let is_shared = ends().any(|end| {
        end.peer.namespace.as_deref() == peer.namespace.as_deref()
            && !is_own(end)
            && labels(end).as_ref().is_some_and(has_all)
    });
    (!is_shared).then_some(LabelSelector { match_labels: Some(common), match_expressions: None })
}
