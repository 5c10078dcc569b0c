//! The policies that a question is about (DESIGN D9), and the objects that they are about.

use std::path::PathBuf;

use netenf_api::Mode;
use netenf_k8s::reach::Reach;
use netenf_k8s::{Diagnostic, Index, Object, lower};
use netenf_policy::NetworkPolicy;
use netenf_store::Resource;

use super::store::Session;
use super::{GET_STATE, read_objects};
use crate::args::Global;
use crate::error::CommandError;

/// Where policies and objects come from.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PolicyInput {
    /// Objects to judge by, policies too: a file, a folder or - (repeatable)
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
    /// Native policies, and ours that protect.
    network: Vec<NetworkPolicy>,
    /// What could not be understood, and what was left out.
    told: Vec<Diagnostic>,
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
        let (mut objects, mut told) = read_objects(&self.filename, "--filename")?;
        let (state, told_of_state) = read_objects(&self.cluster_state, "--cluster-state")?;
        objects.extend(state);
        told.extend(told_of_state);
        let stored = session.iter().flat_map(|session| &session.listing().objects);
        let mut ours: Vec<Resource> = stored.map(|stored| stored.object.clone()).collect();
        ours.extend(objects.iter().filter_map(|object| match object {
            Object::Policy(policy) => Some(Resource::from(policy.clone())),
            Object::Proposal(proposal) => Some(Resource::from(proposal.clone())),
            _ => None,
        }));
        let index = Index::of(objects);
        told.extend(index.diagnostics().cloned());
        let ours = self.lowered(&ours, &mut told);
        // Of a policy of ours and the native object that it became, ours is the newer.
        let is_ours = |policy: &&NetworkPolicy| {
            ours.iter().any(|own| (&own.namespace, &own.name) == (&policy.namespace, &policy.name))
        };
        let native = index.policies().iter().filter(|policy| !is_ours(policy));
        let mut network: Vec<NetworkPolicy> = native.cloned().collect();
        network.extend(ours);
        Ok(Judged { index, session, network, told })
    }

    /// Our policies that count; a proposal gives way to the policy of its name.
    fn lowered(&self, ours: &[Resource], told: &mut Vec<Diagnostic>) -> Vec<NetworkPolicy> {
        let counts = |object: &&Resource| match object.as_policy() {
            Some(policy) => self.assume_protect || policy.spec.mode == Mode::Protect,
            None => self.assume_protect && !ours.iter().any(|other| is_policy_of(other, object)),
        };
        let mut lowered = Vec::new();
        for object in ours.iter().filter(counts) {
            let key = object.key();
            let Some(spec) = object.kubernetes() else {
                let message = "a policy for Istio is left out: NetworkPolicies and cluster-wide policies are judged";
                told.push(Diagnostic { place: key.to_string(), message: message.to_owned() });
                continue;
            };
            let (policy, not_understood) =
                lower::network_policy(key.kind.as_str(), &key.namespace, &key.name, spec);
            told.extend(not_understood);
            lowered.push(policy);
        }
        lowered
    }
}

fn is_policy_of(one: &Resource, proposal: &Resource) -> bool {
    let (own, other) = (one.key(), proposal.key());
    one.as_policy().is_some() && (own.namespace, own.name) == (other.namespace, other.name)
}

// === impl Judged ===

impl Judged {
    /// What these policies let pass.
    pub(crate) fn reach(&self) -> Reach<'_> {
        let cluster = self.index.cluster_policies().iter().map(|policy| &**policy);
        Reach::new(&self.network, cluster)
    }
}
