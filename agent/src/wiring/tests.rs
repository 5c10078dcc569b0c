use std::collections::BTreeSet;

use clap::Parser as _;
use kube::Config;
use netenf_cluster::Kind;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use super::{PREFIX, start};
use crate::arguments::{Arguments, Command};

/// It is not encoded before the first write.
const WRITES: &str = "| `netenf_api_writes_total` | counter | Requests that write to the API server, by verb, kind and outcome |";

/// Nor this one before the first flow.
const FLOWS: &str = "| `netenf_flows` | gauge | Observations by what became of them, and why |";

/// The registry's metrics as rows of the table in docs/metrics.md.
fn rows(registry: &Registry) -> Vec<String> {
    let mut text = String::new();
    encode(&mut text, registry).unwrap();
    let heads = text.lines().filter_map(|line| line.strip_prefix("# "));
    let of = |word: &'static str| {
        let heads = heads.clone().filter_map(move |head| head.strip_prefix(word));
        heads.filter_map(|head| head.split_once(' '))
    };
    let rows = of("TYPE ").zip(of("HELP ")).map(|((name, kind), (_, help))| {
        let suffix = if kind == "counter" { "_total" } else { "" };
        format!("| `{name}{suffix}` | {kind} | {} |", help.trim_end_matches('.'))
    });
    let mut rows: Vec<String> = rows.chain([WRITES, FLOWS].map(str::to_owned)).collect();
    rows.sort();
    rows
}

#[tokio::test]
async fn every_metric_is_documented() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Nothing listens there: metrics are registered all the same.
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let words = ["netenf-agent", "controller", "--leader-elect", "--pod-name=a"];
    let Command::Controller(arguments) = Arguments::parse_from(words).command;
    let mut registry = Registry::with_prefix(PREFIX);
    let _parts = start(config, &arguments, &mut registry).unwrap();
    let documented = include_str!("../../../docs/metrics.md");
    let documented: Vec<&str> = documented.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(
        documented,
        rows(&registry),
        "docs/metrics.md tells of other metrics than there are"
    );
}

/// The kinds that the agent has exactly these rights to, each as `RESOURCE[.GROUP]`, in the way of
/// [`Kind::resource`].
fn kinds_with(verbs: &[&str]) -> BTreeSet<String> {
    let documents: Vec<serde_json::Value> =
        serde_saphyr::from_multiple(include_str!("../../rbac.yaml")).unwrap();
    let role = documents.iter().find(|it| it["kind"] == "ClusterRole").unwrap();
    let rules = role["rules"].as_array().unwrap().iter();
    let names = rules.filter(|rule| rule["verbs"] == serde_json::json!(verbs)).flat_map(|rule| {
        let group = rule["apiGroups"][0].as_str().unwrap();
        let resources = rule["resources"].as_array().unwrap().iter();
        resources.map(move |it| format!("{}.{group}", it.as_str().unwrap()))
    });
    names.map(|name| name.trim_end_matches('.').to_owned()).collect()
}

/// That it needs each of its rights, these and those to write, is shown on a real server (`tests/cluster/rights.rs`).
#[test]
fn the_agent_may_read_what_it_watches_and_nothing_else() {
    let definitions = "customresourcedefinitions.apiextensions.k8s.io";
    let watched = Kind::ALL.map(Kind::resource).into_iter().chain([definitions]);
    assert_eq!(kinds_with(&["list", "watch"]), watched.map(str::to_owned).collect());
}
