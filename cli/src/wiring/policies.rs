//! The policies that a question is about (DESIGN D9), and the objects that they are about.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use netenf_api::PeerRef;
use netenf_k8s::inquiry::{Inquiry, Recorded, Scope, counted};
use netenf_k8s::near::near;
use netenf_k8s::object::is_foreign_policy;
use netenf_k8s::reach::Reach;
use netenf_k8s::{Diagnostic, Index, Object};
use netenf_learn::Workload;
use netenf_learn::proposal::SeenEdge;
use netenf_policy::{ClusterPolicy, NetworkPolicy};
use netenf_store::{Key, Resource};

use super::store::Session;
use super::{GET_STATE, pods, read_objects};
use crate::args::Global;
use crate::error::{CommandError, Exit};
use crate::output::{count, escaped, tell};

/// Where policies and objects come from.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PolicyInput {
    /// Objects to judge by, policies too, in place of those of the same name in --cluster-state: a file, a folder or - (repeatable)
    #[arg(short = 'f', long = "filename", value_name = "PLACE")]
    pub(crate) filename: Vec<PathBuf>,
    /// The cluster's objects: a file, a folder or - (repeatable)
    #[arg(long, value_name = "PLACE")]
    pub(crate) cluster_state: Vec<PathBuf>,
    /// Count our monitoring policies and proposals as if they protected
    #[arg(long)]
    pub(crate) assume_protect: bool,
}

/// Policies and objects.
pub(crate) struct Judged {
    pub(crate) index: Index,
    /// The folder, if one is given.
    pub(crate) session: Option<Session>,
    /// Our objects: of one name that of the folder, else that of -f, else that of the cluster.
    pub(crate) ours: Vec<Resource>,
    /// What was recorded into the folder, once it was asked for.
    edges: OnceCell<Vec<SeenEdge>>,
    /// Native policies, and ours that protect.
    network: Vec<NetworkPolicy>,
    /// What could not be understood, and what was left out.
    told: Vec<Diagnostic>,
    /// What is judged by nothing.
    left_out: Vec<LeftOut>,
}

/// A policy that is not judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) object: String,
    /// Whether it is of a kind that is judged, so that the answer may be wrong.
    is_unreadable: bool,
}

// === impl PolicyInput ===

impl PolicyInput {
    /// Reads everything, and tells what could not be understood.
    pub(crate) fn read(&self, global: &Global) -> Result<Judged, CommandError> {
        let judged = self.read_quietly(global)?;
        super::tell_diagnostics(judged.told.iter());
        Ok(judged)
    }

    /// Reads policies and objects before a change and after it, and tells what could not be understood once.
    pub(crate) fn read_both(
        (before, of_before): (&Self, &Global),
        (after, of_after): (&Self, &Global),
    ) -> Result<(Judged, Judged), CommandError> {
        let (before, after) = (before.read_quietly(of_before)?, after.read_quietly(of_after)?);
        let new = after.told.iter().filter(|one| !before.told.contains(one));
        super::tell_diagnostics(before.told.iter().chain(new));
        Ok((before, after))
    }

    fn read_quietly(&self, global: &Global) -> Result<Judged, CommandError> {
        let session = global.folder().map(|_| Session::open(global)).transpose()?;
        if session.is_none() && self.filename.is_empty() && self.cluster_state.is_empty() {
            return Err(CommandError::usage("there is nothing to judge by").hint(format!(
                "give policies and objects with --dir, -f or --cluster-state, for example what {GET_STATE} prints"
            )));
        }
        let (mut objects, mut told) = read_objects(&self.cluster_state, "--cluster-state")?;
        let (files, told_of_files) = read_objects(&self.filename, "--filename")?;
        told.extend(told_of_files);
        tell_replaced(&objects, &files);
        objects.extend(files);
        let mut left_out = left_out(&objects, &mut told);
        let ours = unique(&objects, session.as_ref());
        let index = Index::of(objects);
        told.extend(index.diagnostics().cloned());
        told.extend(ties(&index));
        let scope = if self.assume_protect { Scope::AssumeProtect } else { Scope::InForce };
        let counted = counted(&ours, scope);
        told.extend(counted.told);
        left_out.extend(
            counted
                .left_out
                .iter()
                .map(|key| LeftOut { object: key.to_string(), is_unreadable: false }),
        );
        let lowered = counted.policies;
        let names = || lowered.iter().map(|policy| (&*policy.namespace, &*policy.name));
        told.extend(index.conflicts(names()));
        let mut network: Vec<NetworkPolicy> = index.natives_beside(names()).cloned().collect();
        network.extend(lowered);
        Ok(Judged { index, session, ours, edges: OnceCell::new(), network, told, left_out })
    }
}

/// Our objects, each name once: the folder's stands before that of -f, and that before the cluster's.
fn unique(objects: &[Object], session: Option<&Session>) -> Vec<Resource> {
    let mut ours: BTreeMap<Key, Resource> = BTreeMap::new();
    let mut add = |object: Resource| drop(ours.insert(object.key(), object));
    for object in objects {
        match object {
            Object::Policy(policy) => add(Resource::from(policy.clone())),
            Object::Proposal(proposal) => add(Resource::from(proposal.clone())),
            _ => {}
        }
    }
    let stored = session.into_iter().flat_map(|session| &session.listing().objects);
    stored.for_each(|stored| add(stored.object.clone()));
    ours.into_values().collect()
}

/// Tells which policies of the cluster those of -f stand for.
fn tell_replaced(state: &[Object], files: &[Object]) {
    let known: Vec<String> = state.iter().filter_map(policy_name).collect();
    for name in files.iter().filter_map(policy_name).filter(|name| known.contains(name)) {
        tell(&escaped(&format!("note: {name} of -f stands for that of --cluster-state")));
    }
}

fn policy_name(object: &Object) -> Option<String> {
    match object {
        Object::NetworkPolicy(policy) => {
            let metadata = &policy.metadata;
            let namespace = metadata.namespace.as_deref().unwrap_or("default");
            Some(format!("NetworkPolicy {namespace}/{}", metadata.name.as_deref()?))
        }
        Object::ClusterPolicy(policy) => {
            let name = policy.document.pointer("/metadata/name")?.as_str()?;
            Some(format!("{} {name}", policy.kind))
        }
        _ => None,
    }
}

/// Policies that cannot be read, or that are of no kind that is judged; the latter are told here, those of one
/// kind together.
fn left_out(objects: &[Object], told: &mut Vec<Diagnostic>) -> Vec<LeftOut> {
    let mut left_out = Vec::new();
    let mut alike: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for object in objects {
        match object {
            Object::Broken { kind, name } if kind.is_empty() || kind.ends_with("Policy") => {
                let object = if kind.is_empty() { name.clone() } else { format!("{kind} {name}") };
                left_out.push(LeftOut { object, is_unreadable: true });
            }
            Object::Other(document) => {
                let text = |path: &str| document.pointer(path).and_then(|value| value.as_str());
                let (kind, name) = (text("/kind").unwrap_or_default(), text("/metadata/name"));
                let (is_foreign, name) = (is_foreign_policy(kind), name.unwrap_or("?"));
                if is_foreign || meant(kind).is_some() {
                    let version = text("/apiVersion").unwrap_or("no version");
                    alike.entry((kind, version)).or_default().push(name);
                    let (object, is_unreadable) = (format!("{kind} {name}"), !is_foreign);
                    left_out.push(LeftOut { object, is_unreadable });
                }
            }
            _ => {}
        }
    }
    told.extend(alike.into_iter().map(|(kind, names)| tell_of_kind(kind, &names)));
    left_out
}

/// The kind that a person may have meant by one that does not exist.
fn meant(kind: &str) -> Option<&'static str> {
    const JUDGED: [&str; 4] = [
        "NetworkPolicy",
        "AdminNetworkPolicy",
        "BaselineAdminNetworkPolicy",
        "ClusterNetworkPolicy",
    ];
    let is_alike = kind.to_ascii_lowercase().contains("network");
    near(kind, JUDGED.into_iter()).first().copied().filter(|_| is_alike)
}

fn tell_of_kind((kind, version): (&str, &str), names: &[&str]) -> Diagnostic {
    let first = names.iter().take(3).copied().collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(3);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let message = match meant(kind).filter(|_| !is_foreign_policy(kind)) {
        Some(meant) => format!("left out: {version} has no such kind; is it a {meant}?"),
        None => format!("left out: policies of {version} are not judged"),
    };
    Diagnostic { place: format!("{kind} {first}{more}"), message }
}

/// Policies of one tier and priority: "it is undefined which of them is applied" where two match the same.
fn ties(index: &Index) -> Vec<Diagnostic> {
    let mut by_priority: BTreeMap<_, Vec<&ClusterPolicy>> = BTreeMap::new();
    for policy in index.cluster_policies() {
        by_priority.entry((policy.precedence().0, policy.priority)).or_default().push(policy);
    }
    let tied = by_priority.into_values().filter(|policies| policies.len() > 1);
    let told = tied.map(|policies| {
        let names: Vec<&str> = policies.iter().map(|policy| &*policy.name).collect();
        let priority = policies[0].priority;
        Diagnostic {
            place: format!("{} {}", policies[0].kind, names.join(", ")),
            message: format!(
                "of one priority ({priority}): where several match, the API leaves open which decides; here the first by name does"
            ),
        }
    });
    told.collect()
}

/// Tells what a person should know of what they named.
pub(crate) fn tell_note(note: &str) {
    tell(&escaped(&format!("note: {note}")));
}

// === impl Judged ===

impl Recorded for Judged {
    fn selector(&self, workload: &Workload) -> Option<LabelSelector> {
        let edges = self.edges.get_or_init(|| {
            let state = self.session.as_ref().map(Session::state);
            state.and_then(Result::ok).map(|state| state.edges()).unwrap_or_default()
        });
        let peer = PeerRef {
            kind: Some(workload.kind.to_string()),
            namespace: Some(workload.namespace.to_string()),
            name: Some(workload.name.to_string()),
            ..PeerRef::default()
        };
        pods::recorded(edges, &peer)
    }
}

impl Judged {
    /// What a question is asked of.
    pub(crate) fn inquiry<'a>(&'a self, global: &'a Global) -> Inquiry<'a> {
        let (index, ours) = (&self.index, self.ours.as_slice());
        Inquiry { index, ours, namespace: global.only_namespace(), recorded: self }
    }

    /// What these policies let pass.
    pub(crate) fn reach(&self) -> Reach<'_> {
        let cluster = self.index.cluster_policies().iter().map(|policy| &**policy);
        Reach::new(&self.network, cluster)
    }

    /// What is not judged, by name.
    pub(crate) fn left_out(&self) -> Vec<&str> {
        self.left_out.iter().map(|one| one.object.as_str()).collect()
    }

    /// The exit code: where a policy could not be read there is no answer.
    pub(crate) fn exit(&self, answer: Exit) -> Exit {
        let unreadable = self.left_out.iter().filter(|one| one.is_unreadable).count();
        if unreadable > 0 {
            let number = count(unreadable, "object");
            tell(&format!("error: {number} could not be read, so the answer may be wrong"));
            return Exit::Failed;
        }
        self.session.as_ref().map_or(answer, |session| session.exit(answer))
    }
}
