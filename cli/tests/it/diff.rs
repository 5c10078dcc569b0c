use crate::environment::Environment;

#[test]
fn proposals_are_compared_with_policies_as_connectivity() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("diff deployment/web -n shop --dir policies"), @"
    exit 1
    ----- stdout -----
    proposal shop/deployment-web-egress
    + allow     -> kube-system/dns                         53/TCP    0x  infrastructure
    + allow     -> kube-system/dns                         53/UDP    10x  last 5h ago  infrastructure
    + allow     -> shop/deployment/api                     8080/TCP  40x  last 3h ago
    ? uncovered -> external/api.example.com (3 addresses)  443/TCP   8x  last 5h ago  External  [ujr958z]
    ? uncovered -> shop/statefulset/db                     9999/TCP  1x  last 15h ago  Unanswered  [uv1v9c5]
    proposal shop/deployment-web-ingress
    ? uncovered <- node/n2  8080/TCP  4x  last 8h ago  Unanswered  [u986z0k]
    ");
    insta::assert_snapshot!(environment.run("diff deployment/web --direction egress -o markdown --dir policies"), @"
    exit 1
    ----- stdout -----
    | Policy | | Peer | Port | Evidence |
    |---|---|---|---|---|
    | shop/deployment-web-egress | + allow | kube-system/dns | 53/TCP | 0x  infrastructure |
    | shop/deployment-web-egress | + allow | kube-system/dns | 53/UDP | 10x  last 5h ago  infrastructure |
    | shop/deployment-web-egress | + allow | shop/deployment/api | 8080/TCP | 40x  last 3h ago |
    | shop/deployment-web-egress | ? uncovered | external/api.example.com (3 addresses) | 443/TCP | 8x  last 5h ago  External  [ujr958z] |
    | shop/deployment-web-egress | ? uncovered | shop/statefulset/db | 9999/TCP | 1x  last 15h ago  Unanswered  [uv1v9c5] |
    ");
}

#[test]
fn json_carries_times_and_ids_of_their_own() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("diff deployment/web --direction ingress -o json --dir policies"), @r#"
    exit 1
    ----- stdout -----
    {
      "items": [
        {
          "lines": [
            {
              "change": "uncovered",
              "count": 4,
              "direction": "Ingress",
              "id": "u986z0k",
              "lastSeen": "2026-09-02T03:30:07Z",
              "notes": [],
              "peer": "node/n2",
              "port": "8080/TCP",
              "provenance": null,
              "reason": "Unanswered",
              "rule": null,
              "what": "uncovered"
            }
          ],
          "name": "deployment-web-ingress",
          "namespace": "shop"
        }
      ]
    }
    "#);
}

#[test]
fn yaml_is_a_plain_diff() {
    let environment = Environment::learned();
    environment.good("promote statefulset/prometheus -n monitoring --dir policies");
    let policy = "policies/monitoring/statefulset-prometheus-egress.policy.yaml";
    environment.write("old/p.yaml", environment.read(policy));
    environment.write(policy, environment.read(policy).replace("port: 9102", "port: 9103"));
    insta::assert_snapshot!(environment.run("diff -n monitoring -f old --dir policies -o yaml"), @"
    exit 1
    ----- stdout -----
    --- a/monitoring/statefulset-prometheus-egress
    +++ b/monitoring/statefulset-prometheus-egress
    @@ -40,7 +40,7 @@
                 app: api
           ports:
           - protocol: TCP
    -        port: 9102
    +        port: 9103
     status:
       violationCount: 0
       activeViolationCount: 0
    @@ -52,7 +52,7 @@
           kind: Deployment
           namespace: shop
           name: api
    -    port: 9102
    +    port: 9103
         protocol: TCP
         selector:
           matchLabels:
    ");
    insta::assert_snapshot!(environment.run("diff -n monitoring -f old --dir policies"), @"
    exit 1
    ----- stdout -----
    policy monitoring/statefulset-prometheus-egress
    - allow     -> shop/deployment/api  9102/TCP  14x  last 3h ago
      allow     -> kube-system/dns      53/TCP    0x  infrastructure
      allow     -> kube-system/dns      53/UDP    0x  infrastructure
    ~ allow     -> shop/deployment/api  9103/TCP  14x  last 3h ago
    ");
}

#[test]
fn no_difference_is_exit_0() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("diff -f policies --dir policies -o markdown"), @"
    exit 0
    ----- stdout -----
    | Policy | | Peer | Port | Evidence |
    |---|---|---|---|---|
    ----- stderr -----
    no differences
    ");
    assert_eq!(environment.run("diff -f policies --dir policies").code, 0);
    insta::assert_snapshot!(environment.run("diff -f policies --dir policies -o yaml"), @"
    exit 0
    ----- stderr -----
    no differences
    ");
    insta::assert_snapshot!(environment.run("diff -n nowhere --dir policies"), @"
    exit 0
    ----- stderr -----
    note: the folder has nothing in namespace nowhere
    no differences
    ");
}

#[test]
fn of_two_folders_what_is_selected_is_compared_in_both() {
    let environment = Environment::learned();
    environment.write("empty/.keep", "");
    insta::assert_snapshot!(environment.run("diff statefulset/prometheus -f empty --dir policies"), @"
    exit 1
    ----- stdout -----
    proposal monitoring/statefulset-prometheus-egress
    + allow     -> kube-system/dns      53/TCP    0x  infrastructure
    + allow     -> kube-system/dns      53/UDP    0x  infrastructure
    + allow     -> shop/deployment/api  9102/TCP  14x  last 3h ago
    ");
    insta::assert_snapshot!(environment.run("diff statefulset/prometheus -f policies --dir empty"), @"
    exit 1
    ----- stdout -----
    proposal monitoring/statefulset-prometheus-egress
    - allow     -> kube-system/dns      53/TCP    0x  infrastructure
    - allow     -> kube-system/dns      53/UDP    0x  infrastructure
    - allow     -> shop/deployment/api  9102/TCP  14x  last 3h ago
    ");
}

#[test]
fn another_mode_is_a_difference() {
    let environment = Environment::learned();
    environment.good("promote statefulset/db -n shop --dir policies");
    std::process::Command::new("cp")
        .args(["-r", "policies", "old"])
        .current_dir(environment.path("."))
        .status()
        .unwrap();
    environment
        .good("promote statefulset/db -n shop --protect --accept-uncovered all --dir policies");
    insta::assert_snapshot!(environment.run("diff statefulset/db -f old --dir policies"), @"
    exit 1
    ----- stdout -----
    policy shop/statefulset-db-ingress
      allow     <- shop/cronjob/report  5432/TCP  4x  last 3h ago
      allow     <- shop/deployment/api  5432/TCP  40x  last 3h ago
      accepted  <- shop/deployment/web  9999/TCP  1x  last 15h ago  Unanswered  [ugjtth2]
    ~ state        monitor to protect
    ");
}

#[test]
fn against_traffic_lists_what_protecting_would_deny() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("diff --against-traffic --dir policies"), @"
    exit 1
    ----- stdout -----
    POLICY                       FROM                  TO                                      PORT      COUNT   REASON    UNCOVERED
    shop/deployment-web-egress   shop/deployment/web   external/api.example.com(203.0.113.7)   443/TCP   3       no-rule   ujr958z
    shop/deployment-web-egress   shop/deployment/web   external/api.example.com(203.0.113.8)   443/TCP   2       no-rule   ujr958z
    shop/deployment-web-egress   shop/deployment/web   external/api.example.com(203.0.113.9)   443/TCP   3       no-rule   ujr958z
    recorded connections that would be denied: 8 of 126, listed as uncovered: 8
    ");
    insta::assert_snapshot!(environment.run("diff --against-traffic statefulset/db --dir policies"), @"
    exit 0
    ----- stdout -----
    recorded connections that would be denied: 0 of 126
    ");
    insta::assert_snapshot!(environment.run("diff --against-traffic --dir policies -o markdown"), @"
    exit 1
    ----- stdout -----
    | Policy | From | To | Port | Count | Reason | Uncovered |
    |---|---|---|---|---|---|---|
    | shop/deployment-web-egress | shop/deployment/web | external/api.example.com(203.0.113.7) | 443/TCP | 3 | no-rule | ujr958z |
    | shop/deployment-web-egress | shop/deployment/web | external/api.example.com(203.0.113.8) | 443/TCP | 2 | no-rule | ujr958z |
    | shop/deployment-web-egress | shop/deployment/web | external/api.example.com(203.0.113.9) | 443/TCP | 3 | no-rule | ujr958z |
    ");
    insta::assert_snapshot!(environment.run("diff --against-traffic --dir policies -o yaml"), @"
    exit 2
    ----- stderr -----
    error: --against-traffic has no -o yaml
    hint: use -o text, markdown or json
    ");
    let json = environment.run("diff --against-traffic --dir policies -o json");
    let value: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((json.code, &value["denied"]), (1, &serde_json::json!(8)));
    environment.write("empty/.keep", "");
    insta::assert_snapshot!(environment.run("diff --against-traffic --dir empty"), @"
    exit 0
    ----- stdout -----
    recorded connections that would be denied: 0 of 0
    ----- stderr -----
    no traffic is recorded in the folder: kubectl netenf learn --dir keeps what it saw
    ");
}

#[test]
fn the_other_folder_must_be_there_and_what_is_broken_in_it_is_told() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("diff -f nothere --dir policies"), @"
    exit 3
    ----- stderr -----
    error: there is no folder nothere
    hint: check the folder after -f
    ");
    environment
        .write("old/broken.yaml", "apiVersion: networkenforcer.kubewarden.io/v1alpha1\nkind: [\n");
    let run = environment.run("diff -n monitoring -f old --dir policies");
    assert!(run.stderr.starts_with("error: old/broken.yaml"), "{run}");
    assert_eq!(run.code, 3, "{run}");
}

/// Two workloads of which each carries the other's name as a label, and both ask one server.
const CROSSED: &str = r#"{"flow":{"time":"2026-09-01T08:00:00Z","verdict":"FORWARDED","IP":{"source":"10.0.0.1","destination":"10.0.0.9"},"l4":{"TCP":{"source_port":40001,"destination_port":5432,"flags":{"SYN":true}}},"source":{"namespace":"shop","labels":["k8s:app=web"],"pod_name":"api-0","workloads":[{"name":"api","kind":"StatefulSet"}]},"destination":{"namespace":"shop","labels":["k8s:app=db"],"pod_name":"db-0","workloads":[{"name":"db","kind":"StatefulSet"}]},"is_reply":false},"node_name":"n1"}
{"flow":{"time":"2026-09-01T08:00:01Z","verdict":"FORWARDED","IP":{"source":"10.0.0.2","destination":"10.0.0.9"},"l4":{"TCP":{"source_port":40002,"destination_port":5432,"flags":{"SYN":true}}},"source":{"namespace":"shop","labels":["k8s:app=api"],"pod_name":"web-0","workloads":[{"name":"web","kind":"StatefulSet"}]},"destination":{"namespace":"shop","labels":["k8s:app=db"],"pod_name":"db-0","workloads":[{"name":"db","kind":"StatefulSet"}]},"is_reply":false},"node_name":"n1"}
"#;

#[test]
fn a_label_with_the_name_of_another_workload_hides_no_rule() {
    let environment = Environment::new();
    environment.write("crossed.jsonl", CROSSED);
    environment.good("learn --input-file crossed.jsonl --dir policies");
    for format in ["text", "markdown", "json"] {
        let shown = environment.run(&format!("diff sts/db --dir policies -o {format}"));
        let allowed = shown.stdout.lines().filter(|line| line.contains("allow"));
        assert_eq!(allowed.count(), 2, "{shown}");
        assert!(!shown.stdout.contains("manual"), "{shown}");
    }
}

#[test]
fn violations_of_a_policy_are_told_with_their_ids() {
    let environment = Environment::learned();
    environment.good("promote deployment/web --direction egress -n shop --dir policies");
    environment.good("learn --input-file later.jsonl --cluster-state state.yaml --dir policies");
    let shown = environment.run("diff deployment/web --direction egress --dir policies").stdout;
    let lines: Vec<&str> = shown.lines().filter(|line| line.contains("violation")).collect();
    insta::assert_snapshot!(lines.join("\n"), @"? violation -> shop/deployment/cache                   6379/TCP  3x  last 28m ago  NoRule  [vf760ecfd]");
    let id = lines[0].split('[').nth(1).unwrap().trim_end_matches(']');
    environment.good(&format!("allow {id} --dir policies"));
}

#[test]
fn connectivity_is_compared_between_what_protects_and_what_could() {
    let environment = Environment::learned();
    let diff =
        |words: &str| environment.run(&format!("diff --connectivity --dir policies {words}"));
    insta::assert_snapshot!(diff("sts/db -n shop --cluster-state state.yaml"), @"
    exit 1
    ----- stdout -----
    - kube-system/deployment/coredns -> shop/statefulset/db     everything
    - monitoring/statefulset/prometheus -> shop/statefulset/db  everything
    ~ shop/cronjob/report -> shop/statefulset/db                everything to 5432/TCP
    ~ shop/deployment/api -> shop/statefulset/db                everything to 5432/TCP
    - shop/deployment/cache -> shop/statefulset/db              everything
    - shop/deployment/web -> shop/statefulset/db                everything
    - shop/statefulset/db -> shop/deployment/api                everything
    - shop/statefulset/db -> shop/deployment/web                everything
    ~ nodes(n1,n2) -> shop/statefulset/db                       everything to everything (some pods)
    - world(0.0.0.0/0) -> shop/statefulset/db                   everything
    ");
    insta::assert_snapshot!(diff("sts/db -n shop -o markdown"), @"
    exit 1
    ----- stdout -----
    | | From | To | Ports |
    |---|---|---|---|
    | - | monitoring/statefulset/prometheus | shop/statefulset/db | everything |
    | ~ | shop/deployment/api | shop/statefulset/db | everything to 5432/TCP |
    | - | shop/deployment/web | shop/statefulset/db | everything |
    | - | shop/statefulset/db | shop/deployment/api | everything |
    | - | shop/statefulset/db | shop/deployment/web | everything |
    | - | world(0.0.0.0/0) | shop/statefulset/db | everything |
    ");
    insta::assert_snapshot!(diff("sts/db -n shop -o dot"), @r#"
    exit 1
    ----- stdout -----
    digraph connectivity {
      rankdir=LR;
      node [shape=box];
      "monitoring/statefulset/prometheus" -> "shop/statefulset/db" [label="- everything", color=red, style=dashed];
      "shop/deployment/api" -> "shop/statefulset/db" [label="~ everything to 5432/TCP", color=orange];
      "shop/deployment/web" -> "shop/statefulset/db" [label="- everything", color=red, style=dashed];
      "shop/statefulset/db" -> "shop/deployment/api" [label="- everything", color=red, style=dashed];
      "shop/statefulset/db" -> "shop/deployment/web" [label="- everything", color=red, style=dashed];
      "world(0.0.0.0/0)" -> "shop/statefulset/db" [label="- everything", color=red, style=dashed];
    }
    "#);
    environment.good("promote sts/db -n shop --protect --accept-uncovered all --dir policies");
    insta::assert_snapshot!(diff("sts/db -n shop --cluster-state state.yaml"), @"
    exit 1
    ----- stdout -----
    - shop/statefulset/db -> shop/deployment/api  everything
    - shop/statefulset/db -> shop/deployment/web  everything
    ");
}

#[test]
fn connectivity_is_compared_between_folders() {
    let environment = Environment::learned();
    environment.good("learn --input-file flows.jsonl --cluster-state state.yaml --dir older");
    let diff = |words: &str| {
        environment.run(&format!(
            "diff --connectivity -f older --dir policies --cluster-state state.yaml {words}"
        ))
    };
    insta::assert_snapshot!(diff("--assume-protect"), @"
    exit 0
    ----- stderr -----
    no differences
    ");
    let id = environment.uncovered("deployment-web-egress", "External");
    environment.good(&format!("allow {id} --dir policies"));
    insta::assert_snapshot!(diff("--assume-protect"), @"
    exit 1
    ----- stdout -----
    + shop/deployment/web -> world(203.0.113.7-203.0.113.9)  443/TCP
    ");
    insta::assert_snapshot!(diff("--assume-protect -o json"), @r#"
    exit 1
    ----- stdout -----
    {
      "items": [
        {
          "after": [
            {
              "port": 443,
              "protocol": "TCP"
            }
          ],
          "before": [],
          "change": "added",
          "from": {
            "kind": "Deployment",
            "name": "web",
            "namespace": "shop"
          },
          "to": {
            "addresses": [
              "203.0.113.7/32",
              "203.0.113.8/31"
            ]
          }
        }
      ]
    }
    "#);
    insta::assert_snapshot!(diff("-o yaml"), @"
    exit 2
    ----- stderr -----
    error: connectivity has no YAML
    hint: give -o json, or leave --connectivity out
    ");
    insta::assert_snapshot!(environment.run("diff --dir policies -o dot"), @"
    exit 2
    ----- stderr -----
    error: only connectivity is drawn
    hint: add --connectivity to -o dot
    ");
}

/// A cluster-wide Accept stands before what a proposal does not allow, a Deny before what it allows.
#[test]
fn the_clusters_own_policies_count_against_traffic() {
    let environment = Environment::learned();
    let policy = |action: &str, port: u16| {
        format!(
            "apiVersion: policy.networking.k8s.io/v1alpha2\nkind: ClusterNetworkPolicy\nmetadata: {{name: guard}}\nspec: {{tier: Admin, \
             priority: 1, subject: {{namespaces: {{}}}}, egress: [{{action: {action}, to: [{{networks: [0.0.0.0/0]}}], \
             protocols: [{{tcp: {{destinationPort: {{number: {port}}}}}}}]}}]}}\n"
        )
    };
    environment.write("accept.yaml", policy("Accept", 443));
    environment.write("deny.yaml", policy("Deny", 443));
    let diff = |words: &str| {
        environment
            .run(&format!("diff deployment/web -n shop --against-traffic --dir policies {words}"))
    };
    insta::assert_snapshot!(diff(""), @"
    exit 1
    ----- stdout -----
    POLICY                       FROM                  TO                                      PORT      COUNT   REASON    UNCOVERED
    shop/deployment-web-egress   shop/deployment/web   external/api.example.com(203.0.113.7)   443/TCP   3       no-rule   ujr958z
    shop/deployment-web-egress   shop/deployment/web   external/api.example.com(203.0.113.8)   443/TCP   2       no-rule   ujr958z
    shop/deployment-web-egress   shop/deployment/web   external/api.example.com(203.0.113.9)   443/TCP   3       no-rule   ujr958z
    recorded connections that would be denied: 8 of 126, listed as uncovered: 8
    ");
    insta::assert_snapshot!(diff("--cluster-state accept.yaml"), @"
    exit 0
    ----- stdout -----
    recorded connections that would be denied: 0 of 126
    ");
    insta::assert_snapshot!(diff("--cluster-state deny.yaml"), @"
    exit 1
    ----- stdout -----
    POLICY                       FROM                  TO                                      PORT      COUNT   REASON                                 UNCOVERED
    shop/deployment-web-egress   shop/deployment/web   external/api.example.com(203.0.113.7)   443/TCP   3       denied-by-ClusterNetworkPolicy/guard   ujr958z
    shop/deployment-web-egress   shop/deployment/web   external/api.example.com(203.0.113.8)   443/TCP   2       denied-by-ClusterNetworkPolicy/guard   ujr958z
    shop/deployment-web-egress   shop/deployment/web   external/api.example.com(203.0.113.9)   443/TCP   3       denied-by-ClusterNetworkPolicy/guard   ujr958z
    recorded connections that would be denied: 8 of 126, listed as uncovered: 8
    ");
    insta::assert_snapshot!(environment.run(
        "promote deployment/web -n shop --direction egress --protect --dry-run --dir policies --cluster-state accept.yaml"
    ), @"
    exit 1
    ----- stdout -----
    PREFLIGHT  deployment-web-egress  window 25h >= 24h                             pass
    PREFLIGHT  deployment-web-egress  new rules in the last 1h: 0                   pass
    PREFLIGHT  deployment-web-egress  uncovered: 2 (External api.example.com 443/TCP [ujr958z], Unanswered db 9999/TCP [uv1v9c5])  FAIL  (allow them with kubectl netenf allow ID, or accept their loss with --accept-uncovered ID,… or all)
    PREFLIGHT  deployment-web-egress  recorded connections that would be denied: 0  pass
    PREFLIGHT  deployment-web-egress  enforcer: no network plugin is among the objects that is known to enforce  warn
    PREFLIGHT  deployment-web-egress  DNS is allowed                                pass
    ----- stderr -----
    error: not promoted: 1 check failed (deployment-web-egress)
    hint: each line with FAIL says what to do; promote without --protect only monitors
    ");
}

/// A policy in monitor that allows nothing from `web`.
const CLOSED: &str = "apiVersion: networkenforcer.kubewarden.io/v1alpha1\nkind: WorkloadNetworkPolicy\nmetadata: {name: deployment-web-egress, namespace: shop}\nspec: {backend: kubernetes, mode: monitor, kubernetes: {podSelector: {matchLabels: {app: web}}, policyTypes: [Egress]}}\n";

/// What a proposal allows is no excuse for the policy of its name (DESIGN D9).
#[test]
fn against_traffic_a_proposal_gives_way_to_the_policy_of_its_name() {
    let environment = Environment::learned();
    environment.write("policies/shop/deployment-web-egress.policy.yaml", CLOSED);
    let diff =
        environment.run("diff deployment-web-egress -n shop --against-traffic --dir policies");
    insta::assert_snapshot!(diff, @"
    exit 1
    ----- stdout -----
    POLICY                       FROM                  TO                                      PORT       COUNT   REASON    UNCOVERED
    shop/deployment-web-egress   shop/deployment/web   kube-system/deployment/coredns          53/UDP     10      no-rule   <none>
    shop/deployment-web-egress   shop/deployment/web   shop/deployment/api                     8080/TCP   40      no-rule   <none>
    shop/deployment-web-egress   shop/deployment/web   external/api.example.com(203.0.113.7)   443/TCP    3       no-rule   <none>
    shop/deployment-web-egress   shop/deployment/web   external/api.example.com(203.0.113.8)   443/TCP    2       no-rule   <none>
    shop/deployment-web-egress   shop/deployment/web   external/api.example.com(203.0.113.9)   443/TCP    3       no-rule   <none>
    recorded connections that would be denied: 58 of 126, listed as uncovered: 0
    ----- stderr -----
    the proposal shop/deployment-web-egress is left out: the policy of its name decides; kubectl netenf diff compares them
    ");
}

/// What ours became is what protecting replaces; a foreign object of its name stays, which is told.
#[test]
fn a_native_policy_of_the_name_counts_unless_ours_became_it() {
    let environment = Environment::new();
    environment.write("policies/shop/deployment-web-egress.policy.yaml", CLOSED);
    environment.good("learn --input-file flows.jsonl --cluster-state state.yaml --dir policies");
    let native = |owner: &str| {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {{name: deployment-web-egress, namespace: shop, \
             ownerReferences: [{owner}]}}\nspec: {{podSelector: {{}}, policyTypes: [Egress], egress: [{{}}]}}\n"
        )
    };
    let owner = "{apiVersion: networkenforcer.kubewarden.io/v1alpha1, kind: WorkloadNetworkPolicy, name: deployment-web-egress, uid: u, controller: true}";
    environment.write("became.yaml", native(owner));
    environment.write("foreign.yaml", native(""));
    let traffic = |state: &str| {
        let of = "deployment-web-egress -n shop --dir policies --cluster-state";
        let promote = environment.run(&format!("promote {of} {state} --protect --dry-run"));
        let told = promote.stdout.lines().find(|line| line.contains("would be denied")).unwrap();
        let diff = environment.run(&format!("diff {of} {state} --against-traffic"));
        let last = diff.stdout.lines().last().unwrap();
        format!("{told}\n{last}\n{}", promote.stderr.lines().next().unwrap())
    };
    insta::assert_snapshot!(traffic("became.yaml"), @"
    PREFLIGHT  deployment-web-egress  recorded connections that would be denied: 58, listed as uncovered: 0  FAIL  (kubectl netenf diff --against-traffic --cluster-state became.yaml lists them; accept with --accept traffic)
    recorded connections that would be denied: 58 of 126, listed as uncovered: 0
    error: not promoted: 4 checks failed (deployment-web-egress)
    ");
    insta::assert_snapshot!(traffic("foreign.yaml"), @"
    PREFLIGHT  deployment-web-egress  recorded connections that would be denied: 0           pass
    recorded connections that would be denied: 0 of 126
    warning: NetworkPolicy shop/deployment-web-egress: WorkloadNetworkPolicy shop/deployment-web-egress does not control it, so it stays in force and ours conflicts with it; delete it, or give one of them another name
    ");
}
