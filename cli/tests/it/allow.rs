use crate::environment::Environment;
use crate::recording;

fn egress(environment: &Environment) -> String {
    let run = environment.run("diff deployment/web --direction egress --dir policies");
    run.stdout.lines().filter(|line| !line.contains("coredns")).map(|l| format!("{l}\n")).collect()
}

#[test]
fn an_outside_peer_is_allowed_by_all_addresses_that_were_seen() {
    let environment = Environment::learned();
    let id = environment.uncovered("deployment-web-egress", "External");
    let before = environment.files("policies");
    insta::assert_snapshot!(environment.run(&format!("allow {id} --dir policies --dry-run")), @"
    exit 0
    ----- stdout -----
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-egress allows ujr958z (dry run)
    ");
    assert_eq!(environment.files("policies"), before);
    insta::assert_snapshot!(environment.run(&format!("allow {} --dir policies", &id[..4])), @"
    exit 0
    ----- stdout -----
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-egress allows ujr958z
    ");
    insta::assert_snapshot!(egress(&environment), @"
    proposal shop/deployment-web-egress
    + allow     -> 203.0.113.7/32       443/TCP   8x  last 5h ago  manual; seen: api.example.com (External/203.0.113.7)
    + allow     -> 203.0.113.8/32       443/TCP   0x  manual
    + allow     -> 203.0.113.9/32       443/TCP   0x  manual
    + allow     -> kube-system/dns      53/TCP    0x  infrastructure
    + allow     -> kube-system/dns      53/UDP    10x  last 5h ago  infrastructure
    + allow     -> shop/deployment/api  8080/TCP  40x  last 3h ago
    ? uncovered -> shop/statefulset/db  9999/TCP  1x  last 15h ago  Unanswered  [uv1v9c5]
    ");
}

#[test]
fn by_a_network_that_holds_them() {
    let environment = Environment::learned();
    let id = environment.uncovered("deployment-web-egress", "External");
    insta::assert_snapshot!(environment.run(&format!("allow {id} --cidr 198.51.100.0/24 --dir policies")), @"
    exit 1
    ----- stderr -----
    error: cannot allow traffic in proposal shop/deployment-web-egress: 203.0.113.7/32, 203.0.113.8/32, 203.0.113.9/32 is not in 198.51.100.0/24
    hint: give a wider CIDR, further ones beside it, or allow the addresses themselves
    ");
    environment.good(&format!("allow {id} --cidr 203.0.113.0/24 --dir policies"));
    insta::assert_snapshot!(egress(&environment), @"
    proposal shop/deployment-web-egress
    + allow     -> 203.0.113.0/24       443/TCP   8x  last 5h ago  manual; seen: api.example.com (External/203.0.113.7)
    + allow     -> kube-system/dns      53/TCP    0x  infrastructure
    + allow     -> kube-system/dns      53/UDP    10x  last 5h ago  infrastructure
    + allow     -> shop/deployment/api  8080/TCP  40x  last 3h ago
    ? uncovered -> shop/statefulset/db  9999/TCP  1x  last 15h ago  Unanswered  [uv1v9c5]
    ");
}

#[test]
fn any_is_every_outside_address_of_both_families() {
    let environment = Environment::learned();
    let id = environment.uncovered("deployment-web-egress", "External");
    environment.good(&format!("allow {id} --any --except 192.0.2.0/24 --dir policies"));
    insta::assert_snapshot!(egress(&environment), @"
    proposal shop/deployment-web-egress
    + allow     -> 0.0.0.0/0 without 10.0.0.0/8,100.64.0.0/10,127.0.0.0/8,169.254.0.0/16,172.16.0.0/12,192.0.2.0/24,192.168.0.0/16  443/TCP   8x  last 5h ago  manual; seen: api.example.com (External/203.0.113.7)
    + allow     -> ::/0 without ::1/128,fc00::/7,fe80::/10                                                                          443/TCP   0x  manual
    + allow     -> kube-system/dns                                                                                                  53/TCP    0x  infrastructure
    + allow     -> kube-system/dns                                                                                                  53/UDP    10x  last 5h ago  infrastructure
    + allow     -> shop/deployment/api                                                                                              8080/TCP  40x  last 3h ago
    ? uncovered -> shop/statefulset/db                                                                                              9999/TCP  1x  last 15h ago  Unanswered  [uv1v9c5]
    ");
}

#[test]
fn a_peer_of_the_cluster_is_allowed_by_its_pods() {
    let environment = Environment::learned();
    let id = environment.uncovered("deployment-web-egress", "Unanswered");
    insta::assert_snapshot!(environment.run(&format!("allow {id} --dir policies")), @"
    exit 0
    ----- stdout -----
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-egress allows uv1v9c5
    ");
    insta::assert_snapshot!(egress(&environment), @"
    proposal shop/deployment-web-egress
    + allow     -> kube-system/dns                         53/TCP    0x  infrastructure
    + allow     -> kube-system/dns                         53/UDP    10x  last 5h ago  infrastructure
    + allow     -> shop/deployment/api                     8080/TCP  40x  last 3h ago
    + allow     -> shop/statefulset/db                     9999/TCP  1x  last 15h ago  manual
    ? uncovered -> external/api.example.com (3 addresses)  443/TCP   8x  last 5h ago  External  [ujr958z]
    ");
    insta::assert_snapshot!(environment.run(&format!("allow {id} --dir policies")), @r#"
    exit 1
    ----- stderr -----
    error: nothing has the id "uv1v9c5"
    hint: kubectl netenf diff shows the ids of proposals, kubectl netenf violations those of violations
    "#);
}

#[test]
fn a_violation_is_allowed_and_gone() {
    let environment = Environment::learned();
    environment.good("promote deployment/web -n shop --direction egress --dir policies");
    environment.good("learn --input-file later.jsonl --cluster-state state.yaml --dir policies");
    let list = environment.good("get deployment-web-egress --dir policies -o json");
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let violation = list["items"][0]["status"]["violations"][0]["id"].as_str().unwrap();
    insta::assert_snapshot!(environment.run(&format!("allow {violation} --dir policies")), @"
    exit 0
    ----- stdout -----
    shop/workloadnetworkpolicy.networkenforcer.kubewarden.io/deployment-web-egress allows vf760ecfd
    ");
    let run = environment.run("get deployment-web-egress -o wide --dir policies");
    insta::assert_snapshot!(run, @"
    exit 0
    ----- stdout -----
    NAMESPACE   NAME                    STATE     RULES   UNCOVERED   NEW   LAST-SEEN   AGE   WORKLOAD         DIRECTION   BACKEND      VIOLATIONS   GAPS
    shop        deployment-web-egress   monitor   4       2           0     28m         28h   deployment/web   egress      kubernetes   0            0
    ");
}

#[test]
fn a_suggested_range_takes_the_place_of_its_ports() {
    let environment = Environment::new();
    environment.write("flows.jsonl", recording::with_many_ports());
    environment.good("learn --input-file flows.jsonl --cluster-state state.yaml --dir policies");
    let id = recording::suggestion(&environment);
    insta::assert_snapshot!(environment.run(&format!("allow {id} --dir policies")), @"
    exit 0
    ----- stdout -----
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-egress allows sfqhgy9
    ");
    let rules = environment.good("get deployment-web-egress --dir policies -o yaml");
    assert!(rules.contains("endPort: 20024"), "{rules}");
    assert!(!rules.contains("port: 20003"), "{rules}");
}

#[test]
fn an_id_must_mean_one_thing() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("allow u --dir policies"), @r#"
    exit 1
    ----- stderr -----
    error: the id "u" is too short
    hint: give at least 4 characters of it
    "#);
    insta::assert_snapshot!(environment.run("allow nothing --dir policies"), @r#"
    exit 1
    ----- stderr -----
    error: nothing has the id "nothing"
    hint: kubectl netenf diff shows the ids of proposals, kubectl netenf violations those of violations
    "#);
    let id = environment.uncovered("deployment-web-egress", "External");
    insta::assert_snapshot!(environment.run(&format!("allow {id} -n monitoring --dir policies")), @r#"
    exit 1
    ----- stderr -----
    error: nothing has the id "ujr958z"
    hint: kubectl netenf diff shows the ids of proposals, kubectl netenf violations those of violations
    "#);
    insta::assert_snapshot!(environment.run(&format!("allow {id} --any --cidr 10.0.0.0/8 --dir policies")), @"
    exit 2
    ----- stderr -----
    error: the argument '--any' cannot be used with '--cidr <CIDR>'

    Usage: kubectl netenf allow --any --dir <DIR> <ID>...

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(environment.run(&format!("allow {id} --peer --dir policies")), @"
    exit 1
    ----- stderr -----
    error: cannot allow traffic in proposal shop/deployment-web-egress: no labels are known that select the pods of ujr958z
    hint: learn again with --cluster-state, which tells the labels of pods, or write the rule by hand
    ");
}

#[test]
fn an_address_is_no_network() {
    let environment = Environment::learned();
    let run = environment.run("allow u123 --cidr 10.0.0.12 --dir policies");
    assert_eq!(run.code, 2, "{run}");
    assert!(run.stderr.contains("an address is no network; write 10.0.0.12/32"), "{run}");
    let run = environment.run("allow u123 --any --except fe80::1 --dir policies");
    assert!(run.stderr.contains("an address is no network; write fe80::1/128"), "{run}");
}

#[test]
fn a_network_for_pods_is_taken_with_warnings() {
    let environment = Environment::learned();
    let id = environment.uncovered("deployment-web-egress", "Unanswered");
    insta::assert_snapshot!(environment.run(&format!("allow {id} --cidr 10.99.0.0/16 --dry-run --dir policies")), @"
    exit 0
    ----- stdout -----
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-egress allows uv1v9c5 (dry run)
    ----- stderr -----
    warning: uv1v9c5: no address of it is known: check that it is in 10.99.0.0/16
    warning: uv1v9c5: pods change their addresses, and some CNIs do not match pods by address at all
    ");
}

/// With the pod's object it is known by its name, without it by its labels.
#[test]
fn a_violation_of_a_bare_pod_is_allowed_by_its_labels() {
    for state in ["--cluster-state state.yaml --cluster-state toolbox.yaml", ""] {
        let environment = Environment::learned();
        environment.good("promote deployment/api --direction ingress -n shop --dir policies");
        environment.write("toolbox.jsonl", recording::of_a_bare_pod());
        environment.write("toolbox.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: toolbox, namespace: shop, labels: {run: toolbox}}\nstatus: {podIPs: [{ip: 10.244.1.61}]}\n");
        environment.good(&format!("learn --input-file toolbox.jsonl {state} --dir policies"));
        let list = environment.good("get deployment-api-ingress --dir policies -o json");
        let list: serde_json::Value = serde_json::from_str(&list).unwrap();
        let id = list["items"][0]["status"]["violations"][0]["id"].as_str().unwrap();
        let run = environment.run(&format!("allow {id} --addresses --dir policies"));
        assert!(run.code == 1 && run.stderr.contains("no address of"), "{run}");
        environment.good(&format!("allow {id} --dir policies"));
        let policy = environment.read("policies/shop/deployment-api-ingress.policy.yaml");
        assert!(policy.contains("run: toolbox"), "{policy}");
    }
}

#[test]
fn too_little_of_an_id_names_nothing() {
    let environment = Environment::learned();
    let id = environment.uncovered("deployment-web-egress", "External");
    insta::assert_snapshot!(environment.run(&format!("allow {} --dir policies", &id[..3])), @r#"
    exit 1
    ----- stderr -----
    error: the id "ujr" is too short
    hint: give at least 4 characters of it
    "#);
    environment.good(&format!("allow {} --dir policies", &id[..4]));
}
