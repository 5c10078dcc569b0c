//! The rules that decide on a workload in one direction, in their order.

use netenf_k8s::reach::Reach;
use netenf_policy::{
    Action, ClusterPolicy, Decider, End, NetworkPolicy, Object, Policies, RuleId, Side, Tier,
};
use serde_json::{Value, json};

use crate::commands::check;
use crate::output::{self, Table};

/// What decides in one direction.
pub(super) struct Direction {
    rules: Vec<Line>,
    isolation: Isolation,
}

/// A rule that selects the workload.
struct Line {
    rule: RuleId,
    peers: Vec<String>,
    ports: Vec<String>,
    /// Whether it selects all pods of the workload.
    of_all: bool,
    /// Whether it is for one that it is asked about: Baseline is for what no NetworkPolicy isolates.
    asked: bool,
}

/// What NetworkPolicies make of the workload.
enum Isolation {
    /// It has no pod that a policy could select.
    HostNetwork,
    /// They isolate none of its pods.
    Open,
    /// These isolate some of its pods.
    Some(Vec<Object>),
    /// These isolate all of its pods.
    All(Vec<Object>),
}

/// The policies that select an end.
struct Selected<'a> {
    policies: Policies<'a>,
    is_pod: bool,
    is_isolated: bool,
}

// === impl Direction ===

impl Direction {
    /// What decides about `ends`, which are never none.
    pub(super) fn new(reach: &Reach<'_>, side: Side, ends: &[End]) -> Self {
        let own: Vec<Selected<'_>> =
            ends.iter().map(|end| Selected::new(reach.policies(), side, end)).collect();
        let mut rules = cluster_lines(reach, side, &own, Tier::Admin);
        let network = reach.policies().network().iter();
        let network: Vec<&NetworkPolicy> = network
            .copied()
            .filter(|policy| {
                policy.rules(side).is_some() && own.iter().any(|one| one.is_by(policy))
            })
            .collect();
        rules.extend(network.iter().flat_map(|policy| network_lines(policy, side, &own)));
        rules.extend(cluster_lines(reach, side, &own, Tier::Baseline));
        let isolating = network.into_iter().map(Object::of_network).collect();
        Self { rules, isolation: Isolation::of(&own, isolating) }
    }

    pub(super) fn text(&self, side: Side) -> String {
        let name = match side {
            Side::Egress => "egress",
            Side::Ingress => "ingress",
        };
        let mut text = format!("{name}  {}\n", self.isolation.words());
        let mut table = Table::new(&["", "", "", "", ""]);
        for line in &self.rules {
            let by = Decider::Rule(line.rule.clone());
            let (peers, ports) = (line.peers.join(" or "), line.ports.join(", "));
            table.row(vec![
                action(line.rule.action).to_owned(),
                peers,
                format!("on {ports}"),
                by.to_string(),
                line.note().to_owned(),
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
            value["asked"] = json!(line.asked);
            value
        });
        let (isolating, default): (&[Object], _) = match &self.isolation {
            Isolation::HostNetwork | Isolation::Open => (&[], "allow"),
            Isolation::Some(isolating) => (isolating, "partly"),
            Isolation::All(isolating) => (isolating, "deny"),
        };
        json!({
            "isolatedBy": isolating.iter().map(check::object_json).collect::<Vec<_>>(),
            "default": default,
            "rules": rules.collect::<Vec<_>>(),
        })
    }
}

// === impl Line ===

impl Line {
    fn note(&self) -> &'static str {
        match (self.asked, self.of_all) {
            (false, _) => "(not asked: isolated)",
            (true, false) => "(some of its pods)",
            (true, true) => "",
        }
    }
}

// === impl Isolation ===

impl Isolation {
    fn of(own: &[Selected<'_>], isolating: Vec<Object>) -> Self {
        if !own.iter().any(|one| one.is_pod) {
            Self::HostNetwork
        } else if isolating.is_empty() {
            Self::Open
        } else if own.iter().all(|one| one.is_isolated) {
            Self::All(isolating)
        } else {
            Self::Some(isolating)
        }
    }

    fn words(&self) -> String {
        let names =
            |all: &[Object]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::HostNetwork => "on the host's network: no policy applies".to_owned(),
            Self::Open => "not isolated: what no rule denies is allowed".to_owned(),
            Self::Some(isolating) => format!(
                "some of its pods are isolated by {}: what no rule allows them is denied",
                names(isolating)
            ),
            Self::All(isolating) => {
                format!("isolated by {}: what no rule allows is denied", names(isolating))
            }
        }
    }
}

// === impl Selected ===

impl<'a> Selected<'a> {
    fn new(policies: &Policies<'a>, side: Side, end: &End) -> Self {
        let policies = policies.selecting(end);
        let is_isolated = policies.network().iter().any(|policy| policy.rules(side).is_some());
        Self { policies, is_pod: matches!(end, End::Pod(_)), is_isolated }
    }

    fn is_by(&self, policy: &NetworkPolicy) -> bool {
        self.policies.network().iter().any(|own| std::ptr::eq(*own, policy))
    }

    fn is_by_cluster(&self, policy: &ClusterPolicy) -> bool {
        self.policies.cluster().iter().any(|own| std::ptr::eq(*own, policy))
    }
}

fn network_lines(policy: &NetworkPolicy, side: Side, own: &[Selected<'_>]) -> Vec<Line> {
    let rules = policy.rules(side).into_iter().flatten().enumerate();
    let lines = rules.map(|(index, rule)| Line {
        rule: RuleId::of_network(policy, index),
        peers: output::peers(&policy.namespace, rule.peers.as_deref()),
        ports: output::ports(rule.ports.as_deref()),
        of_all: own.iter().all(|one| one.is_by(policy)),
        asked: true,
    });
    lines.collect()
}

fn cluster_lines(reach: &Reach<'_>, side: Side, own: &[Selected<'_>], tier: Tier) -> Vec<Line> {
    let mut lines = Vec::new();
    let all = reach.policies().cluster().iter();
    for policy in all.filter(|policy| policy.precedence().0 == tier) {
        let selected: Vec<_> = own.iter().filter(|one| one.is_by_cluster(policy)).collect();
        if selected.is_empty() {
            continue;
        }
        let asked = tier == Tier::Admin || selected.iter().any(|one| !one.is_isolated);
        lines.extend(policy.rules(side).iter().enumerate().map(|(index, rule)| Line {
            rule: RuleId::of_cluster(policy, index, rule),
            peers: rule.peers.iter().map(output::cluster_peer).collect(),
            ports: output::cluster_ports(rule.ports.as_deref()),
            of_all: selected.len() == own.len(),
            asked,
        }));
    }
    lines
}

fn action(action: Action) -> &'static str {
    match action {
        Action::Accept => "allow",
        Action::Deny => "deny",
        Action::Pass => "pass",
    }
}
