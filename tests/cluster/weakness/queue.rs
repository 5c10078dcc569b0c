//! What the agent does again, and what it does not.

use serde_json::{Value, json};

use crate::agent::{Agent, account};
use crate::person::{Person, policy};
use crate::place::{NAME, NATIVE, POLICY, Place, Scene};
use crate::plane;

/// Refuses native objects by their names.
const REFUSING: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: not-these}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [networking.k8s.io], apiVersions: [v1], operations: [CREATE], resources: [networkpolicies]}
  validations: [{expression: \"!object.metadata.name.startsWith('refused-')\", message: not this one}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: not-these}
spec: {policyName: not-these, validationActions: [Deny]}
";

/// As many of each sort.
const COUNT: usize = 20;

/// W24, W26: objects that cannot be followed are told, asked again ever more rarely, and stop nobody else.
#[test]
fn many_that_cannot_be_followed_stop_no_other_and_are_seldom_tried() {
    let plane = plane();
    let account = account(&plane);
    plane.admin().kubectl_reading(REFUSING, &["apply", "-f", "-"]).unwrap();
    let person = Person::moving_to(plane.admin(), "shop");
    let refusal = || {
        let refused = policy("refused-probe", "protect")["spec"]["kubernetes"].clone();
        let probe = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
            "metadata": {"name": "refused-probe"}, "spec": refused});
        person.read(&probe, "create --dry-run=server -f -").is_err()
    };
    person.wait("the refusal is in force", |_| refusal());
    let many = |sort: &str, spoil: fn(&mut Value)| -> Vec<Value> {
        let one = |number| {
            let mut policy = policy(&format!("{sort}-{number}"), "protect");
            spoil(&mut policy["spec"]["kubernetes"]);
            policy
        };
        (0..COUNT).map(one).collect()
    };
    let mut items = many("invalid", |spec| {
        spec["egress"][0]["to"] = json!([{"ipBlock": {"cidr": "10.0.0.1/8"}}]);
    });
    items.extend(many("refused", |_| {}));
    items.extend(many("valid", |_| {}));
    person.apply(&json!({"apiVersion": "v1", "kind": "List", "items": items}));

    let agent = Agent::start(&account, "one");
    let reasons = |sort: &str| -> Vec<String> {
        let ready = "{range .items[*]}{.metadata.name} {.status.conditions[?(@.type=='Ready')].reason};{end}";
        let words = ["get", "wnp", "-n=shop", &format!("-o=jsonpath={ready}")];
        let all = plane.admin().kubectl(&words).unwrap();
        let of_sort = all.split(';').filter(|line| line.starts_with(sort));
        of_sort.filter_map(|line| Some(line.split_once(' ')?.1.to_owned())).collect()
    };
    for (sort, reason) in [("valid", "Valid"), ("invalid", "InvalidSpec"), ("refused", "Refused")] {
        person.wait("all of the sort are told", |_| reasons(sort) == vec![reason; COUNT]);
    }
    let natives = || person.run("get networkpolicies -o name");
    assert_eq!(natives().lines().filter(|name| name.contains("/valid-")).count(), COUNT);
    assert_eq!(natives().lines().count(), COUNT, "nothing else is enforced");
    let refusals = agent.writes_that_ended("Invalid") + agent.writes_that_ended("Forbidden");
    assert!(
        (COUNT..=6 * COUNT).contains(&usize::try_from(refusals).unwrap()),
        "{refusals} refusals"
    );
    person.wait("Events tell it", |it| {
        let events = it.events();
        events.contains("Warning Refused refused-0")
            && events.contains("Warning InvalidSpec invalid-0")
    });

    // What changes for one of them is seen although others wait.
    plane.admin().kubectl_reading(REFUSING, &["delete", "-f", "-"]).unwrap();
    person.wait("all are enforced that can be", |_| natives().lines().count() == 2 * COUNT);
    person.wait("that is told", |_| reasons("refused") == vec!["Valid"; COUNT]);
}

/// W27: what is as it should be costs no write, however often it is looked at and its traffic seen again.
#[test]
fn nothing_is_written_while_nothing_changes() {
    let Scene { plane, feed, agent, .. } = Scene::new();
    let place = Place::new(plane.admin(), "shop", (&feed, &agent));
    let person = place.person;
    person.apply(&policy(NAME, "protect"));
    person.apply(&policy("deployment-api-egress", "monitor"));
    let pairs = [
        "web > shop/db:5432",
        "api > shop/db:5432",
        "batch > shop/queue:5672",
        "batch > 203.0.113.7:443",
    ];
    let see = || {
        for pair in pairs {
            feed.connects(&format!("shop/{pair}"));
        }
        feed.wait(&agent);
    };
    see();
    person.wait("it is enforced", |it| it.get(NATIVE).is_some());
    person.wait_for(POLICY, "Enforced", "Unknown", "EnforcerUnknown");
    person.wait_for("wnp/deployment-api-egress", "Enforced", "False", "Monitoring");
    see();
    let versions = || {
        let path =
            "jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion};{end}";
        let words = ["get", "wnpp,wnp,networkpolicies", "-n=shop", "-o", path];
        (plane.admin().kubectl(&words).unwrap(), agent.writes())
    };
    let before = versions();
    assert!(before.0.contains("Proposal deployment-batch-egress"), "{}", before.0);
    // Intervals of learning and of the status, each with the same traffic.
    for _ in 0..30 {
        see();
    }
    assert_eq!(versions(), before);
}
