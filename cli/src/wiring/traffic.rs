//! Recorded traffic that policies would deny.

use netenf_api::Mode;
use netenf_k8s::Index;
use netenf_k8s::monitor::{self, Denied, Guard};
use netenf_learn::proposal::SeenEdge;
use netenf_store::{Key, Kind, Resource};

use super::store::Session;
use super::tell_diagnostics;
use crate::output::{escaped, tell};

/// Those of `objects` that would decide: a proposal gives way to the policy of its name (DESIGN D9), and that
/// is told.
pub(crate) fn deciding<'a>(session: &Session, objects: &[&'a Resource]) -> Vec<&'a Resource> {
    let policy_of = |key: Key| session.listing().find(&Key::policy(key.namespace, key.name));
    let gives_way = |object: &Resource| {
        object.key().kind == Kind::Proposal && policy_of(object.key()).is_some()
    };
    let (left_out, deciding): (Vec<&Resource>, _) =
        objects.iter().partition(|object| gives_way(object));
    for object in left_out {
        let key = object.key();
        tell(&escaped(&format!(
            "the {key} is left out: the policy of its name decides; kubectl netenf diff compares them"
        )));
    }
    deciding
}

/// What `objects` would deny if they protected, beside the folder's other policies and the cluster's own.
/// Tells of foreign policies of the cluster that have the name of one of them.
pub(crate) fn denied(
    session: &Session,
    objects: &[&Resource],
    index: &Index,
    edges: &[SeenEdge],
) -> Vec<Denied> {
    let name = |object: &Resource| (object.key().namespace, object.key().name);
    let names: Vec<(String, String)> = objects.iter().map(|object| name(object)).collect();
    let own = objects.iter().filter_map(|object| {
        let key = object.key();
        let spec = match object {
            Resource::Proposal(proposal) => &proposal.spec.to_policy_spec(Mode::Protect),
            Resource::Policy(policy) => &policy.spec,
        };
        Guard::new(key.kind.as_str(), &key.namespace, &key.name, spec)
    });
    let mut guards: Vec<Guard> = own.collect();
    let conflicts: Vec<_> = monitor::conflicts(index, &guards).collect();
    tell_diagnostics(conflicts.iter());
    guards.extend(
        session.guards(|other| !names.contains(&(other.namespace.clone(), other.name.clone()))),
    );
    let mut denied = monitor::denied(index, &guards, edges);
    denied.retain(|one| names.contains(&one.policy));
    denied
}
