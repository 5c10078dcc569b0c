use crate::environment::{Environment, repository};

const DEMO: &str = "learn --input-file flows.jsonl --cluster-state state.yaml";

/// Case B11: the plugin is known by its DaemonSet, or asked for.
#[test]
fn a_deviating_network_plugin_is_asked_for_or_found() {
    let environment = Environment::new();
    let node_agent = "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: aws-node, namespace: kube-system}, spec: {selector: {matchLabels: {k8s-app: aws-node}}, template: {metadata: {labels: {k8s-app: aws-node}}}}}\n";
    environment.write("aws.yaml", node_agent);
    let cases = repository().join("crates/k8s/tests/cases");
    let place = |name: &str| cases.join(name).display().to_string();
    let states = ["common.yaml", "B11-compat/state.yaml"].map(place);
    let input = format!(
        "--input-file {} --cluster-state {} --cluster-state {}",
        place("B11-compat/flows.jsonl"),
        states[0],
        states[1]
    );
    let marked = |arguments: &str| {
        let run = environment.run(&format!("learn {input} {arguments}"));
        (run.stdout.contains("compat: "), run.stderr.contains("runs the Amazon VPC CNI"))
    };
    assert_eq!(marked(""), (false, false));
    assert_eq!(marked("--compat aws-vpc-cni"), (true, false));
    assert_eq!(marked("--cluster-state aws.yaml"), (true, true));
    assert_eq!(marked("--cluster-state aws.yaml --compat none"), (false, false));
}

#[test]
fn without_a_folder_proposals_are_printed_and_nothing_is_stored() {
    let environment = Environment::new();
    let before = environment.files(".");
    insta::assert_snapshot!(environment.run(&format!("{DEMO} -n shop statefulset/db")), @r#"
    exit 0
    ----- stdout -----
    apiVersion: networkenforcer.kubewarden.io/v1alpha1
    kind: WorkloadNetworkPolicyProposal
    metadata:
      name: statefulset-db-ingress
      namespace: shop
    spec:
      backend: kubernetes
      targetRef:
        kind: StatefulSet
        name: db
      direction: Ingress
      kubernetes:
        podSelector:
          matchLabels:
            app: db
        policyTypes:
        - Ingress
        ingress:
        - from:
          - namespaceSelector:
              matchLabels:
                kubernetes.io/metadata.name: shop
            podSelector:
              matchLabels:
                app: api
          ports:
          - protocol: TCP
            port: 5432
        - from:
          - namespaceSelector:
              matchLabels:
                kubernetes.io/metadata.name: shop
            podSelector:
              matchLabels:
                app: report
          ports:
          - protocol: TCP
            port: 5432
    status:
      conditions:
      - type: Stable
        status: "True"
        reason: NothingNew
        message: 2 rules, 1 uncovered
        lastTransitionTime: "2026-09-02T09:21:05Z"
      selector:
        matchLabels:
          app: db
      ruleCount: 2
      rules:
      - peer:
          kind: CronJob
          namespace: shop
          name: report
        port: 5432
        protocol: TCP
        selector:
          matchLabels:
            app: report
        provenance: observed
        count: 4
        firstSeen: "2026-09-01T08:00:05Z"
        lastSeen: "2026-09-02T09:21:05Z"
        services:
        - svc/db
        example:
          source: report-29012345-x9z2k
          destination: db-0
      - peer:
          kind: Deployment
          namespace: shop
          name: api
        port: 5432
        protocol: TCP
        selector:
          matchLabels:
            app: api
        provenance: observed
        count: 40
        firstSeen: "2026-09-01T08:00:01Z"
        lastSeen: "2026-09-02T09:21:01Z"
        services:
        - svc/db
        example:
          source: api-6f5d9c7d8-4tsvd
          destination: db-0
      uncoveredCount: 1
      uncovered:
      - id: ugjtth2
        peer:
          kind: Deployment
          namespace: shop
          name: web
        port: 9999
        selector:
          matchLabels:
            app: web
        protocol: TCP
        reason: Unanswered
        count: 1
        firstSeen: "2026-09-01T21:00:00Z"
        lastSeen: "2026-09-01T21:00:04Z"
      learnedSince: "2026-09-01T08:00:00Z"
      lastNewRule: "2026-09-01T08:00:05Z"
    ----- stderr -----
    389 received: 88 learned, 3 uncovered, 298 skipped, 0 violations, 0 errors; 0 lost by the source
    skipped: 148 OutOfScope, 130 Reply, 12 NotSubject, 7 NodeLocal, 1 Denied
    1 proposal, 1 uncovered item
    "#);
    assert_eq!(environment.files("."), before);
}

#[test]
fn with_a_folder_it_says_what_changed_there() {
    let environment = Environment::new();
    insta::assert_snapshot!(environment.run(&format!("{DEMO} --dir policies")), @"
    exit 0
    ----- stdout -----
    monitoring/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/statefulset-prometheus-egress created
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-api-egress created
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-api-ingress created
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-egress created
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-ingress created
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/statefulset-db-ingress created
    ----- stderr -----
    389 received: 236 learned, 15 uncovered, 138 skipped, 0 violations, 0 errors; 0 lost by the source
    skipped: 130 Reply, 7 NodeLocal, 1 Denied
    6 proposals, 4 uncovered items
    seen, but without a proposal of its own: 1 UnknownOwner
    hint: --subjects all writes proposals for these kinds too: CronJob
    ");
    let files: Vec<String> = environment.files("policies").into_keys().collect();
    insta::assert_snapshot!(files.join("\n"), @"
    .netenf/.gitignore
    .netenf/history/monitoring/statefulset-prometheus-egress/1.yaml
    .netenf/history/shop/deployment-api-egress/1.yaml
    .netenf/history/shop/deployment-api-ingress/1.yaml
    .netenf/history/shop/deployment-web-egress/1.yaml
    .netenf/history/shop/deployment-web-ingress/1.yaml
    .netenf/history/shop/statefulset-db-ingress/1.yaml
    .netenf/learned.json
    .netenf/lock
    monitoring/statefulset-prometheus-egress.proposal.yaml
    shop/deployment-api-egress.proposal.yaml
    shop/deployment-api-ingress.proposal.yaml
    shop/deployment-web-egress.proposal.yaml
    shop/deployment-web-ingress.proposal.yaml
    shop/statefulset-db-ingress.proposal.yaml
    ");
}

#[test]
fn what_is_learned_again_adds_up_until_fresh() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run(&format!("{DEMO} --dir policies")), @"
    exit 0
    ----- stdout -----
    monitoring/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/statefulset-prometheus-egress updated
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-api-egress updated
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-api-ingress updated
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-egress updated
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-ingress updated
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/statefulset-db-ingress updated
    ----- stderr -----
    389 received: 236 learned, 15 uncovered, 138 skipped, 0 violations, 0 errors; 0 lost by the source
    skipped: 130 Reply, 7 NodeLocal, 1 Denied
    6 proposals, 4 uncovered items
    warning: flows of 2026-09-01T08:00:00Z to 2026-09-02T09:21:05Z were learned before: where they are the same, counts hold them twice (--fresh starts over)
    seen, but without a proposal of its own: 1 UnknownOwner
    hint: --subjects all writes proposals for these kinds too: CronJob
    ");
    let received = || {
        let status = environment.good("status --dir policies -o json");
        serde_json::from_str::<serde_json::Value>(&status).unwrap()["received"].clone()
    };
    assert_eq!(received(), 778, "two times the recording");
    environment.good(&format!("{DEMO} --dir policies --fresh"));
    assert_eq!(received(), 389);
}

#[test]
fn fresh_gives_what_learning_once_gives() {
    let environment = Environment::learned();
    environment.good(&format!("{DEMO} --dir policies --fresh"));
    let once = environment.good("get --dir policies -o yaml");
    environment.good(&format!("{DEMO} --dir policies"));
    assert_ne!(environment.good("get --dir policies -o yaml"), once);
    environment.good(&format!("{DEMO} --dir policies --fresh"));
    assert_eq!(environment.good("get --dir policies -o yaml"), once);
}

/// The way out that the error tells is one.
#[test]
fn counters_that_cannot_be_read_are_started_over_with_fresh() {
    let environment = Environment::learned();
    let once = environment.good("get --dir policies -o yaml");
    environment.write("policies/.netenf/learned.json", "{");
    let before = environment.files("policies");
    let run = environment.run(&format!("{DEMO} --dir policies"));
    assert_eq!(run.code, 3, "{run}");
    assert!(run.stderr.contains("learn again with --fresh to start them over"), "{run}");
    assert_eq!(environment.files("policies"), before, "nothing is written");
    environment.good(&format!("{DEMO} --dir policies --fresh"));
    assert_eq!(environment.good("get --dir policies -o yaml"), once);
    environment.good("status --dir policies");
}

#[test]
fn json_is_the_funnel_and_its_parts_add_up() {
    let environment = Environment::new();
    let run = environment.run(&format!("{DEMO} -o json"));
    insta::assert_snapshot!(run, @r#"
    exit 0
    ----- stdout -----
    {
      "errors": 0,
      "learned": 236,
      "lost": 0,
      "received": 389,
      "skipped": {
        "Denied": 1,
        "NodeLocal": 7,
        "Reply": 130
      },
      "uncovered": 15,
      "violations": 0
    }
    ----- stderr -----
    389 received: 236 learned, 15 uncovered, 138 skipped, 0 violations, 0 errors; 0 lost by the source
    skipped: 130 Reply, 7 NodeLocal, 1 Denied
    6 proposals, 4 uncovered items
    seen, but without a proposal of its own: 1 UnknownOwner
    hint: --subjects all writes proposals for these kinds too: CronJob
    "#);
    let funnel: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let part = |name: &str| funnel[name].as_u64().unwrap();
    let skipped: u64 =
        funnel["skipped"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    let parts = part("learned") + part("uncovered") + part("violations") + part("errors") + skipped;
    assert_eq!(parts, part("received"));
}

#[test]
fn names_are_those_that_get_prints() {
    let environment = Environment::new();
    let names = environment.good(&format!("{DEMO} -o name"));
    environment.good(&format!("{DEMO} --dir policies"));
    assert_eq!(names, environment.good("get -o name --dir policies"));
    insta::assert_snapshot!(environment.run(&format!("{DEMO} -n monitoring -o name")), @"
    exit 0
    ----- stdout -----
    workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/statefulset-prometheus-egress
    ----- stderr -----
    389 received: 28 learned, 0 uncovered, 361 skipped, 0 violations, 0 errors; 0 lost by the source
    skipped: 211 OutOfScope, 130 Reply, 12 NotSubject, 7 NodeLocal, 1 Denied
    1 proposal, 0 uncovered items
    ");
}

#[test]
fn a_dry_run_writes_nothing() {
    let environment = Environment::new();
    let before = environment.files(".");
    insta::assert_snapshot!(environment.run(&format!("{DEMO} -n monitoring --dir new --dry-run")), @"
    exit 0
    ----- stdout -----
    workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/statefulset-prometheus-egress created (dry run)
    ----- stderr -----
    389 received: 28 learned, 0 uncovered, 361 skipped, 0 violations, 0 errors; 0 lost by the source
    skipped: 211 OutOfScope, 130 Reply, 12 NotSubject, 7 NodeLocal, 1 Denied
    1 proposal, 0 uncovered items
    ");
    assert_eq!(environment.files("."), before, "not even the folder");
    assert!(!environment.path("new").exists());
    environment.good(&format!("{DEMO} --dir policies"));
    let before = environment.files("policies");
    let later = "learn --input-file later.jsonl --cluster-state state.yaml --dir policies";
    insta::assert_snapshot!(environment.run(&format!("{later} --dry-run=client")), @"
    exit 0
    ----- stdout -----
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-api-ingress updated (dry run)
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-cache-ingress created (dry run)
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-egress updated (dry run)
    ----- stderr -----
    18 received: 12 learned, 0 uncovered, 6 skipped, 0 violations, 0 errors; 0 lost by the source
    skipped: 6 Reply
    3 proposals, 0 uncovered items
    ");
    assert_eq!(environment.files("policies"), before);
}

#[test]
fn workloads_and_namespaces_limit_what_is_learned() {
    let environment = Environment::new();
    let names = |scope: &str| environment.good(&format!("{DEMO} -o name {scope}"));
    assert!(names("").contains("monitoring/"));
    assert!(!names("-n shop").contains("prometheus"));
    assert_eq!(names("-n shop -A"), names(""), "-A stands above -n");
    insta::assert_snapshot!(names("deployment/web -n shop"), @"
    workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-egress
    workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-ingress
    ");
    insta::assert_snapshot!(names("shop/deploy/web monitoring/sts/prometheus"), @"
    monitoring/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/statefulset-prometheus-egress
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-egress
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-ingress
    ");
    assert!(!names("--exclude-namespace shop").contains("shop/"));
    assert!(!names("--exclude-workload shop/deployment/web").contains("web"));
    insta::assert_snapshot!(environment.run(&format!("{DEMO} web")), @r#"
    exit 2
    ----- stderr -----
    error: "web" names no workload
    hint: write KIND/NAME or NAMESPACE/KIND/NAME, for example deployment/web or shop/sts/db
    "#);
    insta::assert_snapshot!(environment.run(&format!("{DEMO} deployment/web")), @r#"
    exit 2
    ----- stderr -----
    error: "deployment/web" needs a namespace
    hint: add -n NAMESPACE, or write NAMESPACE/KIND/NAME
    "#);
}

#[test]
fn where_nothing_in_scope_was_seen_it_says_so() {
    let environment = Environment::new();
    insta::assert_snapshot!(environment.run(&format!("{DEMO} -n nowhere")), @"
    exit 0
    ----- stderr -----
    389 received: 0 learned, 0 uncovered, 389 skipped, 0 violations, 0 errors; 0 lost by the source
    skipped: 239 OutOfScope, 130 Reply, 12 NotSubject, 7 NodeLocal, 1 Denied
    0 proposals, 0 uncovered items
    hint: no workload in scope was seen; see the reasons above, and -n, --subjects and --exclude-workload
    ");
}

#[test]
fn all_subjects_are_learned_when_asked_for() {
    let environment = Environment::new();
    let names = environment.good(&format!("{DEMO} -n shop --subjects all -o name"));
    assert!(names.contains("/cronjob-report-egress"), "{names}");
}

#[test]
fn outside_peers_become_rules_by_address_when_asked_for() {
    let environment = Environment::new();
    environment.good(&format!("{DEMO} --external addresses --dir policies"));
    insta::assert_snapshot!(environment.run("diff deployment/web --direction egress --dir policies"), @"
    exit 1
    ----- stdout -----
    proposal shop/deployment-web-egress
    + allow     -> 203.0.113.7/32       443/TCP   3x  last 8h ago
    + allow     -> 203.0.113.8/32       443/TCP   2x  last 12h ago
    + allow     -> 203.0.113.9/32       443/TCP   3x  last 5h ago
    + allow     -> kube-system/dns      53/TCP    0x  infrastructure
    + allow     -> kube-system/dns      53/UDP    10x  last 5h ago  infrastructure
    + allow     -> shop/deployment/api  8080/TCP  40x  last 3h ago
    ? uncovered -> shop/statefulset/db  9999/TCP  1x  last 15h ago  Unanswered  [uv1v9c5]
    ");
}

#[test]
fn a_promoted_workload_gets_violations_and_no_proposal() {
    let environment = Environment::learned();
    environment.good("promote deployment/web -n shop --direction egress --dir policies");
    let later = "learn --input-file later.jsonl --cluster-state state.yaml --dir policies";
    insta::assert_snapshot!(environment.run(later), @"
    exit 0
    ----- stdout -----
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-api-ingress updated
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-cache-ingress created
    shop/workloadnetworkpolicy.networkenforcer.kubewarden.io/deployment-web-egress has violations
    ----- stderr -----
    18 received: 6 learned, 0 uncovered, 6 skipped, 6 violations, 0 errors; 0 lost by the source
    skipped: 6 Reply
    2 proposals, 1 policy, 0 uncovered items
    ");
    insta::assert_snapshot!(environment.run("get -n shop -o wide --dir policies"), @"
    exit 0
    ----- stdout -----
    NAME                       STATE      RULES   UNCOVERED   NEW   LAST-SEEN   AGE   WORKLOAD           DIRECTION   BACKEND      VIOLATIONS   GAPS
    deployment-api-egress      stable     3       0           0     3h          28h   deployment/api     egress      kubernetes   <none>       0
    deployment-api-ingress     stable     2       0           0     27m         28h   deployment/api     ingress     kubernetes   <none>       0
    deployment-cache-ingress   learning   1       0           +1    28m         30m   deployment/cache   ingress     kubernetes   <none>       0
    deployment-web-egress      monitor    3       2           0     3h          28h   deployment/web     egress      kubernetes   1            0
    deployment-web-ingress     learning   0       1           0     8h          28h   deployment/web     ingress     kubernetes   <none>       0
    statefulset-db-ingress     stable     2       1           0     3h          28h   statefulset/db     ingress     kubernetes   <none>       0
    ");
}

#[test]
fn the_backend_is_of_the_provider() {
    let environment = Environment::new();
    insta::assert_snapshot!(environment.run(&format!("{DEMO} --backend istio")), @"
    exit 2
    ----- stderr -----
    error: --backend istio needs flows of ztunnel: only they carry mesh identities
    hint: leave --backend out, or give a ztunnel log
    ");
}

#[test]
fn a_workload_that_was_not_seen_is_a_slip_and_stores_nothing() {
    let environment = Environment::new();
    insta::assert_snapshot!(environment.run("learn shop/deployment/wbe --input-file flows.jsonl --cluster-state state.yaml --dir policies"), @"
    exit 1
    ----- stderr -----
    error: nothing was seen of shop/deployment/wbe
    hint: did you mean shop/deployment/web?
    ");
    let run = environment.run("learn deployment/nothere -n shop --input-file flows.jsonl");
    assert!(
        run.code == 1 && run.stderr.contains("nothing was seen of shop/deployment/nothere"),
        "{run}"
    );
    assert!(!run.stderr.contains("did you mean"), "{run}");
    assert!(!environment.path("policies/shop").exists());
    let run = environment
        .run("learn --exclude-workload shop/deploy/wbe --input-file flows.jsonl --dir policies");
    assert!(
        run.code == 0 && run.stderr.contains("nothing was seen of shop/deployment/wbe"),
        "{run}"
    );
}

#[test]
fn owners_that_are_missing_are_told_with_the_command_that_gets_them() {
    let environment = Environment::new();
    let state = environment.read("state.yaml");
    let kept = state.split("\n- apiVersion").filter(|one| !one.contains("\n  kind: ReplicaSet"));
    environment.write("part.yaml", kept.collect::<Vec<_>>().join("\n- apiVersion"));
    let run =
        environment.run("learn --input-file flows.jsonl --cluster-state part.yaml --dir policies");
    let told =
        run.stderr.lines().skip_while(|line| !line.starts_with("warning")).collect::<Vec<_>>();
    insta::assert_snapshot!(told.join("\n"), @"
    warning: pods of --cluster-state are owned by objects that are not in it, so that who owns those is not known: ReplicaSet
    hint: one command gets all objects that learning uses:
          kubectl get ns,nodes,pods,rs,deploy,sts,ds,jobs,cronjobs,svc,endpointslices,netpol -A -o yaml > state.yaml
    ");
    let run = environment.run("learn --input-file flows.jsonl --cluster-state state.yaml");
    assert!(!run.stderr.contains("not in it"), "{run}");
}
