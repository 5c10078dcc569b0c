use crate::environment::Environment;

#[test]
fn a_policy_goes_back_step_by_step() {
    let environment = Environment::learned();
    environment
        .good("promote statefulset/db -n shop --protect --accept-uncovered all --dir policies");
    insta::assert_snapshot!(environment.run("demote statefulset/db -n shop --dir policies"), @"
    exit 0
    ----- stdout -----
    workloadnetworkpolicy.networkenforcer.kubewarden.io/statefulset-db-ingress demoted (monitor)
    ----- stderr -----
    undo with kubectl netenf promote
    ");
    insta::assert_snapshot!(environment.run("demote statefulset/db -n shop --dir policies"), @"
    exit 0
    ----- stdout -----
    workloadnetworkpolicy.networkenforcer.kubewarden.io/statefulset-db-ingress demoted (proposal)
    ----- stderr -----
    undo with kubectl netenf promote
    ");
    insta::assert_snapshot!(environment.run("demote statefulset/db -n shop --dir policies"), @"
    exit 1
    ----- stderr -----
    error: no policy is named; only policies can be demoted
    hint: kubectl netenf get shows proposals and policies
    ");
    insta::assert_snapshot!(environment.run("get statefulset/db --dir policies"), @"
    exit 0
    ----- stdout -----
    NAMESPACE   NAME                     STATE      RULES   UNCOVERED     NEW   LAST-SEEN   AGE
    shop        statefulset-db-ingress   learning   2       accepted(1)   0     3h          28h
    ");
}

#[test]
fn evidence_survives_the_way_there_and_back() {
    let environment = Environment::learned();
    let file = "policies/monitoring/statefulset-prometheus-egress.proposal.yaml";
    let evidence = |text: String| text.split("rules:").nth(1).unwrap().to_owned();
    let before = evidence(environment.read(file));
    environment.good("promote statefulset/prometheus -n monitoring --dir policies");
    environment.good("demote statefulset/prometheus -n monitoring --dir policies");
    assert_eq!(evidence(environment.read(file)), before);
}

#[test]
fn straight_to_a_proposal() {
    let environment = Environment::learned();
    environment
        .good("promote statefulset/db -n shop --protect --accept-uncovered all --dir policies");
    insta::assert_snapshot!(environment.run("demote statefulset/db --to proposal -n shop --dir policies"), @"
    exit 0
    ----- stdout -----
    workloadnetworkpolicy.networkenforcer.kubewarden.io/statefulset-db-ingress demoted (proposal)
    ----- stderr -----
    undo with kubectl netenf promote
    ");
}

#[test]
fn a_step_forward_is_none_back() {
    let environment = Environment::learned();
    environment.good("promote statefulset/db -n shop --dir policies");
    insta::assert_snapshot!(environment.run("demote statefulset/db --to monitor -n shop --dir policies"), @"
    exit 1
    ----- stderr -----
    error: cannot demote policy shop/statefulset-db-ingress: it is in monitor and demoting goes one step back
    hint: see `get` for its mode
    ");
}

#[test]
fn a_dry_run_writes_nothing() {
    let environment = Environment::learned();
    environment.good("promote --all -n shop --dir policies");
    let before = environment.files("policies");
    insta::assert_snapshot!(environment.run("demote --all -n shop --dry-run --dir policies"), @"
    exit 0
    ----- stdout -----
    workloadnetworkpolicy.networkenforcer.kubewarden.io/deployment-api-egress demoted (proposal) (dry run)
    workloadnetworkpolicy.networkenforcer.kubewarden.io/deployment-api-ingress demoted (proposal) (dry run)
    workloadnetworkpolicy.networkenforcer.kubewarden.io/deployment-web-egress demoted (proposal) (dry run)
    workloadnetworkpolicy.networkenforcer.kubewarden.io/deployment-web-ingress demoted (proposal) (dry run)
    workloadnetworkpolicy.networkenforcer.kubewarden.io/statefulset-db-ingress demoted (proposal) (dry run)
    ");
    assert_eq!(environment.files("policies"), before);
}
