use netenf_learn::observation::Observation;
use netenf_learn::{Config, Learner, NoObjects};

use super::*;
use crate::sample::opened;

fn policy(allowed: &str) -> Guard {
    let spec = serde_json::from_value(serde_json::json!({
        "mode": "monitor", "backend": "kubernetes", "kubernetes": {
            "podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Egress"],
            "egress": [{"to": [{"podSelector": {"matchLabels": {"app": allowed}}}]}],
        },
    }));
    Guard::new("WorkloadNetworkPolicy", "shop", "web", &spec.unwrap()).unwrap()
}

/// Port and count of what is denied by the policy web.
fn told(found: &HashMap<Name, Vec<Violation>>) -> Vec<(u16, i64)> {
    let own = found.get(&("shop".to_owned(), "web".to_owned()));
    own.into_iter().flatten().map(|one| (one.dst_port.unwrap(), one.count)).collect()
}

struct Traffic(Learner<NoObjects>, Judging);

impl Traffic {
    fn new() -> Self {
        Self(Learner::new(Config::default(), NoObjects), Judging::default())
    }

    fn see(&mut self, seen: &[Observation], guards: &[Guard]) -> (Vec<(u16, i64)>, Funnel) {
        for one in seen {
            self.0.observe(one);
        }
        let (found, funnel) = self.1.judge(&Index::default(), guards, self.0.outcome());
        assert_eq!(funnel.sum(), funnel.received, "{funnel:?}");
        (told(&found), funnel)
    }
}

/// What was seen before there was a policy is none of its violations, and each connection is one once.
#[test]
fn each_connection_is_judged_once_by_the_policies_of_its_time() {
    let mut traffic = Traffic::new();
    let (found, _) = traffic.see(&[opened("web", "db", 1, 1000)], &[]);
    assert_eq!(found, []);
    let guards = [policy("cache")];
    let seen = [
        opened("web", "db", 1, 1001),
        opened("web", "db", 1, 1002),
        opened("web", "cache", 2, 1003),
    ];
    let (found, funnel) = traffic.see(&seen, &guards);
    assert_eq!((found, funnel.learned, funnel.violations), (vec![(1, 2)], 2, 2));
    let (found, funnel) = traffic.see(&[], &guards);
    assert_eq!((found, funnel.violations), (vec![], 2));
    // By now it is allowed.
    let (found, funnel) = traffic.see(&[opened("web", "db", 1, 1004)], &[policy("db")]);
    assert_eq!((found, funnel.learned, funnel.violations), (vec![], 3, 2));
}

/// A second node's report of a connection is no other connection, and moves with it in the funnel.
#[test]
fn a_connection_that_is_reported_again_is_no_other_violation() {
    let mut traffic = Traffic::new();
    let guards = [policy("cache")];
    let seen = [opened("web", "db", 1, 1000)];
    assert_eq!(traffic.see(&seen, &guards).0, [(1, 1)]);
    let (found, funnel) = traffic.see(&seen, &guards);
    assert_eq!((found, funnel.received, funnel.violations), (vec![], 2, 2));
}
