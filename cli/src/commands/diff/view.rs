//! An object as connectivity: one line a peer and port.

use ipnet::IpNet;
use k8s_openapi::api::networking::v1::{IPBlock, NetworkPolicyPeer, NetworkPolicyPort};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use netenf_api::{Direction, Provenance, RuleEvidence, Violation};
use netenf_k8s::lifecycle::{self, Basis, Permit, Permitted};
use netenf_store::Resource;
use serde_json::json;

use crate::{clock, output};

/// One line of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) sign: Sign,
    /// `allow`, `uncovered`, `accepted`, `violation`, `refused` or `suggest`.
    pub(super) what: &'static str,
    pub(super) direction: Direction,
    pub(super) peer: String,
    pub(super) port: String,
    /// What the spec says, where it is a rule of one.
    pub(super) rule: Option<Rule>,
    pub(super) seen: Seen,
}

/// One peer and port of a spec.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rule {
    peer: Permitted,
    port: Option<NetworkPolicyPort>,
}

/// What is known of a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// By which `allow` knows it.
    pub(super) id: Option<String>,
    /// Why it has no rule, or why it is suggested.
    pub(super) reason: Option<String>,
    pub(super) count: Option<i64>,
    pub(super) last: Option<Time>,
    pub(super) provenance: Option<Provenance>,
    pub(super) notes: Vec<String>,
}

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Added,
    Removed,
    Changed,
    Uncovered,
    Same,
}

// === impl Line ===

impl Line {
    /// What was seen, for people.
    pub(super) fn evidence(&self) -> String {
        self.seen.words()
    }
}

// === impl Sign ===

impl Sign {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "+",
            Self::Removed => "-",
            Self::Changed => "~",
            Self::Uncovered => "?",
            Self::Same => " ",
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Uncovered => "uncovered",
            Self::Same => "same",
        }
    }
}

// === impl Seen ===

impl Seen {
    fn of(rule: &RuleEvidence) -> Self {
        Self::all(&[rule])
    }

    /// What is known of a rule that `all` of this was seen of.
    fn all(all: &[&RuleEvidence]) -> Self {
        let mut notes: Vec<String> = all.iter().flat_map(|one| one.notes.clone()).collect();
        notes.dedup();
        Self {
            count: Some(all.iter().fold(0, |sum, one| one.count.saturating_add(sum))),
            last: all.iter().filter_map(|one| one.last_seen.clone()).max_by_key(|time| time.0),
            provenance: all.iter().map(|one| one.provenance).min(),
            notes,
            ..Self::default()
        }
    }

    /// What is known of a rule of a spec.
    fn of_basis(basis: &Basis<'_>) -> Self {
        match basis {
            // A person wrote it.
            Basis::Nothing => Self { provenance: Some(Provenance::Manual), ..Self::default() },
            Basis::Seen(all) => Self::all(all),
            Basis::Perhaps(all) => {
                let mut names: Vec<String> =
                    all.iter().map(|one| output::peer(&one.peer)).collect();
                names.sort();
                names.dedup();
                let more = names.len().saturating_sub(3);
                names.truncate(3);
                let rest = if more > 0 { format!(" or {more} more") } else { String::new() };
                let note = format!("seen, if this is {}{rest}", names.join(" or "));
                Self { notes: vec![note], ..Self::default() }
            }
        }
    }

    /// For people.
    pub(super) fn words(&self) -> String {
        let mut words = Vec::new();
        words.extend(self.count.map(|count| format!("{count}x")));
        words.extend(self.last.as_ref().map(|time| format!("last {} ago", clock::age(Some(time)))));
        let provenance = self.provenance.filter(|one| *one != Provenance::Observed);
        words.extend(provenance.map(|one| one.to_string()));
        words.extend(self.reason.clone());
        words.extend(self.id.as_ref().map(|id| format!("[{id}]")));
        let known = (!words.is_empty()).then(|| words.join("  "));
        known.into_iter().chain(self.notes.iter().cloned()).collect::<Vec<_>>().join("; ")
    }
}

// === impl Rule ===

impl Rule {
    /// As the spec has it, for programs.
    pub(super) fn json(&self) -> serde_json::Value {
        let peer = match &self.peer {
            Permitted::Everyone => json!(null),
            Permitted::Peer(peer) => json!(peer),
            Permitted::Principal(principal) => json!({"principal": principal}),
        };
        json!({"peer": peer, "port": self.port})
    }
}

/// The lines of a comparison: what is gone, what is new, what stays, then what has no rule.
pub(super) fn compare(old: Option<&Resource>, new: Option<&Resource>) -> Vec<Line> {
    let Some(direction) = new.or(old).and_then(Resource::direction) else { return Vec::new() };
    let (before, after) = (permits(old), permits(new));
    let is_same = |a: &Permit<'_>, b: &Permit<'_>| {
        (a.direction, &a.peer, &a.port) == (b.direction, &b.peer, &b.port)
    };
    let is_in = |all: &[Permit<'_>], one: &Permit<'_>| all.iter().any(|other| is_same(one, other));
    let gone: Vec<&Permit<'_>> = before.iter().filter(|one| !is_in(&after, one)).collect();
    let names = Names::of(gone.iter().copied().chain(&after), &namespace(old, new));
    let known = |peer: &Permitted| before.iter().any(|one| one.peer == *peer);
    let signed = |one: &Permit<'_>| match is_in(&before, one) {
        true => Sign::Same,
        false if known(&one.peer) => Sign::Changed,
        false => Sign::Added,
    };
    let mut lines = sorted(gone.iter().map(|one| names.line(Sign::Removed, one)));
    lines.extend(sorted(after.iter().map(|one| names.line(signed(one), one))));
    if let Some(new) = new {
        lines.extend(open_items(old, new, direction));
    }
    lines
}

fn permits(object: Option<&Resource>) -> Vec<Permit<'_>> {
    object.map(lifecycle::permits).unwrap_or_default()
}

fn namespace(old: Option<&Resource>, new: Option<&Resource>) -> String {
    new.or(old).map(|object| object.key().namespace).unwrap_or_default()
}

/// By peer, then by port as a number.
fn sorted(lines: impl Iterator<Item = Line>) -> Vec<Line> {
    let mut lines: Vec<Line> = lines.collect();
    lines.sort_by_cached_key(|line| {
        let digits: String = line.port.chars().take_while(char::is_ascii_digit).collect();
        (line.peer.clone(), digits.parse::<u32>().ok(), line.port.clone())
    });
    lines
}

/// What peers of a spec are called. No two of them are called the same.
struct Names(Vec<(Permitted, String)>);

// === impl Names ===

impl Names {
    fn of<'a>(permits: impl Iterator<Item = &'a Permit<'a>>, namespace: &str) -> Self {
        let mut names: Vec<(Permitted, String)> = Vec::new();
        for permit in permits {
            let own = seen_as(permit);
            match names.iter_mut().find(|(peer, _)| *peer == permit.peer) {
                // What was seen of another port of it may tell who it is.
                Some((_, name)) if name.is_empty() => name.push_str(&own.unwrap_or_default()),
                Some(_) => {}
                None => names.push((permit.peer.clone(), own.unwrap_or_default())),
            }
        }
        let all: Vec<String> = names.iter().map(|(_, name)| name.clone()).collect();
        for (peer, name) in &mut names {
            let is_unique = all.iter().filter(|other| *other == name).count() == 1;
            if name.is_empty() {
                *name = peer_text(namespace, peer);
            } else if !is_unique {
                *name = format!("{name} {}", peer_text(namespace, peer));
            }
        }
        Self(names)
    }

    fn line(&self, sign: Sign, permit: &Permit<'_>) -> Line {
        let name = self.0.iter().find(|(peer, _)| *peer == permit.peer);
        Line {
            sign,
            what: "allow",
            direction: permit.direction,
            peer: name.map(|(_, name)| name.clone()).unwrap_or_default(),
            port: permit.port.as_ref().map_or("all ports".to_owned(), port_text),
            rule: Some(Rule { peer: permit.peer.clone(), port: permit.port.clone() }),
            seen: Seen::of_basis(&permit.basis),
        }
    }
}

/// The workloads that were seen, where the rule admits no more than what it is named after.
fn seen_as(permit: &Permit<'_>) -> Option<String> {
    let (Basis::Seen(all), Permitted::Peer(peer)) = (&permit.basis, &permit.peer) else {
        return None;
    };
    let is_single = |block: &IPBlock| {
        block.cidr.parse::<IpNet>().is_ok_and(|net| net.prefix_len() == net.max_prefix_len())
    };
    if peer.pod_selector.is_none() && !peer.ip_block.as_ref().is_some_and(is_single) {
        return None;
    }
    // Addresses stand for themselves.
    let named = |one: &&&RuleEvidence| {
        !matches!(one.peer.kind.as_deref(), Some("External" | "Probe") | None)
    };
    if all.iter().any(|one| one.selector.is_some() && one.selector != peer.pod_selector) {
        return None;
    }
    let mut names: Vec<String> =
        all.iter().filter(named).map(|one| output::peer(&one.peer)).collect();
    names.sort();
    names.dedup();
    (!names.is_empty()).then(|| names.join(" and "))
}

/// A line if the two are not in the same state.
pub(super) fn compare_state(old: Option<&Resource>, new: Option<&Resource>) -> Option<Line> {
    let (before, after) = (state(old?), state(new?));
    let direction = new.or(old).and_then(Resource::direction)?;
    (before != after).then(|| Line {
        sign: Sign::Changed,
        what: "state",
        direction,
        peer: format!("{before} to {after}"),
        port: String::new(),
        rule: None,
        seen: Seen::default(),
    })
}

fn state(object: &Resource) -> String {
    object.as_policy().map_or("proposal".to_owned(), |policy| policy.spec.mode.to_string())
}

/// What has no rule: uncovered, refused, and ranges that are suggested.
fn open_items(old: Option<&Resource>, object: &Resource, direction: Direction) -> Vec<Line> {
    let is_known = |id: &str| {
        let mut known = old.iter().flat_map(|old| old.uncovered());
        known.any(|item| item.id == id && !item.accepted)
    };
    let mut lines = Vec::new();
    for item in object.uncovered() {
        let port = item
            .port
            .map_or_else(|| item.protocol.to_string(), |port| format!("{port}/{}", item.protocol));
        lines.push(Line {
            sign: if item.accepted || is_known(&item.id) { Sign::Same } else { Sign::Uncovered },
            what: if item.accepted { "accepted" } else { "uncovered" },
            direction,
            peer: peer_words(&item.peer),
            port,
            rule: None,
            seen: Seen {
                id: Some(item.id.clone()),
                reason: Some(item.reason.to_string()),
                count: Some(item.count),
                last: item.last_seen.clone(),
                provenance: None,
                notes: item.notes.iter().map(ToString::to_string).collect(),
            },
        });
    }
    let status = object.as_policy().and_then(|policy| policy.status.as_ref());
    lines.extend(status.into_iter().flat_map(|status| &status.violations).map(violation));
    for rule in object.evidence().iter().filter(|rule| rule.refused) {
        lines.push(Line {
            sign: Sign::Same,
            what: "refused",
            direction,
            peer: output::peer(&rule.peer),
            port: evidence_port(rule),
            rule: None,
            seen: Seen::of(rule),
        });
    }
    for one in object.suggestions() {
        let range = format!(
            "{}-{}/{}",
            one.port.unwrap_or_default(),
            one.end_port.unwrap_or_default(),
            one.protocol
        );
        lines.push(Line {
            sign: Sign::Same,
            what: "suggest",
            direction,
            peer: output::peer(&one.peer),
            port: range,
            rule: None,
            seen: Seen {
                id: Some(one.id.clone()),
                reason: Some(one.reason.clone()),
                ..Seen::default()
            },
        });
    }
    lines
}

fn violation(violation: &Violation) -> Line {
    let peer = match violation.direction {
        Direction::Egress => &violation.dest,
        Direction::Ingress => &violation.source,
    };
    let port = violation.dst_port.map(|port| format!("{port}/")).unwrap_or_default();
    Line {
        sign: Sign::Uncovered,
        what: "violation",
        direction: violation.direction,
        peer: output::peer(peer),
        port: format!("{port}{}", violation.protocol),
        rule: None,
        seen: Seen {
            id: Some(violation.id.clone()),
            reason: Some(violation.reason.to_string()),
            count: Some(violation.count),
            last: Some(violation.last_seen.clone()),
            ..Seen::default()
        },
    }
}

fn peer_words(peer: &netenf_api::PeerRef) -> String {
    let own = output::peer(peer);
    match peer.addresses.len() {
        0 | 1 => own,
        many => format!("{own} ({many} addresses)"),
    }
}

fn named_namespace(selector: &LabelSelector) -> Option<&str> {
    selector.match_labels.as_ref()?.get("kubernetes.io/metadata.name").map(String::as_str)
}

/// A peer as the spec has it.
fn peer_text(namespace: &str, peer: &Permitted) -> String {
    match peer {
        Permitted::Everyone => "everyone".to_owned(),
        Permitted::Peer(peer) => network_policy_peer_text(namespace, peer),
        Permitted::Principal(principal) => principal.clone(),
    }
}

fn network_policy_peer_text(namespace: &str, peer: &NetworkPolicyPeer) -> String {
    if let Some(block) = &peer.ip_block {
        let except = block.except.as_deref().unwrap_or_default().join(",");
        return if except.is_empty() {
            block.cidr.clone()
        } else {
            format!("{} without {except}", block.cidr)
        };
    }
    let place = match &peer.namespace_selector {
        None => namespace.to_owned(),
        Some(selector) => named_namespace(selector)
            .map_or_else(|| format!("namespaces{{{}}}", selector_text(selector)), str::to_owned),
    };
    match &peer.pod_selector {
        None => format!("{place}/*"),
        Some(selector) => format!("{place}{{{}}}", selector_text(selector)),
    }
}

fn selector_text(selector: &LabelSelector) -> String {
    let labels =
        selector.match_labels.iter().flatten().map(|(key, value)| format!("{key}={value}"));
    let expressions = selector.match_expressions.iter().flatten().map(|one| {
        format!(
            "{} {} ({})",
            one.key,
            one.operator,
            one.values.as_deref().unwrap_or_default().join(",")
        )
    });
    labels.chain(expressions).collect::<Vec<_>>().join(",")
}

fn port_text(port: &NetworkPolicyPort) -> String {
    let protocol = port.protocol.as_deref().unwrap_or("TCP");
    match (&port.port, port.end_port) {
        (None, _) => format!("all {protocol}"),
        (Some(IntOrString::Int(first)), Some(last)) => format!("{first}-{last}/{protocol}"),
        (Some(IntOrString::Int(number)), None) => format!("{number}/{protocol}"),
        (Some(IntOrString::String(name)), _) => format!("{name}/{protocol}"),
    }
}

fn evidence_port(rule: &RuleEvidence) -> String {
    match (rule.port, rule.end_port) {
        (Some(first), Some(last)) => format!("{first}-{last}/{}", rule.protocol),
        (Some(port), None) => format!("{port}/{}", rule.protocol),
        (None, _) => format!("all {}", rule.protocol),
    }
}

#[cfg(test)]
mod tests;
