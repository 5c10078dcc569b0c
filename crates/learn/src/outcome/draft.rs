//! Proposals in the making, and how they are cut to their limits.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::Arc;

use netenf_policy::Protocol;
use sha2::{Digest as _, Sha256};

use crate::config::{Caps, Config};
use crate::identity::{Workload, WorkloadSelector};
use crate::name::policy_name;
use crate::observation::Direction;
use crate::outcome::{Sorted, recorded};
use crate::proposal::{
    Evidence, Peer, Proposal, Provenance, Reason, RulePeer, Suggestion, Uncovered, Unplaced,
};

/// All proposals in the making.
#[derive(Default)]
pub(super) struct Drafts {
    pub(super) drafts: Sorted<(Workload, Direction), Draft>,
    unplaced: Sorted<(Peer, Direction), Sorted<Item, Sum>>,
}

/// One proposal in the making.
pub(super) struct Draft {
    selector: WorkloadSelector,
    rules: Sorted<RulePeer, Sorted<(Protocol, u16), Sorted<Peer, Sum>>>,
    uncovered: Sorted<Item, Sum>,
}

/// What makes an uncovered item one item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item {
    pub(super) reason: Reason,
    /// The peer; outside peers with a name without their addresses, so that one name is one item (D1).
    pub(super) peer: Peer,
    pub(super) protocol: Arc<str>,
    pub(super) port: Option<u16>,
}

/// What adds up for a rule or an item.
#[derive(Debug, Clone, Default)]
pub(super) struct Sum {
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

// === impl Drafts ===

impl Drafts {
    pub(super) fn draft(
        &mut self,
        subject: &Workload,
        direction: Direction,
        selector: &WorkloadSelector,
    ) -> &mut Draft {
        self.drafts.entry((subject.clone(), direction)).or_insert_with(|| Draft {
            selector: selector.clone(),
            rules: Sorted::new(),
            uncovered: Sorted::new(),
        })
    }

    pub(super) fn add_unplaced(
        &mut self,
        subject: Peer,
        direction: Direction,
        item: Item,
        sum: Sum,
    ) {
        self.unplaced.entry((subject, direction)).or_default().entry(item).or_default().add(sum);
    }

    pub(super) fn unplaced(&self) -> Vec<Unplaced> {
        let mut all = Vec::new();
        for ((subject, direction), items) in &self.unplaced {
            let identity = format!("{subject:?} {direction:?}");
            let uncovered = items.iter().map(|(item, sum)| uncovered(&identity, item, sum));
            all.extend(uncovered.map(|uncovered| Unplaced {
                subject: subject.clone(),
                direction: *direction,
                uncovered,
            }));
        }
        all
    }

    /// The proposals, cut to the limits.
    pub(super) fn proposals(&self, config: &Config) -> Vec<Proposal> {
        let mut proposals: Vec<Proposal> = self
            .drafts
            .iter()
            .map(|((subject, direction), draft)| draft.proposal(subject, *direction, config))
            .collect();
        proposals.sort_by_cached_key(|proposal| {
            (proposal.subject.namespace.clone(), policy_name(&proposal.subject, proposal.direction))
        });
        proposals.truncate(config.caps.proposals);
        proposals
    }

    /// How many proposals are over the limit.
    pub(super) fn over_limit(&self, config: &Config) -> usize {
        self.drafts.len().saturating_sub(config.caps.proposals)
    }
}

// === impl Draft ===

impl Draft {
    pub(super) fn add_rule(&mut self, rule: RulePeer, peer: Peer, at: (Protocol, u16), sum: Sum) {
        let ports = self.rules.entry(rule).or_default();
        ports.entry(at).or_default().entry(peer).or_default().add(sum);
    }

    /// Adds a rule that is there anyway, unless it already is, with evidence.
    pub(super) fn add_infrastructure(
        &mut self,
        rule: RulePeer,
        peer: Peer,
        at: (Protocol, u16),
        sum: Sum,
    ) {
        let peers = self.rules.entry(rule).or_default().entry(at).or_default();
        if peers.is_empty() {
            peers.insert(peer, sum);
        }
    }

    pub(super) fn add_uncovered(&mut self, item: Item, sum: Sum) {
        self.uncovered.entry(item).or_default().add(sum);
    }

    fn proposal(&self, subject: &Workload, direction: Direction, config: &Config) -> Proposal {
        let identity =
            format!("{}/{}/{} {direction:?}", subject.namespace, subject.kind, subject.name);
        let mut cut = Vec::new();
        let mut uncovered_items = self.uncovered.clone();
        let kept = self.within_limits(&config.caps, &mut uncovered_items, &mut cut);
        let mut rules = Sorted::new();
        let mut evidence = Vec::new();
        let mut suggestions = Vec::new();
        for (rule, ports) in kept {
            rules.insert(rule.clone(), ports.keys().copied().collect());
            suggestions.extend(suggest(&identity, rule, &ports, config.caps.suggest_range));
            for (at, peers) in ports {
                evidence.extend(peers.iter().map(|(peer, sum)| evidence_of(rule, peer, at, sum)));
            }
        }
        let mut uncovered: Vec<Uncovered> =
            uncovered_items.iter().map(|(item, sum)| uncovered(&identity, item, sum)).collect();
        if uncovered.len() > config.caps.uncovered {
            let over = uncovered.len() - config.caps.uncovered;
            uncovered.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.id.cmp(&b.id)));
            uncovered.truncate(config.caps.uncovered);
            uncovered.sort_by(|a, b| {
                (a.reason, &a.peer, a.port, &a.id).cmp(&(b.reason, &b.peer, b.port, &b.id))
            });
            cut.push(format!("{over} uncovered items over the limit of {}", config.caps.uncovered));
        }
        let observed = evidence.iter().filter(|one| one.provenance != Provenance::Infrastructure);
        let last_new_rule = observed.filter_map(|one| one.first).max();
        Proposal {
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
            truncated: (!cut.is_empty()).then(|| cut.join("; ")),
            learned_since: None,
            last_new_rule,
        }
    }

    /// The rules that are within the limits: of peers and of a peer's ports those with the most
    /// connections. What is cut becomes an uncovered item, never a wider rule.
    fn within_limits<'a>(
        &'a self,
        caps: &Caps,
        uncovered: &mut Sorted<Item, Sum>,
        cut: &mut Vec<String>,
    ) -> Sorted<&'a RulePeer, Sorted<(Protocol, u16), &'a Sorted<Peer, Sum>>> {
        let weight = |peers: &Sorted<Peer, Sum>| peers.values().map(|sum| sum.count).sum::<u64>();
        let (peers, over) =
            heaviest(&self.rules, caps.rules, |ports| ports.values().map(weight).sum());
        if !over.is_empty() {
            cut.push(format!("{} peers over the limit of {}", over.len(), caps.rules));
            let count = over.iter().map(|(_, ports)| ports.values().map(weight).sum::<u64>()).sum();
            let note = format!(
                "{} peers, the rarest, have no rule: raise the limit or exclude them",
                over.len()
            );
            truncated(uncovered, Peer::default(), count, note);
        }
        let mut kept = Sorted::new();
        for (rule, ports) in peers {
            let (within, over) = heaviest(ports, caps.ports, weight);
            if let Some(peer) = over.first().and_then(|(_, peers)| peers.keys().next()) {
                cut.push(format!(
                    "{} ports of one peer over the limit of {}",
                    over.len(),
                    caps.ports
                ));
                let count = over.iter().map(|(_, peers)| weight(peers)).sum();
                let note = format!("{} ports, the rarest, have no rule", over.len());
                truncated(uncovered, peer.clone(), count, note);
            }
            kept.insert(rule, within.into_iter().map(|(at, peers)| (*at, peers)).collect());
        }
        kept
    }
}

type Split<'a, K, V> = (Vec<(&'a K, &'a V)>, Vec<(&'a K, &'a V)>);

/// The `limit` heaviest entries, and the rest; of equal weight the smaller key comes first.
fn heaviest<K: Ord, V>(
    all: &Sorted<K, V>,
    limit: usize,
    weight: impl Fn(&V) -> u64,
) -> Split<'_, K, V> {
    let mut entries: Vec<(&K, &V)> = all.iter().collect();
    if entries.len() <= limit {
        return (entries, Vec::new());
    }
    entries.sort_by_cached_key(|(_, value)| std::cmp::Reverse(weight(value)));
    let over = entries.split_off(limit);
    (entries, over)
}

fn truncated(uncovered: &mut Sorted<Item, Sum>, peer: Peer, count: u64, note: String) {
    let item = Item { reason: Reason::Truncated, peer, protocol: "".into(), port: None };
    let sum = Sum { count, notes: [note.into()].into(), ..Sum::default() };
    uncovered.entry(item).or_default().add(sum);
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

fn uncovered(identity: &str, item: &Item, sum: &Sum) -> Uncovered {
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
        reason: item.reason,
        rule: sum.rule.clone(),
        count: sum.count,
        first: sum.first.and_then(recorded),
        last: sum.last.and_then(recorded),
        notes: super::listed(&sum.notes),
    }
}

/// A range for the many high ports of one peer (case B16). It is only proposed.
fn suggest(
    identity: &str,
    rule: &RulePeer,
    ports: &Sorted<(Protocol, u16), &Sorted<Peer, Sum>>,
    from: usize,
) -> Vec<Suggestion> {
    let mut suggestions = Vec::new();
    for protocol in [Protocol::Tcp, Protocol::Udp, Protocol::Sctp] {
        let high = ports.keys().filter(|(p, port)| *p == protocol && *port >= 1024);
        let high: Vec<u16> = high.map(|(_, port)| *port).collect();
        let (Some(&port), Some(&end_port)) = (high.first(), high.last()) else { continue };
        let peer = ports.get(&(protocol, port)).and_then(|peers| peers.keys().next());
        if let (true, Some(peer)) = (high.len() >= from, peer) {
            let id = format!("s{}", short_id(&format!("{identity} {rule:?} {protocol:?}")));
            let (rule, peer, ports) = (rule.clone(), peer.clone(), high.len());
            suggestions.push(Suggestion { id, rule, peer, protocol, port, end_port, ports });
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
    fn add(&mut self, other: Self) {
        self.count += other.count;
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
