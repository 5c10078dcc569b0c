//! The agent while something fails: the API server, the connection to it, or the agent itself. What was asked
//! for is there in the end, once.

use std::sync::LazyLock;

use netenf_testkit::control_plane::proxy::{Fate, Proxy, Request, Stage};
use netenf_testkit::control_plane::{Client, ControlPlane};
use serde_json::{Value, json};

use crate::agent::account;
use crate::person::{Person, SOON, proposal};
use crate::{admin, apply, create_namespace};

mod busy;
mod down;
mod gone;
mod kill;
mod late;
mod leader;
mod seen;
mod storm;

/// The agent's account in the plane that all tests share.
static ACCOUNT: LazyLock<Client> = LazyLock::new(|| account(ControlPlane::shared()));

/// What lets the account elect in another namespace than its own.
const ELECTION: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {namespace: netenf, name: election}
rules:
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, get, update]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: netenf, name: election}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: election}
subjects: [{kind: ServiceAccount, name: netenf-agent, namespace: netenf}]
";

/// A namespace of the shared plane, which is the whole cluster to the agents that ask through the proxy.
struct Place {
    proxy: Proxy,
    agent: Client,
    namespace: String,
}

impl Place {
    fn create(namespace: &str) -> Self {
        create_namespace(namespace);
        apply(&ELECTION.replace("namespace: netenf,", &format!("namespace: {namespace},")));
        let proxy = Proxy::start_for_namespace(ControlPlane::shared(), namespace).unwrap();
        let agent = proxy.client(&ACCOUNT).unwrap();
        Self { proxy, agent, namespace: namespace.to_owned() }
    }

    fn person(&self) -> Person<'_> {
        Person::new(admin(), &self.namespace)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = admin().kubectl(&["delete", "namespace", &self.namespace, "--wait=false"]);
    }
}

/// A proposal that a person promotes in the moment in which they write it.
fn promoted(name: &str) -> Value {
    let mut proposal = proposal(name);
    proposal["metadata"]["labels"] = json!({"networkenforcer.kubewarden.io/promote": "monitor"});
    proposal
}

/// Whether the status is of the newest generation.
fn is_current(policy: &Value) -> bool {
    policy["status"]["observedGeneration"] == policy["metadata"]["generation"]
}

/// Whether it writes an object that a person reads: Events and the election are not judged.
fn is_judged(request: &Request) -> bool {
    request.is_write() && !request.is_about("events") && !request.is_about("leases")
}
