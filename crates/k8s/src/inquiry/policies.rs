//! Which policies of ours a question is about (DESIGN D9).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use netenf_api::{Mode, WorkloadNetworkPolicyProposal};
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
    ours.iter().filter(counts).for_each(|object| counted.add(object));
    counted
}

/// A proposal without its rules and what is known of them: all that a question asks of it once it is [`Counted`]. As
/// decoded a rule takes 4 kB.
pub fn outline(mut proposal: WorkloadNetworkPolicyProposal) -> Resource {
    let ObjectMeta { name, namespace, .. } = std::mem::take(&mut proposal.metadata);
    proposal.metadata = ObjectMeta { name, namespace, ..ObjectMeta::default() };
    proposal.status = None;
    if let Some(spec) = &mut proposal.spec.kubernetes {
        (spec.ingress, spec.egress) = (None, None);
    }
    if let Some(spec) = &mut proposal.spec.istio {
        spec.rules.clear();
    }
    Resource::from(proposal)
}

// === impl Counted ===

impl Counted {
    /// Adds an object, whatever its mode.
    pub fn add(&mut self, object: &Resource) {
        let key = object.key();
        let Some(spec) = object.kubernetes() else {
            let message = "a policy for Istio is left out: NetworkPolicies and cluster-wide policies are judged";
            let place = key.to_string();
            self.told.push(Diagnostic { place, message: message.to_owned() });
            self.left_out.push(key);
            return;
        };
        let (policy, not_understood) =
            lower::network_policy(key.kind.as_str(), &key.namespace, &key.name, spec);
        self.told.extend(not_understood);
        self.policies.push(policy);
    }

    /// Takes out what `gives_way`, by namespace and name.
    pub fn drop_those(&mut self, gives_way: impl Fn(&str, &str) -> bool) {
        self.policies.retain(|policy| !gives_way(&policy.namespace, &policy.name));
        self.left_out.retain(|key| !gives_way(&key.namespace, &key.name));
    }

    /// Adds what was counted for itself.
    pub fn extend(&mut self, other: Self) {
        self.policies.extend(other.policies);
        self.told.extend(other.told);
        self.left_out.extend(other.left_out);
    }
}
