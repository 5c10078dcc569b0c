//! `export`: objects to put under Git or to apply.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use netenf_api::istio::IstioWorkloadSelector;
use netenf_api::{AuthorizationPolicy, AuthorizationPolicySpec, Mode, WorkloadNetworkPolicy, key};
use netenf_store::Resource;

use crate::args::Global;
use crate::error::{CommandError, Exit};
use crate::output::{print, tell};
use crate::wiring::select::Selection;
use crate::wiring::store::Session;

/// Write policies as objects to apply
///
/// Native objects are what the cluster enforces: a NetworkPolicy for each policy in protect, an
/// AuthorizationPolicy for each Istio policy (with the dry-run annotation in monitor). They are written as
/// the API server stores them, so that kubectl diff shows nothing after they are applied.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Native objects of everything that protects, to the terminal
  kubectl netenf export --dir policies

  # One file an object and a kustomization.yaml
  kubectl netenf export -n shop --dir policies --output-dir deploy

  # Our own policies, for the agent to enforce
  kubectl netenf export --as wnp --dir policies")]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// What to write
    #[arg(long = "as", value_enum, default_value_t = Form::Native, value_name = "FORM")]
    form: Form,
    /// Write NetworkPolicies of monitored policies and of proposals too, as if they protected
    #[arg(long)]
    assume_protect: bool,
    /// Folder to write one file an object into, with a kustomization.yaml; else everything is printed
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// NetworkPolicy and AuthorizationPolicy
    Native,
    /// `WorkloadNetworkPolicy`
    Wnp,
}

/// A file to be.
struct File {
    path: String,
    text: String,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    let session = Session::open(global)?;
    let mut files = Vec::new();
    let mut left_out = 0;
    for stored in args.selection.find(&session, global)? {
        match args.file(&stored.object)? {
            Some(file) => files.push(file),
            None => left_out += 1,
        }
    }
    if left_out > 0 {
        tell(&format!(
            "{left_out} objects are not enforced yet and were left out; --assume-protect writes them too"
        ));
    }
    match &args.output_dir {
        Some(folder) => write(folder, &files)?,
        None => {
            print(&files.iter().map(|file| file.text.as_str()).collect::<Vec<_>>().join("---\n"))?
        }
    }
    Ok(Exit::Done)
}

// === impl Args ===

impl Args {
    fn file(&self, object: &Resource) -> Result<Option<File>, CommandError> {
        let policy = match object {
            Resource::Policy(policy) => (**policy).clone(),
            Resource::Proposal(proposal) if self.assume_protect => {
                let spec = proposal.spec.to_policy_spec(Mode::Protect);
                WorkloadNetworkPolicy { metadata: proposal.metadata.clone(), spec, status: None }
            }
            Resource::Proposal(_) => return Ok(None),
        };
        match self.form {
            Form::Wnp => wnp(policy).map(Some),
            Form::Native => native(&policy, self.assume_protect),
        }
    }
}

fn metadata(policy: &WorkloadNetworkPolicy) -> ObjectMeta {
    let labels = policy.metadata.labels.clone().unwrap_or_default();
    let labels: std::collections::BTreeMap<String, String> =
        labels.into_iter().filter(|(label, _)| !label.starts_with(netenf_api::GROUP)).collect();
    ObjectMeta {
        name: policy.metadata.name.clone(),
        namespace: policy.metadata.namespace.clone(),
        labels: (!labels.is_empty()).then_some(labels),
        ..ObjectMeta::default()
    }
}

fn wnp(mut policy: WorkloadNetworkPolicy) -> Result<File, CommandError> {
    policy.status = None;
    let object = Resource::from(policy);
    let key = object.key();
    let text = netenf_store::to_neat_yaml(&object)?;
    Ok(File { path: format!("{}.{}.policy.yaml", key.namespace, key.name), text })
}

fn native(
    policy: &WorkloadNetworkPolicy,
    assume_protect: bool,
) -> Result<Option<File>, CommandError> {
    let protects = policy.spec.mode == Mode::Protect || assume_protect;
    let mut metadata = metadata(policy);
    let (namespace, name) =
        (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default());
    if let Some(spec) = &policy.spec.kubernetes {
        if !protects {
            return Ok(None);
        }
        let object = NetworkPolicy { metadata, spec: Some(spec.clone()) };
        return Ok(Some(File {
            path: format!("{namespace}.{name}.networkpolicy.yaml"),
            text: yaml(&object)?,
        }));
    }
    let Some(spec) = &policy.spec.istio else { return Ok(None) };
    if spec.selector.match_expressions.as_ref().is_some_and(|expressions| !expressions.is_empty()) {
        return Err(CommandError::no(format!("{namespace}/{name} cannot be written: an AuthorizationPolicy knows no matchExpressions"))
            .hint("give the workload a selector of labels only; leaving the expressions out would widen the policy"));
    }
    if !protects {
        metadata.annotations = Some([(key::ISTIO_DRY_RUN.to_owned(), "true".to_owned())].into());
    }
    let selector = IstioWorkloadSelector {
        match_labels: spec.selector.match_labels.clone().unwrap_or_default(),
    };
    let spec = AuthorizationPolicySpec {
        selector: Some(selector),
        rules: spec.rules.clone(),
        ..AuthorizationPolicySpec::default()
    };
    let object = AuthorizationPolicy { metadata, spec };
    Ok(Some(File {
        path: format!("{namespace}.{name}.authorizationpolicy.yaml"),
        text: yaml(&object)?,
    }))
}

fn yaml(object: &impl serde::Serialize) -> Result<String, CommandError> {
    let text = serde_saphyr::to_string(object);
    let text = text.map_err(|error| CommandError::failed("cannot write YAML").because(error))?;
    Ok(if text.ends_with('\n') { text } else { text + "\n" })
}

/// Writes the files, and a kustomization that names those that are ours: a person's own entries stay.
fn write(folder: &Path, files: &[File]) -> Result<(), CommandError> {
    let failed = |error| {
        CommandError::failed(format!("cannot write to {}", folder.display())).because(error)
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    for file in files {
        put(folder, &file.path, &file.text).map_err(failed)?;
    }
    let path = folder.join("kustomization.yaml");
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let mut resources: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    resources.sort_unstable();
    let text = if known.trim().is_empty() {
        let lines: String = resources.iter().map(|name| format!("- {name}\n")).collect();
        format!(
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{lines}"
        )
    } else {
        let missing: Vec<&&str> = resources.iter().filter(|name| !known.contains(**name)).collect();
        if !missing.is_empty() {
            let names: Vec<String> = missing.iter().map(ToString::to_string).collect();
            tell(&format!(
                "{} is there already and stays as it is; add to its resources: {}",
                path.display(),
                names.join(", ")
            ));
        }
        known
    };
    put(folder, "kustomization.yaml", &text).map_err(failed)?;
    tell(&format!(
        "{} objects and kustomization.yaml written to {}",
        files.len(),
        folder.display()
    ));
    Ok(())
}

/// Writes a file as a whole or not at all.
fn put(folder: &Path, name: &str, text: &str) -> Result<(), std::io::Error> {
    let part = folder.join(format!(".{name}.part"));
    std::fs::write(&part, text)?;
    std::fs::rename(&part, folder.join(name))
}
