use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, ErrorKind};

use netenf_flows::{Format, Input, Options, Replay};
use rstest::rstest;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Form, Traffic, write};

fn recording(form: Form, traffic: &Traffic) -> Vec<u8> {
    let mut out = Vec::new();
    write(form, traffic, &mut out).unwrap();
    out
}

fn small() -> Traffic {
    Traffic {
        flows: 5_000,
        workloads: 40,
        edges: 200,
        namespaces: 4,
        nodes: 3,
        ..Traffic::default()
    }
}

fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    format!("{:016x}", u64::from_be_bytes(*digest.first_chunk().unwrap()))
}

/// What the lines of a recording of Hubble hold.
fn flows(traffic: &Traffic) -> Vec<Value> {
    let text = String::from_utf8(recording(Form::Hubble, traffic)).unwrap();
    text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["flow"].take()).collect()
}

#[rstest]
#[case::hubble(Form::Hubble, "749bb39b9fd2c0eb")]
#[case::goldmane(Form::Goldmane, "6983c70007a99bfb")]
#[case::ztunnel(Form::Ztunnel, "3461e6c494934d65")]
fn a_seed_gives_the_same_bytes_for_ever(#[case] form: Form, #[case] expected: &str) {
    assert_eq!(hash(&recording(form, &small())), expected);
}

#[test]
fn another_seed_gives_other_bytes() {
    let other = Traffic { seed: 2, ..small() };
    assert_ne!(recording(Form::Hubble, &other), recording(Form::Hubble, &small()));
}

#[rstest]
#[case::hubble(Form::Hubble, Format::Hubble)]
#[case::goldmane(Form::Goldmane, Format::Goldmane)]
#[case::ztunnel(Form::Ztunnel, Format::Ztunnel)]
fn every_line_decodes(#[case] form: Form, #[case] format: Format) {
    let reader = Box::new(Cursor::new(recording(form, &small())));
    let input = Input::Reader { name: "recording".to_owned(), reader };
    let mut replay = Replay::new(vec![input], Options::default()).unwrap();
    while replay.next().unwrap().is_some() {}
    let summary = replay.summary();
    let found = (summary.inputs[0].format, summary.records, summary.bad, summary.ignored);
    assert_eq!(found, (Some(format), 5_000, 0, 0));
}

#[test]
fn every_edge_is_seen_and_no_other() {
    let workload = |end: &Value| end["labels"][0].as_str().unwrap().to_owned();
    let inside = |flow: &&Value| {
        let tcp = &flow["l4"]["TCP"];
        flow["verdict"] == "FORWARDED"
            && tcp["flags"] == serde_json::json!({"SYN": true})
            && [&flow["source"], &flow["destination"]].iter().all(|end| end["pod_name"].is_string())
    };
    let flows = flows(&small());
    let edges: BTreeSet<_> = flows
        .iter()
        .filter(inside)
        .map(|flow| {
            let port = flow["l4"]["TCP"]["destination_port"].as_u64();
            let ends = [&flow["source"], &flow["destination"]];
            (ends.map(|end| (end["namespace"].as_str().unwrap(), workload(end))), port)
        })
        .collect();
    assert_eq!(edges.len(), 200);
}

#[test]
fn shares_are_kept() {
    let traffic = Traffic { flows: 20_000, ..small() };
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for flow in flows(&traffic) {
        let is_dns = flow["l4"]["UDP"].is_object();
        let is_denied = flow["verdict"] == "DROPPED";
        let is_outside = flow["destination_names"].is_array() || flow["source_names"].is_array();
        *counts.entry("dns").or_default() += u64::from(is_dns);
        *counts.entry("drops").or_default() += u64::from(is_denied);
        *counts.entry("external").or_default() += u64::from(is_outside);
        *counts.entry("replies").or_default() +=
            u64::from(!is_dns && flow["is_reply"] == Value::Bool(true));
        *counts.entry("packets").or_default() += u64::from(!is_dns && !is_denied);
    }
    let per_cent = |name: &str, of: u64| (counts[name] * 100 + of / 2) / of;
    let found = ["dns", "external", "drops"].map(|name| per_cent(name, traffic.flows));
    assert_eq!((found, per_cent("replies", counts["packets"])), ([10, 5, 2], 40));
}

#[test]
fn both_ends_nodes_report_a_connection() {
    let mut points = BTreeSet::new();
    for flow in flows(&small()) {
        if let Some(point) = flow["trace_observation_point"].as_str() {
            points
                .insert((point.to_owned(), flow["traffic_direction"].as_str().unwrap().to_owned()));
        }
    }
    let names: BTreeSet<_> =
        points.iter().map(|(point, side)| (point.as_str(), side.as_str())).collect();
    for point in [
        ("FROM_ENDPOINT", "EGRESS"),
        ("TO_ENDPOINT", "EGRESS"),
        ("TO_ENDPOINT", "INGRESS"),
        ("TO_NETWORK", "EGRESS"),
        ("TO_OVERLAY", "EGRESS"),
        ("TO_OVERLAY", "INGRESS"),
        ("TO_STACK", "INGRESS"),
    ] {
        assert!(names.contains(&point), "no flow at {point:?}");
    }
}

#[test]
fn time_goes_on() {
    let times: Vec<String> =
        flows(&small()).iter().map(|flow| flow["time"].as_str().unwrap().to_owned()).collect();
    assert!(times.is_sorted());
    // 5,000 flows at 10,000 a second.
    assert!(times.last().unwrap().starts_with("2026-01-01T00:00:00.5"), "{:?}", times.last());
}

#[rstest]
#[case::edges(Traffic { workloads: 3, edges: 7, ..small() }, "needs 1 to 6 edges for 3 workloads")]
#[case::nodes(Traffic { nodes: 0, ..small() }, "needs two workloads, a namespace, a node and a rate")]
fn impossible_traffic_is_refused(#[case] traffic: Traffic, #[case] expected: &str) {
    let error = write(Form::Hubble, &traffic, &mut Vec::new()).unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::InvalidInput, expected));
}
