//! Joins inputs, the learner and the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use netenf_flows::{Format, Input, Location, Options, Record, Replay, Summary};
use netenf_k8s::{Diagnostic, Index, Object};
use netenf_learn::proposal::Funnel;
use netenf_learn::{Backend, Config, Learner, Provider, Workload};

use crate::error::CommandError;
use crate::output::tell;

pub(crate) mod end;
pub(crate) mod near;
pub(crate) mod place;
pub(crate) mod pods;
pub(crate) mod policies;
mod progress;
pub(crate) mod select;
pub(crate) mod state;
pub(crate) mod store;
pub(crate) mod traffic;

/// Prints the cluster's objects that learning uses.
pub(crate) const GET_STATE: &str =
    "kubectl get ns,nodes,pods,rs,deploy,sts,ds,jobs,cronjobs,svc,endpointslices -A -o yaml";

/// How flows are read.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct FlowInput {
    /// Recorded flows: a file or - (repeatable); gzip and zstd are unpacked
    #[arg(long = "input-file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Who wrote the recording, if it cannot be told from its content
    #[arg(long, value_enum, value_name = "PROVIDER")]
    pub(crate) provider: Option<ProviderName>,
    /// Fail on the first line that cannot be decoded
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Sources of flows, by the names that people know them by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ProviderName {
    /// Cilium: Hubble
    #[value(alias = "hubble")]
    Cilium,
    /// Calico: Goldmane
    #[value(alias = "goldmane")]
    Calico,
    /// Istio ambient: ztunnel
    #[value(alias = "ztunnel")]
    Istio,
}

// === impl ProviderName ===

impl ProviderName {
    fn format(self) -> Format {
        match self {
            Self::Cilium => Format::Hubble,
            Self::Calico => Format::Goldmane,
            Self::Istio => Format::Ztunnel,
        }
    }
}

// === impl FlowInput ===

impl FlowInput {
    /// Opens the recordings.
    pub(crate) fn replay(&self) -> Result<Replay, CommandError> {
        let inputs = self.files.iter().map(|file| Input::from_argument(file.clone())).collect();
        let options = Options {
            provider: self.provider.map(ProviderName::format),
            strict: self.strict,
            ..Options::default()
        };
        Ok(Replay::new(inputs, options)?)
    }
}

/// Feeds a recording to a learner, with a progress bar where one is wanted. The recording's provider
/// decides the backend, and that the configuration; providers that need different ones cannot be learned
/// together.
pub(crate) fn learn(
    replay: &mut Replay,
    backend: impl Fn(Provider) -> Result<Backend, CommandError>,
    configure: impl Fn(Backend) -> Result<Config, CommandError>,
    index: &Arc<Index>,
) -> Result<(Learner<Arc<Index>>, Summary), CommandError> {
    let mut learner: Option<(Provider, Backend, Learner<Arc<Index>>)> = None;
    let mut bar = progress::Bar::new();
    while let Some(item) = replay.next()? {
        let provider = match &item.record {
            Record::Flow(observation) => observation.provider,
            Record::Lost(_) | Record::NodeStatus(_) => Provider::Hubble,
        };
        if learner.as_ref().is_none_or(|(known, ..)| *known != provider) {
            let backend = backend(provider)?;
            let own = match learner.take() {
                None => Learner::new(configure(backend)?, Arc::clone(index)),
                Some((_, known, learner)) if known == backend => learner,
                Some(_) => return Err(mixed(&item.location)),
            };
            learner = Some((provider, backend, own));
        }
        let Some((_, _, learner)) = &mut learner else { continue };
        match &item.record {
            Record::Flow(observation) => learner.observe(observation),
            Record::Lost(lost) => learner.lost(lost),
            Record::NodeStatus(status) => learner.node_status(status),
        }
        if bar.is_due() {
            bar.show(replay.progress());
        }
    }
    drop(bar);
    let summary = replay.summary().clone();
    let mut learner = match learner {
        Some((_, _, learner)) => learner,
        None => Learner::new(configure(backend(Provider::Hubble)?)?, Arc::clone(index)),
    };
    for _ in 0..summary.bad {
        learner.error();
    }
    tell_unread(&summary);
    Ok((learner, summary))
}

fn mixed(location: &Location) -> CommandError {
    CommandError::usage(format!(
        "{location}: ztunnel's flows become Istio policies and the others NetworkPolicies: they cannot be learned together"
    ))
    .hint("learn them into folders of their own, or choose with --backend kubernetes")
}

/// Tells what of a recording could not be used: the first bad line is shown, the others are counted.
pub(crate) fn tell_unread(summary: &Summary) {
    if let Some((location, reason)) = &summary.first_bad {
        let others = match summary.bad {
            1 => String::new(),
            bad => format!(" ({bad} such lines; this is the first)"),
        };
        tell(&crate::output::escaped(&format!("warning: {location}: {reason}{others}")));
    }
    for input in summary.inputs.iter().filter(|input| input.is_abandoned) {
        let seen =
            input.seen.as_ref().map(|seen| format!(": it begins like {seen}")).unwrap_or_default();
        tell(&crate::output::escaped(&format!(
            "warning: {} holds no flows and was left out{seen}",
            input.input
        )));
    }
}

/// What became of every observation, as documented JSON.
pub(crate) fn funnel(funnel: &Funnel) -> serde_json::Value {
    serde_json::json!({
        "received": funnel.received,
        "learned": funnel.learned,
        "skipped": funnel.skipped,
        "uncovered": funnel.uncovered,
        "violations": funnel.violations,
        "errors": funnel.errors,
        "lost": funnel.lost,
    })
}

/// A workload as a person names it: `[NAMESPACE/]KIND/NAME`, with kubectl's short names.
pub(crate) fn workload(text: &str, namespace: Option<&str>) -> Result<Workload, CommandError> {
    let parts: Vec<&str> = text.split('/').collect();
    let (namespace, kind, name) = match parts.as_slice() {
        [kind, name] => (namespace, *kind, *name),
        [namespace, kind, name] => (Some(*namespace), *kind, *name),
        _ => (None, "", ""),
    };
    let kind = match kind.to_ascii_lowercase().as_str() {
        "deployment" | "deployments" | "deploy" => "Deployment",
        "statefulset" | "statefulsets" | "sts" => "StatefulSet",
        "daemonset" | "daemonsets" | "ds" => "DaemonSet",
        "replicaset" | "replicasets" | "rs" => "ReplicaSet",
        "job" | "jobs" => "Job",
        "cronjob" | "cronjobs" | "cj" => "CronJob",
        "pod" | "pods" | "po" => "Pod",
        _ => "",
    };
    if kind.is_empty() || name.is_empty() {
        return Err(CommandError::usage(format!("{text:?} names no workload")).hint(
            "write KIND/NAME or NAMESPACE/KIND/NAME, for example deployment/web or shop/sts/db",
        ));
    }
    let namespace = namespace.ok_or_else(|| {
        CommandError::usage(format!("{text:?} needs a namespace"))
            .hint("add -n NAMESPACE, or write NAMESPACE/KIND/NAME")
    })?;
    Ok(Workload::new(namespace, kind, name))
}

/// Reads the cluster's objects from files, folders or `-`.
pub(crate) fn cluster_state(places: &[PathBuf]) -> Result<Index, CommandError> {
    let (objects, told) = read_objects(places, "--cluster-state")?;
    let index = Index::of(objects);
    tell_diagnostics(told.iter().chain(index.diagnostics()));
    Ok(index)
}

/// Reads Kubernetes objects from files, folders or `-`, which `flag` names.
pub(crate) fn read_objects(
    places: &[PathBuf],
    flag: &str,
) -> Result<(Vec<Object>, Vec<Diagnostic>), CommandError> {
    let mut objects = Vec::new();
    let mut diagnostics = Vec::new();
    for place in places {
        read_place(place, flag, &mut objects, &mut diagnostics)?;
    }
    if objects.is_empty() && !places.is_empty() {
        let first = diagnostics
            .first()
            .map_or(String::new(), |one| format!(": {}: {}", one.place, one.message));
        return Err(CommandError::failed(format!("{flag} holds no Kubernetes object{first}"))
            .hint(format!("give what {GET_STATE} prints")));
    }
    Ok((objects, diagnostics))
}

/// The most diagnostics that are told one by one.
const MAX_TOLD: usize = 10;

/// Tells what could not be understood; what is over a limit is counted.
pub(crate) fn tell_diagnostics<'a>(diagnostics: impl Iterator<Item = &'a Diagnostic>) {
    let mut diagnostics = diagnostics;
    for one in diagnostics.by_ref().take(MAX_TOLD) {
        tell(&crate::output::escaped(&format!("warning: {}: {}", one.place, one.message)));
    }
    let more = diagnostics.count();
    if more > 0 {
        tell(&format!("warning: {} more of this kind", crate::output::count(more, "problem")));
    }
}

fn read_place(
    place: &Path,
    flag: &str,
    objects: &mut Vec<Object>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<(), CommandError> {
    let failed = |error| {
        CommandError::failed(format!("cannot read {}", place.display()))
            .because(error)
            .hint(format!("check the name after {flag}"))
    };
    if place == Path::new("-") {
        let text = std::io::read_to_string(std::io::stdin()).map_err(failed)?;
        take("standard input", &text, objects, diagnostics);
    } else if place.is_dir() {
        let mut inside: Vec<PathBuf> = std::fs::read_dir(place)
            .map_err(failed)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()
            .map_err(failed)?;
        inside.sort();
        for path in inside {
            let hidden =
                path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            let wanted = path.extension().is_some_and(|e| e == "yaml" || e == "yml" || e == "json");
            if !hidden && (path.is_dir() || wanted) {
                read_place(&path, flag, objects, diagnostics)?;
            }
        }
    } else {
        let text = std::fs::read_to_string(place).map_err(failed)?;
        take(&place.display().to_string(), &text, objects, diagnostics);
    }
    Ok(())
}

fn take(place: &str, text: &str, objects: &mut Vec<Object>, diagnostics: &mut Vec<Diagnostic>) {
    let (found, told) = netenf_k8s::object::read(place, text);
    objects.extend(found);
    diagnostics.extend(told);
}
