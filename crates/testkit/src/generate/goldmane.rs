//! `FlowResult` messages as Goldmane streams them, in protobuf's JSON with the names of the fields.

use std::fmt::Write;

use super::Line;
use super::cluster::{Cluster, Kind as WorkloadKind};
use super::conversation::{Kind, Party, Side};

/// An end in Goldmane's words.
struct End {
    name: String,
    namespace: String,
    kind: &'static str,
    labels: String,
}

/// Writes one line, without its end.
pub(super) fn write(cluster: &Cluster, line: Line<'_>) {
    let Line { text, clock, conversation, reporter, number, .. } = line;
    let source = End::of(cluster, conversation.client);
    let destination = End::of(cluster, conversation.server);
    let (protocol, port) = match conversation.kind {
        Kind::Dns => ("udp", 53),
        Kind::Inside | Kind::Outside | Kind::Probe | Kind::Denied => ("tcp", conversation.port),
    };
    let action = if conversation.kind == Kind::Denied { "Deny" } else { "Allow" };
    let (reporter, selected) = match reporter {
        Side::Client => ("Src", &source.namespace),
        Side::Server => ("Dst", &destination.namespace),
    };
    let hit = match conversation.kind {
        Kind::Denied => format!(
            r#"{{"kind":"NetworkPolicy","namespace":"{selected}","name":"default-deny","tier":"default","action":"Deny"}}"#
        ),
        Kind::Inside | Kind::Outside | Kind::Probe | Kind::Dns => {
            format!(r#"{{"kind":"Profile","name":"kns.{selected}","action":"Allow"}}"#)
        }
    };
    let service = service(cluster, conversation.server, reporter, conversation.port);
    let started = clock.seconds();
    let _ = write!(
        text,
        r#"{{"id":"{}","flow":{{"Key":{{"source_name":"{}","source_namespace":"{}","source_type":"{}","dest_name":"{}","dest_namespace":"{}","dest_type":"{}","dest_port":"{port}",{service},"proto":"{protocol}","reporter":"{reporter}","action":"{action}","policies":{{"enforced_policies":[{hit}],"pending_policies":[{hit}]}}}},"start_time":"{started}","end_time":"{}"{}{},"packets_in":"5","packets_out":"6","bytes_in":"500","bytes_out":"700","num_connections_started":"1","num_connections_live":"1"}}}}"#,
        number + 1,
        source.name,
        source.namespace,
        source.kind,
        destination.name,
        destination.namespace,
        destination.kind,
        started + 1,
        labels("source_labels", &source.labels),
        labels("dest_labels", &destination.labels),
    );
}

/// Only the source knows the Service.
fn service(cluster: &Cluster, server: Party, reporter: &str, port: u16) -> String {
    let (name, namespace, port_name, port) = match server {
        Party::Pod(pod) if reporter == "Src" && cluster.workload(pod).has_service => {
            let workload = cluster.workload(pod);
            let port = format!(r#","dest_service_port":"{port}""#);
            (workload.name.as_str(), workload.namespace.as_str(), "main", port)
        }
        Party::Pod(_) | Party::Node(_) | Party::Outside(_) => ("-", "-", "-", String::new()),
    };
    format!(
        r#""dest_service_name":"{name}","dest_service_namespace":"{namespace}","dest_service_port_name":"{port_name}"{port}"#
    )
}

fn labels(field: &str, labels: &str) -> String {
    if labels.is_empty() { String::new() } else { format!(r#","{field}":[{labels}]"#) }
}

// === impl End ===

impl End {
    fn of(cluster: &Cluster, party: Party) -> Self {
        match party {
            Party::Pod(pod) => Self::pod(cluster, pod),
            Party::Node(node) => {
                let name = cluster.nodes[node].name.rsplit('/').next().unwrap_or_default();
                Self {
                    name: name.to_owned(),
                    namespace: "-".to_owned(),
                    kind: "HostEndpoint",
                    labels: format!(r#""kubernetes.io/hostname={name}""#),
                }
            }
            Party::Outside(_) => Self {
                name: "pub".to_owned(),
                namespace: "-".to_owned(),
                kind: "Network",
                labels: String::new(),
            },
        }
    }

    fn pod(cluster: &Cluster, pod: usize) -> Self {
        let workload = cluster.workload(pod);
        let (name, hash) = (&workload.name, &workload.hash);
        let app = match workload.namespace.as_str() {
            "kube-system" => r#""k8s-app=kube-dns""#.to_owned(),
            _ => format!(r#""app={name}""#),
        };
        let (name, labels) = match workload.kind {
            WorkloadKind::Deployment => {
                (format!("{name}-{hash}-*"), format!(r#"{app},"pod-template-hash={hash}""#))
            }
            WorkloadKind::StatefulSet => {
                let ordinal = pod - workload.pods.start;
                let labels = format!(
                    r#"{app},"apps.kubernetes.io/pod-index={ordinal}","controller-revision-hash={name}-{hash}","statefulset.kubernetes.io/pod-name={name}-{ordinal}""#
                );
                (format!("{name}-*"), labels)
            }
            WorkloadKind::DaemonSet => {
                (format!("{name}-*"), format!(r#"{app},"controller-revision-hash={hash}""#))
            }
        };
        Self { name, namespace: workload.namespace.clone(), kind: "WorkloadEndpoint", labels }
    }
}
