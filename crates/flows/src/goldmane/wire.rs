//! The JSON of Goldmane's protos, as far as it is read, in both spellings of proto JSON.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::member::{Action, EndpointType, ReportedBy};
use crate::value::{Integer, Member, Open, Text};

/// `goldmane.FlowResult` and `goldmane.FlowUpdate`, or a `goldmane.Flow` by itself.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Result<'a> {
    #[serde(borrow)]
    pub(super) flow: Option<Flow<'a>>,
    #[serde(rename = "Key", alias = "key")]
    pub(super) key: Option<IgnoredAny>,
}

/// `goldmane.Flow`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Flow<'a> {
    #[serde(borrow, rename = "Key", alias = "key")]
    pub(super) key: Option<Key<'a>>,
    #[serde(alias = "startTime")]
    pub(super) start_time: Option<Integer<i64>>,
    #[serde(borrow, alias = "sourceLabels")]
    pub(super) source_labels: Option<&'a RawValue>,
    #[serde(borrow, alias = "destLabels")]
    pub(super) dest_labels: Option<&'a RawValue>,
    #[serde(alias = "numConnectionsStarted")]
    pub(super) num_connections_started: Option<Integer<i64>>,
    #[serde(alias = "numConnectionsLive")]
    pub(super) num_connections_live: Option<Integer<i64>>,
}

/// `goldmane.FlowKey`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Key<'a> {
    #[serde(borrow, alias = "sourceName")]
    pub(super) source_name: Option<Text<'a>>,
    #[serde(borrow, alias = "sourceNamespace")]
    pub(super) source_namespace: Option<Text<'a>>,
    #[serde(alias = "sourceType")]
    pub(super) source_type: Option<Member<EndpointType>>,
    #[serde(borrow, alias = "destName")]
    pub(super) dest_name: Option<Text<'a>>,
    #[serde(borrow, alias = "destNamespace")]
    pub(super) dest_namespace: Option<Text<'a>>,
    #[serde(alias = "destType")]
    pub(super) dest_type: Option<Member<EndpointType>>,
    #[serde(alias = "destPort")]
    pub(super) dest_port: Option<Integer<u16>>,
    #[serde(borrow, alias = "destServiceName")]
    pub(super) dest_service_name: Option<Text<'a>>,
    #[serde(borrow, alias = "destServiceNamespace")]
    pub(super) dest_service_namespace: Option<Text<'a>>,
    #[serde(alias = "destServicePort")]
    pub(super) dest_service_port: Option<Integer<u16>>,
    #[serde(borrow)]
    pub(super) proto: Option<Text<'a>>,
    pub(super) reporter: Option<Member<ReportedBy>>,
    pub(super) action: Option<Member<Action>>,
    #[serde(borrow)]
    pub(super) policies: Option<&'a RawValue>,
}

/// `goldmane.PolicyTrace`; pending policies are not in force and are not read.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Trace<'a> {
    #[serde(borrow, alias = "enforcedPolicies")]
    pub(super) enforced_policies: Option<Vec<Hit<'a>>>,
}

/// `goldmane.PolicyHit`.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Hit<'a> {
    #[serde(borrow)]
    pub(super) kind: Option<Open<'a>>,
    #[serde(borrow)]
    pub(super) namespace: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    pub(super) action: Option<Member<Action>>,
    #[serde(alias = "policyIndex")]
    pub(super) policy_index: Option<Integer<i64>>,
    #[serde(borrow)]
    pub(super) trigger: Option<Box<Hit<'a>>>,
}
