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
      "pairs": 1,
      "port": 5432,
      "protocol": "TCP",
      "to": "shop/statefulset/db",
      "verdict": "deny"
    }
    "#);
}
