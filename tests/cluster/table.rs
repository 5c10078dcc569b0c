//! The lifecycle, row by row: what the agent makes of a proposal, a label and a policy of one name.

use netenf_testkit::control_plane::Client;
use serde_json::{Value, json};

use crate::agent::{Agent, account};
use crate::feed::Feed;
use crate::person::{Person, istio_policy, policy, proposal};
use crate::plane;

const NAME: &str = "deployment-web-egress";
const PROPOSAL: &str = "wnpp/deployment-web-egress";
const POLICY: &str = "wnp/deployment-web-egress";
const NATIVE: &str = "networkpolicy/deployment-web-egress";
const PROMOTED_FROM: &str = "networkenforcer.kubewarden.io/promoted-from";

/// A namespace of the cluster, and who is there.
struct Place<'a> {
    namespace: &'static str,
    person: Person<'a>,
    feed: &'a Feed,
    agent: &'a Agent,
}

/// Rows are told in the order of enforcer.md 13; where our outcome is another than the reference's it says so.
///
/// | proposal | label | policy | promoted-from | outcome |
/// |---|---|---|---|---|
/// | no | – | no | – | `learned`: the next flow makes a proposal |
/// | yes | none, invalid | no | – | `unclear`: it grows; an invalid label is told (there: nothing is) |
/// | yes | monitor, protect | no | – | `monitored`, `protected`: it becomes the policy, which tells it |
/// | yes | any | yes | its name | `left`: it goes, and what only it knew is listed in the policy (there: lost) |
/// | yes | monitor, protect | yes | none, another | `taken`, `others`: told by a condition and an Event, and it learns on |
/// | no | – | monitor | its name | `watched`: what it does not allow is a violation, and nothing else is |
/// | no | – | protect | its name | `guarded`: what is denied is a violation, what is allowed is none |
/// | no | – | Istio's | its name | `foreign`: left alone, which is told (there: a panic under another provider) |
/// | no | – | yes | none | `handmade`: enforced and judged like a promoted one (there: never judged, and it learns beside it) |
/// | any | – | deleted | – | `deleted`: its object goes with it, and the next flow makes a proposal |
const ROWS: [(&str, fn(&Place<'_>)); 12] = [
    ("learned", learned),
    ("unclear", unclear),
    ("monitored", monitored),
    ("protected", protected),
    ("left", left),
    ("taken", taken),
    ("others", others),
    ("watched", watched),
    ("guarded", guarded),
    ("foreign", foreign),
    ("handmade", handmade),
    ("deleted", deleted),
];

#[test]
fn every_row_of_the_lifecycle_has_its_outcome() {
    let plane = plane();
    let account = account(&plane);
    let feed = Feed::new(&account, "flows");
    let agent = feed.start(&account, "one");
    for (namespace, row) in ROWS {
        row(&Place::new(plane.admin(), namespace, (&feed, &agent)));
    }
}

fn learned(place: &Place<'_>) {
    place.learn("db:5432");
    assert_eq!(place.ports(PROPOSAL), [5432]);
    assert_eq!(place.person.get(POLICY), None);
}

fn unclear(place: &Place<'_>) {
    place.learn("db:5432");
    place.learn("cache:6379");
    assert_eq!(place.ports(PROPOSAL), [6379, 5432], "without a label it grows");
    place.promote("enforce");
    place.person.wait_for(PROPOSAL, "Promoted", "False", "InvalidMode");
    place.learn("queue:5672");
    assert_eq!(place.ports(PROPOSAL), [6379, 5432, 5672], "with a wrong one too");
    assert_eq!(place.person.get(POLICY), None);
    place.person.run("label wnpp/deployment-web-egress networkenforcer.kubewarden.io/promote-");
    place
        .person
        .wait("nothing is told any more", |it| it.condition(PROPOSAL, "Promoted").is_none());
}

fn monitored(place: &Place<'_>) {
    place.becomes("monitor");
    place.person.wait_for(POLICY, "Enforced", "False", "Monitoring");
    assert_eq!(place.person.get(NATIVE), None);
}

fn protected(place: &Place<'_>) {
    place.becomes("protect");
    place.person.wait("it is enforced", |it| it.get(NATIVE).is_some());
    let (policy, native) = (place.person.get(POLICY).unwrap(), place.person.get(NATIVE).unwrap());
    assert_eq!(native["spec"], policy["spec"]["kubernetes"]);
    assert_eq!(native["metadata"]["ownerReferences"][0]["uid"], policy["metadata"]["uid"]);
}

/// As after an interruption between the two writes of a promotion, in which it learned more.
fn left(place: &Place<'_>) {
    let mut grown = place.here(&proposal(NAME));
    let mut more = grown["spec"]["kubernetes"]["egress"][0].clone();
    more["ports"][0]["port"] = json!(6379);
    grown["spec"]["kubernetes"]["egress"].as_array_mut().unwrap().push(more);
    place.person.apply(&grown);
    place.person.wait("the proposal is older than the policy", |it| it.is_past(PROPOSAL));
    place.person.apply(&place.of(policy(NAME, "monitor"), NAME));
    place.person.wait("the proposal is gone", |it| it.get(PROPOSAL).is_none());
    let policy = place.person.get(POLICY).unwrap();
    let late = &policy["status"]["uncovered"][0];
    assert_eq!((&late["reason"], &late["port"]), (&json!("Late"), &json!(6379)), "{policy:#}");
    place.person.wait("it is told", |it| it.events().contains("LearnedLate"));
}

fn taken(place: &Place<'_>) {
    place.is_in_the_way(&place.here(&policy(NAME, "monitor")));
}

fn others(place: &Place<'_>) {
    place.is_in_the_way(&place.of(policy(NAME, "monitor"), "deployment-other-egress"));
}

fn watched(place: &Place<'_>) {
    place.person.apply(&place.of(policy(NAME, "monitor"), NAME));
    place.judges("monitor");
}

fn guarded(place: &Place<'_>) {
    place.person.apply(&place.of(policy(NAME, "protect"), NAME));
    place.person.wait("it is enforced", |it| it.get(NATIVE).is_some());
    place.connects("db:5432");
    place.feed.is_denied(&place.flow("cache:6379"));
    place.has_violation("protect", 6379);
}

fn foreign(place: &Place<'_>) {
    place.person.apply(&place.of(istio_policy(NAME, "monitor"), NAME));
    place.person.wait_for(POLICY, "Ready", "False", "OtherBackend");
    place.connects("db:5432");
    place.feed.wait(place.agent);
    assert_eq!((place.person.get(PROPOSAL), place.person.get(NATIVE)), (None, None));
}

fn handmade(place: &Place<'_>) {
    place.person.apply(&place.here(&policy(NAME, "monitor")));
    place.judges("monitor");
    place.person.patch(POLICY, &json!({"spec": {"mode": "protect"}}));
    place.person.wait("it is enforced", |it| it.get(NATIVE).is_some());
}

fn deleted(place: &Place<'_>) {
    place.becomes("protect");
    place.person.wait("it is enforced", |it| it.get(NATIVE).is_some());
    place.person.run("delete wnp/deployment-web-egress");
    place.person.wait("its object goes with it", |it| it.get(NATIVE).is_none());
    place.feed.wait(place.agent);
    assert_eq!(place.person.get(PROPOSAL), None, "nothing was seen since");
    place.learn("cache:6379");
    assert_eq!(place.ports(PROPOSAL), [6379], "what was seen before was deleted");
}

// === impl Place ===

impl<'a> Place<'a> {
    fn new(
        client: &'a Client,
        namespace: &'static str,
        (feed, agent): (&'a Feed, &'a Agent),
    ) -> Self {
        let person = Person::moving_to(client, namespace);
        Self { namespace, person, feed, agent }
    }

    fn flow(&self, to: &str) -> String {
        format!("{0}/web > {0}/{to}", self.namespace)
    }

    fn connects(&self, to: &str) {
        self.feed.connects(&self.flow(to));
    }

    /// A connection is seen, and what was made of it is written.
    fn learn(&self, to: &str) {
        self.connects(to);
        self.feed.wait(self.agent);
    }

    /// The object, with rules about this namespace.
    fn here(&self, object: &Value) -> Value {
        let own = json!(self.namespace).to_string();
        serde_json::from_str(&object.to_string().replace("\"shop\"", &own)).unwrap()
    }

    /// The same as a policy that was promoted from a proposal.
    fn of(&self, policy: Value, promoted_from: &str) -> Value {
        let mut policy = self.here(&policy);
        policy["metadata"]["labels"] = json!({PROMOTED_FROM: promoted_from});
        policy
    }

    fn promote(&self, mode: &str) {
        let label =
            "label --overwrite wnpp/deployment-web-egress networkenforcer.kubewarden.io/promote";
        self.person.run(&format!("{label}={mode}"));
    }

    /// Ports of the rules, in their order: that of the peers.
    fn ports(&self, object: &str) -> Vec<u64> {
        let object = self.person.get(object).unwrap();
        let rules = object["spec"]["kubernetes"]["egress"].as_array().unwrap();
        let ports = rules.iter().flat_map(|rule| rule["ports"].as_array().unwrap());
        ports.map(|port| port["port"].as_u64().unwrap()).collect()
    }

    /// A proposal is learned and becomes the policy.
    fn becomes(&self, mode: &str) {
        self.learn("db:5432");
        let proposal = self.person.get(PROPOSAL).unwrap();
        self.promote(mode);
        self.person.wait("the policy is there and the proposal is gone", |it| {
            it.get(POLICY).is_some() && it.get(PROPOSAL).is_none()
        });
        let policy = self.person.get(POLICY).unwrap();
        assert_eq!(policy["spec"]["mode"], mode);
        assert_eq!(policy["spec"]["kubernetes"], proposal["spec"]["kubernetes"]);
        assert_eq!(policy["metadata"]["labels"][PROMOTED_FROM], NAME);
        self.person.wait("it is told", |it| it.events().contains("Normal Promoted"));
    }

    /// A policy that was not promoted from the proposal has its name.
    fn is_in_the_way(&self, policy: &Value) {
        self.learn("db:5432");
        self.person.apply(policy);
        self.promote("protect");
        self.person.wait_for(PROPOSAL, "Promoted", "False", "AlreadyExists");
        self.person.wait("an Event tells it", |it| it.events().contains("Warning AlreadyExists"));
        self.learn("cache:6379");
        assert_eq!(self.ports(PROPOSAL), [6379, 5432], "it learns on");
        assert_eq!(self.person.get(POLICY).unwrap()["spec"], policy["spec"]);
        assert_eq!(self.person.get(NATIVE), None);
        self.person.run("delete wnp/deployment-web-egress");
        self.person.wait("the proposal takes the place", |it| {
            it.get(PROPOSAL).is_none() && it.get(NATIVE).is_some()
        });
    }

    /// The policy reports what it does not allow.
    fn judges(&self, mode: &str) {
        self.connects("db:5432");
        self.connects("cache:6379");
        self.has_violation(mode, 6379);
    }

    /// One violation and no other is told, and no proposal is made.
    fn has_violation(&self, mode: &str, port: u16) {
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
