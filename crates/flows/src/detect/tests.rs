use rstest::rstest;

use super::{Seen, detect};
use crate::Format;

#[rstest]
#[case::hubble(r#"{"flow":{"verdict":"FORWARDED"}}"#, Some(Format::Hubble))]
#[case::hubble_masked(r#"{"flow":{"l4":{}},"node_name":"n1"}"#, Some(Format::Hubble))]
#[case::hubble_bare(r#"{"time":"x","IP":{}}"#, Some(Format::Hubble))]
#[case::hubble_lost(r#"{"lost_events":{}}"#, Some(Format::Hubble))]
#[case::hubble_lost_camel(r#"{"lostEvents":{}}"#, Some(Format::Hubble))]
#[case::hubble_status(r#"{"node_status":{}}"#, Some(Format::Hubble))]
#[case::hubble_agent(r#"{"agentEvent":{}}"#, Some(Format::Hubble))]
#[case::goldmane(r#"{"id":"7","flow":{"Key":{}}}"#, Some(Format::Goldmane))]
#[case::goldmane_small(r#"{"flow":{"key":{}}}"#, Some(Format::Goldmane))]
#[case::goldmane_bare(r#"{"Key":{},"start_time":"1"}"#, Some(Format::Goldmane))]
#[case::ztunnel(r#"{"scope":"access","message":"connection complete"}"#, Some(Format::Ztunnel))]
#[case::ztunnel_start(r#"{"scope":"ztunnel::xds","message":"x"}"#, Some(Format::Ztunnel))]
#[case::istiod(r#"{"scope":"ads","msg":"x"}"#, None)]
#[case::empty_flow(r#"{"flow":{}}"#, None)]
#[case::kubernetes(r#"{"apiVersion":"v1","kind":"Pod"}"#, None)]
#[case::number("5", None)]
#[case::cut_off(r#"{"flow":{"verdict":"#, None)]
#[case::text("hello", None)]
fn the_source_of_a_line(#[case] line: &str, #[case] expected: Option<Format>) {
    assert_eq!(detect(line.as_bytes()), expected);
}

#[rstest]
#[case::empty("", "nothing, it is empty")]
#[case::blank(" \n\r\n", "nothing, it is empty")]
#[case::mark_only("\u{feff}", "nothing, it is empty")]
#[case::array("[\n  {\"a\": 1}", "a JSON array")]
#[case::empty_array("[]", "a JSON array")]
#[case::object(
    r#"{"b":1,"a":{"c":2},"d":3,"e":4,"f":5}"#,
    "a JSON object with the keys b, a, d, e"
)]
#[case::pretty_object("{\n  \"a\": 1\n}\n{", "a JSON object with the keys a")]
#[case::open_object("{\n  \"a\": 1", "a JSON object")]
#[case::hostile_keys("{\"\\u001b[31m\":1}", "a JSON object with the keys \\u{1b}[31m")]
#[case::kubernetes(
    "{\"apiVersion\":\"v1\",\n\"kind\": \"Pod\"}",
    "a Kubernetes object (kind: Pod)"
)]
#[case::manifest("apiVersion: v1\nkind: Pod\nmetadata: {}", "a Kubernetes object (kind: Pod)")]
#[case::yaml("---\nfoo: bar", "YAML")]
#[case::yaml_list("- foo", "YAML")]
#[case::yaml_map("foo:\n  bar: 1", "YAML")]
#[case::html("<!DOCTYPE html>", "HTML or XML")]
#[case::flows("{\"flow\":{\"IP\":{}}}\n", "a record of Hubble")]
#[case::pretty_flows("{\n\"Key\": {}\n}\n", "a record of Goldmane")]
#[case::hubble_compact(
    "Nov 30 01:54:03.690: shop/web:40000 (ID:12001) -> shop/db:5432 (ID:12002) to-endpoint FORWARDED (TCP Flags: SYN)",
    "text of hubble observe (-o json is needed)"
)]
#[case::hubble_dict("  TIMESTAMP: Nov 30", "text of hubble observe (-o json is needed)")]
#[case::ztunnel_text(
    "2026-08-10T08:19:58Z\tinfo\tztunnel::xds\tx",
    "ztunnel's log as text (LOG_FORMAT=json is needed)"
)]
#[case::text("E1130 no such pod: web\nmore", "plain text: E1130 no such pod: web")]
#[case::log("[INFO] started", "plain text: [INFO] started")]
fn what_stands_there(#[case] sample: &str, #[case] expected: &str) {
    assert_eq!(Seen::of(sample.as_bytes()).to_string(), expected);
}

#[rstest]
#[case::utf16(b"\xff\xfe{\0\"\0", "UTF-16 text (UTF-8 is needed)")]
#[case::zip(b"PK\x03\x04....", "a zip archive (only gzip and zstd are read)")]
#[case::xz(b"\xfd7zXZ\0", "xz data (only gzip and zstd are read)")]
#[case::bzip2(b"BZh9....", "bzip2 data (only gzip and zstd are read)")]
#[case::pcap(b"\xd4\xc3\xb2\xa1\x02\0", "a packet capture (pcap)")]
#[case::zeros(b"ab\0cd", "binary data")]
fn binaries(#[case] sample: &[u8], #[case] expected: &str) {
    assert_eq!(Seen::of(sample).to_string(), expected);
}
