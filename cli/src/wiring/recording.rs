//! A recording and how it is understood: the same for learning from it as for judging it.

use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use netenf_flows::{Location, Record, Replay, Summary};
use netenf_k8s::{Index, render};
use netenf_learn::{Backend, Compat, Config, Directory as _, Learner, Provider, Workload};

use super::store::Session;
use super::{FlowInput, account, cluster_state, progress};
use crate::error::CommandError;

/// Recorded flows, and what tells what they mean.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Recording {
    #[command(flatten)]
    input: FlowInput,
    /// The cluster's objects as kubectl get -o yaml or json prints them: a file, a folder or -
    #[arg(long, value_name = "PLACE")]
    cluster_state: Vec<PathBuf>,
    /// What enforces the policies; decided by the recording's provider if not given
    #[arg(long, value_enum, value_name = "BACKEND")]
    backend: Option<BackendName>,
    /// DNS domain of the cluster
    #[arg(long, default_value = "cluster.local", value_name = "DOMAIN")]
    cluster_domain: String,
    /// Network plugin whose deviations from Kubernetes' rules proposals are fitted to; found in --cluster-state if not given
    #[arg(long, value_enum, value_name = "PLUGIN")]
    compat: Option<CompatName>,
}

/// What enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BackendName {
    /// Kubernetes NetworkPolicy
    Kubernetes,
    /// Istio AuthorizationPolicy
    Istio,
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

// === impl Recording ===

impl Recording {
    /// Whether there is one.
    pub(crate) fn is_given(&self) -> bool {
        !self.input.files.is_empty()
    }

    /// What is known of the cluster.
    pub(crate) fn index(&self) -> Result<Arc<Index>, CommandError> {
        Ok(Arc::new(cluster_state(&self.cluster_state)?))
    }

    /// Feeds it to a learner, which `configured` may narrow. Policies of another backend than the
    /// recording's cannot be learned or judged by it.
    pub(crate) fn learn(
        &self,
        session: Option<&Session>,
        index: &Arc<Index>,
        configured: impl Fn(Config) -> Result<Config, CommandError>,
    ) -> Result<(Learner<Arc<Index>>, Summary), CommandError> {
        let configure = |backend| {
            if let Some(session) = session {
                session.refuse_other_backend(render::backend(backend))?;
            }
            configured(Config {
                backend,
                cluster_domain: self.cluster_domain.as_str().into(),
                compat: self.compat(index),
                ..Config::default()
            })
        };
        feed(
            &mut self.input.replay()?,
            |provider| backend(self.backend, provider),
            configure,
            index,
        )
    }

    /// Whether rules are fitted to the Amazon VPC CNI because the cluster runs it, and not because a person
    /// said so (case B11).
    pub(crate) fn is_fitted_unasked(&self, index: &Index) -> bool {
        self.compat.is_none() && runs_aws_vpc_cni(index)
    }

    /// The deviations to fit to.
    fn compat(&self, index: &Index) -> Compat {
        let is_found = self.is_fitted_unasked(index);
        let detected = if is_found { CompatName::AwsVpcCni } else { CompatName::None };
        match self.compat.unwrap_or(detected) {
            CompatName::None => Compat::default(),
            CompatName::AwsVpcCni => Compat { service_ports: true, ..Compat::default() },
            CompatName::KubeRouter | CompatName::Kindnet => {
                Compat { node_probes: true, ..Compat::default() }
            }
        }
    }
}

/// The Amazon VPC CNI enforces where its node agent runs and no other plugin does (case B11).
fn runs_aws_vpc_cni(index: &Index) -> bool {
    let runs = |name: &str| index.has_workload(&Workload::new("kube-system", "DaemonSet", name));
    runs("aws-node") && !runs("cilium") && !runs("calico-node")
}

/// The backend of the recording's provider (D10), unless one was asked for.
fn backend(asked: Option<BackendName>, provider: Provider) -> Result<Backend, CommandError> {
    match (asked, provider) {
        (Some(BackendName::Istio), Provider::Hubble | Provider::Goldmane | Provider::Node) => {
            Err(CommandError::usage(
                "--backend istio needs flows of ztunnel: only they carry mesh identities",
            )
            .hint("leave --backend out, or give a ztunnel log"))
        }
        (Some(BackendName::Istio) | None, Provider::Ztunnel) => Ok(Backend::Istio),
        (
            Some(BackendName::Kubernetes) | None,
            Provider::Hubble | Provider::Goldmane | Provider::Node,
        )
        | (Some(BackendName::Kubernetes), Provider::Ztunnel) => Ok(Backend::Kubernetes),
    }
}

/// Feeds a recording to a learner, with a progress bar where one is wanted. The recording's provider
/// decides the backend, and that the configuration; providers that need different ones cannot be learned
/// together.
fn feed(
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
    account::tell_unread(&summary);
    Ok((learner, summary))
}

fn mixed(location: &Location) -> CommandError {
    CommandError::usage(format!(
        "{location}: ztunnel's flows become Istio policies and the others NetworkPolicies: they cannot be learned together"
    ))
    .hint("learn them into folders of their own, or choose with --backend kubernetes")
}
