//! What passes, for people and for programs.

use std::ops::RangeInclusive;

use netenf_k8s::reach::Passing;
use netenf_policy::{Protocol, Transports};
use serde_json::{Value, json};

/// What passes; what does so between some pods only comes last: `80/TCP,443/TCP (some pods)`.
pub(crate) fn passing_words(passing: &Passing) -> String {
    let partly = format!("{} (some pods)", words(&passing.some.difference(&passing.all)));
    match (passing.is_partial(), passing.all.is_empty()) {
        (false, _) => words(&passing.all),
        (true, true) => partly,
        (true, false) => format!("{},{partly}", words(&passing.all)),
    }
}

/// One entry for each range of ports; `allPods` is false where it passes between some pods only.
pub(crate) fn passing_json(passing: &Passing) -> Vec<Value> {
    let mut entries = json(&passing.all);
    let partly = json(&passing.some.difference(&passing.all)).into_iter();
    entries.extend(partly.map(|mut entry| {
        entry["allPods"] = json!(false);
        entry
    }));
    entries
}

/// As one word: `80/TCP,8000-8080/TCP`, `all UDP`, `everything`, `nothing`.
fn words(transports: &Transports) -> String {
    if transports.is_all() {
        return "everything".to_owned();
    }
    let mut words = Vec::new();
    for protocol in Protocol::ALL {
        let name = protocol_name(protocol);
        if transports.is_whole(protocol) {
            words.push(format!("all-{name}"));
            continue;
        }
        words.extend(transports.ports(protocol).map(|range| format!("{}/{name}", ports(range))));
    }
    if transports.has_other() {
        words.push("other-protocols".to_owned());
    }
    if words.is_empty() { "nothing".to_owned() } else { words.join(",") }
}

/// One entry for each range of ports; a whole protocol has no ports.
fn json(transports: &Transports) -> Vec<Value> {
    let mut entries = Vec::new();
    for protocol in Protocol::ALL {
        let name = protocol_name(protocol);
        if transports.is_whole(protocol) {
            entries.push(json!({"protocol": name}));
            continue;
        }
        entries.extend(transports.ports(protocol).map(|range| {
            if range.start() == range.end() {
                json!({"protocol": name, "port": range.start()})
            } else {
                json!({"protocol": name, "port": range.start(), "endPort": range.end()})
            }
        }));
    }
    if transports.has_other() {
        entries.push(json!({"protocol": "Other"}));
    }
    entries
}

/// As the API writes it.
pub(crate) fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tcp => "TCP",
        Protocol::Udp => "UDP",
        Protocol::Sctp => "SCTP",
    }
}

fn ports(range: &RangeInclusive<u16>) -> String {
    if range.start() == range.end() {
        range.start().to_string()
    } else {
        format!("{}-{}", range.start(), range.end())
    }
}

#[cfg(test)]
mod tests;
