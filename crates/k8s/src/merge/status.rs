//! What is known of the rules and of what has none, from before and from now.

use std::cmp::Reverse;
use std::net::IpAddr;
use std::sync::Arc;

use netenf_api::{PeerRef, Provenance, RuleEvidence, Suggestion, UncoveredPeer, UncoveredReason};
use netenf_learn::proposal::{Proposal, RulePeer};
use netenf_learn::wording::count;
use netenf_policy::End;

use super::cover::{self, Cover};
use super::limit::{self, Room};
use super::meaning::{Meaning, protocol};
use super::rule::{Fate, holds_port};
use crate::lifecycle::peer::{is_same, stands_for};
use crate::lower;
use crate::render::{self, REMARKS, is_one_peer, rule_key};
use crate::time::{earlier, later};

/// Ports from here on may be a range that a server hands out.
const FIRST_HIGH_PORT: u16 = 1024;

/// How many addresses and names an item lists.
const LISTED: usize = 64;

/// The entries of before with what is learned now. What was cut has no entry.
pub(super) fn evidence(
    known: Vec<RuleEvidence>,
    fresh: &Proposal,
    fates: &[Fate],
    room: &mut Room,
) -> Vec<RuleEvidence> {
    let mut merged = known;
    for (one, fate) in fresh.evidence.iter().zip(fates) {
        let rule = RuleEvidence { refused: *fate == Fate::Refused, ..render::evidence(one) };
        match merged.iter_mut().find(|known| is_entry_of(known, &rule, &one.rule)) {
            Some(known) => {
                known.refused = rule.refused;
                if fate.is_written() || known.selector.is_none() {
                    known.selector.clone_from(&rule.selector);
                }
                add(known, rule);
            }
            None if *fate == Fate::New || (*fate != Fate::Cut && room.take_entry()) => {
                merged.push(rule);
            }
            None => {}
        }
    }
    merged.sort_by_cached_key(rule_key);
    merged
}

/// Whether what was seen of `rule` counts for the entry: the same peer and port, or one of its range.
fn is_entry_of(known: &RuleEvidence, rule: &RuleEvidence, meant: &RulePeer) -> bool {
    if known.protocol != rule.protocol || !rule.port.is_none_or(|port| holds_port(known, port)) {
        return false;
    }
    let is_peer = is_one_peer(&known.peer, &rule.peer);
    if (known.port, known.end_port) == (rule.port, rule.end_port) {
        return is_peer;
    }
    // Parts of a range may have another fate than the rest.
    known.end_port.is_some()
        && known.refused == rule.refused
        && (is_peer || Meaning::of(known).is_some_and(|meaning| meaning.is_for(meant)))
}

fn add(known: &mut RuleEvidence, fresh: RuleEvidence) {
    known.count = known.count.saturating_add(fresh.count);
    known.first_seen = earlier(known.first_seen.take(), fresh.first_seen);
    known.last_seen = later(known.last_seen.take(), fresh.last_seen);
    // What was inferred or declared and is now seen is seen; what a person wrote stays theirs.
    if !matches!(known.provenance, Provenance::Manual | Provenance::Infrastructure) {
        known.provenance = known.provenance.min(fresh.provenance);
    }
    union(&mut known.services, fresh.services, REMARKS);
    add_notes(&mut known.notes, fresh.notes);
    add_names(&mut known.peer.names, fresh.peer.names);
    known.example = match (known.example.take(), fresh.example) {
        (Some(one), Some(other)) => {
            let order = |example: &netenf_api::Example| {
                (example.source.clone(), example.destination.clone())
            };
            Some(if order(&other) < order(&one) { other } else { one })
        }
        (one, other) => one.or(other),
    };
}

/// The items of before with those of now. Over the limit the rarest of what is new are not listed, which
/// is an item and told.
pub(super) fn uncovered(
    known: Vec<UncoveredPeer>,
    fresh: Vec<UncoveredPeer>,
    identity: &str,
    limit: usize,
) -> (Vec<UncoveredPeer>, Option<String>) {
    let mut merged = known;
    let mut new = Vec::new();
    for item in fresh {
        match merged.iter_mut().find(|one| is_item_of(one, &item)) {
            Some(one) => add_item(one, item),
            None => new.push(item),
        }
    }
    new.sort_by_key(|item| {
        (item.reason != UncoveredReason::Truncated, Reverse(item.count), item.id.clone())
    });
    let room = limit.saturating_sub(merged.len()).min(new.len());
    let over = new.split_off(room);
    merged.extend(new);
    let told = (!over.is_empty())
        .then(|| format!("{} over the limit of {limit}", count(over.len(), "uncovered item")));
    if !over.is_empty() {
        let item = unlisted(over, identity);
        match merged.iter_mut().find(|one| is_item_of(one, &item)) {
            Some(one) => add_item(one, item),
            None => merged.push(item),
        }
    }
    sort_items(&mut merged);
    (merged, told)
}

/// The order of items in an object.
pub(super) fn sort_items(items: &mut [UncoveredPeer]) {
    items.sort_by(|a, b| {
        (a.reason, &a.peer, a.port, &a.id).cmp(&(b.reason, &b.peer, b.port, &b.id))
    });
}

/// What stands for all items that are not listed.
fn unlisted(over: Vec<UncoveredPeer>, identity: &str) -> UncoveredPeer {
    let note = format!("{} not listed, the rarest", count(over.len(), "uncovered item"));
    let mut all = limit::truncated(identity, PeerRef::default(), note);
    for item in over {
        all.count = all.count.saturating_add(item.count);
        all.first_seen = earlier(all.first_seen.take(), item.first_seen);
        all.last_seen = later(all.last_seen.take(), item.last_seen);
    }
    all
}

/// Whether both are one item; what is over a limit is one for each peer.
fn is_item_of(known: &UncoveredPeer, item: &UncoveredPeer) -> bool {
    let is_cut = |item: &UncoveredPeer| item.reason == UncoveredReason::Truncated;
    known.id == item.id
        || (is_cut(known)
            && is_cut(item)
            && known.port == item.port
            && is_one_peer(&known.peer, &item.peer))
}

fn add_item(known: &mut UncoveredPeer, fresh: UncoveredPeer) {
    known.count = known.count.saturating_add(fresh.count);
    known.first_seen = earlier(known.first_seen.take(), fresh.first_seen);
    known.last_seen = later(known.last_seen.take(), fresh.last_seen);
    // An attempt that was answered later is one that was answered.
    known.reason = known.reason.min(fresh.reason);
    known.selector = known.selector.take().or(fresh.selector);
    add_notes(&mut known.notes, fresh.notes);
    add_names(&mut known.peer.names, fresh.peer.names);
    if union(&mut known.peer.addresses, fresh.peer.addresses, LISTED) {
        add_notes(&mut known.notes, vec![format!("more than {LISTED} addresses; these are some")]);
    }
}

/// Takes out what the body allows by now, because a person said so.
pub(super) fn take_allowed(
    cover: &Cover,
    uncovered: &mut Vec<UncoveredPeer>,
) -> Vec<UncoveredPeer> {
    uncovered.extract_if(.., |item| is_allowed(cover, item)).collect()
}

fn is_allowed(cover: &Cover, item: &UncoveredPeer) -> bool {
    // Of what has no direction, or stands for several, a rule cannot be said to allow it.
    let is_one = !matches!(
        item.reason,
        UncoveredReason::Ambiguous | UncoveredReason::Truncated | UncoveredReason::Protocol
    );
    let (Some(protocol), Some(port), true) = (protocol(item.protocol), item.port, is_one) else {
        return false;
    };
    if let Some(identity) = &item.peer.identity {
        let account = RulePeer::Account(identity.as_str().into());
        if cover.expresses(&account) {
            return cover.allows(&account, (protocol, port));
        }
    }
    let ends = ends(item);
    !ends.is_empty() && ends.iter().all(|end| cover.allows_end(end, (protocol, port)))
}

fn ends(item: &UncoveredPeer) -> Vec<End> {
    if let (Some(namespace), Some(selector)) = (&item.peer.namespace, &item.selector) {
        let selector = lower::selector(selector).0;
        let namespace = Arc::from(namespace.as_str());
        return cover::ends_of(&RulePeer::Pods { namespace, selector });
    }
    let addresses = item.peer.address.iter().chain(&item.peer.addresses);
    addresses.filter_map(|text| text.parse::<IpAddr>().ok()).map(End::Address).collect()
}

/// Adds what was seen of an item to the evidence of the rule that allows it.
pub(super) fn note(rules: &mut Vec<RuleEvidence>, item: UncoveredPeer) {
    let fresh = RuleEvidence {
        selector: item.selector,
        count: item.count,
        first_seen: item.first_seen,
        last_seen: item.last_seen,
        notes: item.notes,
        ..RuleEvidence::new(item.peer, item.port, item.protocol, Provenance::Manual)
    };
    let same = |one: &&mut RuleEvidence| {
        one.port == fresh.port
            && one.protocol == fresh.protocol
            && stands_for(&one.peer, &fresh.peer)
    };
    match rules.iter_mut().find(same) {
        Some(one) => add(one, fresh),
        None => rules.push(fresh),
    }
}

/// Suggestions of before stay and grow with what is seen now, as long as they would change something.
pub(super) fn suggestions(
    known: Vec<Suggestion>,
    fresh: Vec<Suggestion>,
    rules: &[RuleEvidence],
    cover: &Cover,
) -> Vec<Suggestion> {
    let mut merged = known;
    for one in fresh {
        match merged.iter_mut().find(|known| known.id == one.id) {
            Some(known) => {
                known.port = known.port.min(one.port);
                known.end_port = known.end_port.max(one.end_port);
                known.port_count = known.port_count.max(one.port_count).max(ports(known, rules));
                known.reason = format!("suggested range from {} ports", known.port_count);
            }
            None => merged.push(one),
        }
    }
    merged.retain(|one| ports(one, rules) > 0 && !is_accepted(one, rules, cover));
    merged.sort_by(|a, b| (&a.peer, a.protocol, &a.id).cmp(&(&b.peer, b.protocol, &b.id)));
    merged
}

/// Whether the body allows the whole range by now.
fn is_accepted(suggestion: &Suggestion, rules: &[RuleEvidence], cover: &Cover) -> bool {
    let mut listed = rules.iter().filter(|rule| is_within(rule, suggestion));
    listed.any(|rule| {
        let (port, end_port) = (suggestion.port, suggestion.end_port);
        let range = RuleEvidence { port, end_port, ..rule.clone() };
        Meaning::of(&range).and_then(|range| range.stands(cover)) == Some(true)
    })
}

/// How many ports within the range have rules of their own.
fn ports(suggestion: &Suggestion, rules: &[RuleEvidence]) -> i64 {
    let own = rules.iter().filter(|rule| is_within(rule, suggestion) && !rule.refused);
    i64::try_from(own.count()).unwrap_or(i64::MAX)
}

fn is_within(rule: &RuleEvidence, suggestion: &Suggestion) -> bool {
    is_same(&rule.peer, &suggestion.peer)
        && rule.protocol == suggestion.protocol
        && rule.port >= suggestion.port.max(Some(FIRST_HIGH_PORT))
        && rule.port <= suggestion.end_port
}

/// Notes that differ in a number only are one; the newest counts.
fn add_notes(known: &mut Vec<String>, fresh: Vec<String>) {
    let shape = |note: &str| note.replace(|c: char| c.is_ascii_digit(), "");
    for note in fresh {
        known.retain(|one| shape(one) != shape(&note));
        known.push(note);
    }
    known.sort();
    known.truncate(REMARKS);
}

/// Names keep their order: as they were meant, then as they were asked for.
fn add_names(known: &mut Vec<String>, fresh: Vec<String>) {
    for name in fresh {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    known.truncate(LISTED);
}

/// Adds what is new, sorted; whether it is more than is listed.
fn union(known: &mut Vec<String>, fresh: Vec<String>, listed: usize) -> bool {
    known.extend(fresh);
    known.sort();
    known.dedup();
    let is_over = known.len() > listed;
    known.truncate(listed);
    is_over
}
