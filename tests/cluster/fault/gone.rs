//! A history that the server forgot.

use netenf_testkit::control_plane::proxy::Proxy;

use super::{Fate, promoted};
use crate::agent::{Agent, account};
use crate::person::{Person, policy, proposal};
use crate::plane;

/// How often the agent listed its policies.
fn lists(agent: &Agent) -> Option<u64> {
    agent.metric(
        "watch_lists_total{resource=\"workloadnetworkpolicies.networkenforcer.kubewarden.io\"}",
    )
}

/// etcd is compacted while the agent is cut off, so that no watch can be resumed.
#[test]
fn what_happened_in_a_time_that_the_server_forgot_is_acted_upon() {
    let mut plane = plane();
    let proxy = Proxy::start(&plane).unwrap();
    let agent = Agent::start_with(&proxy.client(&account(&plane)).unwrap(), "one", &[]);
    let name = |name: &str| format!("deployment-{name}-egress");
    let shop = Person::moving_to(plane.admin(), "shop");
    for kept in ["drifts", "goes", "changes"] {
        shop.apply(&policy(&name(kept), "protect"));
    }
    shop.apply(&proposal(&name("waits")));
    shop.wait("all are in force", |it| it.run("get networkpolicies -o name").lines().count() == 3);
    shop.wait("the agent is done", |_| agent.is_idle());
    assert_eq!(lists(&agent), Some(1));

    proxy.decide(|_, _| Fate::Cut);
    shop.run("delete networkpolicy/deployment-drifts-egress");
    shop.run("delete wnp/deployment-goes-egress");
    shop.patch("wnp/deployment-changes-egress", &serde_json::json!({"spec": {"mode": "monitor"}}));
    shop.run("label wnpp/deployment-waits-egress networkenforcer.kubewarden.io/promote=protect");
    shop.apply(&promoted(&name("comes")));
    plane.forget_history().unwrap();
    proxy.decide(|_, _| Fate::Pass);

    let shop = Person::new(plane.admin(), "shop");
    let natives = "networkpolicy.networking.k8s.io/deployment-drifts-egress\n\
                   networkpolicy.networking.k8s.io/deployment-waits-egress\n";
    shop.wait("all is done", |it| {
        it.run("get networkpolicies -o name") == natives
            && it.get(&format!("wnp/{}", name("comes"))).is_some()
            && it.run("get wnpp -o name").is_empty()
    });
    shop.wait("the agent is ready again", |_| agent.is_ready());
    assert_eq!(lists(&agent), Some(2));
}
