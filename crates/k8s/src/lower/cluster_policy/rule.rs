//! Rules: their action, and what closes them.

use std::sync::Arc;

use netenf_policy::{Action, ClusterPeer, ClusterPort, ClusterRule, Side};

use super::{Kept, Lowering, closed, port};
use crate::lower::field::{Field, Problem};
use crate::object::ClusterKind;

/// Characters of a rule's name, at most.
const NAME: usize = 100;

// === impl Lowering ===

impl Lowering {
    pub(super) fn rules(&mut self, side: Side, spec: &Field<'_>) -> Vec<ClusterRule> {
        let name = match side {
            Side::Ingress => "ingress",
            Side::Egress => "egress",
        };
        let Some(rules) = spec.member(name) else { return Vec::new() };
        match rules.items() {
            Ok(items) => {
                self.limit(&rules, items.len(), self.kind.most());
                items.iter().map(|item| self.rule(side, item)).collect()
            }
            Err(problem) => {
                self.told.report(&problem, "everything is denied in this direction");
                vec![closed(Action::Deny)]
            }
        }
    }

    fn rule(&mut self, side: Side, field: &Field<'_>) -> ClusterRule {
        let known = ["name", "action", peers_field(side), self.kind.ports_field()];
        let mut problems = match field.strangers(&known) {
            Ok(strangers) => strangers,
            Err(problem) => {
                self.told.report(&problem, effect(Action::Deny));
                return closed(Action::Deny);
            }
        };
        let action = action(self.kind, field).unwrap_or_else(|problem| {
            problems.push(problem);
            Action::Deny
        });
        match (self.kept, action) {
            (Kept::Denials, Action::Accept | Action::Pass) => return closed(Action::Accept),
            (Kept::All, _) | (Kept::Denials, Action::Deny) => {}
        }
        // What is wrong about the rule as a whole closes it like a peer that is not understood.
        let whole = (!problems.is_empty()).then_some(ClusterPeer::Unknown);
        let mut peers = self.peers(side, field, &mut problems);
        let ports = self.ports(field, &peers, &mut problems);
        peers.extend(whole);
        for problem in problems {
            self.told.report(&problem, effect(action));
        }
        self.tell_of_names(side, action, field, &peers);
        ClusterRule { name: self.name(field), action, peers, ports }
    }

    fn name(&mut self, rule: &Field<'_>) -> Option<Arc<str>> {
        let field = rule.member("name")?;
        match field.text() {
            Ok(name) => {
                self.limit(&field, name.chars().count(), NAME);
                Some(name.into())
            }
            Err(problem) => {
                self.told.report(&problem, "explanations give the rule no name");
                None
            }
        }
    }

    /// The peers; no peer is as one that is not understood ("must … contain at least one item").
    fn peers(
        &mut self,
        side: Side,
        rule: &Field<'_>,
        problems: &mut Vec<Problem>,
    ) -> Vec<ClusterPeer> {
        let list = rule.required(peers_field(side));
        let items = list.and_then(|list| Ok((list.items()?, list)));
        let (items, list) = match items {
            Ok(read) => read,
            Err(problem) => {
                problems.push(problem);
                return vec![ClusterPeer::Unknown];
            }
        };
        if items.is_empty() {
            problems.push(list.problem("is empty"));
        }
        self.limit(&list, items.len(), self.kind.most());
        let peer = |item| {
            self.peer(side, item).unwrap_or_else(|problem| {
                problems.push(problem);
                ClusterPeer::Unknown
            })
        };
        items.iter().map(peer).collect()
    }

    /// The ports; an absent or empty list is every port of every protocol.
    fn ports(
        &mut self,
        rule: &Field<'_>,
        peers: &[ClusterPeer],
        problems: &mut Vec<Problem>,
    ) -> Option<Vec<ClusterPort>> {
        let list = rule.member(self.kind.ports_field())?;
        let items = match list.items() {
            Ok(items) => items,
            Err(problem) => {
                problems.push(problem);
                return Some(vec![ClusterPort::Unknown]);
            }
        };
        self.limit(&list, items.len(), self.kind.most());
        let port = |item: &Field<'_>| {
            let read = port::port(self.kind, item).and_then(|port| with_peers(port, peers, item));
            read.unwrap_or_else(|problem| {
                problems.push(problem);
                ClusterPort::Unknown
            })
        };
        (!items.is_empty()).then(|| items.iter().map(port).collect())
    }

    /// "`DomainNames` is only supported for Accept rules" (NPEP-133).
    fn tell_of_names(
        &mut self,
        side: Side,
        action: Action,
        rule: &Field<'_>,
        peers: &[ClusterPeer],
    ) {
        let are_names = |peer: &ClusterPeer| matches!(peer, ClusterPeer::Domains(_));
        if action != Action::Accept && peers.iter().any(are_names) {
            let path = format!("{}.{}", rule.path(), peers_field(side));
            let what = "names domains in a rule that does not accept".to_owned();
            self.told.report(&Problem { path, what }, "these peers match nothing");
        }
    }

    /// Tells that the API accepts no more than `most`.
    pub(super) fn limit(&mut self, field: &Field<'_>, count: usize, most: usize) {
        if count > most {
            let what = format!("is refused by the API, having {count} and not at most {most}");
            self.told.report(&field.problem(what), "all of it is used");
        }
    }
}

// === impl ClusterKind ===

impl ClusterKind {
    /// Rules of a direction, peers of a rule and ports of a rule, at most.
    fn most(self) -> usize {
        match self {
            Self::AdminNetworkPolicy | Self::BaselineAdminNetworkPolicy => 100,
            Self::ClusterNetworkPolicy => 25,
        }
    }

    pub(super) fn ports_field(self) -> &'static str {
        match self {
            Self::AdminNetworkPolicy | Self::BaselineAdminNetworkPolicy => "ports",
            Self::ClusterNetworkPolicy => "protocols",
        }
    }
}

fn peers_field(side: Side) -> &'static str {
    match side {
        Side::Ingress => "from",
        Side::Egress => "to",
    }
}

fn action(kind: ClusterKind, rule: &Field<'_>) -> Result<Action, Problem> {
    let action = rule.required("action")?;
    match (kind, action.text()?) {
        (ClusterKind::ClusterNetworkPolicy, "Accept") => Ok(Action::Accept),
        (ClusterKind::AdminNetworkPolicy | ClusterKind::BaselineAdminNetworkPolicy, "Allow") => {
            Ok(Action::Accept)
        }
        (_, "Deny") => Ok(Action::Deny),
        (ClusterKind::AdminNetworkPolicy | ClusterKind::ClusterNetworkPolicy, "Pass") => {
            Ok(Action::Pass)
        }
        (_, other) => Err(action.problem(format!("{other:?} is not known"))),
    }
}

/// What follows where something in a rule is not understood (see `ClusterRule::effective`).
fn effect(action: Action) -> &'static str {
    match action {
        Action::Accept => "the rule accepts nothing",
        Action::Deny | Action::Pass => "the rule denies everything",
    }
}

/// "There are no namedPorts for networks/nodes/domainNames" (a validation rule of the API).
fn with_peers(
    port: ClusterPort,
    peers: &[ClusterPeer],
    field: &Field<'_>,
) -> Result<ClusterPort, Problem> {
    let is_nameless = |peer: &ClusterPeer| match peer {
        ClusterPeer::Nodes(_) | ClusterPeer::Networks(_) | ClusterPeer::Domains(_) => true,
        ClusterPeer::Pods(_) | ClusterPeer::Unknown => false,
    };
    match port {
        ClusterPort::Named(_) if peers.iter().any(is_nameless) => {
            Err(field.problem("names a port beside peers whose ports have no names"))
        }
        ClusterPort::Named(_) | ClusterPort::Of(_) | ClusterPort::Unknown => Ok(port),
    }
}
