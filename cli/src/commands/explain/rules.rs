//! The rules that decide on a workload in one direction, in their order.

use netenf_k8s::reach::Reach;
use netenf_policy::{
    Action, Decider, End, NetworkPolicy, Object, Pod, Policies, RuleId, Side, Tier,
};
use serde_json::{Value, json};

use crate::commands::check;
use crate::output::{self, Table};

/// What decides in one direction.
pub(super) struct Direction {
    rules: Vec<Line>,
    /// NetworkPolicies that isolate the workload.
    isolating: Vec<Object>,
    is_pod: bool,
}

/// A rule that selects the workload.
struct Line {
    rule: RuleId,
    peers: Vec<String>,
    ports: Vec<String>,
    /// Whether it selects all pods of the workload.
    of_all: bool,
}

// === impl Direction ===

impl Direction {
    pub(super) fn new(reach: &Reach<'_>, side: Side, ends: &[End]) -> Self {
        let selecting: Vec<Policies<'_>> =
            ends.iter().map(|end| reach.policies().selecting(end)).collect();
        let is_of_all = |object: &Object| {
            selecting.iter().all(|policies| objects(policies).any(|own| own == *object))
        };
        let (admin, baseline) = (Tier::Admin, Tier::Baseline);
        let mut rules = cluster_lines(reach, side, &selecting, admin);
        let mut isolating = Vec::new();
        for policy in reach.policies().network() {
            let Some(own) = policy.rules(side).filter(|_| is_selecting(&selecting, policy)) else {
                continue;
            };
            isolating.push(Object::of_network(policy));
            rules.extend(own.iter().enumerate().map(|(index, rule)| Line {
                rule: RuleId::of_network(policy, index),
                peers: output::peers(&policy.namespace, rule.peers.as_deref()),
                ports: output::ports(rule.ports.as_deref()),
                of_all: false,
            }));
        }
        rules.extend(cluster_lines(reach, side, &selecting, baseline));
        for line in &mut rules {
            line.of_all = is_of_all(&line.rule.object);
        }
        let is_pod = ends.iter().any(|end| matches!(end, End::Pod(Pod { .. })));
        Self { rules, isolating, is_pod }
    }

    pub(super) fn text(&self, side: Side) -> String {
        let name = match side {
            Side::Egress => "egress",
            Side::Ingress => "ingress",
        };
        let state = match (self.is_pod, self.isolating.is_empty()) {
            (false, _) => "on the host's network: no policy applies".to_owned(),
            (true, true) => "not isolated: what no rule denies is allowed".to_owned(),
            (true, false) => {
                let by: Vec<String> = self.isolating.iter().map(check::object).collect();
                format!("isolated by {}: what no rule allows is denied", by.join(", "))
            }
        };
        let mut text = format!("{name}  {state}\n");
        let mut table = Table::new(&["", "", "", "", ""]);
        for line in &self.rules {
            let by = Decider::Rule(line.rule.clone());
            let note = if line.of_all { "" } else { "(some of its pods)" };
            let (peers, ports) = (line.peers.join(" or "), line.ports.join(", "));
            table.row(vec![
                action(line.rule.action).to_owned(),
                peers,
                format!("on {ports}"),
                check::decider(&by),
                note.to_owned(),
            ]);
        }
        for line in table.text(false).lines() {
            text.push_str(&format!("  {}\n", line.trim_end_matches("<none>").trim_end()));
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let rules = self.rules.iter().map(|line| {
            let mut value = check::decider_json(&Decider::Rule(line.rule.clone()));
            if let Some(fields) = value.as_object_mut() {
                fields.remove("reason");
            }
            value["action"] = json!(format!("{:?}", line.rule.action));
            value["peers"] = json!(line.peers);
            value["ports"] = json!(line.ports);
            value["allPods"] = json!(line.of_all);
            value
        });
        json!({
            "isolatedBy": self.isolating.iter().map(check::object_json).collect::<Vec<_>>(),
            "default": if self.is_pod && !self.isolating.is_empty() { "deny" } else { "allow" },
            "rules": rules.collect::<Vec<_>>(),
        })
    }
}

/// The objects of policies.
fn objects(policies: &Policies<'_>) -> impl Iterator<Item = Object> {
    let network = policies.network().iter().map(|policy| Object::of_network(policy));
    let cluster = policies.cluster().iter().map(|policy| Object::of_cluster(policy));
    network.chain(cluster)
}

fn is_selecting(selecting: &[Policies<'_>], policy: &NetworkPolicy) -> bool {
    selecting.iter().any(|own| own.network().iter().any(|one| std::ptr::eq(*one, policy)))
}

fn cluster_lines(
    reach: &Reach<'_>,
    side: Side,
    selecting: &[Policies<'_>],
    tier: Tier,
) -> Vec<Line> {
    let all = reach.policies().cluster().iter().filter(|policy| {
        policy.precedence().0 == tier
            && selecting
                .iter()
                .any(|own| own.cluster().iter().any(|one| std::ptr::eq(*one, **policy)))
    });
    let lines = all.flat_map(|policy| {
        let rules = policy.rules(side).iter().enumerate();
        rules.map(|(index, rule)| Line {
            rule: RuleId::of_cluster(policy, index, rule),
            peers: rule.peers.iter().map(output::cluster_peer).collect(),
            ports: output::cluster_ports(rule.ports.as_deref()),
            of_all: false,
        })
    });
    lines.collect()
}

fn action(action: Action) -> &'static str {
    match action {
        Action::Accept => "allow",
        Action::Deny => "deny",
        Action::Pass => "pass",
    }
}
