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
      shop/cronjob/report -> shop/statefulset/db 5432/TCP x4: UnknownOwner
    ");
    insta::assert_snapshot!(environment.run("status --dir policies -o json"), @r#"
    exit 0
    ----- stdout -----
    {
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
    ");
}
