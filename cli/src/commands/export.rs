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
use crate::output::{self, count, escaped, print, tell};
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
    /// Write monitored policies and proposals too, as if they protected
    #[arg(long)]
    assume_protect: bool,
    /// Folder to write one file an object into, with a kustomization.yaml; else everything is printed
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    #[value(help = "What clusters enforce: NetworkPolicy and AuthorizationPolicy")]
    Native,
    #[value(help = "What the agent enforces: WorkloadNetworkPolicy")]
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
            "left out as not enforced yet: {}; --assume-protect writes them too",
            count(left_out, "object")
        ));
    }
    match &args.output_dir {
        Some(_) if files.is_empty() => tell("there is nothing to export; nothing was written"),
        Some(folder) => write(folder, &files)?,
        None => {
            print(&files.iter().map(|file| file.text.as_str()).collect::<Vec<_>>().join("---\n"))?;
        }
    }
    Ok(Exit::Done)
}

// === impl Args ===

impl Args {
    fn file(&self, object: &Resource) -> Result<Option<File>, CommandError> {
        let policy = match object {
            Resource::Policy(policy) => {
                let mut policy = (**policy).clone();
                if self.assume_protect {
                    policy.spec.mode = Mode::Protect;
                }
                policy
            }
            Resource::Proposal(proposal) if self.assume_protect => {
                let spec = proposal.spec.to_policy_spec(Mode::Protect);
                WorkloadNetworkPolicy { metadata: proposal.metadata.clone(), spec, status: None }
            }
            Resource::Proposal(_) => return Ok(None),
        };
        match self.form {
            Form::Wnp => wnp(policy).map(Some),
            Form::Native => native(&policy),
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
    let text = output::yaml_documents(std::iter::once(object))?;
    Ok(File { path: format!("{}.{}.policy.yaml", key.namespace, key.name), text })
}

fn native(policy: &WorkloadNetworkPolicy) -> Result<Option<File>, CommandError> {
    let protects = policy.spec.mode == Mode::Protect;
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
    let text = serde_saphyr::to_string(object)
        .map_err(|error| CommandError::failed("cannot write YAML").because(error))?;
    if escaped(&text) != text {
        return output::json(object);
    }
    Ok(if text.ends_with('\n') { text } else { text + "\n" })
}

/// Names under which kustomize looks for its file; more than one of them is an error there.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Writes the files, and a kustomization where there is none: a person's own stays as it is.
fn write(folder: &Path, files: &[File]) -> Result<(), CommandError> {
    let failed = |error| {
        CommandError::failed(format!("cannot write to {}", folder.display()))
            .because(error)
            .hint("give a folder that you may write to with --output-dir")
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let existing = KUSTOMIZATIONS.iter().map(|name| folder.join(name)).find(|path| path.exists());
    let known = existing.as_ref().map(std::fs::read_to_string).transpose().map_err(failed)?;
    for file in files {
        put(folder, &file.path, &file.text).map_err(failed)?;
    }
    let mut resources: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    resources.sort_unstable();
    let written = count(files.len(), "object");
    match (existing, known) {
        (Some(path), Some(known)) => {
            tell(&escaped(&format!("{written} written to {}", folder.display())));
            tell_missing(&path, &known, &resources);
        }
        _ => {
            let lines: String = resources.iter().map(|name| format!("- {name}\n")).collect();
            let text = format!(
                "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{lines}"
            );
            put(folder, KUSTOMIZATIONS[0], &text).map_err(failed)?;
            let place = folder.display();
            tell(&escaped(&format!("{written} and kustomization.yaml written to {place}")));
        }
    }
    Ok(())
}

/// Tells which resources a person's kustomization does not name yet.
fn tell_missing(path: &Path, known: &str, resources: &[&str]) {
    let names: Vec<String> = serde_saphyr::from_str::<serde_json::Value>(known)
        .ok()
        .and_then(|value| serde_json::from_value(value.get("resources")?.clone()).ok())
        .unwrap_or_default();
    let is_named =
        |name: &str| names.iter().any(|own| own.strip_prefix("./").unwrap_or(own) == name);
    let missing: Vec<&str> = resources.iter().copied().filter(|name| !is_named(name)).collect();
    if !missing.is_empty() {
        tell(&escaped(&format!(
            "{} is there already and stays as it is; add to its resources: {}",
            path.display(),
            missing.join(", ")
        )));
    }
}

/// Writes a file as a whole or not at all.
fn put(folder: &Path, name: &str, text: &str) -> Result<(), std::io::Error> {
    let part = folder.join(format!(".{name}.part"));
    std::fs::write(&part, text)?;
    std::fs::rename(&part, folder.join(name))
}
