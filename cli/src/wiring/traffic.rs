//! Recorded traffic that policies would deny.

use netenf_api::Mode;
use netenf_k8s::Index;
use netenf_k8s::monitor::{self, Denied, Guard};
use netenf_learn::proposal::SeenEdge;
use netenf_store::Resource;

use super::store::Session;

/// What `objects` would deny if they protected, beside the folder's other policies.
pub(crate) fn denied(session: &Session, objects: &[&Resource], edges: &[SeenEdge]) -> Vec<Denied> {
    let name = |object: &Resource| (object.key().namespace, object.key().name);
    let names: Vec<(String, String)> = objects.iter().map(|object| name(object)).collect();
    let mut guards =
        session.guards(|other| !names.contains(&(other.namespace.clone(), other.name.clone())));
    guards.extend(objects.iter().filter_map(|object| {
        let key = object.key();
        let spec = match object {
            Resource::Proposal(proposal) => &proposal.spec.to_policy_spec(Mode::Protect),
            Resource::Policy(policy) => &policy.spec,
        };
        Guard::new(key.kind.as_str(), &key.namespace, &key.name, spec)
    }));
    let mut denied = monitor::denied(&Index::default(), &guards, edges);
    denied.retain(|one| names.contains(&one.policy));
    denied
}
