//! Cluster-wide policies: AdminNetworkPolicy, BaselineAdminNetworkPolicy and ClusterNetworkPolicy.
//!
//! "If an implementation sees no fields are set then it can infer that the deployed CRD is of an incompatible
//! version with an unknown field. In that case it should fail closed" (ClusterNetworkPolicy, peers). That
//! holds here for whatever is not understood in a rule, and for what the API refuses.

use netenf_policy::{Action, ClusterPolicy, ClusterRule, PodSet, Selector, Side, Tier};

use super::field::{Field, Problem, Told};
use super::selector;
use crate::object::{self, ClusterKind, Diagnostic};

mod peer;
mod port;
mod rule;

/// Lowers a cluster-wide policy.
///
/// Where it is not understood what a whole policy is about (its subject, tier or priority) it holds for all
/// that it would deny and for nothing that it would allow: it is read as one for every pod, of the Admin tier,
/// before all others, and of its rules only those that deny are kept. The API refuses such an object, so a
/// misspelled field never gets into a cluster; one is there only if the API is newer than this crate. To
/// leave the policy out would then open what an administrator closed, and only a log would say so.
pub fn cluster_policy(object: &object::ClusterPolicy) -> (ClusterPolicy, Vec<Diagnostic>) {
    let kind = object.kind;
    let told = Told::about(format!("{kind} {}", object.name()));
    let mut lowering = Lowering { kind, told, kept: Kept::All };
    let spec = Field::of(&object.document, "spec");
    lowering.identity(object, &spec);
    let tier = lowering.tier(&spec);
    let priority = lowering.priority(&spec);
    let subject = lowering.subject(&spec);
    let policy = ClusterPolicy {
        kind: kind.to_string().into(),
        name: object.name().into(),
        tier,
        priority,
        subject,
        ingress: lowering.rules(Side::Ingress, &spec),
        egress: lowering.rules(Side::Egress, &spec),
    };
    (policy, lowering.told.into_diagnostics())
}

struct Lowering {
    kind: ClusterKind,
    told: Told,
    kept: Kept,
}

/// Which rules of a policy are kept.
#[derive(Clone, Copy)]
enum Kept {
    All,
    /// Those that deny.
    Denials,
}

// === impl ClusterKind ===

impl ClusterKind {
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::AdminNetworkPolicy => &["priority", "subject", "ingress", "egress"],
            Self::BaselineAdminNetworkPolicy => &["subject", "ingress", "egress"],
            Self::ClusterNetworkPolicy => &["tier", "priority", "subject", "ingress", "egress"],
        }
    }
}

// === impl Lowering ===

impl Lowering {
    /// Tells what is wrong around the rules and changes nothing.
    fn identity(&mut self, object: &object::ClusterPolicy, spec: &Field<'_>) {
        for stranger in spec.strangers(self.kind.fields()).unwrap_or_default() {
            self.told.report(&stranger, "the API server drops it, so it has no effect");
        }
        if self.kind == ClusterKind::BaselineAdminNetworkPolicy && object.name() != "default" {
            let what = "is refused by the API, being not \"default\"".to_owned();
            let problem = Problem { path: "metadata.name".to_owned(), what };
            self.told.report(&problem, "the policy is asked all the same");
        }
    }

    fn tier(&mut self, spec: &Field<'_>) -> Tier {
        let read = match self.kind {
            ClusterKind::AdminNetworkPolicy => Ok(Tier::Admin),
            ClusterKind::BaselineAdminNetworkPolicy => Ok(Tier::Baseline),
            ClusterKind::ClusterNetworkPolicy => tier(spec),
        };
        self.or_closed(read, Tier::Admin, "the policy is read as one of Admin")
    }

    fn priority(&mut self, spec: &Field<'_>) -> i32 {
        match self.kind {
            // "There is only one BANP per cluster": it has no priority.
            ClusterKind::BaselineAdminNetworkPolicy => 0,
            ClusterKind::AdminNetworkPolicy | ClusterKind::ClusterNetworkPolicy => {
                let read = priority(spec);
                if let Ok(value) = read
                    && !(0..=1000).contains(&value)
                {
                    let what = format!("{value} is refused by the API, being not in 0..=1000");
                    let problem = Problem { path: format!("{}.priority", spec.path()), what };
                    self.told.report(&problem, "the policy is ordered by it all the same");
                }
                self.or_closed(read, i32::MIN, "the policy comes first in its tier")
            }
        }
    }

    fn subject(&mut self, spec: &Field<'_>) -> PodSet {
        let read = spec.required("subject").and_then(|subject| {
            let (name, member) = subject.only_member()?;
            self.pods(name, &member)
        });
        self.or_closed(read, PodSet::default(), "the policy is read as one for every pod")
    }

    /// What was read, or `closed` in a policy of which only denials are kept.
    fn or_closed<T>(&mut self, read: Result<T, Problem>, closed: T, effect: &str) -> T {
        read.unwrap_or_else(|problem| {
            self.told.report(&problem, &format!("{effect}, and only rules that deny are kept"));
            self.kept = Kept::Denials;
            closed
        })
    }

    /// The pods that a subject or a peer names.
    fn pods(&mut self, name: &str, field: &Field<'_>) -> Result<PodSet, Problem> {
        match name {
            "namespaces" => {
                Ok(PodSet { namespaces: selector::of_field(field)?, pods: Selector::default() })
            }
            "pods" => {
                field.only(&["namespaceSelector", "podSelector"])?;
                let namespaces = self.selector(field, "namespaceSelector")?;
                Ok(PodSet { namespaces, pods: self.selector(field, "podSelector")? })
            }
            _ => Err(field.problem("is not known")),
        }
    }

    /// One of the selectors of `pods`. "If empty, it selects all": so does one that is absent, though the API
    /// asks for it everywhere but in a ClusterNetworkPolicy's `namespaceSelector`.
    fn selector(&mut self, pods: &Field<'_>, name: &str) -> Result<Selector, Problem> {
        match (self.kind, pods.required(name)) {
            (_, Ok(selector)) => selector::of_field(&selector),
            (ClusterKind::ClusterNetworkPolicy, Err(_)) if name == "namespaceSelector" => {
                Ok(Selector::default())
            }
            (_, Err(problem)) => {
                self.told.report(&problem, "it is read as the empty one, which selects all");
                Ok(Selector::default())
            }
        }
    }
}

fn tier(spec: &Field<'_>) -> Result<Tier, Problem> {
    let tier = spec.required("tier")?;
    match tier.text()? {
        "Admin" => Ok(Tier::Admin),
        "Baseline" => Ok(Tier::Baseline),
        other => Err(tier.problem(format!("{other:?} is not known"))),
    }
}

fn priority(spec: &Field<'_>) -> Result<i32, Problem> {
    let priority = spec.required("priority")?;
    let value = priority.number()?;
    i32::try_from(value).map_err(|_| priority.problem(format!("{value} is no priority")))
}

/// A rule of which nothing is understood: one that accepts matches nothing, one that denies denies all.
fn closed(action: Action) -> ClusterRule {
    let peers = vec![netenf_policy::ClusterPeer::Unknown];
    ClusterRule { name: None, action, peers, ports: None }
}

#[cfg(test)]
mod tests;
