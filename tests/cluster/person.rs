//! A person with kubectl, and objects as they write them.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use netenf_testkit::control_plane::Client;
use netenf_testkit::deadline::within;
use serde_json::{Value, json};

/// What the agent does is done by then.
pub(crate) const SOON: Duration = Duration::from_mins(1);

/// A proposal as learning writes it.
pub(crate) fn proposal(name: &str) -> Value {
    json!({
        "apiVersion": "networkenforcer.kubewarden.io/v1alpha1", "kind": "WorkloadNetworkPolicyProposal",
        "metadata": {"name": name},
        "spec": {
            "backend": "kubernetes", "targetRef": {"kind": "Deployment", "name": "web"}, "direction": "Egress",
            "kubernetes": {
                "podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Egress"],
                "egress": [{
                    "to": [{
                        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}},
                        "podSelector": {"matchLabels": {"app": "db"}},
                    }],
                    "ports": [{"protocol": "TCP", "port": 5432}],
                }],
            },
        },
    })
}

/// A policy of the same rules that a person writes by hand.
pub(crate) fn policy(name: &str, mode: &str) -> Value {
    let mut policy = proposal(name);
    policy["kind"] = json!("WorkloadNetworkPolicy");
    policy["spec"]["mode"] = json!(mode);
    policy
}

/// The same for Istio: ingress from one identity to one port.
pub(crate) fn istio_policy(name: &str, mode: &str) -> Value {
    json!({
        "apiVersion": "networkenforcer.kubewarden.io/v1alpha1", "kind": "WorkloadNetworkPolicy",
        "metadata": {"name": name},
        "spec": {
            "mode": mode, "backend": "istio", "targetRef": {"kind": "Deployment", "name": "web"},
            "direction": "Ingress",
            "istio": {
                "selector": {"matchLabels": {"app": "web"}},
                "rules": [{
                    "from": [{"source": {"principals": ["cluster.local/ns/shop/sa/cli"]}}],
                    "to": [{"operation": {"ports": ["8080"]}}],
                }],
            },
        },
    })
}

/// A person at work in a namespace.
#[derive(Clone, Copy)]
pub(crate) struct Person<'a> {
    client: &'a Client,
    namespace: &'a str,
}

impl<'a> Person<'a> {
    pub(crate) fn new(client: &'a Client, namespace: &'a str) -> Self {
        Self { client, namespace }
    }

    /// In a new namespace.
    pub(crate) fn moving_to(client: &'a Client, namespace: &'a str) -> Self {
        client.kubectl(&["create", "namespace", namespace]).unwrap();
        Self::new(client, namespace)
    }

    pub(crate) fn apply(&self, object: &Value) {
        self.try_apply(object).unwrap();
    }

    pub(crate) fn try_apply(&self, object: &Value) -> anyhow::Result<String> {
        self.read(object, "apply -f -")
    }

    /// kubectl with the object on its standard input.
    pub(crate) fn read(&self, object: &Value, words: &str) -> anyhow::Result<String> {
        let words: Vec<&str> = words.split(' ').chain(["-n", self.namespace]).collect();
        self.client.kubectl_reading(&object.to_string(), &words)
    }

    pub(crate) fn run(&self, words: &str) -> String {
        self.try_run(words).unwrap()
    }

    pub(crate) fn try_run(&self, words: &str) -> anyhow::Result<String> {
        let words: Vec<&str> = words.split(' ').chain(["-n", self.namespace]).collect();
        self.client.kubectl(&words)
    }

    /// A merge patch of any size.
    pub(crate) fn patch(&self, object: &str, patch: &Value) {
        self.read(patch, &format!("patch {object} --type=merge --patch-file=/dev/stdin")).unwrap();
    }

    /// The same of the status.
    pub(crate) fn patch_status(&self, object: &str, patch: &Value) {
        let words = format!("patch {object} --type=merge --subresource=status");
        self.read(patch, &format!("{words} --patch-file=/dev/stdin")).unwrap();
    }

    /// The object; `None` if it is not there.
    pub(crate) fn get(&self, object: &str) -> Option<Value> {
        let text = self.run(&format!("get {object} -o json --ignore-not-found"));
        serde_json::from_str(&text).ok()
    }

    #[track_caller]
    pub(crate) fn wait(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        within(SOON, what, || Ok(holds(self).then_some(()))).unwrap();
    }

    /// A condition of the object.
    pub(crate) fn condition(&self, object: &str, kind: &str) -> Option<Value> {
        let object = self.get(object)?;
        let all = object.pointer("/status/conditions")?.as_array()?.clone();
        all.into_iter().find(|one| one["type"] == kind)
    }

    pub(crate) fn is(&self, object: &str, kind: &str, status: &str, reason: &str) -> bool {
        let condition = self.condition(object, kind);
        condition.is_some_and(|it| it["status"] == status && it["reason"] == reason)
    }

    /// Waits until a condition is as it should be, and shows what it is where it never gets there.
    #[track_caller]
    pub(crate) fn wait_for(&self, object: &str, kind: &str, status: &str, reason: &str) {
        let answer = within(SOON, "the condition", || {
            Ok(self.is(object, kind, status, reason).then_some(()))
        });
        if answer.is_err() {
            let found = self.get(object).map(|it| it["status"]["conditions"].clone());
            panic!("{object} in {} is not {kind}={status}/{reason}: {found:#?}", self.namespace);
        }
    }

    /// Whether it was created in an earlier second than this one: the API tells no parts of one.
    pub(crate) fn is_past(&self, object: &str) -> bool {
        let created = self.get(object).map(|it| it["metadata"]["creationTimestamp"].clone());
        let now = Timestamp::now().to_string();
        created.is_some_and(|created| created.as_str().is_some_and(|at| at[..19] < now[..19]))
    }

    /// Type, reason, object and note of all Events of the namespace, one a line.
    pub(crate) fn events(&self) -> String {
        let path =
            "-o=jsonpath={range .items[*]}{.type} {.reason} {.regarding.name}: {.note}{'\\n'}{end}";
        let words = ["get", "events.events.k8s.io", "-n", self.namespace, path];
        self.client.kubectl(&words).unwrap()
    }
}
