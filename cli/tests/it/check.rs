use crate::environment::Environment;

/// Policies of three tiers around the demo's database.
const POLICIES: &str = "
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: shop}
spec:
  podSelector: {matchLabels: {app: db}}
  policyTypes: [Ingress, Egress]
  ingress:
  - from: [{podSelector: {matchLabels: {app: api}}}]
    ports: [{port: 5432}]
  - from: [{ipBlock: {cidr: 203.0.113.0/24, except: [203.0.113.128/25]}}]
    ports: [{port: 5432}]
---
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: {name: guard}
spec:
  tier: Admin
  priority: 5
  subject: {pods: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}, podSelector: {matchLabels: {app: db}}}}
  ingress:
  - name: no-jobs
    action: Deny
    from: [{pods: {namespaceSelector: {}, podSelector: {matchLabels: {app: report}}}}]
---
apiVersion: policy.networking.k8s.io/v1alpha1
kind: BaselineAdminNetworkPolicy
metadata: {name: default}
spec:
  subject: {namespaces: {matchLabels: {kubernetes.io/metadata.name: shop}}}
  egress:
  - action: Allow
    to: [{networks: [203.0.113.0/24]}]
    ports: [{portRange: {start: 8000, end: 9000}}]
  - action: Deny
    to: [{networks: [0.0.0.0/0]}]
";

fn with_policies() -> Environment {
    let environment = Environment::new();
    environment.write("policies.yaml", POLICIES);
    environment
}

fn check(environment: &Environment, words: &str) -> String {
    let words = format!("check {words} -f policies.yaml --cluster-state state.yaml");
    environment.run(&words).to_string()
}

#[test]
fn both_directions_are_explained() {
    let environment = with_policies();
    insta::assert_snapshot!(check(&environment, "--from deploy/api --to sts/db:5432 -n shop"), @"
    exit 1
    ----- stdout -----
    denied  shop/deployment/api -> shop/statefulset/db 5432/TCP
      egress   deny   BaselineAdminNetworkPolicy default rule 1, Baseline tier
                      nearest: BaselineAdminNetworkPolicy default rule 0, Baseline tier, but not this port and not this peer
      ingress  allow  NetworkPolicy shop/db rule 0
    ");
    insta::assert_snapshot!(check(&environment, "--from deploy/api --to sts/db:5433 -n shop"), @"
    exit 1
    ----- stdout -----
    denied  shop/deployment/api -> shop/statefulset/db 5433/TCP
      egress   deny   BaselineAdminNetworkPolicy default rule 1, Baseline tier
                      nearest: BaselineAdminNetworkPolicy default rule 0, Baseline tier, but not this port and not this peer
      ingress  deny   no rule of NetworkPolicy shop/db allows it
                      nearest: NetworkPolicy shop/db rule 0, but not this port
    ");
    insta::assert_snapshot!(check(&environment, "--from cronjob/report --to sts/db:5432 -n shop"), @r#"
    exit 1
    ----- stdout -----
    denied  shop/cronjob/report -> shop/statefulset/db 5432/TCP
      egress   deny   BaselineAdminNetworkPolicy default rule 1, Baseline tier
                      nearest: BaselineAdminNetworkPolicy default rule 0, Baseline tier, but not this port and not this peer
      ingress  deny   ClusterNetworkPolicy guard rule 0 "no-jobs", Admin tier
    "#);
}

#[test]
fn every_tier_decides_in_its_direction() {
    let environment = with_policies();
    insta::assert_snapshot!(check(&environment, "--from shop/deploy/web --to 203.0.113.7:8443"), @"
    exit 0
    ----- stdout -----
    allowed  shop/deployment/web -> 203.0.113.7 8443/TCP
      egress   allow  BaselineAdminNetworkPolicy default rule 0, Baseline tier
      ingress  allow  no pod: no policy applies to it
    ");
    insta::assert_snapshot!(check(&environment, "--from shop/deploy/web --to 203.0.113.7:443"), @"
    exit 1
    ----- stdout -----
    denied  shop/deployment/web -> 203.0.113.7 443/TCP
      egress   deny   BaselineAdminNetworkPolicy default rule 1, Baseline tier
                      nearest: BaselineAdminNetworkPolicy default rule 0, Baseline tier, but not this port
      ingress  allow  no pod: no policy applies to it
    ");
    insta::assert_snapshot!(check(&environment, "--from shop/deploy/web --to api.example.com:443"), @"
    exit 1
    ----- stdout -----
    denied  shop/deployment/web -> api.example.com 443/TCP
      egress   deny   BaselineAdminNetworkPolicy default rule 1, Baseline tier
                      nearest: BaselineAdminNetworkPolicy default rule 0, Baseline tier, but not this port and not this peer
      ingress  allow  no pod: no policy applies to it
    ");
}

#[test]
fn ends_that_are_many_must_all_be_allowed() {
    let environment = with_policies();
    insta::assert_snapshot!(check(&environment, "--from 203.0.113.0/24 --to shop/sts/db:5432"), @"
    exit 1
    ----- stdout -----
    denied  203.0.113.0/24 -> shop/statefulset/db 5432/TCP
      for 1 of 2 pairs of ends, such as 203.0.113.128 -> shop/pod/db-0
      egress   allow  no pod: no policy applies to it
      ingress  deny   no rule of NetworkPolicy shop/db allows it
                      nearest: NetworkPolicy shop/db rule 1, but its address is excepted
    ");
    insta::assert_snapshot!(check(&environment, "--from namespace/shop --to shop/sts/db:5432"), @r#"
    exit 1
    ----- stdout -----
    denied  namespace/shop -> shop/statefulset/db 5432/TCP
      for 4 of 5 pairs of ends, such as shop/pod{app=report} -> shop/pod/db-0
      egress   deny   BaselineAdminNetworkPolicy default rule 1, Baseline tier
                      nearest: BaselineAdminNetworkPolicy default rule 0, Baseline tier, but not this port and not this peer
      ingress  deny   ClusterNetworkPolicy guard rule 0 "no-jobs", Admin tier
    "#);
    insta::assert_snapshot!(check(&environment, "--from world --to shop/deploy/web:80"), @"
    exit 0
    ----- stdout -----
    allowed  world -> shop/deployment/web 80/TCP
      egress   allow  no pod: no policy applies to it
      ingress  allow  no rule decides: allowed by default
    ");
}

#[test]
fn nodes_and_the_api_server_are_ends() {
    let environment = with_policies();
    insta::assert_snapshot!(check(&environment, "--from node/n1 --to shop/pod/db-0:5432"), @"
    exit 1
    ----- stdout -----
    denied  node/n1 -> shop/pod/db-0 5432/TCP
      egress   allow  no pod: no policy applies to it
      ingress  deny   no rule of NetworkPolicy shop/db allows it
                      nearest: NetworkPolicy shop/db rule 0, but not this peer
    ");
    insta::assert_snapshot!(check(&environment, "--from host --to shop/sts/db:5432"), @"
    exit 1
    ----- stdout -----
    denied  host -> shop/statefulset/db 5432/TCP
      for 1 of 2 pairs of ends, such as node/n1 -> shop/pod/db-0
      egress   allow  no pod: no policy applies to it
      ingress  deny   no rule of NetworkPolicy shop/db allows it
                      nearest: NetworkPolicy shop/db rule 0, but not this peer
    ");
    insta::assert_snapshot!(check(&environment, "--from shop/deploy/web --to apiserver:6443"), @"
    exit 1
    ----- stderr -----
    error: no address of the API server is known
    hint: give endpointslices among the objects of --cluster-state
    ");
}

#[test]
fn a_folder_alone_tells_labels() {
    let environment = Environment::learned();
    let check = |words: &str| environment.run(&format!("check {words} --dir policies")).to_string();
    insta::assert_snapshot!(check("--from deploy/web --to deploy/api:8080 -n shop"), @"
    exit 0
    ----- stdout -----
    allowed  shop/deployment/web -> shop/deployment/api 8080/TCP
      egress   allow  no rule decides: allowed by default
      ingress  allow  no rule decides: allowed by default
    ");
    insta::assert_snapshot!(check("--from deploy/web --to sts/db:5432 -n shop --assume-protect"), @"
    exit 1
    ----- stdout -----
    denied  shop/deployment/web -> shop/statefulset/db 5432/TCP
      egress   deny   no rule of WorkloadNetworkPolicyProposal shop/deployment-web-egress allows it
                      nearest: WorkloadNetworkPolicyProposal shop/deployment-web-egress rule 0, but not this port and not this peer
      ingress  deny   no rule of WorkloadNetworkPolicyProposal shop/statefulset-db-ingress allows it
                      nearest: WorkloadNetworkPolicyProposal shop/statefulset-db-ingress rule 0, but not this peer
    ");
}

#[test]
fn what_is_not_known_is_told_with_the_next_step() {
    let environment = with_policies();
    insta::assert_snapshot!(check(&environment, "--from shop/deploy/wbe --to shop/sts/db:5432"), @"
    exit 1
    ----- stderr -----
    error: no shop/deployment/wbe is known
    hint: did you mean shop/deployment/web?
    hint: give the cluster's objects with --cluster-state
    ");
    insta::assert_snapshot!(check(&environment, "--from node/n9 --to shop/sts/db:5432"), @"
    exit 1
    ----- stderr -----
    error: no node n9 is known
    hint: did you mean n1 or n2?
    ");
    insta::assert_snapshot!(check(&environment, "--from shop/deploy/web --to shop/sts/db"), @r#"
    exit 2
    ----- stderr -----
    error: "shop/sts/db" names no port
    hint: write END:PORT or END:PORT/PROTOCOL, for example deployment/web:8080/TCP or [2001:db8::1]:443
    "#);
    insta::assert_snapshot!(environment.run("check --from a/deploy/b --to c/sts/d:1"), @"
    exit 2
    ----- stderr -----
    error: there is nothing to judge by
    hint: give policies and objects with --dir, -f or --cluster-state, for example what kubectl get ns,nodes,pods,rs,deploy,sts,ds,jobs,cronjobs,svc,endpointslices,netpol -A -o yaml prints
    ");
}

#[test]
fn what_is_not_understood_is_told_and_closes() {
    let environment = with_policies();
    let broken = POLICIES.replace("podSelector: {matchLabels: {app: api}}", "podSelectors: {}");
    environment.write(
        "policies.yaml",
        broken.replace(
            "namespaceSelector: {}, podSelector: {matchLabels: {app: report}}",
            "somebody: {}",
        ),
    );
    insta::assert_snapshot!(check(&environment, "--from deploy/api --to sts/db:5432 -n shop"), @r#"
    exit 1
    ----- stdout -----
    denied  shop/deployment/api -> shop/statefulset/db 5432/TCP
      egress   deny   BaselineAdminNetworkPolicy default rule 1, Baseline tier
                      nearest: BaselineAdminNetworkPolicy default rule 0, Baseline tier, but not this port and not this peer
      ingress  deny   ClusterNetworkPolicy guard rule 0 "no-jobs", Admin tier
    ----- stderr -----
    warning: policies.yaml, document 1: NetworkPolicy shop/db: spec.ingress[0].from[0].podSelectors: is not known: the API server drops it, so it has no effect
    warning: NetworkPolicy shop/db: spec.ingress[0].from[0]: is empty: the peer matches nothing
    warning: ClusterNetworkPolicy guard: spec.ingress[0].from[0].pods.somebody: is not known: the rule denies everything
    "#);
}

#[test]
fn json_tells_what_decided() {
    let environment = with_policies();
    insta::assert_snapshot!(check(&environment, "--from cronjob/report --to sts/db:5432 -n shop -o json"), @r#"
    exit 1
    ----- stdout -----
    {
      "denied": 1,
      "egress": {
        "nearest": {
          "lacked": [
            "Port",
            "Peer"
          ],
          "policy": {
            "kind": "BaselineAdminNetworkPolicy",
            "name": "default"
          },
          "rule": 0,
          "tier": "Baseline"
        },
        "policy": {
          "kind": "BaselineAdminNetworkPolicy",
          "name": "default"
        },
        "reason": "Rule",
        "rule": 1,
        "tier": "Baseline",
        "verdict": "deny"
      },
      "from": "shop/cronjob/report",
      "ingress": {
        "policy": {
          "kind": "ClusterNetworkPolicy",
          "name": "guard"
        },
        "reason": "Rule",
        "rule": 0,
        "ruleName": "no-jobs",
        "tier": "Admin",
        "verdict": "deny"
      },
      "leftOut": [],
      "pairs": 1,
      "port": 5432,
      "protocol": "TCP",
      "to": "shop/statefulset/db",
      "verdict": "deny"
    }
    "#);
}

/// A policy of the demo's shop on what `labels` select, with this ingress.
fn ingress(name: &str, app: &str, rules: &str) -> String {
    format!(
        "---\n{{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {{name: {name}, namespace: shop}}, \
         spec: {{podSelector: {{matchLabels: {{app: {app}}}}}, policyTypes: [Ingress], ingress: [{rules}]}}}}\n"
    )
}

/// "Before it is applied": what -f gives stands for what the cluster has.
#[test]
fn the_newest_object_of_a_name_is_asked() {
    let environment = Environment::new();
    let state = environment.read("state.yaml");
    environment.write("old.yaml", state + &ingress("api", "api", "{}"));
    environment.write("new.yaml", ingress("api", "api", ""));
    let words = "check --from deploy/web --to deploy/api:8080 -n shop";
    insta::assert_snapshot!(environment.run(&format!("{words} --cluster-state old.yaml")), @"
    exit 0
    ----- stdout -----
    allowed  shop/deployment/web -> shop/deployment/api 8080/TCP
      egress   allow  no rule decides: allowed by default
      ingress  allow  NetworkPolicy shop/api rule 0
    ");
    insta::assert_snapshot!(environment.run(&format!("{words} -f new.yaml --cluster-state old.yaml")), @"
    exit 1
    ----- stdout -----
    denied  shop/deployment/web -> shop/deployment/api 8080/TCP
      egress   allow  no rule decides: allowed by default
      ingress  deny   no rule of NetworkPolicy shop/api allows it
    ----- stderr -----
    note: NetworkPolicy shop/api of -f stands for that of --cluster-state
    ");
}

/// Of our policies of one name the folder's is asked, not both.
#[test]
fn of_two_policies_of_ours_the_folders_is_asked() {
    let environment = Environment::learned();
    environment.good("promote deployment/api -n shop --protect --direction ingress --accept-uncovered all --dir policies");
    let policy = environment.read("policies/shop/deployment-api-ingress.policy.yaml");
    let state = environment.read("state.yaml");
    let open = policy.replace("port: 8080", "port: 8081");
    environment.write("state.yaml", format!("{state}---\n{open}"));
    let check = |port: u16| {
        environment.run(&format!(
            "check --from deploy/web --to deploy/api:{port} -n shop --dir policies --cluster-state state.yaml"
        ))
    };
    assert_eq!((check(8080).code, check(8081).code), (0, 1), "{}\n{}", check(8080), check(8081));
}

#[test]
fn services_are_what_is_behind_them() {
    let environment = with_policies();
    insta::assert_snapshot!(check(&environment, "--from deploy/api --to svc/api:80 -n shop"), @"
    exit 0
    ----- stdout -----
    allowed  shop/deployment/api -> shop/service/api 80/TCP
      egress   allow  a pod may always reach itself
      ingress  allow  a pod may always reach itself
    ----- stderr -----
    note: Service shop/api 80/TCP leads to 8080/TCP of shop/deployment/api
    ");
    insta::assert_snapshot!(check(&environment, "--from shop/cronjob/report --to db.shop.svc.cluster.local:5432"), @r#"
    exit 1
    ----- stdout -----
    denied  shop/cronjob/report -> shop/service/db 5432/TCP
      egress   deny   BaselineAdminNetworkPolicy default rule 1, Baseline tier
                      nearest: BaselineAdminNetworkPolicy default rule 0, Baseline tier, but not this port and not this peer
      ingress  deny   ClusterNetworkPolicy guard rule 0 "no-jobs", Admin tier
    ----- stderr -----
    note: Service shop/db 5432/TCP leads to 5432/TCP of shop/statefulset/db
    "#);
    insta::assert_snapshot!(check(&environment, "--from shop/deploy/api --to shop/svc/api:81"), @"
    exit 1
    ----- stderr -----
    error: Service shop/api has no port 81/TCP
    hint: give a port of the Service, or ask about its workload and the pods' own port
    ");
    insta::assert_snapshot!(check(&environment, "--from shop/deploy/api --to shop/svc/nothere:81"), @"
    exit 1
    ----- stderr -----
    error: no Service shop/nothere is known
    hint: give the cluster's objects with --cluster-state
    ");
}

/// What is not judged is told; where it could change the answer, that is no answer.
#[test]
fn policies_that_are_not_judged_are_told() {
    let environment = Environment::new();
    let policy = ingress("api", "api", "");
    environment.write(
        "cilium.yaml",
        policy.replace(
            "networking.k8s.io/v1, kind: NetworkPolicy",
            "cilium.io/v2, kind: CiliumNetworkPolicy",
        ),
    );
    environment.write("typing.yaml", policy.replace("kind: NetworkPolicy", "kind: NetworkPolciy"));
    environment.write("broken.yaml", policy.replace("policyTypes: [Ingress]", "policyTypes: 7"));
    environment.write("no.yaml", "a: [\n");
    let check = |file: &str| {
        environment.run(&format!(
            "check --from deploy/web --to deploy/api:8080 -n shop -o json -f {file} -f state.yaml"
        ))
    };
    insta::assert_snapshot!(check("cilium.yaml"), @r#"
    exit 0
    ----- stdout -----
    {
      "denied": 0,
      "egress": {
        "reason": "Default",
        "verdict": "allow"
      },
      "from": "shop/deployment/web",
      "ingress": {
        "reason": "Default",
        "verdict": "allow"
      },
      "leftOut": [
        "CiliumNetworkPolicy api"
      ],
      "pairs": 1,
      "port": 8080,
      "protocol": "TCP",
      "to": "shop/deployment/api",
      "verdict": "allow"
    }
    ----- stderr -----
    warning: CiliumNetworkPolicy api: left out: policies of cilium.io/v2 are not judged
    "#);
    for file in ["typing.yaml", "broken.yaml", "no.yaml"] {
        assert_eq!(check(file).code, 3, "{}", check(file));
    }
    insta::assert_snapshot!(check("typing.yaml").stderr, @"
    warning: NetworkPolciy api: left out: networking.k8s.io/v1 has no such kind; is it a NetworkPolicy?
    error: 1 object could not be read, so the answer may be wrong
    ");
    insta::assert_snapshot!(check("broken.yaml").stderr, @"
    warning: broken.yaml, document 1: NetworkPolicy/api cannot be read and was left out: invalid type: integer `7`, expected a sequence
    error: 1 object could not be read, so the answer may be wrong
    ");
    insta::assert_snapshot!(check("no.yaml").stderr, @"
    warning: no.yaml: unclosed bracket '[' at line 1, column 4
    error: 1 object could not be read, so the answer may be wrong
    ");
}

/// A pod stands in for a workload only if it is one that the workload's policy selects.
#[test]
fn a_workload_whose_labels_nothing_tells_is_no_end() {
    let environment = Environment::learned();
    environment.good("promote deployment/web -n shop --protect --direction egress --accept-uncovered all --dir policies");
    let name = "policies/shop/deployment-web-egress.policy.yaml";
    let policy = environment.read(name);
    let wider = policy.replacen(
        "matchLabels:\n        app: web",
        "matchExpressions:\n      - {key: app, operator: In, values: [web, www]}",
        1,
    );
    assert_ne!(policy, wider);
    environment.write(name, wider);
    environment.good("status --dir policies");
    insta::assert_snapshot!(environment.run("check --from deploy/web --to 1.1.1.1:443 -n shop --dir policies"), @"
    exit 1
    ----- stderr -----
    error: nothing tells the labels of the pods of shop/deployment/web
    hint: give the cluster's objects with --cluster-state
    ");
    insta::assert_snapshot!(environment.run("explain deploy/web -n shop --dir policies"), @"
    exit 1
    ----- stderr -----
    error: nothing tells the labels of the pods of shop/deployment/web
    hint: give the cluster's objects with --cluster-state
    ");
}
