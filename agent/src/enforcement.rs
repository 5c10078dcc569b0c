//! What enforces policies, as the index tells it at the moment.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use netenf_api::{Backend, WorkloadNetworkPolicy};
use netenf_k8s::Index;
use netenf_k8s::enforcer::{Enforcer, Provider, enforcer};
use netenf_k8s::reconcile::{self, Step};

/// Asks the index, and remembers what it said.
pub(crate) struct Enforcement {
    pub(crate) index: Arc<RwLock<Index>>,
    pub(crate) provider: Option<Provider>,
    pub(crate) backend: Backend,
    pub(crate) last: Mutex<Enforcer>,
}

// === impl Enforcement ===

impl Enforcement {
    /// What enforces now.
    pub(crate) fn now(&self) -> Enforcer {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        enforcer(&index, self.provider, self.backend)
    }

    /// What to do about violations that the policy allows by now.
    pub(crate) fn cleared(&self, policy: &WorkloadNetworkPolicy) -> Vec<Step> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        reconcile::clear(policy, &index)
    }

    /// Whether it is another one than the last time that this was asked.
    pub(crate) fn has_changed(&self) -> bool {
        let now = self.now();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *last, now) != now
    }
}
