//! Access lines as ztunnel logs them with `LOG_FORMAT=json`.

use std::fmt::Write;

use super::Line;
use super::cluster::{Cluster, Pod, Workload};
use super::conversation::{Conversation, Kind, Party, Side};

const REJECTION: &str = r#","error":"connection closed due to policy rejection: allow policies exist, but none allowed""#;

/// Whether ztunnel sees the conversation: TCP between workloads.
pub(super) fn passes(conversation: &Conversation) -> bool {
    matches!(conversation.kind, Kind::Inside | Kind::Denied)
}

/// Writes one line, without its end.
pub(super) fn write(cluster: &Cluster, line: Line<'_>) {
    let Line { text, clock, random, conversation, reporter, .. } = line;
    let (Party::Pod(client), Party::Pod(server)) = (conversation.client, conversation.server)
    else {
        return;
    };
    let (source, destination) = (&cluster.pods[client], &cluster.pods[server]);
    let (from, to) = (cluster.workload(client), cluster.workload(server));
    let (address, port) = (&destination.address, conversation.port);
    let _ = write!(
        text,
        r#"{{"level":"{}","time":"{}Z","scope":"access","message":"connection complete","src.addr":"{}:{}",{},"dst.addr":"{address}:15008","dst.hbone_addr":"{address}:{port}""#,
        if conversation.kind == Kind::Denied { "error" } else { "info" },
        clock.micros(),
        source.address,
        conversation.client_port,
        end("src", from, source),
    );
    if to.has_service {
        let _ = write!(text, r#","dst.service":"{}.{}.svc.cluster.local""#, to.name, to.namespace);
    }
    let (sent, received) = (random.below(100_000), random.below(100_000));
    let (direction, sent, received) = match reporter {
        Side::Client => ("outbound", sent, received),
        Side::Server => ("inbound", received, sent),
    };
    let _ = write!(
        text,
        r#",{},"direction":"{direction}","bytes_sent":{sent},"bytes_recv":{received},"duration":"{}ms"{}}}"#,
        end("dst", to, destination),
        random.below(5_000),
        if conversation.kind == Kind::Denied { REJECTION } else { "" },
    );
}

fn end(side: &str, workload: &Workload, pod: &Pod) -> String {
    let Workload { namespace, name, .. } = workload;
    format!(
        r#""{side}.workload":"{}","{side}.namespace":"{namespace}","{side}.identity":"spiffe://cluster.local/ns/{namespace}/sa/{name}","{side}.cluster":"Kubernetes""#,
        pod.name
    )
}
