//! `learn`: from a recording to proposals.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_flows::Summary;
use netenf_k8s::{Index, render};
use netenf_learn::proposal::{Outcome, Proposal, Unplaced};
use netenf_learn::{
    Backend, Caps, Compat, Config, Directory as _, ExternalPeers, Learner, Provider, Scope,
    Subjects, Timestamp, Workload,
};
use netenf_store::Resource;

use crate::args::Global;
use crate::error::{CommandError, Exit};
use crate::output::{self, Pages, escaped, print, tell};
use crate::wiring::store::{self, Learning, Tally};
use crate::wiring::{self, FlowInput, near};

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
    input: FlowInput,
    /// The cluster's objects as kubectl get -o yaml or json prints them: a file, a folder or -
    #[arg(long, value_name = "PLACE")]
    cluster_state: Vec<PathBuf>,
    /// What enforces the policies; decided by the recording's provider if not given
    #[arg(long, value_enum, value_name = "BACKEND")]
    backend: Option<BackendName>,
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
    /// DNS domain of the cluster
    #[arg(long, default_value = "cluster.local", value_name = "DOMAIN")]
    cluster_domain: String,
    /// Prefix length for the address of IPv6 probes under Istio ambient
    #[arg(long, default_value_t = 128, value_name = "BITS", value_parser = clap::value_parser!(u8).range(1..=128))]
    ambient_probe_prefix: u8,
    /// Network plugin whose deviations from Kubernetes' rules proposals are fitted to; found in --cluster-state if not given
    #[arg(long, value_enum, value_name = "PLUGIN")]
    compat: Option<CompatName>,
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

/// What enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BackendName {
    /// Kubernetes NetworkPolicy
    Kubernetes,
    /// Istio AuthorizationPolicy
    Istio,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SubjectsName {
    #[value(help = "Deployment, StatefulSet and DaemonSet")]
    Standard,
    #[value(help = "Also ReplicaSet, Job, CronJob and Pod")]
    All,
}

/// Network plugins that are known to deviate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompatName {
    #[value(help = "None: rules as Kubernetes defines them")]
    None,
    #[value(help = "Checks the service's own port too, before translation")]
    AwsVpcCni,
    #[value(help = "Does not let pass what comes from a pod's own node")]
    KubeRouter,
    #[value(help = "Does not let pass what comes from a pod's own node")]
    Kindnet,
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
    if args.input.files.is_empty() {
        return Err(CommandError::usage("learn needs a recording")
            .hint("give --input-file FILE, or --input-file - to read standard input"));
    }
    let index = Arc::new(wiring::cluster_state(&args.cluster_state)?);
    let mut session = match global.folder() {
        Some(dir) => Some(store::Session::for_learning(dir, args.dry_run.is_some())?),
        None => None,
    };
    let mut replay = args.input.replay()?;
    let configure = |backend| {
        if let Some(session) = &session {
            session.refuse_other_backend(render::backend(backend))?;
        }
        args.config(global, backend, &index)
    };
    let of_provider = |provider| backend(args.backend, provider);
    let (mut learner, summary) = wiring::learn(&mut replay, of_provider, configure, &index)?;
    drop(replay);
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
                print(&output::json(&wiring::funnel(&outcome.funnel))?)?;
            }
            let (proposals, uncovered) = (outcome.proposal_count, outcome.uncovered_count);
            (outcome, Tally { proposals, policies: 0, uncovered }, None)
        }
    };
    tell_funnel(&outcome, &summary, tally);
    if let Some(before) = before {
        tell_overlap(&before, &outcome);
    }
    tell_hints(&outcome, &index);
    tell_missing(&index);
    Ok(Exit::Done)
}

/// The backend of the recording's provider (D10), unless one was asked for.
fn backend(asked: Option<BackendName>, provider: Provider) -> Result<Backend, CommandError> {
    match (asked, provider) {
        (Some(BackendName::Istio), Provider::Hubble | Provider::Goldmane) => {
            Err(CommandError::usage(
                "--backend istio needs flows of ztunnel: only they carry mesh identities",
            )
            .hint("leave --backend out, or give a ztunnel log"))
        }
        (Some(BackendName::Istio) | None, Provider::Ztunnel) => Ok(Backend::Istio),
        (Some(BackendName::Kubernetes) | None, Provider::Hubble | Provider::Goldmane)
        | (Some(BackendName::Kubernetes), Provider::Ztunnel) => Ok(Backend::Kubernetes),
    }
}

// === impl Args ===

impl Args {
    /// The deviations to fit to. The Amazon VPC CNI enforces where its node agent runs and no other
    /// plugin does (case B11); what was found is told, since it adds ports to rules.
    fn compat(&self, index: &Index) -> Compat {
        let runs =
            |name: &str| index.has_workload(&Workload::new("kube-system", "DaemonSet", name));
        let found = runs("aws-node") && !runs("cilium") && !runs("calico-node");
        if self.compat.is_none() && found {
            tell(
                "the cluster runs the Amazon VPC CNI: rules name the services' own ports too, marked compat; --compat none leaves them out",
            );
        }
        let detected = if found { CompatName::AwsVpcCni } else { CompatName::None };
        match self.compat.unwrap_or(detected) {
            CompatName::None => Compat::default(),
            CompatName::AwsVpcCni => Compat { service_ports: true, ..Compat::default() },
            CompatName::KubeRouter | CompatName::Kindnet => {
                Compat { node_probes: true, ..Compat::default() }
            }
        }
    }

    fn config(
        &self,
        global: &Global,
        backend: Backend,
        index: &Index,
    ) -> Result<Config, CommandError> {
        let namespace = global.only_namespace();
        let workload = |text: &String| wiring::workload(text, namespace);
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
            backend,
            scope,
            subjects,
            external,
            caps: self.caps(),
            cluster_domain: self.cluster_domain.as_str().into(),
            ambient_probe_v6_prefix: self.ambient_probe_prefix,
            compat: self.compat(index),
            ..Config::default()
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
            Ok(shown(&wiring::workload(name, global.only_namespace())?))
        };
        let near = |wanted: &str| near::near(wanted, seen.iter().map(String::as_str)).join(" or ");
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
                return Err(match near(&wanted) {
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
            Some(Format::Json) => output::json(&wiring::funnel(&outcome.funnel)),
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

/// Tells on standard error what became of every observation, and what is listed because of it.
fn tell_funnel(outcome: &Outcome, summary: &Summary, tally: Tally) {
    let funnel = &outcome.funnel;
    let skipped: u64 = funnel.skipped.values().sum();
    let counted = |number: u64, noun: &str| {
        output::count(usize::try_from(number).unwrap_or(usize::MAX), noun)
    };
    tell(&format!(
        "{} received: {} learned, {} uncovered, {} skipped, {}, {}; {} lost by the source",
        funnel.received,
        funnel.learned,
        funnel.uncovered,
        skipped,
        counted(funnel.violations, "violation"),
        counted(funnel.errors, "error"),
        funnel.lost
    ));
    if skipped > 0 {
        let mut reasons: Vec<(&&str, &u64)> = funnel.skipped.iter().collect();
        reasons.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        let reasons: Vec<String> =
            reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        tell(&format!("skipped: {}", reasons.join(", ")));
    }
    if summary.ignored > 0 {
        tell(&format!("{} about something else than flows", counted(summary.ignored, "line")));
    }
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

/// Says which objects are missing beside those that were given.
fn tell_missing(index: &Index) {
    let missing = index.missing_owners();
    if missing.is_empty() {
        return;
    }
    let kinds = missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    tell(&format!(
        "warning: pods of --cluster-state are owned by objects that are not in it, so that who owns those is not known: {kinds}\n\
         hint: one command gets all objects that learning uses:\n      {} > state.yaml",
        wiring::GET_STATE
    ));
}
