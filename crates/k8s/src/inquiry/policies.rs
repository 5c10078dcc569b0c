//! Which policies of ours a question is about (DESIGN D9).

use netenf_api::Mode;
use netenf_policy::NetworkPolicy;

use crate::lifecycle::{Key, Resource};
use crate::lower;
use crate::object::Diagnostic;

/// Which policies of ours count; native ones always do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Those that are in force: in protect.
    InForce,
    /// Those in monitor and the proposals too, as if they were in protect.
    AssumeProtect,
}

/// Policies of ours that count.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// As the engine takes them.
    pub policies: Vec<NetworkPolicy>,
    /// What in them could not be understood, and what is left out.
    pub told: Vec<Diagnostic>,
    /// Those that are judged by nothing here, since they are for Istio.
    pub left_out: Vec<Key>,
}

/// Those of `ours` that count; a proposal gives way to the policy of its name.
pub fn counted(ours: &[Resource], scope: Scope) -> Counted {
    let assume_protect = scope == Scope::AssumeProtect;
    let policies: std::collections::HashSet<(String, String)> = ours
        .iter()
        .filter(|one| one.as_policy().is_some())
        .map(Resource::key)
        .map(|key| (key.namespace, key.name))
        .collect();
    let counts = |object: &&Resource| match object.as_policy() {
        Some(policy) => assume_protect || policy.spec.mode == Mode::Protect,
        None => {
            let key = object.key();
            assume_protect && !policies.contains(&(key.namespace, key.name))
        }
    };
    let mut counted = Counted::default();
    for object in ours.iter().filter(counts) {
        let key = object.key();
        let Some(spec) = object.kubernetes() else {
            let message = "a policy for Istio is left out: NetworkPolicies and cluster-wide policies are judged";
            let place = key.to_string();
            counted.told.push(Diagnostic { place, message: message.to_owned() });
            counted.left_out.push(key);
            continue;
        };
        let (policy, not_understood) =
            lower::network_policy(key.kind.as_str(), &key.namespace, &key.name, spec);
        counted.told.extend(not_understood);
        counted.policies.push(policy);
    }
    counted
}
