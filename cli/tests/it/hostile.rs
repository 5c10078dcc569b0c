//! Names and labels from a recording may hold anything; a terminal gets none of it raw.

use crate::environment::{Environment, Run};
use crate::recording;

/// Escape, bell, a C1 control and a change of direction.
const HOSTILE: &str = "\u{1b}[31mred\u{7}\u{9b}2J\u{202e}";

fn is_raw(c: char) -> bool {
    (c.is_control() && c != '\n') || c == '\u{202e}'
}

fn clean(what: &str, run: &Run) {
    assert!(!run.stdout.contains(is_raw), "{what} prints {:?}", run.stdout);
    assert!(!run.stderr.contains(is_raw), "{what} tells {:?}", run.stderr);
}

/// web, with everything about it hostile save what names the proposal of its peer.
fn recording(hostile: &str) -> String {
    let mut flow = recording::flow();
    let source = &mut flow["flow"]["source"];
    source["pod_name"] = format!("web{hostile}-7d9f8b6c5-abcde").into();
    source["labels"] = serde_json::json!([format!("k8s:app=web{hostile}")]);
    source["workloads"] =
        serde_json::json!([{"name": format!("web{hostile}"), "kind": "Deployment"}]);
    flow["flow"]["destination_service"]["name"] = format!("api{hostile}").into();
    flow["node_name"] = format!("n1{hostile}").into();
    flow["flow"]["node_name"] = flow["node_name"].clone();
    flow["flow"]["drop_reason_desc"] = hostile.into();
    format!("{flow}\n")
}

#[test]
fn nothing_hostile_is_printed_raw() {
    for hostile in [HOSTILE, "\u{202e}", "\u{9b}2J", "\u{7}"] {
        let environment = Environment::new();
        environment.write("flows.jsonl", recording(hostile));
        for line in [
            "learn --input-file flows.jsonl",
            "learn --input-file flows.jsonl -o name",
            "learn --input-file flows.jsonl --dir policies",
            "learn --input-file flows.jsonl --dir policies -o yaml",
            "get --dir policies",
            "get --dir policies -o wide",
            "get --dir policies -o json",
            "get --dir policies -o yaml",
            "diff --dir policies",
            "diff --dir policies -o json",
            "diff --dir policies -o markdown",
            "diff --dir policies -o yaml",
            "diff --against-traffic --dir policies",
            "promote --all --protect --dry-run --dir policies",
            "export --assume-protect --dir policies",
            "history --dir policies -o json",
            "status --dir policies",
            "status --dir policies -o json",
            "flows --input-file flows.jsonl",
            "flows --input-file flows.jsonl -o wide",
            "flows --input-file flows.jsonl -o json",
            "flows --input-file flows.jsonl --group",
            "flows --input-file flows.jsonl --group -o json",
            "__complete get --dir policies x",
        ] {
            let run = environment.run(line);
            assert!(run.code < 2, "{line}: {run}");
            clean(line, &run);
        }
    }
}

#[test]
fn what_is_written_out_still_means_the_same() {
    let environment = Environment::new();
    environment.write("flows.jsonl", recording(HOSTILE));
    let again = environment.good("flows --input-file flows.jsonl -o json");
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(value(&again), value(&environment.read("flows.jsonl")));
    environment.write("again.jsonl", again);
    let learn = |file: &str| environment.good(&format!("learn --input-file {file}"));
    assert_eq!(learn("again.jsonl"), learn("flows.jsonl"));
    assert!(learn("flows.jsonl").contains("\\u202e"));
}

#[test]
fn a_name_that_no_object_can_have_costs_no_other_proposal() {
    let environment = Environment::new();
    environment.write("flows.jsonl", recording::demo() + &recording(HOSTILE));
    let run = environment.run("learn --input-file flows.jsonl --dir policies");
    assert_eq!(run.code, 0, "{run}");
    assert!(run.stdout.contains("deployment-api-ingress created"), "{run}");
    assert!(run.stderr.contains("3 UnknownOwner"), "{run}");
}

#[test]
fn messages_about_lines_repeat_nothing_raw() {
    let environment = Environment::new();
    let first = recording::flow().to_string();
    environment.write("bad.jsonl", format!("{first}\n{HOSTILE}\n"));
    let run = environment.run("learn --input-file bad.jsonl --strict");
    assert_eq!(run.code, 3, "{run}");
    clean("strict", &run);
    environment.write("state.yaml", format!("kind: [{HOSTILE}"));
    let run = environment.run("learn --input-file flows.jsonl --cluster-state state.yaml");
    assert_eq!(run.code, 3, "{run}");
    clean("state", &run);
}
