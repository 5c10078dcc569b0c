//! `learn`: from a recording to proposals.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use clap::ValueEnum;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_k8s::end;
use netenf_k8s::near::near;
use netenf_k8s::{Index, render};
use netenf_learn::proposal::{Outcome, Proposal, Unplaced};
use netenf_learn::{Caps, Config, ExternalPeers, Learner, Scope, Subjects, Timestamp, Workload};
use netenf_store::Resource;

use crate::args::Global;
use crate::error::{CommandError, Exit};
use crate::output::{self, Pages, escaped, print, tell};
use crate::wiring::recording::Recording;
use crate::wiring::store::{self, Learning, Tally};
use crate::wiring::{self, account};

/// Learn from recorded flows and propose policies
///
/// Reads recordings of Hubble (hubble observe -o json), Goldmane or ztunnel and proposes, for each
/// workload and direction, a policy that allows what was seen and nothing else. What was seen but no
/// rule can express is listed as uncovered. With --dir the proposals are merged into a folder; without
/// it they are printed and nothing is stored.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Print proposals from a recording; nothing is stored
  kubectl netenf learn --input-file flows.jsonl

  # Know owners, selectors and services from the cluster's objects, and keep proposals in a folder
  kubectl netenf learn --input-file flows.jsonl --cluster-state state.yaml --dir policies

  # Learn one namespace from a compressed recording, and print what became of every flow
  kubectl netenf learn -n shop --input-file flows.jsonl.gz -o json")]
pub(crate) struct Args {
    #[command(flatten)]
    recording: Recording,
    /// Workloads to learn, as KIND/NAME; all of the namespaces if none is given
    #[arg(value_name = "WORKLOAD")]
    workloads: Vec<String>,
    /// Namespaces never to learn (repeatable)
    #[arg(long, value_name = "NAMESPACE")]
    exclude_namespace: Vec<String>,
    /// Workloads never to learn, as [NAMESPACE/]KIND/NAME (repeatable)
    #[arg(long, value_name = "WORKLOAD")]
    exclude_workload: Vec<String>,
    /// Kinds that get proposals
    #[arg(long, value_enum, default_value_t = SubjectsName::Standard, value_name = "KINDS")]
    subjects: SubjectsName,
    /// What becomes of addresses outside the cluster
    #[arg(long, value_enum, default_value_t = ExternalName::Uncovered, value_name = "HOW")]
    external: ExternalName,
    /// The most peers in a proposal
    #[arg(long, default_value_t = Caps::default().rules, value_name = "N")]
    max_rules: usize,
    /// The most ports of a peer
    #[arg(long, default_value_t = Caps::default().ports, value_name = "N")]
    max_ports: usize,
    /// Prefix length for the address of IPv6 probes under Istio ambient
    #[arg(long, default_value_t = 128, value_name = "BITS", value_parser = clap::value_parser!(u8).range(1..=128))]
    ambient_probe_prefix: u8,
    /// Start over: forget the counters, and the evidence of the proposals that are learned again
    #[arg(long)]
    fresh: bool,
    /// Show what would change in the folder and change nothing
    #[arg(long, value_name = "client", num_args = 0..=1, default_missing_value = "client", require_equals = true)]
    dry_run: Option<DryRun>,
    /// Output: yaml (proposals), json (what became of every flow), or name
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SubjectsName {
    #[value(help = "Deployment, StatefulSet and DaemonSet")]
    Standard,
    #[value(help = "Also ReplicaSet, Job, CronJob and Pod")]
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExternalName {
    /// Listed as uncovered, for a person to allow
    Uncovered,
    /// A rule for each address
    Addresses,
}

/// How a change is tried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRun {
    /// Print what would be written
    Client,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Yaml,
    Json,
    Name,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    if !args.recording.is_given() {
        return Err(CommandError::usage("learn needs a recording")
            .hint("give --input-file FILE, or --input-file - to read standard input"));
    }
    let index = args.recording.index()?;
    let mut session = match global.folder() {
        Some(dir) => Some(store::Session::for_learning(dir, args.dry_run.is_some())?),
        None => None,
    };
    let configured = |config| args.config(global, config, &index);
    let (mut learner, summary) = args.recording.learn(session.as_ref(), &index, configured)?;
    args.check_workloads(global, &learner)?;
    learner.settle();
    let mut proposals = learner.proposals();
    let spans = global.spans_namespaces();
    let (outcome, tally, before) = match &mut session {
        Some(session) => {
            let how = Learning { fresh: args.fresh, caps: args.caps() };
            let (outcome, learned) = session.learn(proposals, &index, &how)?;
            print(&args.report_stored(&outcome, &learned, spans)?)?;
            (outcome, learned.tally, learned.before)
        }
        None => {
            let last = proposals.window().map(|(_, last)| last);
            args.show(proposals.by_ref(), last, spans)?;
            let outcome = proposals.finish();
            if args.output == Some(Format::Json) {
                print(&output::json(&account::funnel(&outcome.funnel))?)?;
            }
            let (proposals, uncovered) = (outcome.proposal_count, outcome.uncovered_count);
            (outcome, Tally { proposals, policies: 0, uncovered }, None)
        }
    };
    account::tell_funnel(&outcome.funnel, &summary);
    tell_tally(tally);
    if let Some(before) = before {
        tell_overlap(&before, &outcome);
    }
    tell_hints(&outcome, &index);
    account::tell_missing(&index);
    account::tell_strangers(&outcome, &index);
    Ok(Exit::Done)
}

// === impl Args ===

impl Args {
    fn config(
        &self,
        global: &Global,
        config: Config,
        index: &Index,
    ) -> Result<Config, CommandError> {
        if self.recording.is_fitted_unasked(index) {
            tell(
                "the cluster runs the Amazon VPC CNI: rules name the services' own ports too, marked compat; --compat none leaves them out",
            );
        }
        let namespace = global.only_namespace();
        let workload = |text: &String| end::workload(text, namespace);
        let workloads: BTreeSet<Workload> =
            self.workloads.iter().map(workload).collect::<Result<_, _>>()?;
        let scope = Scope {
            namespaces: namespace
                .filter(|_| workloads.is_empty())
                .map(Arc::from)
                .into_iter()
                .collect(),
            exclude_namespaces: self
                .exclude_namespace
                .iter()
                .map(|name| name.as_str().into())
                .collect(),
            workloads,
            exclude_workloads: self
                .exclude_workload
                .iter()
                .map(workload)
                .collect::<Result<_, _>>()?,
        };
        let subjects = match self.subjects {
            SubjectsName::Standard => Subjects::Standard,
            SubjectsName::All => Subjects::All,
        };
        let external = match self.external {
            ExternalName::Uncovered => ExternalPeers::Uncovered,
            ExternalName::Addresses => ExternalPeers::Addresses,
        };
        Ok(Config {
            scope,
            subjects,
            external,
            caps: self.caps(),
            ambient_probe_v6_prefix: self.ambient_probe_prefix,
            ..config
        })
    }

    fn caps(&self) -> Caps {
        Caps { rules: self.max_rules, ports: self.max_ports, ..Caps::default() }
    }

    /// A workload that is named and that nothing was seen of is a slip of the hand: nothing is stored then.
    fn check_workloads(
        &self,
        global: &Global,
        learner: &Learner<Arc<Index>>,
    ) -> Result<(), CommandError> {
        let shown = |one: &Workload| {
            format!("{}/{}/{}", one.namespace, one.kind.to_ascii_lowercase(), one.name)
        };
        let seen: BTreeSet<String> = learner.workloads().map(shown).collect();
        let wanted = |name: &String| -> Result<String, CommandError> {
            Ok(shown(&end::workload(name, global.only_namespace())?))
        };
        let alike = |wanted: &str| near(wanted, seen.iter().map(String::as_str)).join(" or ");
        for name in &self.exclude_workload {
            let wanted = wanted(name)?;
            if !seen.contains(&wanted) {
                tell(&escaped(&format!(
                    "warning: nothing was seen of {wanted}, which is excluded"
                )));
            }
        }
        for name in &self.workloads {
            let wanted = wanted(name)?;
            if !seen.contains(&wanted) {
                let error = CommandError::no(format!("nothing was seen of {wanted}"));
                return Err(match alike(&wanted) {
                    none if none.is_empty() => {
                        error.hint("flows --group shows which workloads talk to each other")
                    }
                    names => error.hint(format!("did you mean {names}?")),
                });
            }
        }
        Ok(())
    }

    /// Without a folder the proposals themselves are the output (D7); each is let go when it is written.
    fn show(
        &self,
        proposals: impl Iterator<Item = Proposal>,
        last: Option<Timestamp>,
        spans: bool,
    ) -> Result<(), CommandError> {
        let objects = |proposal| Resource::from(render::proposal(&proposal, last));
        let mut pages = Pages::default();
        match self.output {
            Some(Format::Json) => proposals.for_each(drop),
            Some(Format::Name) => {
                for object in proposals.map(objects) {
                    pages.add(&(output::object(&object.key(), spans) + "\n"))?;
                }
            }
            Some(Format::Yaml) | None => {
                let mut between = "";
                for object in proposals.map(objects) {
                    pages.add(between)?;
                    pages.add(&output::yaml(&object)?)?;
                    between = output::NEXT_DOCUMENT;
                }
            }
        }
        pages.finish()
    }

    /// With a folder the output says what changed there.
    fn report_stored(
        &self,
        outcome: &Outcome,
        learned: &store::Learned,
        spans: bool,
    ) -> Result<String, CommandError> {
        match self.output {
            Some(Format::Json) => output::json(&account::funnel(&outcome.funnel)),
            Some(Format::Name) => {
                let name = |change: &store::Change| output::object(&change.object, spans) + "\n";
                Ok(learned.changes.iter().map(name).collect())
            }
            Some(Format::Yaml) => output::yaml_documents(learned.proposals.iter().cloned()),
            None => {
                let dry = if self.dry_run.is_some() { " (dry run)" } else { "" };
                let line = |change: &store::Change| {
                    format!("{} {}{dry}\n", output::object(&change.object, spans), change.verb)
                };
                Ok(learned.changes.iter().map(line).collect())
            }
        }
    }
}

/// A recording that was learned already, in part or whole, is counted again; nothing else shows that.
fn tell_overlap((first, last): &(Time, Time), outcome: &Outcome) {
    let own = outcome.window.map(|(first, last)| (render::time(first), render::time(last)));
    let Some((Some(own_first), Some(own_last))) = own else { return };
    if own_first.0 < last.0 && first.0 < own_last.0 {
        let [from, to] = [own_first.0.max(first.0), own_last.0.min(last.0)].map(output::time);
        tell(&format!(
            "warning: flows of {from} to {to} were learned before: where they are the same, counts hold them twice (--fresh starts over)"
        ));
    }
}

/// Tells what is listed because of the recording.
fn tell_tally(tally: Tally) {
    let mut parts = vec![output::count(tally.proposals, "proposal")];
    parts.extend((tally.policies > 0).then(|| policies(tally.policies)));
    parts.push(output::count(tally.uncovered, "uncovered item"));
    tell(&parts.join(", "));
}

fn policies(number: usize) -> String {
    if number == 1 { "1 policy".to_owned() } else { format!("{number} policies") }
}

/// Says why nothing, or little, came of it, and what to do (case B65).
fn tell_hints(outcome: &Outcome, index: &Index) {
    for (what, count) in &outcome.unlisted {
        tell(&format!("warning: too many distinct {what}: {count} are counted but not listed"));
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for unplaced in &outcome.unplaced {
        *reasons.entry(unplaced.uncovered.reason.name()).or_default() += 1;
    }
    if !reasons.is_empty() {
        let reasons: Vec<String> =
            reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        tell(&format!("seen, but without a proposal of its own: {}", reasons.join(", ")));
    }
    let of_other_kinds: BTreeSet<&str> = outcome
        .unplaced
        .iter()
        .filter_map(|unplaced| unplaced.subject.kind.as_deref())
        .filter(|kind| Subjects::All.cover(kind) && !Subjects::Standard.cover(kind))
        .collect();
    if !of_other_kinds.is_empty() {
        let kinds = of_other_kinds.into_iter().collect::<Vec<_>>().join(", ");
        tell(&format!("hint: --subjects all writes proposals for these kinds too: {kinds}"));
    }
    let is_nameless = |unplaced: &Unplaced| {
        let kind = unplaced.subject.kind.as_deref();
        kind.is_none_or(|kind| kind == "Pods" || kind == "Pod")
    };
    if index.is_empty() && outcome.unplaced.iter().any(is_nameless) {
        tell(&format!(
            "hint: the recording names pods but not all of their workloads or labels; give the cluster's objects:\n      \
             {} > state.yaml\n      and add --cluster-state state.yaml",
            wiring::GET_STATE
        ));
    } else if outcome.proposal_count == 0 {
        tell(
            "hint: no workload in scope was seen; see the reasons above, and -n, --subjects and --exclude-workload",
        );
    }
}
