//! What must hold before a policy is enforced (DESIGN D13), item by item. Nothing is enforced before
//! its effect was shown.

use std::collections::BTreeSet;

use k8s_openapi::api::networking::v1::NetworkPolicySpec;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use netenf_api::{Backend, Direction, PeerRef, Protocol, Provenance, UncoveredPeer};
use netenf_learn as learn;
use netenf_learn::wording::count;
use netenf_policy::{End, Pod};

use crate::enforcer::Enforcer;
use crate::lifecycle::Resource;
use crate::lower;
use crate::merge::network_policy_allows;
use crate::monitor::Denied;
use crate::render::{self, NAMESPACE_NAME};

const UDP: netenf_policy::Protocol = netenf_policy::Protocol::Udp;

/// One item of the preflight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Which: `window`, `quiet`, `uncovered`, `traffic`, `enforcer` or `dns`.
    pub name: &'static str,
    /// How it came out.
    pub result: Verdict,
    /// What was found.
    pub message: String,
    /// What a person can do about it.
    pub hint: Option<String>,
    /// What is accepted with it, one entry a line.
    pub details: Vec<String>,
}

/// How an item came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Pass,
    /// It cannot be told, or is worth knowing.
    Warn,
    /// It does not hold.
    Fail,
    /// It does not hold, and a person accepted that by name.
    Accepted,
}

/// What is known when an object is about to be enforced.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// The object.
    pub object: &'a Resource,
    /// Seconds from the first to the last recorded flow.
    pub window: Option<i64>,
    /// The time of the last recorded flow, in seconds since 1970.
    pub last: Option<i64>,
    /// Recorded traffic that enforcing would cut; `None` where none was recorded.
    pub denied: Option<&'a [Denied]>,
    /// Where the cluster's own policies were read, as a person wrote it: hints repeat it.
    pub cluster_state: &'a [String],
    /// What enforces in this cluster; a folder alone cannot tell.
    pub enforcer: Enforcer,
}

/// What a person asks for.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The least seconds of recorded time.
    pub min_window: i64,
    /// Seconds before the last flow in which no rule may be new.
    pub quiet_period: i64,
    /// Items that are accepted whatever they say.
    pub accept: Vec<String>,
}

/// Names of the items, in the order in which they are shown.
pub const ITEMS: [&str; 6] = ["window", "quiet", "uncovered", "traffic", "enforcer", "dns"];

/// Checks all items.
pub fn check(facts: &Facts<'_>, limits: &Limits) -> Vec<Item> {
    let mut items = vec![
        window(facts, limits),
        quiet(facts, limits),
        uncovered(facts),
        traffic(facts),
        enforcer(facts),
    ];
    items.extend(dns(facts));
    for item in &mut items {
        if item.result == Verdict::Fail && limits.accept.iter().any(|name| name == item.name) {
            item.result = Verdict::Accepted;
            if item.name == "traffic" {
                item.details = facts.denied.unwrap_or_default().iter().map(connection).collect();
            }
        }
    }
    items
}

/// Whether nothing stands in the way.
pub fn passes(items: &[Item]) -> bool {
    items.iter().all(|item| item.result != Verdict::Fail)
}

fn item(name: &'static str, result: Verdict, message: String) -> Item {
    Item { name, result, message, hint: None, details: Vec::new() }
}

fn window(facts: &Facts<'_>, limits: &Limits) -> Item {
    let least = words(limits.min_window);
    match facts.window {
        None => Item {
            hint: Some(
                "learn from a recording with times, or accept with --accept window".to_owned(),
            ),
            ..item("window", Verdict::Fail, format!("window unknown, at least {least} wanted"))
        },
        Some(window) if window >= limits.min_window => {
            let message = format!("window {} >= {least}", words(window));
            match gaps(facts.object) {
                None => item("window", Verdict::Pass, message),
                // It cannot be told what would have been seen there.
                Some(gaps) => item("window", Verdict::Warn, format!("{message}, but with {gaps}")),
            }
        }
        Some(window) => Item {
            hint: Some("record longer, or accept with --accept window".to_owned()),
            ..item("window", Verdict::Fail, format!("window {} < {least}", words(window)))
        },
    }
}

/// What is known not to have been seen of the object's pods.
fn gaps(object: &Resource) -> Option<String> {
    let gaps = object.gaps();
    let lost: i64 = gaps.iter().filter_map(|gap| gap.lost).fold(0, i64::saturating_add);
    let lost = if lost > 0 { format!(" ({lost} events lost)") } else { String::new() };
    (!gaps.is_empty()).then(|| format!("{}{lost}", count(gaps.len(), "gap")))
}

fn quiet(facts: &Facts<'_>, limits: &Limits) -> Item {
    let period = words(limits.quiet_period);
    // What the cluster itself needs is there from the first day, seen or not.
    let evidence = facts
        .object
        .evidence()
        .iter()
        .filter(|rule| !rule.refused && rule.provenance != Provenance::Infrastructure);
    let firsts =
        evidence.filter_map(|rule| rule.first_seen.as_ref()).map(|time| time.0.as_second());
    let Some(last) = facts.last else {
        return item("quiet", Verdict::Warn, format!("new rules in the last {period}: unknown"));
    };
    let new = firsts.filter(|first| last.saturating_sub(*first) < limits.quiet_period).count();
    let message = format!("new rules in the last {period}: {new}");
    if new == 0 {
        return item("quiet", Verdict::Pass, message);
    }
    Item {
        hint: Some("wait until nothing new comes, or accept with --accept quiet".to_owned()),
        ..item("quiet", Verdict::Fail, message)
    }
}

fn uncovered(facts: &Facts<'_>) -> Item {
    let (accepted, open): (Vec<_>, Vec<_>) =
        facts.object.uncovered().iter().partition(|item| item.accepted);
    let entries = |items: &[&UncoveredPeer]| -> Vec<String> {
        items.iter().map(|item| entry(item)).collect()
    };
    match (open.is_empty(), accepted.is_empty()) {
        (true, true) => item("uncovered", Verdict::Pass, "uncovered: 0".to_owned()),
        (true, false) => {
            let ids: Vec<&str> = accepted.iter().map(|item| item.id.as_str()).collect();
            let message = format!("uncovered: 0, accepted: {} ({})", ids.len(), ids.join(", "));
            Item { details: entries(&accepted), ..item("uncovered", Verdict::Accepted, message) }
        }
        (false, _) => {
            let shown = entries(&open[..open.len().min(5)]).join(", ");
            let more = open.len().saturating_sub(5);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            let also = match accepted.len() {
                0 => String::new(),
                count => format!(", accepted: {count}"),
            };
            Item {
                hint: Some("allow them with kubectl netenf allow ID, or accept their loss with --accept-uncovered ID,… or all".to_owned()),
                ..item("uncovered", Verdict::Fail, format!("uncovered: {} ({shown}{rest}){also}", open.len()))
            }
        }
    }
}

/// An uncovered item in a few words, with its id.
fn entry(item: &UncoveredPeer) -> String {
    let peer = &item.peer;
    let name =
        peer.name.as_deref().or(peer.names.first().map(String::as_str)).or(peer.address.as_deref());
    let port = item.port.map(|port| format!(" {port}/{}", item.protocol)).unwrap_or_default();
    format!("{} {}{port} [{}]", item.reason, name.unwrap_or_default(), item.id)
}

/// What is listed as uncovered was seen too, and is among what would be denied: each connection is told in
/// one sum, and those that are listed in a second one.
fn traffic(facts: &Facts<'_>) -> Item {
    let Some(denied) = facts.denied else {
        let message =
            "recorded connections that would be denied: unknown, none is recorded".to_owned();
        return item("traffic", Verdict::Warn, message);
    };
    let uncovered = facts.object.uncovered();
    let denied: Vec<(&Denied, Option<&UncoveredPeer>)> =
        denied.iter().map(|one| (one, listed(uncovered, one))).collect();
    let count: u64 = denied.iter().map(|(one, _)| one.edge.count).sum();
    let message = format!("recorded connections that would be denied: {count}");
    if denied.is_empty() {
        return item("traffic", Verdict::Pass, message);
    }
    let known = denied.iter().filter(|(_, item)| item.is_some());
    let known: u64 = known.map(|(one, _)| one.edge.count).sum();
    let message = format!("{message}, listed as uncovered: {known}");
    if denied.iter().all(|(_, item)| item.is_some_and(|item| item.accepted)) {
        let listed = denied.iter().filter_map(|(one, item)| item.map(|item| (one, item)));
        let details = listed.map(|(one, item)| format!("{} [{}]", connection(one), item.id));
        let details = details.collect();
        return Item { details, ..item("traffic", Verdict::Accepted, message) };
    }
    let hint = if denied.iter().all(|(_, item)| item.is_some()) {
        "allow or accept what is listed as uncovered".to_owned()
    } else {
        let state: String =
            facts.cluster_state.iter().map(|place| format!(" --cluster-state {place}")).collect();
        format!(
            "kubectl netenf diff --against-traffic{state} lists them; accept with --accept traffic"
        )
    };
    Item { hint: Some(hint), ..item("traffic", Verdict::Fail, message) }
}

/// The uncovered item that tells of the connection.
pub fn listed<'a>(uncovered: &'a [UncoveredPeer], denied: &Denied) -> Option<&'a UncoveredPeer> {
    let edge = &denied.edge;
    let peer = render::peer(denied.other_end());
    let protocol = render::protocol(edge.protocol);
    uncovered.iter().find(|item| {
        (item.port, item.protocol) == (Some(edge.port), protocol) && tells_of(&item.peer, &peer)
    })
}

fn tells_of(item: &PeerRef, seen: &PeerRef) -> bool {
    let addressed = seen.address.as_ref().is_some_and(|address| {
        item.address.as_ref() == Some(address) || item.addresses.contains(address)
    });
    let named = (&item.kind, &item.namespace, &item.name)
        == (&seen.kind, &seen.namespace, &seen.name)
        && item.name.is_some();
    let is_api_server = |peer: &PeerRef| peer.kind.as_deref() == Some("ApiServer");
    addressed || named || (is_api_server(item) && is_api_server(seen))
}

/// A connection in a few words.
fn connection(denied: &Denied) -> String {
    let edge = &denied.edge;
    let end = |peer: &learn::proposal::Peer| {
        let peer = render::peer(peer);
        let name = match (peer.name.or(peer.names.into_iter().next()), peer.address) {
            (Some(name), Some(address)) => Some(format!("{name}({address})")),
            (name, address) => name.or(address),
        };
        [peer.namespace, name].into_iter().flatten().collect::<Vec<_>>().join("/")
    };
    let (source, destination) = (end(&edge.source.peer), end(&edge.destination.peer));
    let protocol = render::protocol(edge.protocol);
    format!("{source} -> {destination} {}/{protocol} {}x", edge.port, edge.count)
}

fn enforcer(facts: &Facts<'_>) -> Item {
    match facts.enforcer {
        Enforcer::Present { name } => item("enforcer", Verdict::Pass, format!("enforcer: {name}")),
        Enforcer::Absent { why } => Item {
            hint: Some("install a CNI that enforces, or accept with --accept enforcer".to_owned()),
            ..item("enforcer", Verdict::Fail, format!("no enforcer: {why}"))
        },
        Enforcer::Unknown if facts.cluster_state.is_empty() => item(
            "enforcer",
            Verdict::Warn,
            "enforcer: a folder cannot tell what enforces in the cluster".to_owned(),
        ),
        Enforcer::Unknown => item(
            "enforcer",
            Verdict::Warn,
            "enforcer: no network plugin is among the objects that is known to enforce".to_owned(),
        ),
    }
}

/// An egress policy without DNS stops everything that uses names (case B47).
fn dns(facts: &Facts<'_>) -> Option<Item> {
    let egress = facts.object.backend() == Backend::Kubernetes
        && facts.object.direction() == Some(Direction::Egress);
    let spec = facts.object.kubernetes().filter(|_| egress)?;
    Some(if allows_dns(facts.object, spec) {
        item("dns", Verdict::Pass, "DNS is allowed".to_owned())
    } else {
        Item {
            hint: Some("learn with --cluster-state so that the cluster's DNS is known, or accept with --accept dns".to_owned()),
            ..item("dns", Verdict::Fail, "no DNS allowed: everything that uses names would stop".to_owned())
        }
    })
}

/// Whether a question over UDP reaches a DNS server: the one of every distribution, or one that the
/// evidence knows, by its namespace or by its address.
fn allows_dns(object: &Resource, spec: &NetworkPolicySpec) -> bool {
    let key = object.key();
    let (policy, _) = lower::network_policy("", &key.namespace, &key.name, spec);
    let known = object.evidence().iter().filter(|rule| {
        !rule.refused && rule.protocol == Protocol::Udp && rule.peer.kind.as_deref() == Some("Dns")
    });
    let mut ports: BTreeSet<u16> = known.clone().filter_map(|rule| rule.port).collect();
    // The service's port, and where CoreDNS listens in several distributions.
    ports.extend([53, 5353]);
    let allows = |end: &End, port: u16| {
        network_policy_allows(&policy, learn::Direction::Egress, end, (UDP, port))
    };
    if ports.iter().any(|port| allows(&kube_dns(*port), *port)) {
        return true;
    }
    known.into_iter().any(|rule| {
        let port = rule.port.unwrap_or(53);
        let address = rule.peer.address.as_deref().and_then(|address| address.parse().ok());
        let by_address = address.is_some_and(|address| allows(&End::Address(address), port));
        let namespace = rule.peer.namespace.as_deref();
        by_address || namespace.is_some_and(|namespace| names_namespace(spec, namespace, port))
    })
}

/// A pod of the DNS that every distribution has, with its port named as there.
fn kube_dns(port: u16) -> End {
    End::Pod(Pod {
        namespace: "kube-system".into(),
        namespace_labels: [(NAMESPACE_NAME, "kube-system")].into_iter().collect(),
        labels: [("k8s-app", "kube-dns")].into_iter().collect(),
        ports: vec![("dns".into(), UDP, port)],
        ..Pod::default()
    })
}

/// Whether a rule opens the UDP port to pods of that namespace by its name: which of its pods are the DNS
/// is known to who wrote the rule.
fn names_namespace(spec: &NetworkPolicySpec, namespace: &str, port: u16) -> bool {
    let mut rules = spec.egress.iter().flatten();
    rules.any(|rule| {
        let mut ports = rule.ports.iter().flatten();
        let opens = ports.any(|one| {
            one.protocol.as_deref() == Some("UDP")
                && one.port == Some(IntOrString::Int(i32::from(port)))
        });
        let mut peers = rule.to.iter().flatten();
        let names = peers.any(|peer| {
            let labels = peer.namespace_selector.as_ref().and_then(|it| it.match_labels.as_ref());
            labels.and_then(|labels| labels.get(NAMESPACE_NAME)).map(String::as_str)
                == Some(namespace)
        });
        opens && names
    })
}

/// A span of time, without loss where it is one of whole units.
fn words(seconds: i64) -> String {
    match seconds {
        // One day is told in hours, as its flag's default is.
        3_600..172_800 if seconds % 3_600 == 0 => format!("{}h", seconds / 3_600),
        60..3_600 if seconds % 60 == 0 => format!("{}m", seconds / 60),
        ..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests;
