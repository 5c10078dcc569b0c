//! Proto JSON has several spellings of one message: all are read the same.

use netenf_flows::{Decoder, Format, Record};
use rstest::rstest;
use serde_json::{Map, Number, Value};

use crate::recording::lines;

/// Names of enums and their numbers, by the key that they stand at.
const MEMBERS: &[(&str, &[(&str, u64)])] = &[
    (
        "verdict",
        &[
            ("FORWARDED", 1),
            ("DROPPED", 2),
            ("ERROR", 3),
            ("AUDIT", 4),
            ("REDIRECTED", 5),
            ("TRACED", 6),
            ("TRANSLATED", 7),
        ],
    ),
    ("Type", &[("L3_L4", 1), ("L7", 2), ("SOCK", 3)]),
    ("type", &[("REQUEST", 1), ("RESPONSE", 2)]),
    ("traffic_direction", &[("INGRESS", 1), ("EGRESS", 2)]),
    (
        "drop_reason_desc",
        &[
            ("INVALID_SOURCE_IP", 132),
            ("POLICY_DENIED", 133),
            ("POLICY_DENY", 181),
            ("AUTH_REQUIRED", 189),
        ],
    ),
    ("source", &[("PERF_EVENT_RING_BUFFER", 1)]),
    ("state_change", &[("NODE_UNAVAILABLE", 2), ("NODE_ERROR", 4)]),
    ("source_type", ENDPOINTS),
    ("dest_type", ENDPOINTS),
    ("action", &[("Allow", 1), ("Deny", 2), ("Pass", 3)]),
    ("reporter", &[("Src", 1), ("Dst", 2)]),
    (
        "kind",
        &[
            ("CalicoNetworkPolicy", 1),
            ("GlobalNetworkPolicy", 2),
            ("StagedNetworkPolicy", 3),
            ("StagedGlobalNetworkPolicy", 4),
            ("StagedKubernetesNetworkPolicy", 5),
            ("NetworkPolicy", 6),
            ("AdminNetworkPolicy", 7),
            ("BaselineAdminNetworkPolicy", 8),
            ("Profile", 9),
            ("EndOfTier", 10),
        ],
    ),
];

const ENDPOINTS: &[(&str, u64)] =
    &[("WorkloadEndpoint", 1), ("HostEndpoint", 2), ("NetworkSet", 3), ("Network", 4)];

/// Rewrites every entry of a document.
fn rewrite(value: Value, change: &impl Fn(&str, Value) -> (String, Value)) -> Value {
    match value {
        Value::Object(map) => {
            let entries = map.into_iter().map(|(key, value)| change(&key, rewrite(value, change)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Value::Array(values) => values.into_iter().map(|value| rewrite(value, change)).collect(),
        value => value,
    }
}

fn camel_case(key: &str, value: Value) -> (String, Value) {
    let mut words = key.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        camel.push_str(&word[..1].to_uppercase());
        camel.push_str(&word[1..]);
    }
    (camel, value)
}

fn numbers_as_strings(key: &str, value: Value) -> (String, Value) {
    let value = match value {
        Value::Number(number) => Value::String(number.to_string()),
        value => value,
    };
    (key.to_owned(), value)
}

/// Numbers in strings, but none that is a text of the source (a protocol's number).
fn strings_as_numbers(key: &str, value: Value) -> (String, Value) {
    let number = match &value {
        Value::String(text) if key != "proto" => text.parse::<i64>().ok(),
        _ => None,
    };
    (key.to_owned(), number.map_or(value, |number| Value::Number(Number::from(number))))
}

fn members_as_numbers(key: &str, value: Value) -> (String, Value) {
    let members = MEMBERS.iter().find(|(name, _)| *name == key).map(|(_, members)| *members);
    let number = members.and_then(|members| {
        let name = value.as_str()?;
        members.iter().find(|(member, _)| *member == name).map(|(_, number)| *number)
    });
    (key.to_owned(), number.map_or(value, |number| Value::Number(number.into())))
}

fn small_key(key: &str, value: Value) -> (String, Value) {
    (if key == "Key" { "key" } else { key }.to_owned(), value)
}

#[rstest]
#[case::hubble_camel_case("hubble.jsonl", Format::Hubble, camel_case)]
#[case::hubble_numbers_as_strings("hubble.jsonl", Format::Hubble, numbers_as_strings)]
#[case::hubble_strings_as_numbers("hubble.jsonl", Format::Hubble, strings_as_numbers)]
#[case::hubble_members_as_numbers("hubble.jsonl", Format::Hubble, members_as_numbers)]
#[case::goldmane_camel_case("goldmane.jsonl", Format::Goldmane, camel_case)]
#[case::goldmane_small_key("goldmane.jsonl", Format::Goldmane, small_key)]
#[case::goldmane_strings_as_numbers("goldmane.jsonl", Format::Goldmane, strings_as_numbers)]
#[case::goldmane_members_as_numbers("goldmane.jsonl", Format::Goldmane, members_as_numbers)]
fn every_spelling_is_read_the_same(
    #[case] recording: &str,
    #[case] format: Format,
    #[case] change: fn(&str, Value) -> (String, Value),
) {
    let mut decoder = Decoder::new(format);
    let mut changed = 0;
    for line in lines(recording) {
        let original = decoder.decode(line.as_bytes()).unwrap().unwrap();
        let document: Value = serde_json::from_str(&line).unwrap();
        let same = document.to_string();
        let other = rewrite(document, &change).to_string();
        assert_eq!(decoder.decode(other.as_bytes()).unwrap(), Some(original), "{other}");
        changed += usize::from(other != same);
    }
    assert!(changed > 0);
}

#[test]
fn a_bare_flow_is_read_the_same_but_for_its_response() {
    let mut decoder = Decoder::new(Format::Hubble);
    let mut flows = 0;
    for line in lines("hubble.jsonl") {
        let document: Value = serde_json::from_str(&line).unwrap();
        let Some(flow) = document.get("flow") else { continue };
        let wrapped = decoder.decode(line.as_bytes()).unwrap();
        assert_eq!(decoder.decode(flow.to_string().as_bytes()).unwrap(), wrapped);
        flows += usize::from(matches!(wrapped, Some(Record::Flow(_))));
    }
    assert_eq!(flows, 56);
}
