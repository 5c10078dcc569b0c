//! `allow`: what was seen becomes a rule, because a person says so.

use std::net::IpAddr;

use ipnet::IpNet;
use netenf_api::{Direction, PeerRef, Violation};
use netenf_k8s::lifecycle::{self, Choice, MIN_PREFIX, is_named};
use netenf_store::{Resource, Stored, Verb};

use super::learn::DryRun;
use crate::args::Global;
use crate::error::{CommandError, Exit};
use crate::output::{self, escaped, print, tell};
use crate::wiring::pods;
use crate::wiring::store::Session;
use crate::wiring::violation;

/// Ranges that "any outside address" leaves out: private and link-local ones, which are never outside.
const INSIDE: [&str; 9] = [
    "10.0.0.0/8",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "fc00::/7",
    "fe80::/10",
    "127.0.0.0/8",
    "::1/128",
];

/// Add a rule for something uncovered, for a violation, or for a suggested range
///
/// IDs are those that get -o yaml, diff and the preflight show; the first four characters of one are enough while
/// they are unique. An outside peer is allowed by its addresses unless something else is chosen; nothing is ever
/// widened unasked.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Allow an outside peer by all of its addresses that were seen
  kubectl netenf allow u3f9k2a --dir policies

  # Allow it by a network
  kubectl netenf allow u3f9k2a --cidr 203.0.113.0/24 --dir policies

  # Take a suggested range in place of a list of ports, but only show it
  kubectl netenf allow s81c0qz --dir policies --dry-run")]
pub(crate) struct Args {
    /// Ids of uncovered items, violations or suggestions
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Allow every address that was seen, one by one (the default for outside peers)
    #[arg(long, group = "choice")]
    addresses: bool,
    /// Allow a network that holds the addresses that were seen (repeatable: all of them together)
    #[arg(long, group = "choice", value_name = "CIDR", value_parser = network)]
    cidr: Vec<IpNet>,
    /// Allow every outside address of both IP versions
    #[arg(long, group = "choice")]
    any: bool,
    /// Further networks that --any leaves out, such as the cluster's own (repeatable)
    #[arg(long, value_name = "CIDR", requires = "any", value_parser = network)]
    except: Vec<IpNet>,
    /// Allow the pods of the peer (the default for pods), or its mesh identity
    #[arg(long, group = "choice")]
    peer: bool,
    /// Show what would be done and change nothing
    #[arg(long, value_name = "client", num_args = 0..=1, default_missing_value = "client", require_equals = true)]
    dry_run: Option<DryRun>,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    let session = Session::for_change(global, "allow", args.dry_run.is_some())?;
    let namespace = global.only_namespace();
    let mut changed: Vec<(&Stored, Resource, Vec<String>)> = Vec::new();
    let mut lines = String::new();
    for id in args.ids.iter().map(|id| violation::id(id)) {
        let stored = owner(&session, id, namespace)?;
        let at = match changed.iter().position(|(known, ..)| std::ptr::eq(*known, stored)) {
            Some(at) => at,
            None => {
                changed.push((stored, stored.object.clone(), Vec::new()));
                changed.len() - 1
            }
        };
        let (_, object, ids) = &mut changed[at];
        let allowed = lifecycle::allow(object, id, &args.choice(&session, object, id)?)?;
        for warning in &allowed.warnings {
            tell(&escaped(&format!("warning: {}: {warning}", allowed.id)));
        }
        let dry = if args.dry_run.is_some() { " (dry run)" } else { "" };
        lines.push_str(&format!(
            "{} allows {}{dry}\n",
            output::object(&object.key(), global.spans_namespaces()),
            allowed.id
        ));
        if !allowed.cleared.is_empty() {
            let cleared = allowed.cleared.join(", ");
            tell(&escaped(&format!("{} covers these too: {cleared}", allowed.id)));
        }
        ids.push(allowed.id);
        *object = allowed.object;
    }
    let records = changed
        .iter()
        .map(|(_, object, ids)| {
            Session::record(Verb::Allow, object, format!("allowed {}", ids.join(", ")))
        })
        .collect();
    let changes = changed.into_iter().map(|(stored, object, _)| stored.replace(object)).collect();
    session.write(changes, records)?;
    print(&lines)?;
    Ok(Exit::Done)
}

// === impl Args ===

impl Args {
    fn choice(
        &self,
        session: &Session,
        object: &Resource,
        id: &str,
    ) -> Result<Choice, CommandError> {
        if !self.cidr.is_empty() {
            return Ok(Choice::Networks(self.cidr.clone()));
        }
        if self.any {
            let inside = INSIDE.iter().filter_map(|range| range.parse().ok());
            let except = inside.chain(self.except.iter().copied()).collect();
            return Ok(Choice::Any { except });
        }
        if object.suggestions().iter().any(|one| is_named(&one.id, id)) {
            return Ok(Choice::Range);
        }
        // An address of a pod is soon another pod's: pods are allowed by their labels.
        let peer = peer(object, id);
        let is_pods = peer.is_some_and(|peer| {
            peer.namespace.is_some() && peer.kind.as_deref() != Some("NetworkSet")
        });
        let identity = object.istio().is_some();
        if self.peer || (!self.addresses && (is_pods || identity)) {
            let selector = peer.map_or(Ok(None), |peer| pods::selector(session, peer))?;
            return Ok(Choice::Peer { selector });
        }
        Ok(Choice::Addresses)
    }
}

/// A network as it is typed; a single address is one of one address, but nobody means that by chance.
fn network(text: &str) -> Result<IpNet, String> {
    match (text.parse(), text.parse::<IpAddr>().map(IpNet::from)) {
        (Ok(network), _) => Ok(network),
        (Err(_), Ok(single)) => Err(format!("an address is no network; write {single}")),
        (Err(_), Err(_)) => Err("write ADDRESS/LENGTH, for example 203.0.113.0/24".to_owned()),
    }
}

/// The peer that the id is about.
fn peer<'a>(object: &'a Resource, id: &str) -> Option<&'a PeerRef> {
    let uncovered = object.uncovered().iter().find(|item| is_named(&item.id, id));
    let violated = violations(object).find(|one| is_named(&one.id, id));
    let end = |one: &'a Violation| match one.direction {
        Direction::Egress => &one.dest,
        Direction::Ingress => &one.source,
    };
    uncovered.map(|item| &item.peer).or(violated.map(end))
}

/// The violations of a policy, known ones too.
fn violations(object: &Resource) -> impl Iterator<Item = &Violation> {
    let status = object.as_policy().and_then(|policy| policy.status.as_ref());
    status.into_iter().flat_map(|status| {
        let known = status.acknowledged_violations.iter().map(|one| &one.violation);
        status.violations.iter().chain(known)
    })
}

/// The object that the id belongs to; an id may be cut short while it means one.
fn owner<'a>(
    session: &'a Session,
    id: &str,
    namespace: Option<&str>,
) -> Result<&'a Stored, CommandError> {
    let owns = |stored: &&Stored| {
        let object = &stored.object;
        let mut ids = object.uncovered().iter().map(|item| item.id.as_str());
        let mut suggested = object.suggestions().iter().map(|one| one.id.as_str());
        let mut violated = violations(object).map(|one| one.id.as_str());
        namespace.is_none_or(|namespace| object.key().namespace == namespace)
            && (ids.any(|own| is_named(own, id))
                || suggested.any(|own| is_named(own, id))
                || violated.any(|own| is_named(own, id)))
    };
    let found: Vec<&Stored> = session.listing().objects.iter().filter(owns).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] if id.len() < MIN_PREFIX => Err(CommandError::no(format!("the id {id:?} is too short"))
            .hint(format!("give at least {MIN_PREFIX} characters of it"))),
        [] => Err(CommandError::no(format!("nothing has the id {id:?}")).hint(
            "kubectl netenf diff shows the ids of proposals, kubectl netenf violations those of violations",
        )),
        many => {
            let names: Vec<String> =
                many.iter().map(|stored| stored.object.key().to_string()).collect();
            Err(CommandError::no(format!("the id {id:?} could be of {}", names.join(", ")))
                .hint("write more of the id, or name the namespace with -n"))
        }
    }
}
