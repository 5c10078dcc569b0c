//! What the agent may do and what it does, by the API server's own record: no rule is unused, and nothing more is
//! asked for.

use std::collections::BTreeSet;

use netenf_testkit::control_plane::{ControlPlane, Options};
use serde_json::{Value, json};

use crate::agent::{Agent, RULES, account};
use crate::feed::Feed;
use crate::foreign::definitions;
use crate::person::{Person, istio_policy};
use crate::plane_with;

/// Asks for a right that no request needs: whoever makes an object that keeps its owner from going must be allowed
/// to set the owner's finalizers.
const PLUGIN: &str = "OwnerReferencesPermissionEnforcement";

/// The right that the plugin asks for.
const FINALIZERS: &str = "update networkenforcer.kubewarden.io/workloadnetworkpolicies/finalizers";

const PROPOSAL: &str = "wnpp/deployment-web-egress";
const POLICY: &str = "wnp/deployment-web-egress";
const NATIVE: &str = "networkpolicy/deployment-web-egress";

/// What `agent/rbac.yaml` grants, each as `VERB GROUP/RESOURCE`.
fn granted() -> BTreeSet<String> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(RULES).unwrap();
    let rules = documents.iter().filter_map(|document| document["rules"].as_array()).flatten();
    let words = |rule: &Value, field: &str| -> Vec<String> {
        let all = rule[field].as_array().unwrap().iter();
        all.map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    let mut granted = BTreeSet::new();
    for rule in rules {
        for group in words(rule, "apiGroups") {
            for resource in words(rule, "resources") {
                let verbs = words(rule, "verbs").into_iter();
                granted.extend(verbs.map(|verb| format!("{verb} {group}/{resource}")));
            }
        }
    }
    granted
}

/// What the agent asked for, in the same form, and whether RBAC let it. What everybody may ask for has no resource.
fn asked(plane: &ControlPlane) -> BTreeSet<(bool, String)> {
    let events = plane.audited().unwrap();
    let events = events.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let own = events
        .filter(|event| event["user"]["username"] == "system:serviceaccount:netenf:netenf-agent");
    let about = own.filter_map(|event| {
        let object = event["objectRef"].as_object()?;
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
        let part = Some(text("subresource")).filter(|it| !it.is_empty());
        let part = part.map(|it| format!("/{it}")).unwrap_or_default();
        let what = format!("{}/{}{part}", text("apiGroup"), text("resource"));
        let is_allowed = event["annotations"]["authorization.k8s.io/decision"] == "allow";
        Some((is_allowed, format!("{} {what}", event["verb"].as_str()?)))
    });
    about.collect()
}

/// Without the right to finalizers no native object is made, which is told.
fn needs_finalizers(plane: &ControlPlane, shop: Person<'_>) {
    let rule = "- apiGroups: [networkenforcer.kubewarden.io]
  resources: [workloadnetworkpolicies/finalizers]
  verbs: [update]
";
    assert!(RULES.contains(rule));
    let apply = ["apply", "--server-side", "-f", "-"];
    plane.admin().kubectl_reading(&RULES.replace(rule, ""), &apply).unwrap();
    shop.patch(POLICY, &json!({"spec": {"mode": "protect"}}));
    shop.wait_for(POLICY, "Ready", "False", "Refused");
    let told = shop.condition(POLICY, "Ready").unwrap()["message"].to_string();
    assert!(told.contains("can't set finalizers on"), "{told}");
    plane.admin().kubectl_reading(RULES, &apply).unwrap();
    shop.wait_for(POLICY, "Ready", "True", "Valid");
}

/// Somebody changes the native object, which is put back and told for the `count`-th time, which only further ones have.
fn drift(shop: Person<'_>, count: Option<u64>) {
    shop.patch(NATIVE, &json!({"spec": {"policyTypes": ["Ingress"], "egress": null}}));
    shop.wait("it is put back", |it| {
        it.get(NATIVE).unwrap()["spec"]["policyTypes"] == json!(["Egress"])
    });
    shop.wait("it is told", |it| {
        let events = it.get("events.events.k8s.io").unwrap();
        let mut events = events["items"].as_array().unwrap().iter();
        let drift = events.find(|event| event["reason"] == "DriftReverted");
        drift.is_some_and(|drift| drift["series"]["count"] == json!(count))
    });
}

/// From the first flow to the end of a policy, with all that can come between.
fn live(plane: &ControlPlane, feed: &Feed, agent: Agent, start: impl Fn() -> Agent) {
    let shop = Person::moving_to(plane.admin(), "shop");
    for port in ["db:5432", "cache:6379"] {
        feed.connects(&format!("shop/web > shop/{port}"));
        feed.wait(&agent);
    }
    shop.run(&format!("label {PROPOSAL} networkenforcer.kubewarden.io/promote=monitor"));
    shop.wait("it is promoted", |it| it.get(PROPOSAL).is_none());
    feed.connects("shop/web > shop/queue:5672");
    let violation = |it: &Person<'_>| {
        Some(it.get(POLICY)?.pointer("/status/violations/0/id")?.as_str()?.to_owned())
    };
    shop.wait("a violation is told", |it| violation(it).is_some());
    let id = violation(&shop).unwrap();
    shop.run(&format!("annotate {POLICY} networkenforcer.kubewarden.io/acknowledge-{id}=known"));
    shop.wait("it is acknowledged", |it| violation(it).is_none());
    needs_finalizers(plane, shop);
    drift(shop, None);
    drift(shop, Some(2));
    agent.stop();
    let agent = start();
    drift(shop, Some(3));
    shop.patch(POLICY, &json!({"spec": {"mode": "monitor"}}));
    shop.wait("nothing is enforced", |it| it.get(NATIVE).is_none());
    agent.stop();
}

/// The same for Istio, whose objects stay in monitor and deny nothing.
fn live_with_istio(plane: &ControlPlane, agent: Agent) {
    let shop = Person::new(plane.admin(), "shop");
    shop.apply(&istio_policy("web", "protect"));
    let is_dry = |it: &Person<'_>| {
        let native = it.get("authorizationpolicy/web")?;
        Some(native["metadata"]["annotations"]["istio.io/dry-run"] == "true")
    };
    shop.wait("it is in force", |it| is_dry(it) == Some(false));
    shop.patch("wnp/web", &json!({"spec": {"mode": "monitor"}}));
    shop.wait("it denies nothing", |it| is_dry(it) == Some(true));
    shop.run("delete wnp/web");
    shop.wait("its object goes with it", |it| is_dry(it).is_none());
    agent.stop();
}

#[test]
fn the_agent_needs_each_of_its_rules_and_no_other() {
    let options = Options { audit: true, admission: vec![PLUGIN], ..Options::default() };
    let plane = plane_with(options);
    Person::new(plane.admin(), "default").apply(&definitions());
    let account = account(&plane);
    let feed = Feed::new(&account, "flows");
    let start = || feed.start(&account, "one");
    live(&plane, &feed, start(), start);
    live_with_istio(&plane, feed.start_with(&account, "one", &["--backend=istio"]));

    let asked = asked(&plane);
    let refused: Vec<_> = asked.iter().filter(|(is_allowed, _)| !is_allowed).collect();
    assert!(refused.is_empty(), "{refused:?}");
    let used: BTreeSet<String> = asked.into_iter().map(|(_, what)| what).collect();
    let granted = granted();
    assert_eq!(used.difference(&granted).collect::<Vec<_>>(), [""; 0], "not by these rules");
    // That the last one is needed is what the plugin says.
    assert_eq!(granted.difference(&used).collect::<Vec<_>>(), [FINALIZERS], "not needed");
}
