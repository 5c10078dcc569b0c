//! The command line. Each flag has a twin in the environment, which a chart can set from a Secret or a
//! `ConfigMap`. Those of flow sources, learning and gRPC are accepted and judged already; the parts
//! that read them are not there yet.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use netenf_api::Backend;
use netenf_k8s::enforcer;
use netenf_learn::{Caps, Config, Scope};
use netenf_telemetry::config::Secret;

use crate::address::{Address, Loopback};
use crate::duration;
use crate::log::Level;
use crate::source::Source;

/// Where node agents report unless another address is given.
const NODE_ENDPOINT: &str = ":9444";

/// Learns from the traffic of a cluster and keeps its network policies.
#[derive(Debug, Parser)]
#[command(name = "netenf-agent", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the controller.
    Controller(Box<Controller>),
}

#[derive(Debug, Args)]
pub(crate) struct Controller {
    #[command(flatten)]
    provider: Provider,
    #[command(flatten)]
    learning: Learning,
    #[command(flatten)]
    export: Export,

    /// Backend of policies, `kubernetes` or `istio` [default: that of the provider]
    #[arg(long, env = "NETENF_BACKEND")]
    backend: Option<Backend>,

    /// Elect one of several replicas, which alone writes
    #[arg(long, env = "NETENF_LEADER_ELECT")]
    pub(crate) leader_elect: bool,

    /// Namespace of the agent and of its Lease [default: that of the service account]
    #[arg(long, env = "POD_NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// Name of this replica's pod, which must differ between replicas
    #[arg(long, env = "POD_NAME", required_if_eq("leader_elect", "true"))]
    pub(crate) pod_name: Option<String>,

    /// Where /healthz and /readyz are served; 0 for nowhere
    #[arg(long, env = "NETENF_HEALTH_PROBE_BIND_ADDRESS", default_value = ":8081")]
    pub(crate) health_probe_bind_address: Address,

    /// Where /metrics is served; 0 for nowhere
    #[arg(long, env = "NETENF_METRICS_BIND_ADDRESS", default_value = ":8443")]
    pub(crate) metrics_bind_address: Address,

    /// Where the command line reaches the agent, through a port-forward: an address of loopback; 0 for nowhere
    #[arg(long, env = "NETENF_GRPC_BIND_ADDRESS", default_value = "127.0.0.1:9443")]
    pub(crate) grpc_bind_address: Loopback,

    /// How often the status of policies is written
    #[arg(long, env = "NETENF_WNP_STATUS_UPDATE_INTERVAL", default_value = "30s", value_parser = duration::parse)]
    wnp_status_update_interval: Duration,

    /// What is logged: a level, or levels by module: `info,netenf_cluster=debug`
    #[arg(long, env = "NETENF_LOG_LEVEL", default_value = "info")]
    pub(crate) log_level: Level,
}

// === impl Controller ===

impl Controller {
    /// The backend that policies are for, which is the provider's unless told; without a provider nothing is learned, and only what
    /// is written for Kubernetes can be in force.
    pub(crate) fn backend(&self) -> Backend {
        if let Some(backend) = self.backend {
            return backend;
        }
        match self.provider.provider_name {
            Some(ProviderName::Istio) => Backend::Istio,
            Some(
                ProviderName::Calico
                | ProviderName::Cilium
                | ProviderName::Node
                | ProviderName::Replay,
            )
            | None => Backend::Kubernetes,
        }
    }

    /// Where flows come from; from nowhere without a provider.
    ///
    /// # Errors
    /// If the provider is none that this version reads, or lacks what it needs.
    pub(crate) fn source(&self) -> anyhow::Result<Option<Source>> {
        let Some(name) = self.provider.provider_name else {
            anyhow::ensure!(
                self.provider.provider_endpoint.is_none(),
                "--provider-endpoint says where: give --provider-name too, replay or node"
            );
            return Ok(None);
        };
        match (name, &self.provider.provider_endpoint) {
            (ProviderName::Replay, Some(path)) => Ok(Some(Source::Replay(path.into()))),
            (ProviderName::Replay, None) => anyhow::bail!(
                "--provider-name replay reads a recording: give its path as --provider-endpoint"
            ),
            (ProviderName::Node, endpoint) => {
                let address = endpoint.as_deref().unwrap_or(NODE_ENDPOINT);
                let address = address.parse().map_err(|why| {
                    anyhow::anyhow!(
                        "--provider-endpoint {address}: {why}; node agents report to it"
                    )
                })?;
                Ok(Some(Source::Node(address, self.provider.certificates()?)))
            }
            (other, _) => anyhow::bail!(
                "--provider-name {} is not read by this version: use replay or node",
                other
                    .to_possible_value()
                    .map_or_else(String::new, |name| name.get_name().to_owned())
            ),
        }
    }

    /// How often violations are written.
    pub(crate) fn status_interval(&self) -> Duration {
        self.wnp_status_update_interval
    }

    /// The provider, where it enforces policies as well.
    pub(crate) fn enforcing_provider(&self) -> Option<enforcer::Provider> {
        match self.provider.provider_name? {
            ProviderName::Istio => Some(enforcer::Provider::Istio),
            ProviderName::Calico => Some(enforcer::Provider::Calico),
            ProviderName::Cilium => Some(enforcer::Provider::Cilium),
            ProviderName::Node => Some(enforcer::Provider::Node),
            ProviderName::Replay => None,
        }
    }

    /// How often changed proposals are written.
    pub(crate) fn flush_interval(&self) -> Duration {
        self.learning.learning_flush_interval
    }

    /// Where violations are sent, and by whom.
    pub(crate) fn telemetry(&self) -> netenf_telemetry::Config {
        let export = &self.export;
        netenf_telemetry::Config {
            endpoint: export.otlp_log_endpoint.clone(),
            protocol: match export.otlp_log_protocol {
                ExportProtocol::Grpc => netenf_telemetry::Protocol::Grpc,
                ExportProtocol::HttpProtobuf => netenf_telemetry::Protocol::HttpProtobuf,
            },
            authorities: export.otlp_log_ca_cert.clone(),
            identity: export.otlp_log_client_cert.clone().zip(export.otlp_log_client_key.clone()),
            headers: export.otlp_log_headers.clone().unwrap_or_default(),
            timeout: export.otlp_log_timeout,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instance: self.pod_name.clone(),
        }
    }

    /// Namespaces whose workloads get no proposals: the agent's own too, unless it is named. A policy could cut it off
    /// from the API server.
    fn excluded(&self, own: Option<&str>) -> BTreeSet<Arc<str>> {
        let learning = &self.learning;
        let own = own.iter();
        let own =
            own.filter(|name| !learning.learning_include_namespaces.iter().any(|one| one == *name));
        let excluded = learning.learning_exclude_namespaces.iter().map(String::as_str);
        excluded.chain(own.copied()).map(Into::into).collect()
    }

    /// What is learned, and how much of it, by an agent in the namespace `own`.
    pub(crate) fn config(&self, own: Option<&str>) -> Config {
        let learning = &self.learning;
        let names = |all: &[String]| all.iter().map(|name| name.as_str().into()).collect();
        let number = |value: u32| usize::try_from(value).unwrap_or(usize::MAX);
        let caps = Caps::default();
        Config {
            backend: match self.backend() {
                Backend::Kubernetes => netenf_learn::Backend::Kubernetes,
                Backend::Istio => netenf_learn::Backend::Istio,
            },
            scope: Scope {
                namespaces: names(&learning.learning_include_namespaces),
                exclude_namespaces: self.excluded(own),
                ..Scope::default()
            },
            subjects: match learning.learning_subjects {
                Subjects::Workloads => netenf_learn::Subjects::Standard,
                Subjects::All => netenf_learn::Subjects::All,
            },
            external: match learning.learning_external_peers {
                ExternalPeers::Uncovered => netenf_learn::ExternalPeers::Uncovered,
                ExternalPeers::Addresses => netenf_learn::ExternalPeers::Addresses,
            },
            caps: Caps {
                rules: number(learning.learning_max_rules),
                ports: number(learning.learning_max_ports),
                proposals: number(learning.learning_max_proposals),
                ..caps
            },
            ..Config::default()
        }
    }
}

/// Where flows come from.
#[derive(Debug, Args)]
struct Provider {
    /// Where flows come from
    #[arg(long, env = "NETENF_PROVIDER_NAME")]
    provider_name: Option<ProviderName>,

    /// Address of the provider, the recording of replay, or where node agents report [default for node: :9444]
    #[arg(long, env = "NETENF_PROVIDER_ENDPOINT")]
    provider_endpoint: Option<String>,

    /// How the provider is known and knows the agent
    #[arg(long, env = "NETENF_PROVIDER_TLS_MODE")]
    provider_tls_mode: Option<TlsMode>,

    /// Folder of tls.crt, tls.key and ca.crt
    #[arg(long, env = "NETENF_PROVIDER_TLS_CERT_DIR")]
    provider_tls_cert_dir: Option<PathBuf>,

    /// Secret of the certificate, NAMESPACE/NAME
    #[arg(long, env = "NETENF_PROVIDER_TLS_CERT_SECRET")]
    provider_tls_cert_secret: Option<String>,

    /// `ConfigMap` of the provider's authorities, NAMESPACE/NAME
    #[arg(long, env = "NETENF_PROVIDER_TLS_CA_CONFIGMAP")]
    provider_tls_ca_configmap: Option<String>,

    /// Key in the `ConfigMap`
    #[arg(long, env = "NETENF_PROVIDER_TLS_CA_BUNDLE_KEY", default_value = "ca.crt")]
    provider_tls_ca_bundle_key: String,

    /// Name that the provider's certificate must be of
    #[arg(long, env = "NETENF_PROVIDER_TLS_SERVER_NAME")]
    provider_tls_server_name: Option<String>,
}

// === impl Provider ===

impl Provider {
    /// The folder of the certificates that node agents are known by; none if they need not show any.
    fn certificates(&self) -> anyhow::Result<Option<PathBuf>> {
        if self.provider_tls_cert_secret.is_some() || self.provider_tls_ca_configmap.is_some() {
            anyhow::bail!(
                "--provider-tls-cert-secret and --provider-tls-ca-configmap are not read by this version: mount them, and give the folder as --provider-tls-cert-dir"
            );
        }
        match (self.provider_tls_mode, &self.provider_tls_cert_dir) {
            (Some(TlsMode::Insecure), Some(_)) => anyhow::bail!(
                "--provider-tls-mode insecure uses no certificates: leave out --provider-tls-cert-dir, or the mode"
            ),
            (Some(TlsMode::Insecure), None) => Ok(None),
            (Some(TlsMode::Issuer | TlsMode::ExistingSecret) | None, Some(folder)) => {
                Ok(Some(folder.clone()))
            }
            (Some(TlsMode::Issuer | TlsMode::ExistingSecret) | None, None) => anyhow::bail!(
                "--provider-name node has to know who reports: give the folder of tls.crt, tls.key and ca.crt as --provider-tls-cert-dir, or for a trial --provider-tls-mode insecure"
            ),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProviderName {
    /// Not read yet
    Istio,
    /// Not read yet
    Calico,
    /// Not read yet
    Cilium,
    /// Agents on the nodes, which report to --provider-endpoint
    Node,
    /// A recording, or a named pipe, at --provider-endpoint
    Replay,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "camelCase")]
enum TlsMode {
    /// Certificates that an issuer of the chart signs
    Issuer,
    /// Certificates of a Secret that somebody else keeps
    ExistingSecret,
    /// No TLS
    Insecure,
}

/// What is learned, and how much of it.
#[derive(Debug, Args)]
struct Learning {
    /// How often changed proposals are written
    #[arg(long, env = "NETENF_LEARNING_FLUSH_INTERVAL", default_value = "5s", value_parser = duration::parse)]
    learning_flush_interval: Duration,

    /// Namespaces whose workloads get proposals; all if none is named
    #[arg(long, env = "NETENF_LEARNING_INCLUDE_NAMESPACES", value_delimiter = ',')]
    learning_include_namespaces: Vec<String>,

    /// Namespaces whose workloads get no proposals
    #[arg(
        long,
        env = "NETENF_LEARNING_EXCLUDE_NAMESPACES",
        value_delimiter = ',',
        default_value = "kube-system"
    )]
    learning_exclude_namespaces: Vec<String>,

    /// Kinds that get proposals
    #[arg(long, env = "NETENF_LEARNING_SUBJECTS", default_value = "workloads")]
    learning_subjects: Subjects,

    /// What becomes of peers outside of the cluster
    #[arg(long, env = "NETENF_LEARNING_EXTERNAL_PEERS", default_value = "uncovered")]
    learning_external_peers: ExternalPeers,

    /// Rules of a proposal, at most
    #[arg(long, env = "NETENF_LEARNING_MAX_RULES", default_value_t = 250)]
    learning_max_rules: u32,

    /// Ports of a peer, at most
    #[arg(long, env = "NETENF_LEARNING_MAX_PORTS", default_value_t = 100)]
    learning_max_ports: u32,

    /// Proposals, at most
    #[arg(long, env = "NETENF_LEARNING_MAX_PROPOSALS", default_value_t = 20_000)]
    learning_max_proposals: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Subjects {
    /// Deployments, `StatefulSets` and `DaemonSets`
    Workloads,
    /// Every owner of pods, and pods of their own
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExternalPeers {
    /// They are told, and a person decides
    Uncovered,
    /// They become rules of single addresses
    Addresses,
}

/// Where violations are sent.
#[derive(Debug, Args)]
struct Export {
    /// OpenTelemetry collector that gets violations; none if empty
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    otlp_log_endpoint: Option<String>,

    /// Protocol of the collector
    #[arg(long, env = "OTEL_EXPORTER_OTLP_PROTOCOL", default_value = "grpc")]
    otlp_log_protocol: ExportProtocol,

    /// Authorities by which the collector is known [default: those of the system]
    #[arg(long, env = "OTEL_EXPORTER_OTLP_CERTIFICATE")]
    otlp_log_ca_cert: Option<PathBuf>,

    /// Certificate that the collector gets
    #[arg(long, env = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", requires = "otlp_log_client_key")]
    otlp_log_client_cert: Option<PathBuf>,

    /// File of the certificate's key
    #[arg(long, env = "OTEL_EXPORTER_OTLP_CLIENT_KEY", requires = "otlp_log_client_cert")]
    otlp_log_client_key: Option<PathBuf>,

    /// Headers of each request, NAME=VALUE,…; tokens belong into the environment
    #[arg(long, env = "OTEL_EXPORTER_OTLP_HEADERS", hide_env_values = true)]
    otlp_log_headers: Option<Secret>,

    /// How long a request may take; a number alone is milliseconds
    #[arg(long, env = "OTEL_EXPORTER_OTLP_TIMEOUT", default_value = "10s", value_parser = milliseconds)]
    otlp_log_timeout: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportProtocol {
    Grpc,
    #[value(name = "http/protobuf")]
    HttpProtobuf,
}

/// The environment of OpenTelemetry has milliseconds.
fn milliseconds(text: &str) -> Result<Duration, String> {
    let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    if is_number { duration::parse(&format!("{text}ms")) } else { duration::parse(text) }
}

#[cfg(test)]
mod tests;
