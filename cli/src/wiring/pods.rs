//! How a peer's pods are selected, as far as the folder tells.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use netenf_api::PeerRef;
use netenf_k8s::render;
use netenf_learn::label::is_volatile;
use netenf_learn::proposal::{SeenEdge, SeenEnd};
use netenf_policy::Selector;
use netenf_store::Stored;

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
            && stored.object.target_ref().is_some_and(|one| {
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

/// The labels that all of its pods had and that stay; none if another workload was seen with them.
pub(super) fn recorded(edges: &[SeenEdge], peer: &PeerRef) -> Option<LabelSelector> {
    let ends = || edges.iter().flat_map(|edge| [&edge.source, &edge.destination]);
    let is_own = |end: &SeenEnd| {
        (end.peer.kind.as_deref(), end.peer.namespace.as_deref(), end.peer.name.as_deref())
            == (peer.kind.as_deref(), peer.namespace.as_deref(), peer.name.as_deref())
    };
    let own = ends().filter(|end| is_own(end)).filter_map(|end| end.labels.clone());
    let common =
        own.reduce(|one, other| one.intersection(&other))?.filtered(|key| !is_volatile(key));
    let is_shared = ends().any(|end| {
        end.peer.namespace.as_deref() == peer.namespace.as_deref()
            && !is_own(end)
            && end.labels.as_ref().is_some_and(|labels| labels.contains_all(&common))
    });
    let is_usable = !common.is_empty() && !is_shared;
    is_usable.then(|| render::selector(&Selector::of_labels(common)))
}
