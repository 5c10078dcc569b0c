//! A namespace of the cluster, where web talks to others and a person keeps its policy.

use netenf_testkit::control_plane::{Client, ControlPlane};
use serde_json::{Value, json};

use crate::agent::{Agent, account};
use crate::feed::Feed;
use crate::person::Person;
use crate::plane;

/// The name of the proposal, the policy and the native object for what web connects to.
pub(crate) const NAME: &str = "deployment-web-egress";
pub(crate) const PROPOSAL: &str = "wnpp/deployment-web-egress";
pub(crate) const POLICY: &str = "wnp/deployment-web-egress";
pub(crate) const NATIVE: &str = "networkpolicy/deployment-web-egress";
pub(crate) const PROMOTED_FROM: &str = "networkenforcer.kubewarden.io/promoted-from";

/// A plane of its own, whose agent learns from what a test says.
pub(crate) struct Scene {
    pub(crate) plane: ControlPlane,
    pub(crate) account: Client,
    pub(crate) feed: Feed,
    pub(crate) agent: Agent,
}

/// A namespace of the cluster, and who is there.
pub(crate) struct Place<'a> {
    pub(crate) namespace: &'static str,
    pub(crate) person: Person<'a>,
    pub(crate) feed: &'a Feed,
    pub(crate) agent: &'a Agent,
}

// === impl Scene ===

impl Scene {
    pub(crate) fn new() -> Self {
        let plane = plane();
        let account = account(&plane);
        let feed = Feed::new(&account, "flows");
        let agent = feed.start(&account, "one");
        Self { plane, account, feed, agent }
    }
}

// === impl Place ===

impl<'a> Place<'a> {
    pub(crate) fn new(
        client: &'a Client,
        namespace: &'static str,
        (feed, agent): (&'a Feed, &'a Agent),
    ) -> Self {
        let person = Person::moving_to(client, namespace);
        Self { namespace, person, feed, agent }
    }

    pub(crate) fn flow(&self, to: &str) -> String {
        format!("{0}/web > {0}/{to}", self.namespace)
    }

    pub(crate) fn connects(&self, to: &str) {
        self.feed.connects(&self.flow(to));
    }

    /// A connection is seen, and what was made of it is written.
    pub(crate) fn learn(&self, to: &str) {
        self.connects(to);
        self.feed.wait(self.agent);
    }

    /// The object, with rules about this namespace.
    pub(crate) fn here(&self, object: &Value) -> Value {
        let own = json!(self.namespace).to_string();
        serde_json::from_str(&object.to_string().replace("\"shop\"", &own)).unwrap()
    }

    /// The same as a policy that was promoted from a proposal.
    pub(crate) fn of(&self, policy: &Value, promoted_from: &str) -> Value {
        let mut policy = self.here(policy);
        policy["metadata"]["labels"] = json!({PROMOTED_FROM: promoted_from});
        policy
    }

    pub(crate) fn promote(&self, mode: &str) {
        let label =
            "label --overwrite wnpp/deployment-web-egress networkenforcer.kubewarden.io/promote";
        self.person.run(&format!("{label}={mode}"));
    }

    /// Ports of the rules, in their order: that of the peers.
    pub(crate) fn ports(&self, object: &str) -> Vec<u64> {
        let object = self.person.get(object).unwrap();
        let rules = object["spec"]["kubernetes"]["egress"].as_array().unwrap();
        let ports = rules.iter().flat_map(|rule| rule["ports"].as_array().unwrap());
        ports.map(|port| port["port"].as_u64().unwrap()).collect()
    }

    /// One violation and no other is told, and no proposal is made.
    pub(crate) fn has_violation(&self, mode: &str, port: u16) {
        self.person.wait("the violation is told", |it| {
            it.get(POLICY).is_some_and(|it| it["status"]["activeViolationCount"] == 1)
        });
        self.feed.wait(self.agent);
        let policy = self.person.get(POLICY).unwrap();
        let violations = policy["status"]["violations"].as_array().unwrap();
        let told: Vec<_> = violations.iter().map(|it| (&it["dstPort"], &it["action"])).collect();
        assert_eq!(told, [(&json!(port), &json!(mode))], "{policy:#}");
        assert_eq!(self.person.get(PROPOSAL), None);
    }
}
