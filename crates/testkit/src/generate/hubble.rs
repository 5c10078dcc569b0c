//! Flows as `hubble observe -o json` prints them: fields in the order and with the values of Cilium 1.20.

use std::fmt::Write;

use super::clock::Clock;
use super::cluster::{Cluster, Kind as WorkloadKind, Pod};
use super::conversation::{Conversation, Event, Kind, Part, Party, Side};
use super::random::Random;

const EMITTER: &str = r#""emitter":{"name":"Hubble","version":"1.20.2+g0000000"}"#;

/// The hardware address of whatever is no pod.
const ROUTER_MAC: &str = "02:00:00:00:00:01";

/// Writes flows.
pub(super) struct Writer<'a> {
    cluster: &'a Cluster,
    /// Each pod as its own node tells of it, and as others do.
    pods: Vec<(String, String)>,
    outside: Vec<String>,
}

/// One flow, told by the node at `at`; its packet was sent by `from`.
#[derive(Clone, Copy)]
struct Flow<'a> {
    conversation: &'a Conversation,
    event: Event,
    from: Side,
    at: Side,
    node: usize,
}

/// Where on its way a packet was seen.
struct Point {
    name: &'static str,
    sub_type: u8,
}

// === impl Writer ===

impl<'a> Writer<'a> {
    pub(super) fn new(cluster: &'a Cluster) -> Self {
        let pods = cluster.pods.iter().map(|pod| endpoints(cluster, pod)).collect();
        let outside = cluster.outside.iter().map(|outside| {
            let super::cluster::Outside { name, address, identity } = outside;
            format!(
                r#"{{"identity":{identity},"labels":["cidr:{address}/32","fqdn:{name}","reserved:world-ipv4"]}}"#
            )
        });
        Self { cluster, pods, outside: outside.collect() }
    }

    /// Writes one line, without its end.
    pub(super) fn write(
        &self,
        text: &mut String,
        clock: &Clock,
        random: &mut Random,
        conversation: &Conversation,
        event: Event,
    ) {
        let flow = self.flow(conversation, event);
        let time = clock.text();
        let node = &self.cluster.nodes[flow.node].name;
        text.push_str(r#"{"flow":{"time":""#);
        text.push_str(time);
        text.push_str(r#"","uuid":""#);
        push_uuid(text, random);
        text.push_str("\",");
        text.push_str(EMITTER);
        text.push_str(match event {
            Event::Verdict | Event::Drop => r#","verdict":"DROPPED","drop_reason":133"#,
            Event::Packet { .. } | Event::Query | Event::Answer => r#","verdict":"FORWARDED""#,
        });
        self.push_ends(text, flow);
        text.push_str(r#","node_name":""#);
        text.push_str(node);
        text.push('"');
        self.push_names(text, flow);
        self.push_event(text, flow);
        text.push_str(r#"},"node_name":""#);
        text.push_str(node);
        text.push_str(r#"","time":""#);
        text.push_str(time);
        text.push_str("\"}");
    }

    /// Who tells of an event.
    fn flow<'c>(&self, conversation: &'c Conversation, event: Event) -> Flow<'c> {
        let (from, at) = match event {
            Event::Packet { from, at, .. } => (from, at),
            Event::Query => (Side::Client, Side::Client),
            Event::Answer => (Side::Server, Side::Client),
            Event::Verdict | Event::Drop => (Side::Client, Side::Server),
        };
        let node = match (conversation.party(at), conversation.party(at.other())) {
            (Party::Pod(pod), _) | (_, Party::Pod(pod)) => self.cluster.pods[pod].node,
            (Party::Node(node), _) | (_, Party::Node(node)) => node,
            (Party::Outside(_), Party::Outside(_)) => 0,
        };
        Flow { conversation, event, from, at, node }
    }

    fn push_ends(&self, text: &mut String, flow: Flow<'_>) {
        let Flow { conversation, event, from, node, .. } = flow;
        let (source, destination) = (conversation.party(from), conversation.party(from.other()));
        if !matches!(event, Event::Query | Event::Answer) {
            let (source, destination) = (self.mac(source), self.mac(destination));
            push(
                text,
                &[r#","ethernet":{"source":""#, source, r#"","destination":""#, destination, "\"}"],
            );
        }
        let (from_address, to_address) = (self.address(source), self.address(destination));
        push(text, &[r#","IP":{"source":""#, from_address, r#"","destination":""#, to_address]);
        text.push_str(r#"","ipVersion":"IPv4"},"l4":"#);
        push_transport(text, flow);
        push(text, &[r#","source":"#, self.endpoint(source, node)]);
        push(text, &[r#","destination":"#, self.endpoint(destination, node), r#","Type":""#]);
        text.push_str(if matches!(event, Event::Query | Event::Answer) {
            "L7\""
        } else {
            "L3_L4\""
        });
    }

    /// DNS names of an outside end.
    fn push_names(&self, text: &mut String, flow: Flow<'_>) {
        if let Party::Outside(outside) = flow.conversation.server {
            let field = match flow.from {
                Side::Client => r#","destination_names":[""#,
                Side::Server => r#","source_names":[""#,
            };
            push(text, &[field, &self.cluster.outside[outside].name, "\"]"]);
        }
    }

    fn push_event(&self, text: &mut String, flow: Flow<'_>) {
        let outside = &self.cluster.outside[flow.conversation.outside];
        let (name, address) = (outside.name.as_str(), outside.address.as_str());
        match flow.event {
            Event::Packet { part, .. } => self.push_packet(text, flow, part),
            Event::Query => {
                push(text, &[r#","l7":{"type":"REQUEST","dns":{"query":""#, name]);
                text.push_str(
                    r#".","observation_source":"proxy","qtypes":["A"]}},"event_type":{"type":129}"#,
                );
                text.push_str(
                    r#","traffic_direction":"EGRESS","is_reply":false,"Summary":"DNS Query "#,
                );
                push(text, &[name, ". A\""]);
            }
            Event::Answer => {
                push(
                    text,
                    &[
                        r#","l7":{"type":"RESPONSE","dns":{"query":""#,
                        name,
                        r#".","ips":[""#,
                        address,
                    ],
                );
                text.push_str(r#""],"observation_source":"proxy","qtypes":["A"]}},"reply":true,"event_type":{"type":129}"#);
                text.push_str(
                    r#","traffic_direction":"EGRESS","is_reply":true,"Summary":"DNS Answer \""#,
                );
                push(text, &[address, r#"\" TTL: 0 (Proxy "#, name, ". A)\""]);
            }
            Event::Verdict => {
                text.push_str(r#","event_type":{"type":5},"traffic_direction":"INGRESS""#);
                text.push_str(r#","drop_reason_desc":"POLICY_DENIED","Summary":"TCP Flags: SYN""#);
            }
            Event::Drop => {
                text.push_str(
                    r#","event_type":{"type":1,"sub_type":133},"traffic_direction":"INGRESS""#,
                );
                text.push_str(r#","file":{"name":"bpf_lxc.c","line":1234}"#);
                text.push_str(r#","drop_reason_desc":"POLICY_DENIED","Summary":"TCP Flags: SYN""#);
            }
        }
    }

    fn push_packet(&self, text: &mut String, flow: Flow<'_>, part: Part) {
        let Flow { conversation, from, at, .. } = flow;
        if from == Side::Server {
            text.push_str(r#","reply":true"#);
        }
        let point = self.point(flow);
        match point.sub_type {
            0 => text.push_str(r#","event_type":{"type":4}"#),
            sub_type => drop(write!(text, r#","event_type":{{"type":4,"sub_type":{sub_type}}}"#)),
        }
        self.push_service(text, flow);
        text.push_str(match at {
            Side::Client => r#","traffic_direction":"EGRESS""#,
            Side::Server => r#","traffic_direction":"INGRESS""#,
        });
        let is_first = part == Part::Open || conversation.kind == Kind::Dns;
        let (reason, is_reply) = match from {
            Side::Client if is_first => ("NEW", "false"),
            Side::Client => ("ESTABLISHED", "false"),
            Side::Server => ("REPLY", "true"),
        };
        push(
            text,
            &[r#","trace_observation_point":""#, point.name, r#"","trace_reason":""#, reason],
        );
        push(text, &[r#"","is_reply":"#, is_reply, r#","Summary":""#]);
        text.push_str(match (conversation.kind, from, part) {
            (Kind::Dns, _, _) => "UDP\"",
            (_, Side::Client, Part::Open) => "TCP Flags: SYN\"",
            (_, Side::Server, Part::Open) => "TCP Flags: SYN, ACK\"",
            (_, _, Part::Data) => "TCP Flags: ACK, PSH\"",
            (_, _, Part::Close) => "TCP Flags: ACK, FIN\"",
        });
    }

    /// The Service before the server, where there is one.
    fn push_service(&self, text: &mut String, flow: Flow<'_>) {
        let Party::Pod(pod) = flow.conversation.server else { return };
        let workload = self.cluster.workload(pod);
        if workload.has_service && flow.conversation.kind != Kind::Denied {
            let field = match flow.from {
                Side::Client => r#","destination_service":{"name":""#,
                Side::Server => r#","source_service":{"name":""#,
            };
            push(text, &[field, &workload.name, r#"","namespace":""#, &workload.namespace, "\"}"]);
        }
    }

    fn point(&self, flow: Flow<'_>) -> Point {
        let Flow { conversation, from, at, node, .. } = flow;
        let far = match conversation.party(at.other()) {
            Party::Pod(pod) => self.cluster.pods[pod].node != node,
            Party::Node(_) | Party::Outside(_) => true,
        };
        let (name, sub_type) = match (conversation.kind, from == at) {
            (_, false) => ("TO_ENDPOINT", 0),
            (_, true) if !far => ("FROM_ENDPOINT", 5),
            (Kind::Outside, true) => ("TO_NETWORK", 11),
            (Kind::Probe, true) => ("TO_STACK", 3),
            (_, true) => ("TO_OVERLAY", 4),
        };
        Point { name, sub_type }
    }

    fn address(&self, party: Party) -> &str {
        match party {
            Party::Pod(pod) => &self.cluster.pods[pod].address,
            Party::Node(node) => &self.cluster.nodes[node].address,
            Party::Outside(outside) => &self.cluster.outside[outside].address,
        }
    }

    fn mac(&self, party: Party) -> &str {
        match party {
            Party::Pod(pod) => &self.cluster.pods[pod].mac,
            Party::Node(_) | Party::Outside(_) => ROUTER_MAC,
        }
    }

    /// An end as `node` tells of it.
    fn endpoint(&self, party: Party, node: usize) -> &str {
        match party {
            Party::Pod(pod) if self.cluster.pods[pod].node == node => &self.pods[pod].0,
            Party::Pod(pod) => &self.pods[pod].1,
            Party::Node(_) => r#"{"identity":1,"labels":["reserved:host"]}"#,
            Party::Outside(outside) => &self.outside[outside],
        }
    }
}

/// A pod as its own node tells of it, and as others do: only its own node knows its workload.
fn endpoints(cluster: &Cluster, pod: &Pod) -> (String, String) {
    let workload = &cluster.workloads[pod.workload];
    let (namespace, name) = (&workload.namespace, &workload.name);
    let mut labels = match namespace.as_str() {
        "kube-system" => {
            format!(r#""k8s:io.kubernetes.pod.namespace={namespace}","k8s:k8s-app=kube-dns""#)
        }
        _ => format!(
            r#""k8s:app={name}","k8s:io.cilium.k8s.policy.cluster=default","k8s:io.cilium.k8s.policy.serviceaccount={name}","k8s:io.kubernetes.pod.namespace={namespace}""#
        ),
    };
    if workload.kind == WorkloadKind::StatefulSet {
        let _ = write!(labels, r#","k8s:statefulset.kubernetes.io/pod-name={}""#, pod.name);
    }
    let common = format!(
        r#""identity":{},"cluster_name":"default","namespace":"{namespace}","labels":[{labels}],"pod_name":"{}""#,
        workload.identity, pod.name
    );
    let kind = workload.kind.name();
    let local = format!(
        r#"{{"ID":{},{common},"workloads":[{{"name":"{name}","kind":"{kind}"}}]}}"#,
        pod.endpoint
    );
    (local, format!("{{{common}}}"))
}

fn push_transport(text: &mut String, flow: Flow<'_>) {
    let Flow { conversation, event, from, .. } = flow;
    let (source, destination) = match from {
        Side::Client => (conversation.client_port, conversation.port),
        Side::Server => (conversation.port, conversation.client_port),
    };
    let (protocol, flags) = match (conversation.kind, event) {
        (Kind::Dns, _) => ("UDP", ""),
        (_, Event::Packet { part: Part::Open, from: Side::Server, .. }) => {
            ("TCP", r#","flags":{"SYN":true,"ACK":true}"#)
        }
        (_, Event::Packet { part: Part::Data, .. }) => {
            ("TCP", r#","flags":{"PSH":true,"ACK":true}"#)
        }
        (_, Event::Packet { part: Part::Close, .. }) => {
            ("TCP", r#","flags":{"FIN":true,"ACK":true}"#)
        }
        _ => ("TCP", r#","flags":{"SYN":true}"#),
    };
    let _ = write!(
        text,
        r#"{{"{protocol}":{{"source_port":{source},"destination_port":{destination}{flags}}}}}"#
    );
}

/// A random UUID of version 4.
fn push_uuid(text: &mut String, random: &mut Random) {
    let (high, low) = (random.next(), random.next());
    let (first, second, third) = (high >> 32, high >> 16 & 0xffff, high & 0xfff);
    let (fourth, fifth) = (low >> 48 & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
    let _ = write!(text, "{first:08x}-{second:04x}-4{third:03x}-{fourth:04x}-{fifth:012x}");
}

fn push(text: &mut String, parts: &[&str]) {
    for part in parts {
        text.push_str(part);
    }
}
