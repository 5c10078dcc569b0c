//! The JSON of Hubble's protos, as far as it is read. Names are accepted as the proto spells them
//! and in lowerCamelCase: proto JSON allows both.

use netenf_learn::{NodeState, Verdict};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::member::{FlowType, L7Type, LostOrigin, TrafficDirection};
use crate::value::{Address, Integer, Member, Open, Text, Time};

/// `observer.GetFlowsResponse` and `observer.ExportEvent`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Response<'a> {
    #[serde(borrow)]
    pub(super) flow: Option<Flow<'a>>,
    #[serde(alias = "lostEvents")]
    pub(super) lost_events: Option<Lost>,
    #[serde(borrow, alias = "nodeStatus")]
    pub(super) node_status: Option<Status<'a>>,
    #[serde(alias = "agentEvent")]
    agent_event: Option<IgnoredAny>,
    #[serde(alias = "debugEvent")]
    debug_event: Option<IgnoredAny>,
    #[serde(borrow, alias = "nodeName")]
    pub(super) node_name: Option<Text<'a>>,
    pub(super) time: Option<Time>,
    verdict: Option<IgnoredAny>,
    #[serde(rename = "IP")]
    ip: Option<IgnoredAny>,
    l4: Option<IgnoredAny>,
    #[serde(rename = "Type")]
    kind: Option<IgnoredAny>,
    #[serde(alias = "eventType")]
    event_type: Option<IgnoredAny>,
}

/// `flow.Flow`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Flow<'a> {
    pub(super) time: Option<Time>,
    pub(super) verdict: Option<Member<Verdict>>,
    #[serde(alias = "dropReason")]
    pub(super) drop_reason: Option<Integer<u64>>,
    #[serde(borrow, alias = "dropReasonDesc")]
    pub(super) drop_reason_desc: Option<Open<'a>>,
    #[serde(rename = "IP")]
    pub(super) ip: Option<Ip>,
    pub(super) l4: Option<Layer4>,
    #[serde(borrow)]
    pub(super) source: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) destination: Option<&'a RawValue>,
    #[serde(rename = "Type")]
    pub(super) kind: Option<Member<FlowType>>,
    #[serde(borrow, alias = "nodeName")]
    pub(super) node_name: Option<Text<'a>>,
    #[serde(borrow, alias = "sourceNames")]
    pub(super) source_names: Option<Vec<Text<'a>>>,
    #[serde(borrow, alias = "destinationNames")]
    pub(super) destination_names: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    pub(super) l7: Option<Layer7<'a>>,
    pub(super) reply: Option<bool>,
    #[serde(alias = "isReply")]
    pub(super) is_reply: Option<bool>,
    #[serde(alias = "eventType")]
    pub(super) event_type: Option<EventType>,
    #[serde(borrow, alias = "sourceService")]
    pub(super) source_service: Option<&'a RawValue>,
    #[serde(borrow, alias = "destinationService")]
    pub(super) destination_service: Option<&'a RawValue>,
    #[serde(alias = "trafficDirection")]
    pub(super) traffic_direction: Option<Member<TrafficDirection>>,
    #[serde(borrow, alias = "egressDeniedBy")]
    pub(super) egress_denied_by: Option<&'a RawValue>,
    #[serde(borrow, alias = "ingressDeniedBy")]
    pub(super) ingress_denied_by: Option<&'a RawValue>,
}

/// `flow.IP`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Ip {
    pub(super) source: Option<Address>,
    pub(super) destination: Option<Address>,
}

/// `flow.Layer4`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Layer4 {
    #[serde(rename = "TCP")]
    pub(super) tcp: Option<Tcp>,
    #[serde(rename = "UDP")]
    pub(super) udp: Option<Ports>,
    #[serde(rename = "SCTP")]
    pub(super) sctp: Option<Ports>,
    #[serde(rename = "ICMPv4")]
    pub(super) icmp4: Option<Message>,
    #[serde(rename = "ICMPv6")]
    pub(super) icmp6: Option<Message>,
    #[serde(rename = "VRRP")]
    pub(super) vrrp: Option<IgnoredAny>,
    #[serde(rename = "IGMP")]
    pub(super) igmp: Option<IgnoredAny>,
}

/// `flow.TCP`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Tcp {
    #[serde(alias = "sourcePort")]
    pub(super) source_port: Option<Integer<u16>>,
    #[serde(alias = "destinationPort")]
    pub(super) destination_port: Option<Integer<u16>>,
    pub(super) flags: Option<Flags>,
}

/// `flow.TCPFlags`, those that tell who opened a connection and how it went.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
#[serde(rename_all = "UPPERCASE")]
pub(super) struct Flags {
    pub(super) fin: Option<bool>,
    pub(super) syn: Option<bool>,
    pub(super) rst: Option<bool>,
    pub(super) psh: Option<bool>,
    pub(super) ack: Option<bool>,
}

/// `flow.UDP` and `flow.SCTP`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Ports {
    #[serde(alias = "sourcePort")]
    pub(super) source_port: Option<Integer<u16>>,
    #[serde(alias = "destinationPort")]
    pub(super) destination_port: Option<Integer<u16>>,
}

/// `flow.ICMPv4` and `flow.ICMPv6`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Message {
    #[serde(rename = "type")]
    kind: Option<Integer<u8>>,
    code: Option<Integer<u8>>,
}

impl Message {
    /// Type and code. Hubble leaves zeros out: what is absent is one, as in an echo reply.
    pub(super) fn kind(&self) -> (u8, u8) {
        let number = |field: &Option<Integer<u8>>| field.as_ref().map_or(0, |number| number.0);
        (number(&self.kind), number(&self.code))
    }
}

/// `flow.Layer7`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Layer7<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Option<Member<L7Type>>,
    #[serde(borrow)]
    pub(super) dns: Option<Dns<'a>>,
}

/// `flow.DNS`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Dns<'a> {
    #[serde(borrow)]
    pub(super) query: Option<Text<'a>>,
    pub(super) ips: Option<Vec<Address>>,
}

/// `flow.CiliumEventType`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct EventType {
    #[serde(rename = "type")]
    pub(super) kind: Option<Integer<i32>>,
}

/// `flow.Endpoint`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Endpoint<'a> {
    pub(super) identity: Option<Integer<u32>>,
    #[serde(borrow, alias = "clusterName")]
    pub(super) cluster_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) namespace: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) labels: Option<Vec<Text<'a>>>,
    #[serde(borrow, alias = "podName")]
    pub(super) pod_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) workloads: Option<Vec<Workload<'a>>>,
}

/// `flow.Workload`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Workload<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) kind: Option<Text<'a>>,
}

/// `flow.Service`, and `flow.Policy` with its kind.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Named<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) namespace: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) labels: Option<Vec<Text<'a>>>,
}

/// `flow.LostEvent`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Lost {
    pub(super) source: Option<Member<LostOrigin>>,
    #[serde(alias = "numEventsLost")]
    pub(super) num_events_lost: Option<Integer<u64>>,
}

/// `relay.NodeStatusEvent`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Status<'a> {
    #[serde(alias = "stateChange")]
    pub(super) state_change: Option<Member<NodeState>>,
    #[serde(borrow, alias = "nodeNames")]
    pub(super) node_names: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    pub(super) message: Option<Text<'a>>,
}

// === impl Response ===

impl Response<'_> {
    /// Whether the fields of a flow stand at the top.
    pub(super) fn is_bare(&self) -> bool {
        let Self { verdict, ip, l4, kind, event_type, .. } = self;
        [verdict, ip, l4, kind, event_type].iter().any(|field| field.is_some())
    }

    /// Whether this is an event of Cilium's agent.
    pub(super) fn is_of_agent(&self) -> bool {
        self.agent_event.is_some() || self.debug_event.is_some()
    }
}

// === impl Flow ===

impl Flow<'_> {
    /// Whether there is anything of a flow of Hubble in it.
    pub(super) fn says_something(&self) -> bool {
        let ends = [self.source, self.destination];
        self.verdict.is_some()
            || self.ip.is_some()
            || self.l4.is_some()
            || self.kind.is_some()
            || self.event_type.is_some()
            || ends.iter().any(Option::is_some)
    }
}
