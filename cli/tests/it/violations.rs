use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::environment::{Environment, repository};
use crate::recording;

const LATER: &str = "--input-file later.jsonl --cluster-state state.yaml --dir policies";

/// The demo with everything in monitor.
pub(crate) fn monitored() -> Environment {
    let environment = Environment::learned();
    environment.good("promote --all --dir policies");
    environment
}

/// The same, after it has learned what its policies do not allow.
pub(crate) fn violated() -> Environment {
    let environment = monitored();
    environment.good(&format!("learn {LATER}"));
    environment
}

#[test]
fn what_policies_hold_is_listed() {
    let environment = violated();
    insta::assert_snapshot!(environment.run("violations -n shop --dir policies"), @"
    exit 0
    ----- stdout -----
    ID          LAST   COUNT   FROM                  TO                      PORT       DIR      MODE      REASON
    vf760ecfd   28m    3       shop/deployment/web   shop/deployment/cache   6379/TCP   egress   monitor   no-rule
    ");
    insta::assert_snapshot!(environment.run("violations -o wide --dir policies"), @"
    exit 0
    ----- stdout -----
    NAMESPACE   ID          LAST   COUNT   FROM                  TO                      PORT       DIR      MODE      REASON    POLICY                       FIRST
    shop        vf760ecfd   28m    3       shop/deployment/web   shop/deployment/cache   6379/TCP   egress   monitor   no-rule   shop/deployment-web-egress   30m
    ");
    insta::assert_snapshot!(environment.run("violations -o name --dir policies"), @"
    exit 0
    ----- stdout -----
    violation/vf760ecfd
    ");
    insta::assert_snapshot!(environment.run("violations -o json --dir policies"), @r#"
    exit 0
    ----- stdout -----
    {
      "items": [
        {
          "action": "monitor",
          "count": 3,
          "decidedBy": {
            "kind": "WorkloadNetworkPolicy",
            "name": "deployment-web-egress",
            "namespace": "shop",
            "tier": "NetworkPolicy"
          },
          "dest": {
            "kind": "Deployment",
            "name": "cache",
            "namespace": "shop"
          },
          "direction": "Egress",
          "dstPort": 6379,
          "firstSeen": "2026-09-02T12:00:00Z",
          "id": "vf760ecfd",
          "lastSeen": "2026-09-02T12:02:00Z",
          "policy": {
            "name": "deployment-web-egress",
            "namespace": "shop"
          },
          "protocol": "TCP",
          "reason": "NoRule",
          "source": {
            "kind": "Deployment",
            "name": "web",
            "namespace": "shop"
          }
        }
      ]
    }
    "#);
    let json = environment.good("violations -o json --dir policies");
    let yaml = environment.good("violations -o yaml --dir policies");
    let read: Value = serde_saphyr::from_str(&yaml).unwrap();
    assert_eq!(read, serde_json::from_str::<Value>(&json).unwrap());
}

#[test]
fn where_there_is_none_the_next_step_is_told() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("violations --dir policies"), @"
    exit 0
    ----- stderr -----
    no violations: only policies have any, and there is none; kubectl netenf promote makes them
    ");
    environment.good("promote --all --dir policies");
    insta::assert_snapshot!(environment.run("violations --exit-code --dir policies"), @"
    exit 0
    ----- stderr -----
    no violations; learn --dir stores those that a recording shows, violations --input-file lists them
    ");
    insta::assert_snapshot!(environment.run("violations deployment/wbe --dir policies"), @r#"
    exit 1
    ----- stderr -----
    error: nothing in the folder is called "deployment/wbe"
    hint: did you mean deployment/web?
    "#);
    insta::assert_snapshot!(environment.run("violations --since yesterday --dir policies"), @r#"
    exit 2
    ----- stderr -----
    error: "yesterday" is no time
    hint: write a time such as 2026-09-01T10:00:00Z, or an age such as 5m, 2h or 3d
    "#);
    insta::assert_snapshot!(environment.run("violations --from web --dir policies"), @r#"
    exit 2
    ----- stderr -----
    error: "web" names no end of a flow
    hint: write KIND/NAME, pod/NAME, node/NAME, namespace/NAME, an address, a CIDR, a domain name, world, host or apiserver
    "#);
}

#[test]
fn a_recording_is_judged_and_nothing_is_written() {
    let environment = monitored();
    let before = environment.files("policies");
    insta::assert_snapshot!(environment.run(&format!("violations {LATER}")), @"
    exit 0
    ----- stdout -----
    NAMESPACE   ID          LAST   COUNT   FROM                  TO                      PORT       DIR      MODE      REASON
    shop        vf760ecfd   28m    3       shop/deployment/web   shop/deployment/cache   6379/TCP   egress   monitor   no-rule
    ----- stderr -----
    18 received: 6 learned, 0 uncovered, 6 skipped, 6 violations, 0 errors; 0 lost by the source
    skipped: 6 Reply
    ");
    assert_eq!(environment.files("policies"), before);
    let missing = "violations --exit-code --input-file nothere.jsonl --dir policies";
    insta::assert_snapshot!(environment.run(missing), @"
    exit 3
    ----- stderr -----
    error: cannot open the recording nothere.jsonl: No such file or directory (os error 2)
    hint: check the name after --input-file
    ");
    environment.write("ztunnel.jsonl", testdata("ztunnel.jsonl"));
    insta::assert_snapshot!(environment.run("violations --input-file ztunnel.jsonl --dir policies"), @"
    exit 1
    ----- stderr -----
    error: these flows become policies for istio, but the folder holds 6 objects for kubernetes, such as policy monitoring/statefulset-prometheus-egress
    hint: give a folder of their own with --dir
    ");
}

#[test]
fn everything_that_is_listed_was_asked_for() {
    let environment = violated();
    let ids =
        |filter: &str| environment.good(&format!("violations -o name --dir policies {filter}"));
    let all = ids("");
    for some in [
        "deployment/web",
        "shop/deployment/web",
        "deployment-web-egress",
        "--direction egress",
        "-n shop",
        "--from shop/deploy/web",
        "--from deploy/api --from deploy/web --to ns/shop",
        "--since 1h",
        "--since 2026-09-02T12:00:00Z",
        "-A -n monitoring",
        "-n monitoring shop/deployment/web",
    ] {
        assert_eq!(ids(some), all, "{some}");
    }
    for none in [
        "statefulset/db",
        "--direction ingress",
        "-n monitoring",
        "--to deploy/web",
        "--to world",
        "--since 5m",
        "--from ns/monitoring",
    ] {
        assert_eq!(ids(none), "", "{none}");
    }
}

/// A policy's namespace is that of one end; the other end's is the violation's as well (case B79).
#[test]
fn a_violation_belongs_to_the_namespaces_of_both_ends() {
    let environment = Environment::learned();
    environment.good("promote deployment/api --direction ingress -n shop --dir policies");
    let mut flows = String::new();
    for line in recording::of_a_bare_pod().lines() {
        flows += &line.replace(
            "\"namespace\":\"shop\",\"pod_name\":\"toolbox\"",
            "\"namespace\":\"ops\",\"pod_name\":\"toolbox\"",
        );
        flows += "\n";
    }
    environment.write("toolbox.jsonl", flows);
    let violations = "violations --input-file toolbox.jsonl -o name --dir policies -n";
    let of_the_client = environment.good(&format!("{violations} ops"));
    assert!(of_the_client.starts_with("violation/v"), "{of_the_client}");
    assert_eq!(of_the_client, environment.good(&format!("{violations} shop")));
    assert_eq!(environment.good(&format!("{violations} monitoring")), "");
}

#[test]
fn any_is_1_for_ci() {
    let environment = violated();
    let code = |line: &str| environment.run(&format!("violations {line}")).code;
    assert_eq!(code("--dir policies"), 0);
    assert_eq!(code("--exit-code --dir policies"), 1);
    assert_eq!(code("--exit-code --since 5m --dir policies"), 0);
    assert_eq!(code(&format!("--exit-code {LATER}")), 1);
}

/// A source that tells no times, or a hostile one, leaves the columns as they are.
#[test]
fn values_hold_no_blank() {
    let environment = violated();
    let file = "policies/shop/deployment-web-egress.policy.yaml";
    let list = environment.good("get deployment-web-egress --dir policies -o json");
    let mut policy = serde_json::from_str::<Value>(&list).unwrap()["items"][0].clone();
    let one = &mut policy["status"]["violations"][0];
    one["dest"] = json!({"kind": "External", "names": ["a b\u{7}"], "address": "192.0.2.1"});
    one["lastSeen"] = "1970-01-01T00:00:00Z".into();
    one.as_object_mut().unwrap().remove("dstPort");
    policy["status"]["violationsTruncated"] = 3.into();
    environment.write(file, policy.to_string());
    insta::assert_snapshot!(environment.run("violations --no-headers --dir policies"), @r#"
    exit 0
    ----- stdout -----
    shop   vf760ecfd   <unknown>   3   shop/deployment/web   external/a_b\u{7}(192.0.2.1)   TCP   egress   monitor   no-rule
    ----- stderr -----
    warning: the policy shop/deployment-web-egress has no room for 3 older violations
    "#);
}

fn testdata(name: &str) -> String {
    fs::read_to_string(repository().join("crates/flows/tests/testdata").join(name)).unwrap()
}

/// The ids that are listed, and those that learning records.
fn listed_and_recorded(environment: &Environment, input: &str) -> [Vec<String>; 2] {
    let ids = |text: String| {
        let mut ids: Vec<String> = text.lines().map(str::to_owned).collect();
        ids.sort();
        ids
    };
    let before = environment.files("policies");
    let listed =
        environment.good(&format!("violations --acknowledged {input} -o name --dir policies"));
    assert_eq!(environment.files("policies"), before, "{input}");
    environment.good(&format!("learn {input} --dir policies"));
    let recorded = environment.good("violations --acknowledged -o name --dir policies");
    [ids(listed), ids(recorded)]
}

#[test]
fn what_is_listed_is_what_learning_records() {
    for (name, text) in [
        ("flows.jsonl", recording::demo()),
        ("hubble.jsonl", testdata("hubble.jsonl")),
        ("goldmane.jsonl", testdata("goldmane.jsonl")),
        ("ztunnel.jsonl", testdata("ztunnel.jsonl")),
    ] {
        let environment = Environment::new();
        // The policies know the beginning of the recording only.
        let lines: Vec<&str> = text.lines().collect();
        environment.write("begin.jsonl", lines[..lines.len() / 2].join("\n"));
        environment.write(name, &text);
        environment.good("learn --input-file begin.jsonl --dir policies");
        environment.good("promote --all --dir policies");
        let [listed, recorded] = listed_and_recorded(&environment, &format!("--input-file {name}"));
        assert_eq!(listed, recorded, "{name}");
        // ztunnel tells no labels: without the cluster's objects no policy selects its ends.
        assert_eq!(listed.is_empty(), name == "ztunnel.jsonl", "{name}");
    }
}

/// Folders of field reports that come with policies of ours.
fn cases() -> Vec<PathBuf> {
    let cases = fs::read_dir(repository().join("crates/k8s/tests/cases")).unwrap();
    let cases = cases.map(|case| case.unwrap().path());
    cases.filter(|case| case.join("policies.yaml").exists()).collect()
}

#[test]
fn field_reports_are_judged_as_they_are_learned() {
    let cases = cases();
    assert!(cases.len() >= 5);
    for case in cases {
        let environment = Environment::new();
        environment.write("policies/own.yaml", fs::read(case.join("policies.yaml")).unwrap());
        let mut line = String::new();
        for (flag, name) in [
            ("--input-file", "flows.jsonl"),
            ("--input-file", "goldmane.jsonl"),
            ("--input-file", "ztunnel.jsonl"),
            ("--cluster-state", "state.yaml"),
        ] {
            let path = case.join(name);
            if path.exists() {
                line += &format!(" {flag} {}", path.display());
            }
        }
        let [listed, recorded] = listed_and_recorded(&environment, &line);
        assert_eq!(listed, recorded, "{}", case.display());
    }
}

/// Objects that do not know the recording's pods hide no violation: flows tell their labels.
#[test]
fn a_state_that_knows_nobody_is_no_false_all_clear() {
    let environment = monitored();
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: other, namespace: shop, labels: {app: other}}, spec: {containers: []}}";
    environment.write("stranger.yaml", pod);
    let policy = "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: dns, namespace: shop}, spec: {podSelector: {}, policyTypes: [Ingress]}}";
    environment.write("policy.yaml", policy);
    let violations = |state: &str| {
        let line = "violations --exit-code --input-file later.jsonl --dir policies";
        environment.run(&format!("{line} {state}"))
    };
    insta::assert_snapshot!(violations("--cluster-state stranger.yaml"), @"
    exit 1
    ----- stdout -----
    NAMESPACE   ID          LAST   COUNT   FROM                           TO                               PORT       DIR      MODE      REASON
    shop        v5038a3a1   28m    3       shop/pod/web-7d9f8b6c5-abcde   shop/pod/cache-5b8c9d7f6-q2w3e   6379/TCP   egress   monitor   no-rule
    ----- stderr -----
    18 received: 0 learned, 6 uncovered, 6 skipped, 6 violations, 0 errors; 0 lost by the source
    skipped: 6 Reply
    warning: --cluster-state knows none of the 3 workloads of this recording: those in namespaces of its objects get no rules, and policies are asked about the labels that flows tell
    hint: leave --cluster-state out, or give the objects of the cluster and the time of the recording:
          kubectl get ns,nodes,pods,rs,deploy,sts,ds,jobs,cronjobs,svc,endpointslices,netpol -A -o yaml > state.yaml
    ");
    insta::assert_snapshot!(violations("--cluster-state policy.yaml"), @"
    exit 1
    ----- stdout -----
    NAMESPACE   ID          LAST   COUNT   FROM                  TO                      PORT       DIR      MODE      REASON
    shop        vf760ecfd   28m    3       shop/deployment/web   shop/deployment/cache   6379/TCP   egress   monitor   no-rule
    ----- stderr -----
    18 received: 6 learned, 0 uncovered, 6 skipped, 6 violations, 0 errors; 0 lost by the source
    skipped: 6 Reply
    warning: --cluster-state knows none of the 3 workloads of this recording: those in namespaces of its objects get no rules, and policies are asked about the labels that flows tell
    hint: leave --cluster-state out, or give the objects of the cluster and the time of the recording:
          kubectl get ns,nodes,pods,rs,deploy,sts,ds,jobs,cronjobs,svc,endpointslices,netpol -A -o yaml > state.yaml
    ");
}
