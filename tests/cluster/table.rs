//! The lifecycle, row by row: what the agent makes of a proposal, a label and a policy of one name.

use serde_json::{Value, json};

use crate::person::{istio_policy, policy, proposal};
use crate::place::{NAME, NATIVE, POLICY, PROMOTED_FROM, PROPOSAL, Place, Scene};

/// What is done and found in the place of a row.
type Row = fn(&Place<'_>);

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
const ROWS: [(&str, Row); 12] = [
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
    let Scene { plane, feed, agent, .. } = Scene::new();
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
    place.person.apply(&place.of(&policy(NAME, "monitor"), NAME));
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
    place.is_in_the_way(&place.of(&policy(NAME, "monitor"), "deployment-other-egress"));
}

fn watched(place: &Place<'_>) {
    place.person.apply(&place.of(&policy(NAME, "monitor"), NAME));
    place.judges("monitor");
}

fn guarded(place: &Place<'_>) {
    place.person.apply(&place.of(&policy(NAME, "protect"), NAME));
    place.person.wait("it is enforced", |it| it.get(NATIVE).is_some());
    place.connects("db:5432");
    place.feed.is_denied(&place.flow("cache:6379"));
    place.has_violation("protect", 6379);
}

fn foreign(place: &Place<'_>) {
    place.person.apply(&place.of(&istio_policy(NAME, "monitor"), NAME));
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

impl Place<'_> {
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
}
