//! Two who write one proposal: the agent, which learns, and a person or what speaks for one.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::agent::account;
use crate::feed::Feed;
use crate::person::{Person, proposal};
use crate::place::{PROPOSAL, Place, Scene};
use crate::plane;

/// Rules, entries of evidence that are refused, and the selector.
fn rules(object: &Value) -> Vec<Value> {
    object["spec"]["kubernetes"]["egress"].as_array().cloned().unwrap_or_default()
}

fn refused(object: &Value) -> Vec<u64> {
    let rules = object["status"]["rules"].as_array().cloned().unwrap_or_default();
    let refused = rules.iter().filter(|rule| rule["refused"] == true);
    refused.filter_map(|rule| rule["port"].as_u64()).collect()
}

/// What a person took out stays out, what they widened has no double, what they selected stays selected; all else is
/// learned on.
#[test]
fn what_a_person_decided_is_learned_around() {
    let Scene { plane, account, feed, agent } = Scene::new();
    let place = Place::new(plane.admin(), "shop", (&feed, &agent));
    let person = Person::new(plane.admin(), "shop");
    for to in ["cache:6379", "db:5432", "queue:5672"] {
        place.learn(to);
    }
    let learned = rules(&person.get(PROPOSAL).unwrap());
    assert_eq!(place.ports(PROPOSAL), [6379, 5432, 5672]);
    // cache is out, db is open on every port, and the selector says more.
    let mut wide = learned[1].clone();
    wide.as_object_mut().unwrap().remove("ports");
    let labels = json!({"app": "web", "tier": "front"});
    let edited = json!({"podSelector": {"matchLabels": labels}, "egress": [wide, learned[2]]});
    person.patch(PROPOSAL, &json!({"spec": {"kubernetes": edited}}));
    for to in ["cache:6379", "db:5432", "db:5433", "mail:25", "cache:6379"] {
        place.learn(to);
    }
    person.wait("what was taken out is marked", |it| refused(&it.get(PROPOSAL).unwrap()) == [6379]);
    let after = person.get(PROPOSAL).unwrap();
    let now = rules(&after);
    assert_eq!(now.len(), 3, "{after:#}");
    assert!(now.contains(&wide) && now.contains(&learned[2]), "{after:#}");
    assert!(
        now.iter().any(|rule| rule["ports"] == json!([{"port": 25, "protocol": "TCP"}])),
        "{after:#}"
    );
    assert_eq!(after["spec"]["kubernetes"]["podSelector"]["matchLabels"], labels);

    // Another replica knows it as well.
    agent.stop();
    let again = Feed::new(&account, "again");
    let agent = again.start(&account, "two");
    for to in ["cache:6379", "db:5434", "lake:9000"] {
        again.connects(&format!("shop/web > shop/{to}"));
    }
    again.wait(&agent);
    let later = person.get(PROPOSAL).unwrap();
    assert_eq!((rules(&later).len(), refused(&later)), (4, vec![6379]), "{later:#}");
}

/// `kubectl replace` with what was read, against an agent that writes all the time: neither side loses anything.
#[test]
fn edits_that_race_with_learning_lose_nothing() {
    const EDITS: u64 = 30;
    let plane = plane();
    let account = account(&plane);
    let feed = Feed::new(&account, "flows");
    let agent = feed.start_with(&account, "one", &["--learning-flush-interval=10ms"]);
    let place = Place::new(plane.admin(), "shop", (&feed, &agent));
    let person = place.person;
    place.learn("db:5432");
    let edit = |number: u64| -> bool {
        let mut object = person.get(PROPOSAL).unwrap();
        let labels = json!({"app": format!("own-{number}")});
        let own = json!({"to": [{"podSelector": {"matchLabels": labels}}]});
        object["spec"]["kubernetes"]["egress"].as_array_mut().unwrap().push(own);
        match person.read(&object, "replace -f -") {
            Ok(_) => true,
            Err(error) => {
                assert!(error.to_string().contains("the object has been modified"), "{error:#}");
                false
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..EDITS {
                person.wait("the edit is taken", |_| {
                    place.connects(&format!("db:{}", 6000 + number));
                    edit(number)
                });
            }
        });
    });
    feed.wait(&agent);
    let object = person.get(PROPOSAL).unwrap();
    let own: BTreeSet<String> = rules(&object)
        .iter()
        .filter_map(|rule| {
            rule.pointer("/to/0/podSelector/matchLabels/app")?.as_str().map(str::to_owned)
        })
        .filter(|app| app.starts_with("own-"))
        .collect();
    let expected: BTreeSet<String> = (0..EDITS).map(|number| format!("own-{number}")).collect();
    assert_eq!(own, expected);
    let ports: BTreeSet<u64> = rules(&object)
        .iter()
        .flat_map(|rule| rule["ports"].as_array().cloned().unwrap_or_default())
        .filter_map(|port| port["port"].as_u64())
        .collect();
    assert!((6000..6000 + EDITS).all(|port| ports.contains(&port)), "{ports:?}");
    assert!(refused(&object).is_empty(), "nobody took anything out");
}

/// What a repository says is applied again and again under its own name: it wins, and the two do not fight.
#[test]
fn a_repository_that_applies_its_proposal_has_its_way_and_peace() {
    let Scene { plane, feed, agent, .. } = Scene::new();
    let place = Place::new(plane.admin(), "shop", (&feed, &agent));
    let person = place.person;
    let manifest = place.here(&proposal("deployment-web-egress"));
    let apply = || {
        person
            .read(&manifest, "apply --server-side --force-conflicts --field-manager=argocd -f -")
            .unwrap();
    };
    apply();
    place.learn("db:5432");
    place.learn("cache:6379");
    assert_eq!(place.ports(PROPOSAL), [6379, 5432], "learning adds to it");
    apply();
    place.learn("cache:6379");
    person.wait("what the repository does not say is refused", |it| {
        refused(&it.get(PROPOSAL).unwrap()) == [6379]
    });
    let version = || person.get(PROPOSAL).unwrap()["metadata"]["resourceVersion"].clone();
    feed.wait(&agent);
    let (before, writes) = (version(), agent.writes());
    for _ in 0..5 {
        apply();
        place.learn("cache:6379");
    }
    assert_eq!((version(), agent.writes()), (before, writes), "they do not fight");
    assert_eq!(place.ports(PROPOSAL), [5432]);
    let managers = person.run("get wnpp/deployment-web-egress -o jsonpath={.metadata.managedFields[*].manager} --show-managed-fields");
    assert!(managers.contains("argocd") && managers.contains("netenf-agent"), "{managers}");
}
