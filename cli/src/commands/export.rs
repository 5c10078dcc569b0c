//! `export`: objects to put under Git or to apply.

use std::path::PathBuf;

use clap::ValueEnum;
use netenf_api::{Mode, WorkloadNetworkPolicy};
use netenf_k8s::render;
use netenf_store::{Resource, Stored};

use crate::args::Global;
use crate::error::{CommandError, Exit};
use crate::output::{self, count, print, tell};
use crate::wiring::select::Selection;
use crate::wiring::store::Session;

mod folder;

/// Write policies as objects to apply
///
/// Native objects are what the cluster enforces: a NetworkPolicy for each policy in protect, an
/// AuthorizationPolicy for each Istio policy (with the dry-run annotation in monitor). They are written as
/// the API server stores them, so that kubectl diff shows nothing after they are applied.
///
/// A folder is kept up to date: files that an earlier export wrote, and whose policy is gone or not enforced
/// any more, are removed, as far as namespace and names given here reach. A file of yours is neither written
/// over nor removed.
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
    name: String,
    text: String,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    let session = Session::open(global)?;
    session.refuse_broken()?;
    let selected = args.selection.find(&session, global)?;
    let mut files = Vec::new();
    let mut left_out = 0;
    for stored in &selected {
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
        Some(place) => folder::update(place, &files, &args.reach(global, &selected))?,
        None => {
            print(&files.iter().map(|file| file.text.as_str()).collect::<Vec<_>>().join("---\n"))?;
        }
    }
    Ok(Exit::Done)
}

// === impl Args ===

impl Args {
    /// Which objects' files may be removed where nothing is exported for them any more.
    fn reach(&self, global: &Global, selected: &[&Stored]) -> folder::Reach {
        let scope = if !self.selection.names.is_empty() || self.selection.direction.is_some() {
            let keys = selected.iter().map(|stored| stored.object.key());
            folder::Scope::Objects(keys.map(|key| (key.namespace, key.name)).collect())
        } else {
            folder::Scope::Namespace(global.only_namespace().map(str::to_owned))
        };
        folder::Reach { form: self.form, scope }
    }

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

fn wnp(mut policy: WorkloadNetworkPolicy) -> Result<File, CommandError> {
    policy.status = None;
    let object = Resource::from(policy);
    let key = object.key();
    let text = output::yaml_documents(std::iter::once(object))?;
    Ok(File { name: format!("{}.{}.policy.yaml", key.namespace, key.name), text })
}

fn native(policy: &WorkloadNetworkPolicy) -> Result<Option<File>, CommandError> {
    let Some(object) = render::native(policy)? else { return Ok(None) };
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    let (namespace, name) = (part(&object.metadata.namespace), part(&object.metadata.name));
    let kind = object.kind.as_str().to_ascii_lowercase();
    Ok(Some(File {
        name: format!("{namespace}.{name}.{kind}.yaml"),
        text: output::yaml_value(&object)?,
    }))
}
