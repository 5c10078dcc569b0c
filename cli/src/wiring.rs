//! Joins inputs, the learner and the store.

use std::path::{Path, PathBuf};

use netenf_flows::{Format, Input, Options, Replay};
use netenf_k8s::{Diagnostic, Index, Object};

use crate::error::CommandError;
use crate::output::tell;

pub(crate) mod account;
pub(crate) mod pods;
pub(crate) mod policies;
mod progress;
pub(crate) mod recording;
pub(crate) mod select;
pub(crate) mod state;
pub(crate) mod store;
pub(crate) mod traffic;
pub(crate) mod violation;

/// Prints the cluster's objects that learning uses.
pub(crate) const GET_STATE: &str =
    "kubectl get ns,nodes,pods,rs,deploy,sts,ds,jobs,cronjobs,svc,endpointslices,netpol -A -o yaml";

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
    let is_broken = |object: &Object| matches!(object, Object::Broken { .. });
    if objects.iter().all(is_broken) && !places.is_empty() {
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
