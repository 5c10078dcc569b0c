//! What must hold before a policy is enforced (DESIGN D13), item by item. Nothing is enforced before
//! its effect was shown.

use netenf_api::{Backend, Direction};

use crate::lifecycle::Resource;
use crate::monitor::Denied;

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
    /// What enforces in this cluster; `None` where that cannot be told, as in a folder.
    pub enforcer: Option<&'a str>,
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
        }
    }
    items
}

/// Whether nothing stands in the way.
pub fn passes(items: &[Item]) -> bool {
    items.iter().all(|item| item.result != Verdict::Fail)
}

fn item(name: &'static str, result: Verdict, message: String) -> Item {
    Item { name, result, message, hint: None }
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
            item("window", Verdict::Pass, format!("window {} >= {least}", words(window)))
        }
        Some(window) => Item {
            hint: Some("record longer, or accept with --accept window".to_owned()),
            ..item("window", Verdict::Fail, format!("window {} < {least}", words(window)))
        },
    }
}

fn quiet(facts: &Facts<'_>, limits: &Limits) -> Item {
    let period = words(limits.quiet_period);
    let evidence = facts.object.evidence().iter().filter(|rule| !rule.refused);
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
    let open: Vec<String> = facts
        .object
        .uncovered()
        .iter()
        .filter(|item| !item.accepted)
        .map(|item| {
            let peer = &item.peer;
            let name = peer
                .name
                .as_deref()
                .or(peer.names.first().map(String::as_str))
                .or(peer.address.as_deref());
            let port =
                item.port.map(|port| format!(" {port}/{}", item.protocol)).unwrap_or_default();
            format!("{} {}{port} [{}]", item.reason, name.unwrap_or_default(), item.id)
        })
        .collect();
    if open.is_empty() {
        return item("uncovered", Verdict::Pass, "uncovered: 0".to_owned());
    }
    let shown = open.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    let rest = if open.len() > 5 { format!(" and {} more", open.len() - 5) } else { String::new() };
    Item {
        hint: Some("allow them with kubectl netenf allow ID, or accept their loss with --accept-uncovered ID,… or all".to_owned()),
        ..item("uncovered", Verdict::Fail, format!("uncovered: {} ({shown}{rest})", open.len()))
    }
}

fn traffic(facts: &Facts<'_>) -> Item {
    let Some(denied) = facts.denied else {
        let message =
            "recorded connections that would be denied: unknown, none is recorded".to_owned();
        return item("traffic", Verdict::Warn, message);
    };
    // What is listed as uncovered was seen too: it is judged by its own item.
    let count: u64 = denied.iter().map(|one| one.edge.count).sum();
    let message = format!("recorded connections that would be denied: {count}");
    if count == 0 {
        return item("traffic", Verdict::Pass, message);
    }
    Item {
        hint: Some(
            "kubectl netenf diff --against-traffic lists them; accept with --accept traffic"
                .to_owned(),
        ),
        ..item("traffic", Verdict::Fail, message)
    }
}

fn enforcer(facts: &Facts<'_>) -> Item {
    match facts.enforcer {
        Some(name) => item("enforcer", Verdict::Pass, format!("enforcer: {name}")),
        None => item(
            "enforcer",
            Verdict::Warn,
            "enforcer: a folder cannot tell what enforces in the cluster".to_owned(),
        ),
    }
}

/// An egress policy without DNS stops everything that uses names (case B47).
fn dns(facts: &Facts<'_>) -> Option<Item> {
    let egress = facts.object.backend() == Backend::Kubernetes
        && facts.object.direction() == Some(Direction::Egress);
    let spec = facts.object.kubernetes().filter(|_| egress)?;
    let is_dns = |port: &k8s_openapi::api::networking::v1::NetworkPolicyPort| {
        use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
        matches!(&port.port, Some(IntOrString::Int(53 | 5353)) | None)
            || matches!(&port.port, Some(IntOrString::String(name)) if name.starts_with("dns"))
    };
    let mut rules = spec.egress.iter().flatten();
    let allowed = rules.any(|rule| {
        rule.ports.as_ref().is_none_or(|ports| ports.is_empty() || ports.iter().any(is_dns))
    });
    Some(if allowed {
        item("dns", Verdict::Pass, "DNS is allowed".to_owned())
    } else {
        Item {
            hint: Some("learn with --cluster-state so that the cluster's DNS is known, or accept with --accept dns".to_owned()),
            ..item("dns", Verdict::Fail, "no DNS allowed: everything that uses names would stop".to_owned())
        }
    })
}

fn words(seconds: i64) -> String {
    match seconds {
        ..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}
