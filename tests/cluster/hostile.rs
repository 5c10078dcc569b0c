//! Objects that the API server takes and that are wrong all the same.

use serde_json::{Value, json};

use crate::agent::account;
use crate::person::{Person, policy, proposal};
use crate::place::{NAME, NATIVE, POLICY, Place, Scene};
use crate::plane;

/// Every word of the label that names no mode is told, by a condition and an Event, and keeps nobody else.
#[test]
fn words_that_name_no_mode_are_told() {
    let plane = plane();
    let _agent = crate::agent::Agent::start(&account(&plane), "one");
    let person = Person::moving_to(plane.admin(), "shop");
    let longest = ["x".repeat(63).as_str(); 4].join(".")[..253].to_owned();
    let words = [
        ("empty", ""),
        ("case", "Monitor"),
        ("both", "monitor.protect"),
        ("long", &"p".repeat(63)),
        (&longest, "enforce"),
    ];
    for (name, word) in words {
        let mut object = proposal(name);
        object["metadata"]["labels"] = json!({"networkenforcer.kubewarden.io/promote": word});
        person.apply(&object);
    }
    let mut good = proposal(NAME);
    good["metadata"]["labels"] = json!({"networkenforcer.kubewarden.io/promote": "protect"});
    person.apply(&good);
    person.wait("the good one is enforced", |it| it.get(NATIVE).is_some());
    for (name, word) in words {
        let own = format!("wnpp/{name}");
        person.wait_for(&own, "Promoted", "False", "InvalidMode");
        let told = person.condition(&own, "Promoted").unwrap()["message"].to_string();
        assert!(
            told.contains("networkenforcer.kubewarden.io/promote") && told.contains(word),
            "{told}"
        );
        person
            .wait("it is told", |it| it.events().contains(&format!("Warning InvalidMode {name}")));
    }
    assert_eq!(person.run("get wnp -o name").lines().count(), 1);
}

/// A reason that is too long acknowledges nothing, which is told, and one that holds what no terminal should get is a
/// reason like others; no Event carries that on.
#[test]
fn acknowledgements_of_any_content_are_consumed() {
    let Scene { plane, feed, agent, .. } = Scene::new();
    let place = Place::new(plane.admin(), "shop", (&feed, &agent));
    let person = place.person;
    person.apply(&policy(NAME, "monitor"));
    person.wait_for(POLICY, "Ready", "True", "Valid");
    place.connects("cache:6379");
    let status = || person.get(POLICY).unwrap()["status"].clone();
    person.wait("the violation is told", |_| status()["activeViolationCount"] == 1);
    let id = status()["violations"][0]["id"].as_str().unwrap().to_owned();
    let annotate = |id: &str, reason: &str| {
        let key = format!("networkenforcer.kubewarden.io/acknowledge-{id}");
        person.patch(POLICY, &json!({"metadata": {"annotations": {key: reason}}}));
        person.wait("it is consumed", |it| {
            !it.get(POLICY).unwrap()["metadata"]["annotations"].to_string().contains("acknowledge-")
        });
    };
    annotate(&id, &"é\u{7}".repeat(60_000));
    person.wait("it is told", |it| it.events().contains("120000 characters"));
    assert_eq!(status()["activeViolationCount"], 1);
    annotate("v.._-x", "\u{1b}[31m");
    person.wait("it is told", |it| it.events().contains("v.._-x"));

    let hostile = "\u{1b}[2J\u{202e}\r\nknown";
    annotate(&id, hostile);
    person.wait("it is acknowledged", |_| status()["activeViolationCount"] == 0);
    assert_eq!(status()["acknowledgedViolations"][0]["reason"], hostile);
    let events = person.events();
    assert!(!events.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{events:?}");
}

/// A status that somebody else filled to its limits is kept within them, and what is cut is counted.
#[test]
fn a_status_at_its_limits_takes_what_is_new() {
    let Scene { plane, feed, agent, .. } = Scene::new();
    let place = Place::new(plane.admin(), "shop", (&feed, &agent));
    let person = place.person;
    person.apply(&policy(NAME, "monitor"));
    person.wait_for(POLICY, "Ready", "True", "Valid");
    let record = |number: usize| {
        json!({
            "id": format!("v{number}"), "direction": "Egress", "protocol": "TCP", "action": "monitor", "count": 1,
            "source": {"kind": "Deployment", "namespace": "shop", "name": "web"}, "dstPort": 9000 + number,
            "dest": {"kind": "\u{1b}[2J", "name": "x".repeat(5_000)}, "reason": "NoRule",
            "firstSeen": "2026-01-01T00:00:00Z", "lastSeen": "2026-01-01T00:00:00Z",
        })
    };
    let violations: Vec<Value> = (0..100).map(record).collect();
    let foreign = json!({"type": "Theirs", "status": "True", "reason": "x".repeat(1000), "message": "y".repeat(30_000),
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let mut conditions = person.get(POLICY).unwrap()["status"]["conditions"].clone();
    conditions.as_array_mut().unwrap().push(foreign.clone());
    let full = json!({"violations": violations, "activeViolationCount": 100, "violationCount": 100, "conditions": conditions});
    person.patch_status(POLICY, &json!({"status": full}));
    place.connects("cache:6379");
    let status = || person.get(POLICY).unwrap()["status"].clone();
    person.wait("the new one is told", |_| status()["violations"][0]["dstPort"] == 6379);
    let now = status();
    assert_eq!(now["violations"].as_array().unwrap().len(), 100);
    assert_eq!((&now["violationsTruncated"], &now["violationCount"]), (&json!(1), &json!(101)));
    assert!(now["conditions"].as_array().unwrap().contains(&foreign), "what others say stays");
}

/// An object that a newer version wrote is left alone, which is told, with everything of its name; others go on. Once
/// it can be read it is followed.
#[test]
fn what_a_newer_version_wrote_is_left_alone_and_told() {
    let Scene { plane, feed, agent, .. } = Scene::new();
    let place = Place::new(plane.admin(), "shop", (&feed, &agent));
    let person = place.person;
    person.apply(&policy(NAME, "protect"));
    person.wait("it is enforced", |it| it.get(NATIVE).is_some());
    let before = person.get(NATIVE);

    // The definition of a newer version, which knows a third mode.
    let definition =
        "customresourcedefinition/workloadnetworkpolicies.networkenforcer.kubewarden.io";
    let version = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/mode/enum/-";
    let patch = json!([{"op": "add", "path": version, "value": "quarantine"}]).to_string();
    plane.admin().kubectl(&["patch", definition, "--type=json", "-p", &patch]).unwrap();
    person.wait("the server knows it", |it| it.try_apply(&policy(NAME, "quarantine")).is_ok());
    person.wait("it is told", |it| it.events().contains(&format!("Warning Unreadable {NAME}")));
    assert!(
        person.events().contains("quarantine"),
        "it says what cannot be read: {}",
        person.events()
    );

    // A proposal of its name is not promoted over it, and nothing is learned into it; others are.
    person.apply(&proposal(NAME));
    place.promote("monitor");
    person.apply(&policy("deployment-api-egress", "protect"));
    person
        .wait("another is enforced", |it| it.get("networkpolicy/deployment-api-egress").is_some());
    place.learn("cache:6379");
    assert_eq!(place.ports("wnpp/deployment-web-egress"), [5432], "the proposal is left alone");
    assert_eq!(person.get(NATIVE), before, "what was in force is left alone");
    assert_eq!(person.get(POLICY).unwrap()["spec"]["mode"], "quarantine");

    person.run("delete wnpp/deployment-web-egress");
    person.apply(&policy(NAME, "monitor"));
    person.wait("it is followed again", |it| it.get(NATIVE).is_none());
    person.wait_for(POLICY, "Enforced", "False", "Monitoring");
}
