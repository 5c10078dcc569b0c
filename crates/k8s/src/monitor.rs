//! What policies would do to traffic that was seen.

use std::sync::Arc;

use netenf_api::{Direction, Mode, WorkloadNetworkPolicySpec};
use netenf_learn as learn;
use netenf_learn::proposal::{Denial, Funnel, Outcome, SeenEdge};
use netenf_policy::{Finding, NetworkPolicy, RuleId, Side};

use crate::index::Index;
use crate::lower;
use crate::object::Diagnostic;

mod end;
mod judges;
mod record;

use judges::{Judges, names};
pub use record::{gathered, record, reported, violation};

/// One of our policies, ready to be evaluated.
#[derive(Debug, Clone)]
pub struct Guard {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// How it acts.
    pub mode: Mode,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    Kubernetes(NetworkPolicy),
    Istio(Box<netenf_api::IstioPolicySpec>, netenf_policy::Selector),
}

/// Seen traffic that one of our policies does not allow.
#[derive(Debug, Clone, PartialEq)]
pub struct Denied {
    /// Namespace and name of the policy.
    pub policy: (String, String),
    /// On which side.
    pub direction: Direction,
    /// The traffic.
    pub edge: SeenEdge,
    /// The rule of another tier that denies it; `None` where the policy itself has no rule for it.
    pub rule: Option<RuleId>,
}

// === impl Guard ===

impl Guard {
    /// Prepares a policy body. `kind` is the kind of its object.
    pub fn new(
        kind: &str,
        namespace: &str,
        name: &str,
        spec: &WorkloadNetworkPolicySpec,
    ) -> Option<Self> {
        let body = match (&spec.kubernetes, &spec.istio) {
            (Some(body), _) => {
                Body::Kubernetes(lower::network_policy(kind, namespace, name, body).0)
            }
            (None, Some(body)) => {
                Body::Istio(Box::new(body.clone()), lower::selector(&body.selector).0)
            }
            (None, None) => return None,
        };
        Some(Self { namespace: namespace.to_owned(), name: name.to_owned(), mode: spec.mode, body })
    }

    /// Namespace and name of the native policy that it becomes; `None` for Istio.
    fn native(&self) -> Option<(&str, &str)> {
        match &self.body {
            Body::Kubernetes(_) => Some((&self.namespace, &self.name)),
            Body::Istio(..) => None,
        }
    }

    /// The direction that it decides on; Istio's policies know only the ingress.
    fn direction(&self) -> Direction {
        match &self.body {
            Body::Kubernetes(policy) if policy.ingress.is_none() => Direction::Egress,
            Body::Kubernetes(_) | Body::Istio(..) => Direction::Ingress,
        }
    }

    fn denied(&self, direction: Direction, edge: &SeenEdge) -> Denied {
        let policy = (self.namespace.clone(), self.name.clone());
        Denied { policy, direction, edge: edge.clone(), rule: None }
    }
}

// === impl Denied ===

impl Denied {
    /// The end that the workload of the policy talks to.
    pub(crate) fn other_end(&self) -> &learn::proposal::Peer {
        match self.direction {
            Direction::Egress => &self.edge.destination.peer,
            Direction::Ingress => &self.edge.source.peer,
        }
    }
}

/// A connection that was seen by itself.
#[derive(Debug, Clone)]
pub struct Attempt<'a> {
    /// Between whom.
    pub edge: &'a SeenEdge,
    /// Which side is told of.
    pub direction: learn::Direction,
    /// Whether its source reports that it was denied, and whom it names for that.
    pub denied: Option<Option<Arc<learn::PolicyRef>>>,
}

/// What policies say of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruling {
    /// What decides on the side that is told of; nothing where that side is no pod.
    pub finding: Option<Finding>,
    /// What it violates, on either side.
    pub denied: Vec<Denied>,
}

/// What all policies say of each of `attempts`, one for each.
pub fn rule_on(index: &Index, guards: &[Guard], attempts: &[Attempt<'_>]) -> Vec<Ruling> {
    let domains = names(index, attempts.iter().map(|attempt| attempt.edge));
    let mut judges = Judges::new(index, guards, &domains);
    let rulings = attempts.iter().map(|Attempt { edge, direction, denied }| {
        let finding = judges.finding(
            edge,
            match direction {
                learn::Direction::Egress => Side::Egress,
                learn::Direction::Ingress => Side::Ingress,
            },
        );
        let denied = match denied {
            None => judges.denied(edge),
            Some(by) => judges.reported((Some(*direction), by.as_deref()), edge),
        };
        Ruling { finding: finding.map(|(_, finding)| finding), denied }
    });
    rulings.collect()
}

/// Judges what was learned by policies of ours: the traffic that they do not allow (see [`denied`]), and
/// what a source reports as denied by them. The observations of both move in the funnel from where the
/// learner counted them to the violations.
pub fn judge(index: &Index, guards: &[Guard], outcome: &mut Outcome) -> Vec<Denied> {
    let domains = names(index, outcome.edges.iter());
    let mut judges = Judges::new(index, guards, &domains);
    let mut all = Vec::new();
    for edge in &outcome.edges {
        let found = judges.denied(edge);
        if !found.is_empty() {
            move_to_violations(&mut outcome.funnel, edge);
        }
        all.extend(found);
    }
    for denial in &outcome.denials {
        let Some(edge) = attempted(denial) else { continue };
        let found = judges.reported((denial.direction, denial.by.as_deref()), &edge);
        if !found.is_empty() {
            move_to_violations(&mut outcome.funnel, &edge);
        }
        all.extend(found);
    }
    outcome.funnel.skipped.retain(|_, count| *count > 0);
    all
}

fn move_to_violations(funnel: &mut Funnel, edge: &SeenEdge) {
    let from = match edge.skipped {
        Some(skip) => funnel.skipped.entry(skip.name()).or_default(),
        None if edge.learned => &mut funnel.learned,
        None => &mut funnel.uncovered,
    };
    let moved = edge.observations.min(*from);
    *from -= moved;
    funnel.violations += moved;
}

/// What would have been seen, had it not been denied; `None` where that is not told in full.
fn attempted(denial: &Denial) -> Option<SeenEdge> {
    Some(SeenEdge {
        source: Arc::new(denial.source.clone()),
        destination: Arc::new(denial.destination.clone()),
        protocol: denial.protocol?,
        port: denial.port?,
        count: denial.count,
        observations: denial.observations,
        learned: false,
        skipped: Some(learn::classify::Skip::Denied),
        port_names: Vec::new(),
        first: denial.first,
        last: denial.last,
    })
}

/// What to tell of foreign native policies that have the name of a guard (see [`Index::conflicts`]).
pub fn conflicts<'a>(
    index: &'a Index,
    guards: &'a [Guard],
) -> impl Iterator<Item = Diagnostic> + 'a {
    index.conflicts(guards.iter().filter_map(Guard::native))
}

/// The traffic that `guards` do not allow, and no policy of the index does either. All policies that select an
/// end decide together, in the order of their tiers.
pub fn denied(index: &Index, guards: &[Guard], edges: &[SeenEdge]) -> Vec<Denied> {
    let domains = names(index, edges.iter());
    let mut judges = Judges::new(index, guards, &domains);
    edges.iter().flat_map(|edge| judges.denied(edge)).collect()
}

#[cfg(test)]
mod tests;
