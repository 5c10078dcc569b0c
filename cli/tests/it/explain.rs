use crate::environment::Environment;

const POLICIES: &str = "
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: shop}
spec:
  podSelector: {matchLabels: {app: db}}
  policyTypes: [Ingress]
  ingress:
  - from:
    - podSelector: {matchExpressions: [{key: app, operator: In, values: [api, web]}]}
    - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}
    ports: [{port: 5432}, {port: metrics}]
  - from: [{ipBlock: {cidr: 203.0.113.0/24, except: [203.0.113.128/25]}}]
    ports: [{port: 5000, endPort: 6000}]
---
apiVersion: policy.networking.k8s.io/v1beta1
kind: ClusterNetworkPolicy
metadata: {name: guard}
spec:
  tier: Admin
  priority: 5
  subject: {namespaces: {}}
  ingress:
  - name: watch
    action: Pass
    from: [{namespaces: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
    protocols: [{tcp: {destinationPort: {number: 9100}}}, {destinationNamedPort: web}]
  egress:
  - action: Deny
    to: [{networks: [198.51.100.0/24]}, {nodes: {matchLabels: {zone: a}}}]
";

#[test]
fn a_workload_is_explained_in_words() {
    let environment = Environment::new();
    environment.write("policies.yaml", POLICIES);
    insta::assert_snapshot!(environment.run("explain sts/db -n shop -f policies.yaml --cluster-state state.yaml"), @r#"
    exit 0
    ----- stdout -----
    shop/statefulset/db
    ingress  isolated by NetworkPolicy shop/db: what no rule allows is denied
      pass    all pods in monitoring                                    on 9100/TCP, port web      ClusterNetworkPolicy guard rule 0 "watch", Admin tier
      allow   pods app in (api,web) in shop or all pods in monitoring   on 5432/TCP, metrics/TCP   NetworkPolicy shop/db rule 0
      allow   203.0.113.0/24 except 203.0.113.128/25                    on 5000-6000/TCP           NetworkPolicy shop/db rule 1
      effect:
        from   monitoring/statefulset/prometheus   5432/TCP
        from   shop/deployment/api                 5432/TCP
        from   shop/deployment/web                 5432/TCP
        from   nodes(n1,n2)                        everything (some pods)
        from   world(203.0.113.0/25)               5000-6000/TCP
    egress  not isolated: what no rule denies is allowed
      deny   198.51.100.0/24 or nodes zone=a   on every port   ClusterNetworkPolicy guard rule 0, Admin tier
      effect:
        to   kube-system/deployment/coredns             everything
        to   monitoring/statefulset/prometheus          everything
        to   shop/cronjob/report                        everything
        to   shop/deployment/api                        everything
        to   shop/deployment/cache                      everything
        to   shop/deployment/web                        everything
        to   nodes(n1,n2)                               everything
        to   world(0.0.0.0/0 without 198.51.100.0/24)   everything
    "#);
}

#[test]
fn several_workloads_are_explained_in_order() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("explain deploy/web deploy/api -n shop --dir policies --assume-protect"), @"
    exit 0
    ----- stdout -----
    shop/deployment/api
    ingress  isolated by WorkloadNetworkPolicyProposal shop/deployment-api-ingress: what no rule allows is denied
      allow   pods app=prometheus in monitoring   on 9102/TCP   WorkloadNetworkPolicyProposal shop/deployment-api-ingress rule 0
      allow   pods app=web in shop                on 8080/TCP   WorkloadNetworkPolicyProposal shop/deployment-api-ingress rule 1
      effect:
        from   monitoring/statefulset/prometheus   9102/TCP
        from   shop/deployment/web                 8080/TCP
    egress  isolated by WorkloadNetworkPolicyProposal shop/deployment-api-egress: what no rule allows is denied
      allow   pods k8s-app=kube-dns in kube-system   on 53/TCP, 53/UDP   WorkloadNetworkPolicyProposal shop/deployment-api-egress rule 0
      allow   pods app=db in shop                    on 5432/TCP         WorkloadNetworkPolicyProposal shop/deployment-api-egress rule 1
      effect:
        to   shop/statefulset/db   5432/TCP

    shop/deployment/web
    ingress  isolated by WorkloadNetworkPolicyProposal shop/deployment-web-ingress: what no rule allows is denied
      effect:
        nothing that is known passes
    egress  isolated by WorkloadNetworkPolicyProposal shop/deployment-web-egress: what no rule allows is denied
      allow   pods k8s-app=kube-dns in kube-system   on 53/TCP, 53/UDP   WorkloadNetworkPolicyProposal shop/deployment-web-egress rule 0
      allow   pods app=api in shop                   on 8080/TCP         WorkloadNetworkPolicyProposal shop/deployment-web-egress rule 1
      effect:
        to   shop/deployment/api   8080/TCP
    ");
}

#[test]
fn without_a_workload_the_whole_map_is_shown() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("explain --dir policies --cluster-state state.yaml --assume-protect -n shop"), @"
    exit 0
    ----- stdout -----
    FROM                                TO                                  PORTS
    kube-system/deployment/coredns      shop/cronjob/report                 everything
    kube-system/deployment/coredns      shop/deployment/cache               everything
    monitoring/statefulset/prometheus   shop/deployment/api                 9102/TCP
    shop/cronjob/report                 kube-system/deployment/coredns      everything
    shop/cronjob/report                 monitoring/statefulset/prometheus   everything
    shop/cronjob/report                 shop/deployment/cache               everything
    shop/cronjob/report                 shop/statefulset/db                 5432/TCP
    shop/cronjob/report                 nodes(n1,n2)                        everything
    shop/cronjob/report                 world(0.0.0.0/0)                    everything
    shop/deployment/api                 kube-system/deployment/coredns      53/TCP,53/UDP
    shop/deployment/api                 shop/statefulset/db                 5432/TCP
    shop/deployment/cache               kube-system/deployment/coredns      everything
    shop/deployment/cache               monitoring/statefulset/prometheus   everything
    shop/deployment/cache               shop/cronjob/report                 everything
    shop/deployment/cache               nodes(n1,n2)                        everything
    shop/deployment/cache               world(0.0.0.0/0)                    everything
    shop/deployment/web                 kube-system/deployment/coredns      53/TCP,53/UDP
    shop/deployment/web                 shop/deployment/api                 8080/TCP
    shop/statefulset/db                 kube-system/deployment/coredns      everything
    shop/statefulset/db                 monitoring/statefulset/prometheus   everything
    shop/statefulset/db                 shop/cronjob/report                 everything
    shop/statefulset/db                 shop/deployment/cache               everything
    shop/statefulset/db                 nodes(n1,n2)                        everything
    shop/statefulset/db                 world(0.0.0.0/0)                    everything
    nodes(n1,n2)                        shop/cronjob/report                 everything
    nodes(n1,n2)                        shop/deployment/api                 everything (some pods)
    nodes(n1,n2)                        shop/deployment/cache               everything
    nodes(n1,n2)                        shop/deployment/web                 everything (some pods)
    nodes(n1,n2)                        shop/statefulset/db                 everything (some pods)
    world(0.0.0.0/0)                    shop/cronjob/report                 everything
    world(0.0.0.0/0)                    shop/deployment/cache               everything
    ");
    insta::assert_snapshot!(environment.run("explain --dir policies"), @"
    exit 0
    ----- stdout -----
    FROM                                TO                                  PORTS
    monitoring/statefulset/prometheus   shop/deployment/api                 everything
    monitoring/statefulset/prometheus   shop/deployment/web                 everything
    monitoring/statefulset/prometheus   shop/statefulset/db                 everything
    monitoring/statefulset/prometheus   world(0.0.0.0/0)                    everything
    shop/deployment/api                 monitoring/statefulset/prometheus   everything
    shop/deployment/api                 shop/deployment/web                 everything
    shop/deployment/api                 shop/statefulset/db                 everything
    shop/deployment/api                 world(0.0.0.0/0)                    everything
    shop/deployment/web                 monitoring/statefulset/prometheus   everything
    shop/deployment/web                 shop/deployment/api                 everything
    shop/deployment/web                 shop/statefulset/db                 everything
    shop/deployment/web                 world(0.0.0.0/0)                    everything
    shop/statefulset/db                 monitoring/statefulset/prometheus   everything
    shop/statefulset/db                 shop/deployment/api                 everything
    shop/statefulset/db                 shop/deployment/web                 everything
    shop/statefulset/db                 world(0.0.0.0/0)                    everything
    world(0.0.0.0/0)                    monitoring/statefulset/prometheus   everything
    world(0.0.0.0/0)                    shop/deployment/api                 everything
    world(0.0.0.0/0)                    shop/deployment/web                 everything
    world(0.0.0.0/0)                    shop/statefulset/db                 everything
    ");
}

#[test]
fn what_is_no_workload_is_an_error() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("explain world --dir policies"), @r#"
    exit 2
    ----- stderr -----
    error: "world" names no workload
    hint: write KIND/NAME or NAMESPACE/KIND/NAME, for example deployment/web or shop/sts/db
    "#);
    insta::assert_snapshot!(environment.run("explain shop/deploy/wbe --dir policies"), @"
    exit 1
    ----- stderr -----
    error: no shop/deployment/wbe is known
    hint: did you mean shop/deployment/web?
    hint: give the cluster's objects with --cluster-state
    ");
    insta::assert_snapshot!(environment.run("explain deploy/web"), @"
    exit 2
    ----- stderr -----
    error: there is nothing to judge by
    hint: give policies and objects with --dir, -f or --cluster-state, for example what kubectl get ns,nodes,pods,rs,deploy,sts,ds,jobs,cronjobs,svc,endpointslices,netpol -A -o yaml prints
    ");
}

#[test]
fn json_holds_rules_and_effect() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("explain deploy/api -n shop --dir policies --assume-protect -o json"), @r#"
    exit 0
    ----- stdout -----
    {
      "items": [
        {
          "egress": {
            "default": "deny",
            "isolatedBy": [
              {
                "kind": "WorkloadNetworkPolicyProposal",
                "name": "deployment-api-egress",
                "namespace": "shop"
              }
            ],
            "peers": [
              {
                "allPods": true,
                "kind": "StatefulSet",
                "name": "db",
                "namespace": "shop",
                "ports": [
                  {
                    "port": 5432,
                    "protocol": "TCP"
                  }
                ]
              }
            ],
            "rules": [
              {
                "action": "Accept",
                "allPods": true,
                "peers": [
                  "pods k8s-app=kube-dns in kube-system"
                ],
                "policy": {
                  "kind": "WorkloadNetworkPolicyProposal",
                  "name": "deployment-api-egress",
                  "namespace": "shop"
                },
                "ports": [
                  "53/TCP",
                  "53/UDP"
                ],
                "rule": 0,
                "tier": "NetworkPolicy"
              },
              {
                "action": "Accept",
                "allPods": true,
                "peers": [
                  "pods app=db in shop"
                ],
                "policy": {
                  "kind": "WorkloadNetworkPolicyProposal",
                  "name": "deployment-api-egress",
                  "namespace": "shop"
                },
                "ports": [
                  "5432/TCP"
                ],
                "rule": 1,
                "tier": "NetworkPolicy"
              }
            ]
          },
          "ingress": {
            "default": "deny",
            "isolatedBy": [
              {
                "kind": "WorkloadNetworkPolicyProposal",
                "name": "deployment-api-ingress",
                "namespace": "shop"
              }
            ],
            "peers": [
              {
                "allPods": true,
                "kind": "StatefulSet",
                "name": "prometheus",
                "namespace": "monitoring",
                "ports": [
                  {
                    "port": 9102,
                    "protocol": "TCP"
                  }
                ]
              },
              {
                "allPods": true,
                "kind": "Deployment",
                "name": "web",
                "namespace": "shop",
                "ports": [
                  {
                    "port": 8080,
                    "protocol": "TCP"
                  }
                ]
              }
            ],
            "rules": [
              {
                "action": "Accept",
                "allPods": true,
                "peers": [
                  "pods app=prometheus in monitoring"
                ],
                "policy": {
                  "kind": "WorkloadNetworkPolicyProposal",
                  "name": "deployment-api-ingress",
                  "namespace": "shop"
                },
                "ports": [
                  "9102/TCP"
                ],
                "rule": 0,
                "tier": "NetworkPolicy"
              },
              {
                "action": "Accept",
                "allPods": true,
                "peers": [
                  "pods app=web in shop"
                ],
                "policy": {
                  "kind": "WorkloadNetworkPolicyProposal",
                  "name": "deployment-api-ingress",
                  "namespace": "shop"
                },
                "ports": [
                  "8080/TCP"
                ],
                "rule": 1,
                "tier": "NetworkPolicy"
              }
            ]
          },
          "workload": {
            "kind": "Deployment",
            "name": "api",
            "namespace": "shop"
          }
        }
      ],
      "leftOut": []
    }
    "#);
}
