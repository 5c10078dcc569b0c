//! Kinds that come when the agent runs already.

use std::time::{Duration, Instant};

use crate::agent::{Agent, account};
use crate::foreign::definition;
use crate::person::{Person, istio_policy};
use crate::plane;

/// What is there takes effect by then.
const SOON: Duration = Duration::from_secs(15);

#[test]
fn a_kind_that_comes_later_is_written_and_watched_at_once_and_missing_until_then_is_told() {
    let plane = plane();
    let agent = Agent::start_with(&account(&plane), "one", &["--backend=istio"]);
    let shop = Person::moving_to(plane.admin(), "shop");
    shop.wait("the agent is ready without the kinds", |_| agent.is_ready());
    let kind = |resource: &str| agent.report()["kinds"][resource].clone();
    let [istio, tier] = [
        "authorizationpolicies.security.istio.io",
        "clusternetworkpolicies.policy.networking.k8s.io",
    ];
    for absent in [kind(istio), kind(tier)] {
        assert!(absent.as_str().unwrap().starts_with("not served"), "{absent}");
    }
    shop.apply(&istio_policy("web", "protect"));
    shop.wait_for("wnp/web", "Ready", "False", "Refused");

    for kind in ["AuthorizationPolicy", "ClusterNetworkPolicy"] {
        shop.apply(&definition(kind));
    }
    let came = Instant::now();
    shop.wait("both are watched", |_| [kind(istio), kind(tier)] == ["synced", "synced"]);
    let native = "authorizationpolicy/web";
    shop.wait("the policy is in force", |it| it.get(native).is_some());
    assert!(came.elapsed() < SOON, "it took {:?}", came.elapsed());
    shop.wait_for("wnp/web", "Ready", "True", "Valid");

    shop.run(&format!("delete {native}"));
    shop.wait("it is put back", |it| it.get(native).is_some());
}
