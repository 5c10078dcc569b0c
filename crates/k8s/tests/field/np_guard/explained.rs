//! Blocks such as
//!
//! ```text
//! Connections between a/x[Pod] => b/y[Pod]:
//!
//! Denied connections:
//!     Denied TCP:[80], UDP due to the following policies and rules:
//!         Egress (Allowed) due to the system default (Allow all)
//!         Ingress (Denied)
//!             NetworkPolicy 'b/deny' selects b/y[Pod], but a/x[Pod] is not allowed by any Ingress rule
//! ```
//!
//! Policies that pass a connection on are left out: we name what decides.

use std::collections::BTreeSet;

use netenf_policy::transports::Transports;
use netenf_policy::{Decider, End, Object, Part, Protocol, RuleId, Side, Tier};

use super::{INGRESS_CONTROLLER, Input, line};

const DEFAULT: &str = "the system default (Allow all)";

/// What is said of two ends.
#[derive(Debug)]
pub(super) struct Pair {
    source: String,
    destination: String,
    groups: Vec<Group>,
}

/// Transports for which the same holds.
#[derive(Debug)]
struct Group {
    transports: Transports,
    egress: Said,
    ingress: Said,
}

/// What one direction says: whether it allows, and what decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Said {
    allowed: bool,
    by: BTreeSet<By>,
}

/// What decides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Default,
    /// A rule of a policy, by its number or name.
    Rule {
        policy: String,
        rule: String,
    },
    /// A policy that isolates, and allows nothing of it.
    Isolating {
        policy: String,
    },
}

/// Everything that is said of pairs of ends.
pub(super) fn pairs(text: &str) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut side = Side::Egress;
    for line in text.lines() {
        let line = line.trim_start().trim_start_matches("- ");
        if let Some(ends) = line.strip_prefix("Connections between ") {
            pairs.push(Pair::of(ends.trim_end_matches(':')));
        } else if line.contains(" => ") {
            let group = Group::by_default(Transports::all());
            pairs.push(Pair { groups: vec![group], ..Pair::of(line) });
        } else if let Some(group) = group(line) {
            pairs.last_mut().unwrap().groups.push(group);
        } else if let Some((of_side, said)) = said(line) {
            side = of_side;
            *pairs.last_mut().unwrap().last(side) = said;
        } else if let Some(by) = by(line) {
            pairs.last_mut().unwrap().last(side).by.insert(by);
        }
    }
    pairs.retain(|pair| pair.source != INGRESS_CONTROLLER);
    pairs
}

/// `Denied TCP:[80], UDP due to …`.
fn group(line: &str) -> Option<Group> {
    let list = line.strip_prefix("Allowed ").or_else(|| line.strip_prefix("Denied "))?;
    let (list, _) = list.split_once(" due to ")?;
    let mut transports = Transports::default();
    for one in list.split(", ") {
        let (name, ports) = one.split_once(':').unwrap_or((one, "[1-65535]"));
        for range in ports.trim_matches(['[', ']']).split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let ports = first.parse().unwrap()..=last.parse().unwrap();
            transports.insert(protocol(name), ports);
        }
    }
    Some(Group::by_default(transports))
}

fn protocol(name: &str) -> Protocol {
    let named = |protocol: &Protocol| format!("{protocol:?}").eq_ignore_ascii_case(name);
    Protocol::ALL.into_iter().find(named).unwrap()
}

/// `Ingress (Denied)`, with the default if that decides.
fn said(line: &str) -> Option<(Side, Said)> {
    let sides = [("Egress (", Side::Egress), ("Ingress (", Side::Ingress)];
    let (rest, side) =
        sides.into_iter().find_map(|(prefix, side)| Some((line.strip_prefix(prefix)?, side)))?;
    let by = rest.ends_with(DEFAULT).then_some(By::Default).into_iter().collect();
    Some((side, Said { allowed: rest.starts_with("Allowed"), by }))
}

fn by(line: &str) -> Option<By> {
    if line == DEFAULT {
        return Some(By::Default);
    }
    let (kind, rest) = line.split_once(" '")?;
    let (name, rest) = rest.split_once("' ")?;
    let policy = format!("{kind} {name}");
    if rest.starts_with("selects ") {
        return Some(By::Isolating { policy });
    }
    let (verb, rule) = rest.split_once(" connections by ")?;
    let (_, rule) = rule.split_once(" rule ")?;
    (verb != "passes").then(|| By::Rule { policy, rule: rule.to_owned() })
}

// === impl Pair ===

impl Pair {
    fn of(ends: &str) -> Self {
        let (source, destination) = ends.split_once(" => ").unwrap();
        let groups = Vec::new();
        Self { source: source.to_owned(), destination: destination.to_owned(), groups }
    }

    /// What the last group says of a side.
    fn last(&mut self, side: Side) -> &mut Said {
        let group = self.groups.last_mut().unwrap();
        match side {
            Side::Egress => &mut group.egress,
            Side::Ingress => &mut group.ingress,
        }
    }

    /// Holds every group to what our policies say of its transports.
    pub(super) fn check(&self, folder: &str, input: &Input) {
        let reach = input.reach();
        for source in ends(input, &self.source) {
            for destination in ends(input, &self.destination) {
                let [egress_parts, ingress_parts] = [Side::Egress, Side::Ingress]
                    .map(|side| reach.policies().parts(side, &source, &destination));
                for Group { transports, egress, ingress } in &self.groups {
                    let what = line::transports(transports);
                    let place =
                        format!("{folder}: {} => {} : {what}", self.source, self.destination);
                    let ours =
                        [&egress_parts, &ingress_parts].map(|parts| Said::of(parts, transports));
                    assert_eq!(ours, [egress.clone(), ingress.clone()], "{place}");
                }
            }
        }
        let said = self.groups.iter().map(|group| &group.transports);
        let all = said.fold(Transports::default(), |all, one| all.union(one));
        assert_eq!(line::transports(&all), "All Connections", "{folder}: something of all is said");
    }
}

// === impl Group ===

impl Group {
    fn by_default(transports: Transports) -> Self {
        let default = Said { allowed: true, by: BTreeSet::from([By::Default]) };
        Self { transports, egress: default.clone(), ingress: default }
    }
}

// === impl Said ===

impl Said {
    /// What our parts say of some transports.
    fn of(parts: &[Part], transports: &Transports) -> Self {
        let parts =
            parts.iter().filter(|part| !part.transports.intersection(transports).is_empty());
        let (mut allowed, mut by) = (BTreeSet::new(), BTreeSet::new());
        for part in parts {
            allowed.insert(part.allowed);
            by.extend(deciders(&part.by));
        }
        assert_eq!(allowed.len(), 1, "np-guard does not tell {by:?} apart");
        Self { allowed: allowed.contains(&true), by }
    }
}

fn deciders(decider: &Decider) -> Vec<By> {
    match decider {
        Decider::NoPod | Decider::Itself | Decider::OwnNode | Decider::Default => vec![By::Default],
        Decider::Rule(rule) => vec![By::Rule { policy: policy(&rule.object), rule: named(rule) }],
        Decider::Isolated(policies) => {
            policies.iter().map(|object| By::Isolating { policy: policy(object) }).collect()
        }
    }
}

fn policy(object: &Object) -> String {
    let namespace = object.namespace.as_ref().map(|own| format!("{own}/")).unwrap_or_default();
    format!("{} {namespace}{}", object.kind, object.name)
}

/// Rules of NetworkPolicies have no names.
fn named(rule: &RuleId) -> String {
    match rule.tier {
        Tier::NetworkPolicy => format!("#{}", rule.index + 1),
        Tier::Admin | Tier::Baseline => rule.name.as_deref().unwrap_or_default().to_owned(),
    }
}

/// The first address of a range stands for all of it.
fn ends(input: &Input, named: &str) -> Vec<End> {
    match line::range(named) {
        Some(range) => vec![End::Address(range.first)],
        None => input.ends(named).to_vec(),
    }
}
