//! `promote`: a proposal becomes a policy, a policy protects.

use std::path::PathBuf;

use netenf_api::{Mode, WorkloadNetworkPolicy};
use netenf_k8s::Index;
use netenf_k8s::enforcer::enforcer;
use netenf_k8s::lifecycle::{self, Reason, Refusal, Selection as Accepted, WithoutRules, is_named};
use netenf_k8s::preflight::{self, Facts, Item, Limits, Verdict};
use netenf_store::{Change, Key, Record, Resource, Stored, Verb};
use serde_json::json;

use super::learn::DryRun;
use crate::args::Global;
use crate::clock;
use crate::error::{CommandError, Exit};
use crate::output::{self, JsonOnly, escaped, painted, print, tell, wrapped};
use crate::wiring;
use crate::wiring::select::Selection;
use crate::wiring::state::State;
use crate::wiring::store::Session;
use crate::wiring::traffic;

/// Turn proposals into policies, and monitored policies into protecting ones
///
/// Without a flag the policy only monitors: what it would deny is reported. With --protect a preflight is
/// printed first, and nothing at all is changed unless every item passes or is accepted by its name.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Watch what a workload's policies would deny
  kubectl netenf promote deployment/web -n shop --dir policies

  # Show the preflight and change nothing
  kubectl netenf promote deployment/web --protect -n shop --dir policies --dry-run

  # Enforce, and accept that what has no rule will be denied
  kubectl netenf promote sts/db -n shop --protect --accept-uncovered all --dir policies")]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// All proposals (and, with --protect, all monitored policies) of the namespace
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Report what would be denied (the default)
    #[arg(long, conflicts_with = "protect")]
    monitor: bool,
    /// Deny what is not allowed
    #[arg(long)]
    protect: bool,
    /// The cluster's objects, whose own policies count in the preflight: a file, a folder or - (repeatable)
    #[arg(long, value_name = "PLACE", requires = "protect")]
    cluster_state: Vec<PathBuf>,
    /// The least recorded time that --protect asks for
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = clock::seconds)]
    min_window: i64,
    /// The time in which no rule may be new for --protect
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = clock::seconds)]
    quiet_period: i64,
    /// Preflight items to accept whatever they say: window, quiet, traffic, enforcer, dns
    #[arg(long, value_name = "ITEM", requires = "protect", value_delimiter = ',', value_parser = clap::builder::PossibleValuesParser::new(["window", "quiet", "traffic", "enforcer", "dns"]))]
    accept: Vec<String>,
    /// Uncovered items whose loss is accepted, by id, or all
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    accept_uncovered: Vec<String>,
    /// Protect also what has no rule at all, which denies everything
    #[arg(long, requires = "protect")]
    deny_all: bool,
    /// Show what would be done and change nothing
    #[arg(long, value_name = "client", num_args = 0..=1, default_missing_value = "client", require_equals = true)]
    dry_run: Option<DryRun>,
    /// Output: json (the preflight)
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<JsonOnly>,
}

/// What one object would become.
struct Plan<'a> {
    stored: &'a Stored,
    policy: Resource,
    items: Vec<Item>,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    let session = Session::for_change(global, "promote", args.dry_run.is_some())?;
    let found = args.selection.find_named(&session, global, args.all)?;
    args.check_ids(&found)?;
    if found.is_empty() {
        tell("nothing to promote; kubectl netenf learn makes proposals");
    }
    let state = session.state()?;
    if let Some(warning) = state.warning().filter(|_| args.protect) {
        tell(&warning);
    }
    let index = wiring::cluster_state(&args.cluster_state)?;
    let mut plans = Vec::new();
    let mut refusals = Vec::new();
    for stored in found {
        if let Some(word) = args.done(&stored.object) {
            tell(&escaped(&format!("{} {word}", stored.object.key())));
            continue;
        }
        match args.plan(&session, &state, &index, stored) {
            Ok(plan) => plans.push(plan),
            Err(error) => refusals.push(error),
        }
    }
    args.show(&plans)?;
    refuse(&plans)?;
    refusals.iter().for_each(output::error);
    // A refusal among several stops nothing that only monitors, and everything that would deny.
    if refusals.is_empty() || !args.protect {
        args.write(global, &session, plans)?;
    }
    Ok(if refusals.is_empty() { Exit::Done } else { Exit::No })
}

/// Refuses everything if the preflight of one fails.
fn refuse(plans: &[Plan<'_>]) -> Result<(), CommandError> {
    let failed = |plan: &Plan<'_>| plan.items.iter().filter(|i| i.result == Verdict::Fail).count();
    let names: Vec<String> = plans
        .iter()
        .filter(|plan| failed(plan) > 0)
        .map(|plan| plan.stored.object.key().name)
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    let checks = output::count(plans.iter().map(failed).sum(), "check");
    Err(CommandError::no(format!("not promoted: {checks} failed ({})", names.join(", ")))
        .hint("each line with FAIL says what to do; promote without --protect only monitors"))
}

// === impl Args ===

impl Args {
    fn mode(&self) -> Mode {
        if self.protect { Mode::Protect } else { Mode::Monitor }
    }

    /// Why there is nothing to do: the policy is there already, or further.
    fn done(&self, object: &Resource) -> Option<&'static str> {
        match (object.as_policy()?.spec.mode, self.mode()) {
            (Mode::Monitor, Mode::Monitor) => {
                Some("is in monitor already; promote --protect makes it deny")
            }
            (Mode::Protect, Mode::Protect) => Some("is in protect already"),
            (Mode::Protect, Mode::Monitor) => {
                Some("is in protect already; demote takes it back to monitor")
            }
            (Mode::Monitor, Mode::Protect) => None,
        }
    }

    /// What the object would become, and its preflight where that would deny.
    fn plan<'a>(
        &self,
        session: &Session,
        state: &State,
        index: &Index,
        stored: &'a Stored,
    ) -> Result<Plan<'a>, CommandError> {
        let object = self.accepted(&stored.object)?;
        if !self.protect {
            let policy = self.promoted(session, &object, WithoutRules::Refuse)?;
            return Ok(Plan { stored, policy: policy.into(), items: Vec::new() });
        }
        let (policy, rules) = match self.promoted(session, &object, WithoutRules::Refuse) {
            Ok(policy) => (policy, None),
            Err(refusal) if *refusal.reason == Reason::NoRules => {
                (self.promoted(session, &object, WithoutRules::Accept)?, Some(self.no_rules()))
            }
            Err(refusal) => return Err(refusal.into()),
        };
        let policy = Resource::from(policy);
        let edges = state.edges();
        let denied = traffic::denied(session, &[&policy], index, &edges);
        let places = self.cluster_state.iter().map(|place| place.display().to_string());
        let places: Vec<String> = places.collect();
        let facts = Facts {
            object: &object,
            window: state.window(),
            last: state.last.as_ref().map(|time| time.0.as_second()),
            denied: (!edges.is_empty()).then_some(denied.as_slice()),
            cluster_state: &places,
            enforcer: enforcer(index, None, object.backend()),
        };
        let mut items = preflight::check(&facts, &self.limits());
        items.extend(rules);
        Ok(Plan { stored, policy, items })
    }

    fn no_rules(&self) -> Item {
        Item {
            name: "rules",
            result: if self.deny_all { Verdict::Accepted } else { Verdict::Fail },
            message: "no rule: everything would be denied".to_owned(),
            hint: Some(
                "learn longer, allow what is uncovered, or accept with --deny-all".to_owned(),
            ),
            details: Vec::new(),
        }
    }

    /// An id that belongs to nothing is a slip of the hand, and accepts nothing.
    fn check_ids(&self, found: &[&Stored]) -> Result<(), CommandError> {
        let known = |id: &str| {
            let mut items = found.iter().flat_map(|stored| stored.object.uncovered());
            id == "all" || items.any(|item| is_named(&item.id, id))
        };
        match self.accept_uncovered.iter().find(|id| !known(id)) {
            None => Ok(()),
            Some(id) => Err(CommandError::no(format!(
                "nothing uncovered in what is named has the id {id:?}"
            ))
            .hint("kubectl netenf diff and the preflight show the ids")),
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            min_window: self.min_window,
            quiet_period: self.quiet_period,
            accept: self.accept.clone(),
        }
    }

    /// The object with the uncovered items accepted that the person named.
    fn accepted(&self, object: &Resource) -> Result<Resource, CommandError> {
        if self.accept_uncovered.iter().any(|id| id == "all") {
            return Ok(lifecycle::accept_uncovered(object, Accepted::All)?);
        }
        // With several objects an id belongs to one of them.
        let own = |id: &&String| object.uncovered().iter().any(|item| is_named(&item.id, id));
        let ids: Vec<String> = self.accept_uncovered.iter().filter(own).cloned().collect();
        if ids.is_empty() {
            Ok(object.clone())
        } else {
            Ok(lifecycle::accept_uncovered(object, Accepted::Ids(&ids))?)
        }
    }

    fn promoted(
        &self,
        session: &Session,
        object: &Resource,
        without: WithoutRules,
    ) -> Result<WorkloadNetworkPolicy, Refusal> {
        match object {
            Resource::Proposal(proposal) => {
                let key = object.key();
                let existing = session.listing().find(&Key::policy(key.namespace, key.name));
                let existing = existing.and_then(|stored| stored.object.as_policy());
                lifecycle::promote(proposal, self.mode(), existing, without)
            }
            Resource::Policy(policy) => lifecycle::set_mode(policy, self.mode(), without),
        }
    }

    fn show(&self, plans: &[Plan<'_>]) -> Result<(), CommandError> {
        if self.output == Some(JsonOnly::Json) {
            let item = |item: &Item| json!({"item": item.name, "result": word(item.result), "message": item.message, "hint": item.hint, "details": item.details});
            let plan = |plan: &Plan<'_>| json!({"namespace": plan.stored.object.key().namespace, "name": plan.stored.object.key().name, "mode": self.mode(), "preflight": plan.items.iter().map(item).collect::<Vec<_>>()});
            return print(&output::json(
                &json!({"items": plans.iter().map(plan).collect::<Vec<_>>()}),
            )?);
        }
        let names = || plans.iter().map(|plan| escaped(&plan.stored.object.key().name));
        let messages =
            plans.iter().flat_map(|plan| &plan.items).map(|item| item.message.chars().count());
        let name_width = names().map(|name| name.chars().count()).max().unwrap_or(0);
        // Long messages break the column rather than push all others to the right.
        let width = messages.filter(|length| *length <= 60).max().unwrap_or(0);
        let mut text = String::new();
        for (plan, name) in plans.iter().zip(names()) {
            for item in &plan.items {
                text.push_str(&line(&format!("{name:<name_width$}"), item, width));
                text.push('\n');
                text.extend(item.details.iter().map(|one| format!("  - {}\n", escaped(one))));
            }
        }
        print(&text)
    }

    fn write(
        &self,
        global: &Global,
        session: &Session,
        plans: Vec<Plan<'_>>,
    ) -> Result<(), CommandError> {
        let mut changes = Vec::new();
        let mut records = Vec::new();
        let mut lines = String::new();
        let dry = if self.dry_run.is_some() { " (dry run)" } else { "" };
        for plan in plans {
            records.push(record(self.mode(), &plan.policy));
            lines.push_str(&format!(
                "{} promoted ({}){dry}\n",
                output::object(&plan.policy.key(), global.spans_namespaces()),
                self.mode()
            ));
            if plan.stored.object.as_policy().is_some() {
                changes.push(plan.stored.replace(plan.policy));
            } else {
                changes.push(Change::Create(plan.policy));
                changes.push(plan.stored.delete());
            }
        }
        session.write(changes, records)?;
        if self.output.is_none() {
            print(&lines)?;
        }
        if self.dry_run.is_none() && !lines.is_empty() {
            tell("undo with kubectl netenf demote");
        }
        Ok(())
    }
}

fn record(mode: Mode, policy: &Resource) -> Record {
    Session::record(Verb::Promote, policy, format!("to {mode}"))
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Warn => "warn",
        Verdict::Fail => "fail",
        Verdict::Accepted => "accepted",
    }
}

/// A preflight line: what was checked, how it came out, and what to do about it.
fn line(name: &str, item: &Item, width: usize) -> String {
    let result = match item.result {
        Verdict::Pass => painted(32, "pass"),
        Verdict::Warn => painted(33, "warn"),
        Verdict::Fail => painted(31, "FAIL"),
        Verdict::Accepted => painted(33, "accepted"),
    };
    let hint = item.hint.as_deref().filter(|_| item.result == Verdict::Fail).map(escaped);
    let message = escaped(&item.message);
    let beside = hint.as_ref().map(|hint| format!("  ({hint})")).unwrap_or_default();
    let length = format!("PREFLIGHT  {name}  {message:<width$}  accepted{beside}").chars().count();
    // A terminal is not made to break words; a pipe gets a line for each item.
    if let Some(columns) = output::width().filter(|columns| length > *columns) {
        let text = format!("PREFLIGHT  {name}  {message}");
        let text = wrapped(&text, columns - "  accepted".len(), 4);
        let below = hint.map(|hint| format!("\n    {}", wrapped(&hint, columns - 4, 4)));
        return format!("{text}  {result}{}", below.unwrap_or_default());
    }
    format!("PREFLIGHT  {name}  {message:<width$}  {result}{beside}")
}
