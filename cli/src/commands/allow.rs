//! `allow`: what was seen becomes a rule, because a person says so.

use ipnet::IpNet;
use netenf_k8s::lifecycle::{self, Choice};
use netenf_store::{Stored, Verb};

use super::learn::DryRun;
use crate::args::Global;
use crate::error::{CommandError, Exit};
use crate::output::{self, escaped, print, tell};
use crate::wiring::store::Session;

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
/// IDs are those that get -o yaml, diff and the preflight show; the start of one is enough while it is
/// unique. An outside peer is allowed by its addresses unless something else is chosen; nothing is ever
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
    /// Allow a network that holds the addresses that were seen
    #[arg(long, group = "choice", value_name = "CIDR")]
    cidr: Option<IpNet>,
    /// Allow every outside address of both IP versions
    #[arg(long, group = "choice")]
    any: bool,
    /// Further networks that --any leaves out, such as the cluster's own (repeatable)
    #[arg(long, value_name = "CIDR", requires = "any")]
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
    let namespace = global.namespace.as_deref().filter(|_| !global.all_namespaces);
    let mut changed: Vec<(&Stored, netenf_store::Resource, Vec<String>)> = Vec::new();
    let mut lines = String::new();
    for id in &args.ids {
        let stored = owner(&session, id, namespace)?;
        let at = match changed.iter().position(|(known, ..)| std::ptr::eq(*known, stored)) {
            Some(at) => at,
            None => {
                changed.push((stored, stored.object.clone(), Vec::new()));
                changed.len() - 1
            }
        };
        let (_, object, ids) = &mut changed[at];
        let allowed = lifecycle::allow(object, id, &args.choice(object, id))?;
        for warning in &allowed.warnings {
            tell(&escaped(&format!("warning: {}: {warning}", allowed.id)));
        }
        let dry = if args.dry_run.is_some() { " (dry run)" } else { "" };
        lines.push_str(&format!(
            "{} allows {}{dry}\n",
            output::object(&object.key(), global.spans_namespaces()),
            allowed.id
        ));
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
    fn choice(&self, object: &netenf_store::Resource, id: &str) -> Choice {
        if let Some(cidr) = self.cidr {
            return Choice::Cidr(cidr);
        }
        if self.any {
            let inside = INSIDE.iter().filter_map(|range| range.parse().ok());
            return Choice::Any { except: inside.chain(self.except.iter().copied()).collect() };
        }
        if object.suggestions().iter().any(|one| one.id.starts_with(id)) {
            return Choice::Range;
        }
        let pods = object
            .uncovered()
            .iter()
            .any(|item| item.id.starts_with(id) && item.selector.is_some());
        let identity = object.istio().is_some();
        if self.peer || (!self.addresses && (pods || identity)) {
            return Choice::Peer { selector: None };
        }
        Choice::Addresses
    }
}

/// The object that the id belongs to; an id may be cut short while it means one.
fn owner<'a>(
    session: &'a Session,
    id: &str,
    namespace: Option<&str>,
) -> Result<&'a Stored, CommandError> {
    let owns = |stored: &&Stored| {
        let object = &stored.object;
        let violations = object.as_policy().and_then(|policy| policy.status.as_ref());
        let violations = violations.map(|status| status.violations.as_slice()).unwrap_or_default();
        let mut ids = object.uncovered().iter().map(|item| item.id.as_str());
        let mut suggested = object.suggestions().iter().map(|one| one.id.as_str());
        let mut violated = violations.iter().map(|one| one.id.as_str());
        namespace.is_none_or(|namespace| object.key().namespace == namespace)
            && (ids.any(|own| own.starts_with(id))
                || suggested.any(|own| own.starts_with(id))
                || violated.any(|own| own.starts_with(id)))
    };
    let found: Vec<&Stored> = session.listing().objects.iter().filter(owns).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(CommandError::no(format!("nothing has the id {id:?}"))
            .hint("kubectl netenf diff shows ids of uncovered items; get -o yaml shows all")),
        many => {
            let names: Vec<String> =
                many.iter().map(|stored| stored.object.key().to_string()).collect();
            Err(CommandError::usage(format!("{id:?} means items of {}", names.join(" and ")))
                .hint("write more of the id"))
        }
    }
}
