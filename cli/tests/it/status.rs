use crate::environment::Environment;
use crate::recording;

#[test]
fn every_observation_is_accounted_for() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("status --dir policies"), @"
    exit 0
    ----- stdout -----
    objects     6 proposals, 0 monitor, 0 protect
    window      25h (2026-09-01T08:00:00Z to 2026-09-02T09:21:05Z)
    received    389
    learned     236
    uncovered   15
    violations  0
    errors      0
    skipped     138
      Reply                 130
      NodeLocal             7
      Denied                1
    lost        0 (told by the sources, not part of received)
    without a proposal of their own  1
      shop/cronjob/report -> shop/statefulset/db 5432/TCP x4: UnknownOwner, learned without --subjects all
    ");
    insta::assert_snapshot!(environment.run("status --dir policies -o json"), @r#"
    exit 0
    ----- stdout -----
    {
      "cut": {
        "edges": 0,
        "nodes": 0,
        "unplaced": 0
      },
      "errors": 0,
      "learned": 236,
      "lost": 0,
      "nodes": {},
      "received": 389,
      "skipped": {
        "Denied": 1,
        "NodeLocal": 7,
        "Reply": 130
      },
      "uncovered": 15,
      "unplaced": [
        {
          "count": 4,
          "direction": "Egress",
          "peer": {
            "kind": "StatefulSet",
            "name": "db",
            "namespace": "shop",
            "service": "svc/db"
          },
          "port": 5432,
          "protocol": "TCP",
          "reason": "UnknownOwner",
          "subject": {
            "kind": "CronJob",
            "name": "report",
            "namespace": "shop"
          }
        }
      ],
      "violations": 0,
      "window": {
        "first": "2026-09-01T08:00:00Z",
        "last": "2026-09-02T09:21:05Z"
      }
    }
    "#);
}

#[test]
fn check_is_for_ci() {
    let environment = Environment::learned();
    assert_eq!(environment.run("status --check --dir policies").code, 0);
    environment.write("bad.jsonl", recording::demo() + "{\"flow\": 7}\n");
    environment.good("learn --input-file bad.jsonl --dir policies");
    assert_eq!(
        environment.run("status --check --dir policies").code,
        1,
        "a line could not be read"
    );
    environment.write("empty/.keep", "");
    insta::assert_snapshot!(environment.run("status --check --dir empty"), @"
    exit 1
    ----- stdout -----
    objects     0 proposals, 0 monitor, 0 protect
    window      none: nothing with a time was learned into this folder
    received    0
    learned     0
    uncovered   0
    violations  0
    errors      0
    skipped     0
    lost        0 (told by the sources, not part of received)
    ----- stderr -----
    check failed: nothing was learned
    ");
}

#[test]
fn what_a_folder_does_not_keep_is_told() {
    let environment = Environment::learned();
    let state = environment.read("policies/.netenf/learned.json");
    let mut state: serde_json::Value = serde_json::from_str(&state).unwrap();
    state["cut"] = serde_json::json!({"edges": 3, "nodes": 1});
    state["lost"] = u64::MAX.into();
    state["skipped"]["Reply"] = u64::MAX.into();
    let one = state["unplaced"][0].clone();
    state["unplaced"] = vec![one; 22].into();
    environment.write("policies/.netenf/learned.json", state.to_string());
    let run = environment.run("status --check --dir policies");
    assert_eq!(run.code, 1, "{run}");
    let shown = run.stdout.lines().skip(7).filter(|line| !line.contains("cronjob"));
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"), @"
    skipped     18446744073709551615
      Reply                 18446744073709551615
      NodeLocal             7
      Denied                1
    lost        18446744073709551615 (told by the sources, not part of received)
    without a proposal of their own  22
      and 2 more; -o json shows all
    not kept    edges: 3, nodes: 1 (over the limits of a folder)
    ");
}
