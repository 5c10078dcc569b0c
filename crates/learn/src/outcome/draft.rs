//! One proposal in the making, and how it is cut to its limits.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::Arc;

use netenf_policy::{Protocol, Selector};
use sha2::{Digest as _, Sha256};

use crate::config::{Caps, Config};
use crate::identity::{Workload, WorkloadSelector};
use crate::observation::Direction;
use crate::outcome::few::Few;
use crate::outcome::{Sorted, recorded};
use crate::proposal::{
    Evidence, Peer, Proposal, Provenance, Reason, RulePeer, Suggestion, Uncovered,
};
use crate::wording::count;

/// One proposal in the making.
pub(super) struct Draft {
    selector: WorkloadSelector,
    rules: Sorted<RulePeer, PortSums>,
    uncovered: Sorted<Item, Sum>,
    /// Rules over a limit.
    cut: BTreeSet<(RulePeer, (Protocol, u16))>,
    /// What was cut, in words.
    told: Vec<String>,
}

/// What makes an uncovered item one item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item {
    /// The peer; outside peers with a name without their addresses, so that one name is one item (D1).
    pub(super) peer: Peer,
    pub(super) protocol: Arc<str>,
    pub(super) port: Option<u16>,
}

/// What adds up for a rule or an item.
#[derive(Debug, Clone, Default)]
pub(super) struct Sum {
    /// Why there is no rule; of several the one that says most.
    pub(super) reason: Option<Reason>,
    pub(super) count: u64,
    pub(super) first: Option<i64>,
    pub(super) last: Option<i64>,
    pub(super) provenance: Option<Provenance>,
    pub(super) services: BTreeSet<Arc<str>>,
    pub(super) notes: BTreeSet<Arc<str>>,
    pub(super) example: Option<(Arc<str>, Arc<str>)>,
    pub(super) addresses: BTreeSet<IpAddr>,
    pub(super) names: BTreeSet<Arc<str>>,
    /// The rule that would name the peer of an uncovered item.
    pub(super) rule: Option<RulePeer>,
}

/// How many addresses of one uncovered name are listed.
const ADDRESSES: usize = 64;

// === impl Item ===

impl Item {
    /// An item for something that has no peer of its own.
    pub(super) fn of_nothing() -> Self {
        Self { peer: Peer::default(), protocol: "".into(), port: None }
    }
}

// === impl Draft ===

impl Draft {
    pub(super) fn new(selector: WorkloadSelector) -> Self {
        Self {
            selector,
            rules: Sorted::new(),
            uncovered: Sorted::new(),
            cut: BTreeSet::new(),
            told: Vec::new(),
        }
    }

    pub(super) fn add_rule(&mut self, rule: RulePeer, peer: Peer, at: (Protocol, u16), sum: Sum) {
        self.rules.entry(rule).or_default().entry(at).entry(peer).add(sum);
    }

    /// The subject's pods.
    pub(super) fn selector(&self) -> &Selector {
        &self.selector.selector
    }

    /// Adds a rule that is there anyway, unless it already is, with evidence.
    pub(super) fn add_infrastructure(&mut self, rule: RulePeer, peer: Peer, at: (Protocol, u16)) {
        let peers = self.rules.entry(rule).or_default().entry(at);
        if peers.is_empty() {
            let provenance = Some(Provenance::Infrastructure);
            *peers.entry(peer) = Sum { provenance, ..Sum::default() };
        }
    }

    pub(super) fn add_uncovered(&mut self, item: Item, sum: Sum) {
        self.uncovered.entry(item).or_default().add(sum);
    }

    pub(super) fn proposal(
        &self,
        subject: &Workload,
        direction: Direction,
        config: &Config,
    ) -> Proposal {
        let identity =
            format!("{}/{}/{} {direction:?}", subject.namespace, subject.kind, subject.name);
        let mut rules: BTreeMap<RulePeer, Vec<(Protocol, u16)>> = BTreeMap::new();
        let mut evidence = Vec::new();
        let mut suggestions = Vec::new();
        for (rule, ports) in &self.rules {
            let is_kept = |at: &(Protocol, u16)| !self.is_cut(rule, *at);
            let kept: Ports<'_> = ports.iter().filter(|(at, _)| is_kept(at)).collect();
            if kept.is_empty() {
                continue;
            }
            rules.insert(rule.clone(), kept.iter().map(|(at, _)| **at).collect());
            suggestions.extend(suggest(&identity, rule, &kept, config.caps.suggest_range));
            for (at, peers) in kept {
                evidence.extend(peers.iter().map(|(peer, sum)| evidence_of(rule, peer, *at, sum)));
            }
        }
        let mut told = self.told.clone();
        let uncovered = self.uncovered_items(&identity, config.caps.uncovered, &mut told);
        let mut proposal = Proposal {
            subject: subject.clone(),
            direction,
            backend: config.backend,
            selector: self.selector.clone(),
            rules,
            evidence,
            uncovered,
            suggestions,
            denials: Vec::new(),
            gaps: Vec::new(),
            reporting: Arc::default(),
            truncated: (!told.is_empty()).then(|| told.join("; ")),
            learned_since: None,
            last_new_rule: None,
        };
        proposal.last_new_rule = proposal.newest_rule();
        proposal
    }

    /// The uncovered items, sorted; over the limit the rarest are left out, and that is told.
    fn uncovered_items(
        &self,
        identity: &str,
        limit: usize,
        told: &mut Vec<String>,
    ) -> Vec<Uncovered> {
        let items = self.uncovered.iter();
        let mut items: Vec<Uncovered> =
            items.map(|(item, sum)| uncovered(identity, item, sum)).collect();
        if items.len() > limit {
            let over = count(items.len() - limit, "uncovered item");
            told.push(format!("{over} over the limit of {limit}"));
            items.sort_by_key(|item| {
                let is_told = item.reason == Reason::Truncated;
                (!is_told, Reverse(item.count), item.id.clone())
            });
            items.truncate(limit);
        }
        items.sort_by(|a, b| {
            (a.reason, &a.peer, a.port, &a.id).cmp(&(b.reason, &b.peer, b.port, &b.id))
        });
        items
    }

    /// Whether the rule is there after cutting.
    pub(super) fn holds(
        &self,
        rule: impl FnOnce() -> Option<RulePeer>,
        at: (Protocol, u16),
    ) -> bool {
        self.cut.is_empty() || rule().is_some_and(|rule| !self.cut.contains(&(rule, at)))
    }

    fn is_cut(&self, rule: &RulePeer, at: (Protocol, u16)) -> bool {
        !self.cut.is_empty() && self.cut.contains(&(rule.clone(), at))
    }

    /// What stands for the whole of it where it is over the limit of proposals.
    pub(super) fn over_limit(&self, caps: &Caps) -> Sum {
        let rules = self.rules.values().flat_map(Few::values).map(weight);
        let connections =
            rules.chain(self.uncovered.values().map(|sum| sum.count)).fold(0, u64::saturating_add);
        let note = format!(
            "over the limit of {}: raise the limit or exclude workloads",
            count(caps.proposals, "proposal")
        );
        Sum {
            count: connections,
            reason: Some(Reason::Truncated),
            notes: [note.into()].into(),
            ..Sum::default()
        }
    }

    /// Cuts the rules to the limits: of peers and of a peer's ports those with the most connections stay,
    /// and all that the cluster itself needs. What is cut becomes an uncovered item, never a wider rule.
    pub(super) fn limit(&mut self, caps: &Caps) {
        let heavier = |ports: &PortSums| ports.values().map(rank).fold(0, u64::saturating_add);
        let (peers, over) = heaviest(self.rules.iter().collect(), caps.rules, heavier);
        let mut cut = BTreeSet::new();
        let mut items = Vec::new();
        if !over.is_empty() {
            let peers = count(over.len(), "peer");
            self.told.push(format!("{peers} over the limit of {}", caps.rules));
            let connections = over.iter().flat_map(|(_, ports)| ports.values().map(weight)).sum();
            let note = format!(
                "no rule for {peers}, the rarest: raise the limit or exclude what is not needed"
            );
            items.push((Peer::default(), connections, note));
        }
        for (rule, ports) in over {
            cut.extend(ports.keys().map(|at| (rule.clone(), *at)));
        }
        for (rule, ports) in peers {
            let (_, over) = heaviest(ports.iter().collect(), caps.ports, rank);
            let Some(peer) = over.first().and_then(|(_, peers)| peers.keys().next()) else {
                continue;
            };
            let ports = count(over.len(), "port");
            self.told.push(format!("{ports} of one peer over the limit of {}", caps.ports));
            let connections = over.iter().map(|(_, peers)| weight(peers)).sum();
            items.push((peer.clone(), connections, format!("no rule for {ports}, the rarest")));
            cut.extend(over.into_iter().map(|(at, _)| (rule.clone(), *at)));
        }
        items.extend(self.limit_entries(caps, &mut cut));
        self.cut = cut;
        for (peer, count, note) in items {
            let item = Item { peer, ..Item::of_nothing() };
            let (reason, notes) = (Some(Reason::Truncated), [note.into()].into());
            self.add_uncovered(item, Sum { reason, count, notes, ..Sum::default() });
        }
    }
}

impl Draft {
    /// Each peer and port is an entry of its own in the object, which must stay below what the API server
    /// and the folder store hold.
    fn limit_entries(
        &mut self,
        caps: &Caps,
        cut: &mut BTreeSet<(RulePeer, (Protocol, u16))>,
    ) -> Option<(Peer, u64, String)> {
        let all = self
            .rules
            .iter()
            .flat_map(|(rule, ports)| ports.iter().map(move |(at, peers)| (rule, at, peers)));
        let mut kept: Vec<_> =
            all.filter(|(rule, at, _)| !cut.contains(&((*rule).clone(), **at))).collect();
        if kept.len() <= caps.entries {
            return None;
        }
        kept.sort_by_cached_key(|(_, _, peers)| std::cmp::Reverse(rank(peers)));
        let over = kept.split_off(caps.entries);
        let connections = over.iter().map(|(_, _, peers)| weight(peers)).sum();
        let ports = count(over.len(), "port");
        self.told.push(format!("{ports} of all peers over the limit of {}", caps.entries));
        let note = format!("no rule for {ports} of all peers, the rarest");
        cut.extend(over.into_iter().map(|(rule, at, _)| (rule.clone(), *at)));
        Some((Peer::default(), connections, note))
    }
}

/// What was seen of a peer's ports.
type PortSums = Few<(Protocol, u16), Few<Peer, Sum>>;

/// Connections of a rule.
fn weight(peers: &Few<Peer, Sum>) -> u64 {
    peers.values().map(|sum| sum.count).sum()
}

/// What a rule is worth when not all can stay.
fn rank(peers: &Few<Peer, Sum>) -> u64 {
    let needed = peers.values().any(|sum| sum.provenance == Some(Provenance::Infrastructure));
    if needed { u64::MAX } else { weight(peers) }
}

type Ports<'a> = Vec<(&'a (Protocol, u16), &'a Few<Peer, Sum>)>;
type Split<'a, K, V> = (Vec<(&'a K, &'a V)>, Vec<(&'a K, &'a V)>);

/// The `limit` heaviest entries, and the rest; of equal weight the smaller key comes first.
fn heaviest<'a, K, V>(
    mut entries: Vec<(&'a K, &'a V)>,
    limit: usize,
    weight: impl Fn(&V) -> u64,
) -> Split<'a, K, V> {
    if entries.len() <= limit {
        return (entries, Vec::new());
    }
    entries.sort_by_cached_key(|(_, value)| Reverse(weight(value)));
    let over = entries.split_off(limit);
    (entries, over)
}

fn evidence_of(rule: &RulePeer, peer: &Peer, at: (Protocol, u16), sum: &Sum) -> Evidence {
    Evidence {
        rule: rule.clone(),
        peer: peer.clone(),
        protocol: at.0,
        port: at.1,
        provenance: sum.provenance.unwrap_or(Provenance::Observed),
        count: sum.count,
        first: sum.first.and_then(recorded),
        last: sum.last.and_then(recorded),
        services: super::listed(&sum.services),
        notes: super::listed(&sum.notes),
        example: sum.example.clone(),
    }
}

pub(super) fn uncovered(identity: &str, item: &Item, sum: &Sum) -> Uncovered {
    let key = format!("{identity} {:?} {} {:?}", item.peer, item.protocol, item.port);
    let mut peer = item.peer.clone();
    peer.address = peer.address.or_else(|| sum.addresses.first().copied());
    if sum.addresses.len() > 1 {
        peer.addresses = sum.addresses.iter().copied().take(ADDRESSES).collect();
    }
    if peer.kind.as_deref() == Some("External") {
        let others = sum.names.iter().filter(|name| !item.peer.names.contains(name));
        peer.names.extend(others.cloned());
    }
    let service = sum.services.iter().find(|service| &***service != "direct");
    peer.service = peer.service.or_else(|| service.cloned());
    Uncovered {
        id: format!("u{}", short_id(&key)),
        peer,
        protocol: item.protocol.clone(),
        port: item.port,
        reason: sum.reason.unwrap_or(Reason::Truncated),
        rule: sum.rule.clone(),
        count: sum.count,
        first: sum.first.and_then(recorded),
        last: sum.last.and_then(recorded),
        notes: super::listed(&sum.notes),
    }
}

/// Ports farther apart than this are not of one range.
const WIDEST_GAP: u16 = 1000;

/// A range for the many high ports of one peer (case B16). It is only proposed.
fn suggest(identity: &str, rule: &RulePeer, ports: &Ports<'_>, from: usize) -> Vec<Suggestion> {
    let mut suggestions = Vec::new();
    for protocol in [Protocol::Tcp, Protocol::Udp, Protocol::Sctp] {
        let high: Vec<_> =
            ports.iter().filter(|((p, port), _)| *p == protocol && *port >= 1024).collect();
        // A server's own port far from the range is none of it: the longest run without a wide gap counts.
        let runs = high.chunk_by(|((_, one), _), ((_, next), _)| next - one <= WIDEST_GAP);
        let Some(high) = runs.max_by_key(|run| run.len()) else { continue };
        let (Some((first, peers)), Some((last, _))) = (high.first(), high.last()) else { continue };
        if let (true, Some(peer)) = (high.len() >= from, peers.keys().next()) {
            let id = format!("s{}", short_id(&format!("{identity} {rule:?} {protocol:?}")));
            suggestions.push(Suggestion {
                id,
                rule: rule.clone(),
                peer: peer.clone(),
                protocol,
                port: first.1,
                end_port: last.1,
                ports: high.len(),
            });
        }
    }
    suggestions
}

/// Six characters that stand for `key`: stable, and short enough to type.
fn short_id(key: &str) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let digest = Sha256::digest(key.as_bytes());
    digest.iter().take(6).fold(String::new(), |mut id, byte| {
        let _ = write!(id, "{}", char::from(ALPHABET[usize::from(byte & 31)]));
        id
    })
}

// === impl Sum ===

impl Sum {
    pub(super) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.reason = [self.reason, other.reason].into_iter().flatten().min();
        self.first = [self.first, other.first].into_iter().flatten().min();
        self.last = [self.last, other.last].into_iter().flatten().max();
        self.provenance = [self.provenance, other.provenance].into_iter().flatten().min();
        self.services.extend(other.services);
        self.notes.extend(other.notes);
        self.addresses.extend(other.addresses);
        self.names.extend(other.names);
        self.rule = [self.rule.take(), other.rule].into_iter().flatten().min();
        self.example = [self.example.take(), other.example].into_iter().flatten().min();
    }
}
