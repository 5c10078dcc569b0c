//! The command lines of a plane's programs.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::certificate::Pair;
use super::secrets::{FRONT_PROXY, Secrets};

/// What a cluster without nodes needs. The controllers for workloads, nodes and volumes are left
/// out: they double the time until the first `ServiceAccount` stands.
const CONTROLLERS: [&str; 8] = [
    "clusterrole-aggregation-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "validatingadmissionpolicy-status-controller",
];

const SERVICES: &str = "--service-cluster-ip-range=10.96.0.0/16";

/// Nothing outlives a plane, so nothing is synced to the disk.
pub(super) fn etcd(folder: &Path, [clients, peers]: [u16; 2]) -> Vec<String> {
    vec![
        "--name=plane".into(),
        format!("--data-dir={}", folder.join("etcd").display()),
        "--unsafe-no-fsync".into(),
        format!("--listen-client-urls=http://127.0.0.1:{clients}"),
        format!("--advertise-client-urls=http://127.0.0.1:{clients}"),
        format!("--listen-peer-urls=http://127.0.0.1:{peers}"),
        format!("--initial-advertise-peer-urls=http://127.0.0.1:{peers}"),
        format!("--initial-cluster=plane=http://127.0.0.1:{peers}"),
    ]
}

/// The endpoints of the Service `kubernetes` may not be loopback addresses, therefore it has none.
pub(super) fn api_server(secrets: &Secrets, etcd: u16, port: u16) -> Vec<String> {
    let Secrets { cluster, serving, front_proxy_authority, front_proxy, tokens } = secrets;
    let mut arguments: Vec<String> = vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        "--bind-address=127.0.0.1".into(),
        "--advertise-address=127.0.0.1".into(),
        format!("--secure-port={port}"),
        "--endpoint-reconciler-type=none".into(),
        SERVICES.into(),
        "--authorization-mode=Node,RBAC".into(),
        "--enable-admission-plugins=NodeRestriction".into(),
        "--allow-privileged=true".into(),
        "--enable-aggregator-routing=true".into(),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        format!("--requestheader-allowed-names={FRONT_PROXY}"),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
        "--requestheader-group-headers=X-Remote-Group".into(),
        "--requestheader-username-headers=X-Remote-User".into(),
    ];
    arguments.extend(files(&[
        ("--client-ca-file", &cluster.certificate),
        ("--tls-cert-file", &serving.certificate),
        ("--tls-private-key-file", &serving.key),
        ("--service-account-key-file", &tokens.certificate),
        ("--service-account-signing-key-file", &tokens.key),
        ("--requestheader-client-ca-file", &front_proxy_authority.certificate),
        ("--proxy-client-cert-file", &front_proxy.certificate),
        ("--proxy-client-key-file", &front_proxy.key),
    ]));
    arguments
}

/// A plugin that is on besides those of [`api_server`]: the flag may come several times.
pub(super) fn admission(plugin: &str) -> String {
    format!("--enable-admission-plugins={plugin}")
}

/// Where what is asked is recorded, in the plane's folder.
pub(super) const AUDIT_LOG: &str = "audit.log";

/// Who asked for what, and what came of it: no bodies, which may hold secrets.
const AUDIT_POLICY: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, userGroups: ['system:serviceaccounts']}
- {level: None}
";

/// A line of the log is written before the request is answered. What follows changes is recorded when that begins.
pub(super) fn audit(folder: &Path) -> anyhow::Result<[String; 2]> {
    let (policy, log) = (folder.join("audit.yaml"), folder.join(AUDIT_LOG));
    fs::write(&policy, AUDIT_POLICY).context("cannot write the policy of the audit")?;
    Ok([
        format!("--audit-policy-file={}", policy.display()),
        format!("--audit-log-path={}", log.display()),
    ])
}

/// It serves nothing, so that it needs no port.
pub(super) fn controller_manager(secrets: &Secrets, kubeconfig: &Path) -> Vec<String> {
    let Secrets { cluster, tokens: Pair { key, .. }, .. } = secrets;
    let mut arguments: Vec<String> = vec![
        "--secure-port=0".into(),
        "--leader-elect=false".into(),
        "--use-service-account-credentials=true".into(),
        format!("--controllers={}", CONTROLLERS.join(",")),
    ];
    arguments.extend(files(&[
        ("--kubeconfig", kubeconfig),
        ("--service-account-private-key-file", key),
        ("--root-ca-file", &cluster.certificate),
    ]));
    arguments
}

fn files(named: &[(&str, &Path)]) -> Vec<String> {
    named.iter().map(|(flag, path)| format!("{flag}={}", path.display())).collect()
}
