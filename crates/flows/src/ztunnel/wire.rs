//! The JSON of ztunnel's log lines, with dotted keys as ztunnel writes them, or with the nested
//! objects that log pipelines make of them.

use serde::Deserialize;

use crate::value::{Text, Time};

/// What every log line has.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Head<'a> {
    #[serde(borrow)]
    pub(super) scope: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) message: Option<Text<'a>>,
}

/// A log line about a connection.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"), from = "Written<'a>")]
pub(super) struct Line<'a> {
    pub(super) time: Option<Time>,
    pub(super) direction: Option<Text<'a>>,
    pub(super) error: Option<Text<'a>>,
    pub(super) policy: Option<Text<'a>>,
    pub(super) source: Side<'a>,
    pub(super) destination: Side<'a>,
    pub(super) proxy: Proxy<'a>,
    pub(super) inbound: Inbound<'a>,
}

/// One side of a connection.
#[derive(Deserialize, Default)]
#[serde(expecting = "an object")]
pub(super) struct Side<'a> {
    #[serde(borrow)]
    pub(super) addr: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) hbone_addr: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) service: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) workload: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) namespace: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) identity: Option<Text<'a>>,
}

/// The span of the proxy of one pod.
#[derive(Deserialize, Default)]
#[serde(expecting = "an object")]
pub(super) struct Proxy<'a> {
    /// The pod, as `ns/pod`.
    #[serde(borrow)]
    pub(super) wl: Option<Text<'a>>,
}

/// The span of one inbound connection.
#[derive(Deserialize, Default)]
#[serde(expecting = "an object")]
pub(super) struct Inbound<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) peer: Option<Text<'a>>,
}

/// A log line in either spelling.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Written<'a> {
    time: Option<Time>,
    #[serde(borrow)]
    direction: Option<Text<'a>>,
    #[serde(borrow)]
    error: Option<Text<'a>>,
    #[serde(borrow)]
    policy: Option<Text<'a>>,
    #[serde(borrow)]
    src: Option<Side<'a>>,
    #[serde(borrow)]
    dst: Option<Side<'a>>,
    #[serde(borrow)]
    proxy: Option<Proxy<'a>>,
    #[serde(borrow)]
    inbound: Option<Inbound<'a>>,
    #[serde(borrow, rename = "src.addr")]
    src_addr: Option<Text<'a>>,
    #[serde(borrow, rename = "src.workload")]
    src_workload: Option<Text<'a>>,
    #[serde(borrow, rename = "src.namespace")]
    src_namespace: Option<Text<'a>>,
    #[serde(borrow, rename = "src.identity")]
    src_identity: Option<Text<'a>>,
    #[serde(borrow, rename = "dst.addr")]
    dst_addr: Option<Text<'a>>,
    #[serde(borrow, rename = "dst.hbone_addr")]
    dst_hbone_addr: Option<Text<'a>>,
    #[serde(borrow, rename = "dst.service")]
    dst_service: Option<Text<'a>>,
    #[serde(borrow, rename = "dst.workload")]
    dst_workload: Option<Text<'a>>,
    #[serde(borrow, rename = "dst.namespace")]
    dst_namespace: Option<Text<'a>>,
    #[serde(borrow, rename = "dst.identity")]
    dst_identity: Option<Text<'a>>,
    #[serde(borrow, rename = "proxy.wl")]
    proxy_wl: Option<Text<'a>>,
    #[serde(borrow, rename = "inbound.id")]
    inbound_id: Option<Text<'a>>,
    #[serde(borrow, rename = "inbound.peer")]
    inbound_peer: Option<Text<'a>>,
}

// === impl Line ===

impl<'a> From<Written<'a>> for Line<'a> {
    fn from(line: Written<'a>) -> Self {
        let source = line.src.unwrap_or_default();
        let destination = line.dst.unwrap_or_default();
        let inbound = line.inbound.unwrap_or_default();
        Self {
            time: line.time,
            direction: line.direction,
            error: line.error,
            policy: line.policy,
            source: Side {
                addr: line.src_addr.or(source.addr),
                hbone_addr: None,
                service: None,
                workload: line.src_workload.or(source.workload),
                namespace: line.src_namespace.or(source.namespace),
                identity: line.src_identity.or(source.identity),
            },
            destination: Side {
                addr: line.dst_addr.or(destination.addr),
                hbone_addr: line.dst_hbone_addr.or(destination.hbone_addr),
                service: line.dst_service.or(destination.service),
                workload: line.dst_workload.or(destination.workload),
                namespace: line.dst_namespace.or(destination.namespace),
                identity: line.dst_identity.or(destination.identity),
            },
            proxy: Proxy { wl: line.proxy_wl.or(line.proxy.unwrap_or_default().wl) },
            inbound: Inbound {
                id: line.inbound_id.or(inbound.id),
                peer: line.inbound_peer.or(inbound.peer),
            },
        }
    }
}
