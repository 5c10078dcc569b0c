//! Native policies beside policies of ours: which of them ours became, and which only have the name of one.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use netenf_api::GROUP;
use netenf_policy::NetworkPolicy;

use super::{Index, Key, controller};
use crate::object::Diagnostic;

impl Index {
    /// The native policies that are in force beside policies of ours, given by namespace and name: all but
    /// those that one of ours became, for which ours stands. A foreign object of such a name stays in force
    /// (DESIGN section 5).
    pub fn natives_beside<'a>(
        &'a self,
        ours: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> impl Iterator<Item = &'a NetworkPolicy> {
        let ours: BTreeSet<(&str, &str)> = ours.into_iter().collect();
        let is_ours = move |it: &&NetworkPolicy| ours.contains(&(&*it.namespace, &*it.name));
        self.policies.iter().filter(move |it| !(is_ours(it) && self.is_controlled_by_ours(it)))
    }

    /// What to tell of foreign native policies that have the namespace and name of one of ours, so that
    /// protecting would neither replace nor add anything (DESIGN section 5, `Conflict`).
    pub fn conflicts<'a>(
        &'a self,
        ours: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> impl Iterator<Item = Diagnostic> {
        let ours: BTreeSet<(&str, &str)> = ours.into_iter().collect();
        let foreign = self.policies.iter().filter(|it| !self.is_controlled_by_ours(it));
        let named = foreign.filter(move |it| ours.contains(&(&*it.namespace, &*it.name)));
        named.map(|NetworkPolicy { namespace, name, .. }| Diagnostic {
            place: format!("NetworkPolicy {namespace}/{name}"),
            message: format!(
                "WorkloadNetworkPolicy {namespace}/{name} does not control it, so it stays in force and ours conflicts with it; delete it, or give one of them another name"
            ),
        })
    }

    /// Notes whether a policy of ours became the native object `key`.
    pub(super) fn note_controller_of(&mut self, key: &Key, metadata: &ObjectMeta) {
        let is_ours = controller(metadata).is_some_and(|owner| {
            owner.api_version.split('/').next() == Some(GROUP)
                && owner.kind == "WorkloadNetworkPolicy"
                && *owner.name == *key.1
        });
        if is_ours {
            self.controlled_by_ours.insert(key.clone());
        } else {
            self.controlled_by_ours.remove(key);
        }
    }

    fn is_controlled_by_ours(&self, policy: &NetworkPolicy) -> bool {
        self.controlled_by_ours.contains(&(policy.namespace.clone(), policy.name.clone()))
    }
}

#[cfg(test)]
mod tests;
