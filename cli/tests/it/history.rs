use crate::environment::Environment;

#[test]
fn every_change_by_a_command_is_a_revision() {
    let environment = Environment::learned();
    let promote = ["promote", "statefulset/db", "-n", "shop", "--dir", "policies"];
    let mut command = environment.command(&promote);
    environment.finish(command.env("USER", "ann"), b"");
    let mut command = environment.command(&["demote", "statefulset/db", "--dir", "policies"]);
    environment.finish(command.env("USER", "ann").env("NETENF_AUTHOR", "bot"), b"");
    insta::assert_snapshot!(environment.run("history statefulset/db -n shop --dir policies"), @"
    exit 0
    ----- stdout -----
    NAME                          REVISION   TIME                   VERB      BY       SUMMARY
    shop/statefulset-db-ingress   1          2026-09-02T12:30:00Z   learn     <none>   created from a recording
    shop/statefulset-db-ingress   2          2026-09-02T12:30:00Z   promote   ann      to monitor
    shop/statefulset-db-ingress   3          2026-09-02T12:30:00Z   demote    bot      policy to proposal
    ");
    let json = environment.good("history statefulset/db -n shop --dir policies -o json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let verbs: Vec<&str> = json["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["revision"]["verb"].as_str().unwrap())
        .collect();
    assert_eq!(verbs, ["learn", "promote", "demote"]);
    insta::assert_snapshot!(environment.run("history -n nowhere --dir policies"), @"
    exit 0
    ----- stderr -----
    note: the folder has nothing in namespace nowhere
    no revision is kept of that; changes made by commands are, edits by hand are not
    ");
    insta::assert_snapshot!(environment.run("history deployment/nope --dir policies"), @r#"
    exit 1
    ----- stderr -----
    error: nothing in the folder is called "deployment/nope"
    hint: kubectl netenf get -A shows what there is
    "#);
}

#[test]
fn rollback_restores_the_rules_of_a_revision() {
    let environment = Environment::learned();
    let file = "policies/shop/deployment-web-egress.proposal.yaml";
    let rules = |text: String| text.split("status:").next().unwrap().to_owned();
    let before = rules(environment.read(file));
    let id = environment.uncovered("deployment-web-egress", "External");
    environment.good(&format!("allow {id} --any --dir policies"));
    let after = rules(environment.read(file));
    assert_ne!(after, before);
    let web = "rollback deployment-web-egress -n shop --dir policies";
    insta::assert_snapshot!(environment.run(&format!("{web} --dry-run")), @"
    exit 0
    ----- stdout -----
    workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-egress rolled back to revision 1 (dry run)
    ");
    assert_eq!(rules(environment.read(file)), after);
    insta::assert_snapshot!(environment.run(web), @"
    exit 0
    ----- stdout -----
    workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-egress rolled back to revision 1
    ");
    assert_eq!(rules(environment.read(file)), before);
    assert_eq!(environment.uncovered("deployment-web-egress", "External"), id);
    insta::assert_snapshot!(environment.run(&format!("{web} --to-revision 2")), @"
    exit 0
    ----- stdout -----
    workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-egress rolled back to revision 2
    ");
    assert_eq!(rules(environment.read(file)), after);
}

#[test]
fn a_revision_must_be_there_and_one_object_be_named() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("rollback deployment/web -n shop --dir policies"), @"
    exit 2
    ----- stderr -----
    error: that names 2 objects: proposal shop/deployment-web-egress, proposal shop/deployment-web-ingress
    hint: name one of them, or choose it with --direction and -n
    ");
    insta::assert_snapshot!(environment.run("rollback deployment-web-egress --dir policies"), @"
    exit 1
    ----- stderr -----
    error: the proposal shop/deployment-web-egress has no earlier revision; its revisions as a proposal: 1
    hint: kubectl netenf history shows them
    ");
    insta::assert_snapshot!(environment.run("rollback deployment-web-egress --to-revision 9 --dir policies"), @"
    exit 1
    ----- stderr -----
    error: the proposal shop/deployment-web-egress has no revision 9; its revisions as a proposal: 1
    hint: kubectl netenf history shows them
    ");
    insta::assert_snapshot!(environment.run("rollback --dir policies"), @"
    exit 2
    ----- stderr -----
    error: nothing is named to roll back
    hint: name it as get does, for example deployment-web-egress
    ");
    environment.good("promote deployment/web --direction egress --dir policies");
    insta::assert_snapshot!(environment.run("rollback deployment-web-egress --to-revision 1 --dir policies"), @"
    exit 1
    ----- stderr -----
    error: the policy shop/deployment-web-egress has no revision 1; its revisions as a policy: 2
    hint: kubectl netenf history shows them
    ");
}

#[test]
fn rollback_never_starts_to_deny() {
    let environment = Environment::learned();
    environment
        .good("promote statefulset/db -n shop --protect --accept-uncovered all --dir policies");
    environment.good("demote statefulset/db -n shop --dir policies");
    insta::assert_snapshot!(environment.run("rollback statefulset/db -n shop --dir policies"), @"
    exit 0
    ----- stdout -----
    workloadnetworkpolicy.networkenforcer.kubewarden.io/statefulset-db-ingress rolled back to revision 2
    ----- stderr -----
    it goes on monitoring; kubectl netenf promote --protect shows what denying would cut
    ");
    assert!(environment.good("get statefulset/db --dir policies").contains("monitor"));
}

#[test]
fn going_back_from_protect_says_that_nothing_is_blocked_any_more() {
    let environment = Environment::learned();
    environment.good("promote statefulset/prometheus -n monitoring --dir policies");
    environment.good("promote statefulset/prometheus -n monitoring --protect --dir policies");
    let name = "statefulset-prometheus-egress -n monitoring --dir policies";
    let dry = environment.run(&format!("rollback {name} --dry-run"));
    assert!(dry.stderr.contains("nothing would be blocked any more"), "{dry}");
    let run = environment.run(&format!("rollback {name}"));
    assert!(run.code == 0 && run.stderr.contains("nothing is blocked any more"), "{run}");
}
