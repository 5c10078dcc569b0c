//! Policies, native and cluster-wide, each kind in the order of its names.

use std::sync::Arc;

use k8s_openapi::api::networking::v1::NetworkPolicy;

use super::{Index, Key};
use crate::lower;
use crate::object::{self, ClusterKind, Kind};

impl Index {
    pub(super) fn apply_policy(&mut self, policy: &NetworkPolicy) {
        let key = self.cover(Kind::NetworkPolicy, &policy.metadata);
        self.note_controller_of(&key, &policy.metadata);
        // A policy without a spec is one whose spec is empty, for the API server too: it isolates every pod.
        let spec = policy.spec.clone().unwrap_or_default();
        let (policy, diagnostics) = lower::network_policy("NetworkPolicy", &key.0, &key.1, &spec);
        match self.policy_at(&key) {
            Ok(at) => self.policies[at] = policy,
            Err(at) => self.policies.insert(at, policy),
        }
        self.diagnostics.insert(key, diagnostics);
    }

    pub(super) fn remove_policy(&mut self, key: &Key) {
        self.uncover(&Kind::NetworkPolicy, key);
        self.diagnostics.remove(key);
        self.controlled_by_ours.remove(key);
        if let Ok(at) = self.policy_at(key) {
            self.policies.remove(at);
        }
    }

    fn policy_at(&self, (namespace, name): &Key) -> Result<usize, usize> {
        self.policies
            .binary_search_by_key(&(namespace, name), |policy| (&policy.namespace, &policy.name))
    }

    pub(super) fn apply_cluster_policy(&mut self, policy: &object::ClusterPolicy) {
        let (policy, diagnostics) = lower::cluster_policy(policy);
        let key = (policy.kind.clone(), policy.name.clone());
        match self.cluster_policy_at(&key) {
            Ok(at) => self.cluster_policies[at] = Arc::new(policy),
            Err(at) => self.cluster_policies.insert(at, Arc::new(policy)),
        }
        self.cluster_diagnostics.insert(key, diagnostics);
    }

    pub(super) fn remove_cluster_policy(&mut self, kind: ClusterKind, name: &Arc<str>) {
        let key = (kind.to_string().into(), name.clone());
        self.cluster_diagnostics.remove(&key);
        if let Ok(at) = self.cluster_policy_at(&key) {
            self.cluster_policies.remove(at);
        }
    }

    /// The names of the cluster-wide policies of a kind.
    pub(super) fn cluster_policies_of(&self, kind: ClusterKind) -> impl Iterator<Item = &Arc<str>> {
        let kind = kind.to_string();
        let own = self.cluster_policies.iter().filter(move |policy| *policy.kind == *kind);
        own.map(|policy| &policy.name)
    }

    fn cluster_policy_at(&self, (kind, name): &Key) -> Result<usize, usize> {
        self.cluster_policies
            .binary_search_by_key(&(kind, name), |policy| (&policy.kind, &policy.name))
    }
}
