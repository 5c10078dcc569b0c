use crate::environment::Environment;

#[test]
fn a_table_of_all_namespaces_unless_one_is_given() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("get --dir policies"), @"
    exit 0
    ----- stdout -----
    NAMESPACE    NAME                            STATE      RULES   UNCOVERED   NEW   LAST-SEEN   AGE
    monitoring   statefulset-prometheus-egress   stable     3       0           0     3h          28h
    shop         deployment-api-egress           stable     3       0           0     3h          28h
    shop         deployment-api-ingress          stable     2       0           0     3h          28h
    shop         deployment-web-egress           stable     3       2           0     3h          28h
    shop         deployment-web-ingress          learning   0       1           0     8h          28h
    shop         statefulset-db-ingress          stable     2       1           0     3h          28h
    ");
    insta::assert_snapshot!(environment.run("get --dir policies -n shop"), @"
    exit 0
    ----- stdout -----
    NAME                     STATE      RULES   UNCOVERED   NEW   LAST-SEEN   AGE
    deployment-api-egress    stable     3       0           0     3h          28h
    deployment-api-ingress   stable     2       0           0     3h          28h
    deployment-web-egress    stable     3       2           0     3h          28h
    deployment-web-ingress   learning   0       1           0     8h          28h
    statefulset-db-ingress   stable     2       1           0     3h          28h
    ");
    let all = environment.good("get --dir policies");
    assert_eq!(environment.good("get --dir policies -n shop -A"), all);
}

#[test]
fn wide_tells_more() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("get deploy/web -n shop -o wide --dir policies"), @"
    exit 0
    ----- stdout -----
    NAME                     STATE      RULES   UNCOVERED   NEW   LAST-SEEN   AGE   WORKLOAD         DIRECTION   BACKEND      VIOLATIONS   GAPS
    deployment-web-egress    stable     3       2           0     3h          28h   deployment/web   egress      kubernetes   <none>       0
    deployment-web-ingress   learning   0       1           0     8h          28h   deployment/web   ingress     kubernetes   <none>       0
    ");
}

#[test]
fn new_counts_rules_of_the_last_hour() {
    let environment = Environment::learned();
    environment.good("learn --input-file later.jsonl --cluster-state state.yaml --dir policies");
    insta::assert_snapshot!(environment.run("get --dir policies -n shop"), @"
    exit 0
    ----- stdout -----
    NAME                       STATE      RULES   UNCOVERED   NEW   LAST-SEEN   AGE
    deployment-api-egress      stable     3       0           0     3h          28h
    deployment-api-ingress     stable     2       0           0     27m         28h
    deployment-cache-ingress   learning   1       0           +1    28m         30m
    deployment-web-egress      learning   4       2           +1    27m         28h
    deployment-web-ingress     learning   0       1           0     8h          28h
    statefulset-db-ingress     stable     2       1           0     3h          28h
    ");
}

#[test]
fn states_select() {
    let environment = Environment::learned();
    environment.good("promote statefulset/db -n shop --dir policies");
    insta::assert_snapshot!(environment.run("get --state monitor --state learning --dir policies"), @"
    exit 0
    ----- stdout -----
    NAMESPACE   NAME                     STATE      RULES   UNCOVERED   NEW   LAST-SEEN   AGE
    shop        deployment-web-ingress   learning   0       1           0     8h          28h
    shop        statefulset-db-ingress   monitor    2       1           0     3h          28h
    ");
    insta::assert_snapshot!(environment.run("get --state protect --dir policies"), @"
    exit 0
    ----- stderr -----
    nothing found; kubectl netenf learn makes proposals, status says what was seen
    ");
}

#[test]
fn names_and_headers_are_for_scripts() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("get -n monitoring --no-headers --dir policies"), @"
    exit 0
    ----- stdout -----
    statefulset-prometheus-egress   stable   3   0   0   3h   28h
    ");
    insta::assert_snapshot!(environment.run("get -n monitoring -o name --dir policies"), @"
    exit 0
    ----- stdout -----
    workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/statefulset-prometheus-egress
    ");
    let name = environment.good("get -n monitoring -A -o name --dir policies");
    let first = name.lines().next().unwrap();
    assert_eq!(
        environment.good(&format!("get {first} -o name --dir policies")).trim(),
        first,
        "what -o name prints names the object"
    );
}

#[test]
fn json_is_a_list_of_api_objects() {
    let environment = Environment::learned();
    let list = environment.good("get -n monitoring -o json --dir policies");
    insta::assert_snapshot!(list, @r#"
    {
      "apiVersion": "v1",
      "items": [
        {
          "apiVersion": "networkenforcer.kubewarden.io/v1alpha1",
          "kind": "WorkloadNetworkPolicyProposal",
          "metadata": {
            "name": "statefulset-prometheus-egress",
            "namespace": "monitoring"
          },
          "spec": {
            "backend": "kubernetes",
            "direction": "Egress",
            "kubernetes": {
              "egress": [
                {
                  "ports": [
                    {
                      "port": 53,
                      "protocol": "TCP"
                    },
                    {
                      "port": 53,
                      "protocol": "UDP"
                    }
                  ],
                  "to": [
                    {
                      "namespaceSelector": {
                        "matchLabels": {
                          "kubernetes.io/metadata.name": "kube-system"
                        }
                      },
                      "podSelector": {
                        "matchLabels": {
                          "k8s-app": "kube-dns"
                        }
                      }
                    }
                  ]
                },
                {
                  "ports": [
                    {
                      "port": 9102,
                      "protocol": "TCP"
                    }
                  ],
                  "to": [
                    {
                      "namespaceSelector": {
                        "matchLabels": {
                          "kubernetes.io/metadata.name": "shop"
                        }
                      },
                      "podSelector": {
                        "matchLabels": {
                          "app": "api"
                        }
                      }
                    }
                  ]
                }
              ],
              "podSelector": {
                "matchLabels": {
                  "app": "prometheus"
                }
              },
              "policyTypes": [
                "Egress"
              ]
            },
            "targetRef": {
              "kind": "StatefulSet",
              "name": "prometheus"
            }
          },
          "status": {
            "conditions": [
              {
                "lastTransitionTime": "2026-09-02T09:21:05Z",
                "message": "3 rules, 0 uncovered",
                "reason": "NothingNew",
                "status": "True",
                "type": "Stable"
              }
            ],
            "lastNewRule": "2026-09-01T08:00:04Z",
            "learnedSince": "2026-09-01T08:00:00Z",
            "ruleCount": 3,
            "rules": [
              {
                "count": 14,
                "example": {
                  "destination": "api-6f5d9c7d8-4tsvd",
                  "source": "prometheus-0"
                },
                "firstSeen": "2026-09-01T08:00:04Z",
                "lastSeen": "2026-09-02T09:21:04Z",
                "peer": {
                  "kind": "Deployment",
                  "name": "api",
                  "namespace": "shop"
                },
                "port": 9102,
                "protocol": "TCP",
                "provenance": "observed",
                "selector": {
                  "matchLabels": {
                    "app": "api"
                  }
                },
                "services": [
                  "direct"
                ]
              },
              {
                "count": 0,
                "peer": {
                  "kind": "Dns",
                  "namespace": "kube-system"
                },
                "port": 53,
                "protocol": "TCP",
                "provenance": "infrastructure",
                "selector": {
                  "matchLabels": {
                    "k8s-app": "kube-dns"
                  }
                }
              },
              {
                "count": 0,
                "peer": {
                  "kind": "Dns",
                  "namespace": "kube-system"
                },
                "port": 53,
                "protocol": "UDP",
                "provenance": "infrastructure",
                "selector": {
                  "matchLabels": {
                    "k8s-app": "kube-dns"
                  }
                }
              }
            ],
            "selector": {
              "matchLabels": {
                "app": "prometheus"
              }
            },
            "uncoveredCount": 0
          }
        }
      ],
      "kind": "List",
      "metadata": {}
    }
    "#);
    let empty = environment.good("get -n nowhere -o json --dir policies");
    let empty: serde_json::Value = serde_json::from_str(&empty).unwrap();
    assert_eq!(empty["items"], serde_json::json!([]));
}

#[test]
fn yaml_is_what_stands_in_the_file() {
    let environment = Environment::learned();
    let yaml = environment.good("get deployment-api-ingress -o yaml --dir policies");
    assert_eq!(yaml, environment.read("policies/shop/deployment-api-ingress.proposal.yaml"));
    let all = environment.good("get -n shop -o yaml --dir policies");
    assert_eq!(all.split("---\n").count(), 5);
}

#[test]
fn what_is_not_there_is_an_answer_of_no_where_it_was_named() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("get -n nowhere --dir policies"), @"
    exit 0
    ----- stderr -----
    note: the folder has nothing in namespace nowhere
    nothing found; kubectl netenf learn makes proposals, status says what was seen
    ");
    insta::assert_snapshot!(environment.run("get deployment/nope --dir policies"), @r#"
    exit 1
    ----- stderr -----
    error: nothing in the folder is called "deployment/nope"
    hint: kubectl netenf get -A shows what there is
    "#);
    insta::assert_snapshot!(environment.run("get deployment/web -n monitoring --dir policies"), @r#"
    exit 1
    ----- stderr -----
    error: nothing in namespace monitoring is called "deployment/web"
    hint: did you mean deployment/web?
    "#);
    insta::assert_snapshot!(environment.run("get thing/web --dir policies"), @r#"
    exit 2
    ----- stderr -----
    error: "thing/web" names no workload
    hint: write KIND/NAME or NAMESPACE/KIND/NAME, for example deployment/web or shop/sts/db
    "#);
}

#[test]
fn a_kind_alone_is_no_name() {
    let environment = Environment::learned();
    for words in ["proposals", "wnp", "sts db"] {
        let run = environment.run(&format!("get {words} --dir policies"));
        assert_eq!(run.code, 1, "{run}");
        assert!(run.stderr.contains("write KIND/NAME"), "{run}");
    }
}

#[test]
fn what_is_there_is_shown_beside_what_is_not() {
    let environment = Environment::learned();
    for verb in ["get", "diff"] {
        let good = environment.run(&format!("{verb} statefulset/prometheus --dir policies"));
        let run = environment
            .run(&format!("{verb} statefulset/prometheus deployment/wbe --dir policies"));
        assert_eq!((run.code, &run.stdout), (1, &good.stdout), "{run}");
        assert!(run.stderr.contains("did you mean deployment/web?"), "{run}");
    }
}

#[test]
fn the_other_direction_is_told() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("get statefulset/db --direction egress --dir policies"), @r#"
    exit 1
    ----- stderr -----
    error: "statefulset/db" has nothing in the direction egress
    hint: there is the proposal shop/statefulset-db-ingress; leave --direction out
    "#);
}
