use crate::environment::Environment;

const PROTECT: &str = "promote deployment/web -n shop --direction egress --protect --dir policies";

#[test]
fn without_a_flag_the_policy_monitors() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("promote deployment/web -n shop --dir policies"), @"
    exit 0
    ----- stdout -----
    workloadnetworkpolicy.networkenforcer.kubewarden.io/deployment-web-egress promoted (monitor)
    workloadnetworkpolicy.networkenforcer.kubewarden.io/deployment-web-ingress promoted (monitor)
    ----- stderr -----
    undo with kubectl netenf demote
    ");
    insta::assert_snapshot!(environment.run("get deployment/web -n shop --dir policies"), @"
    exit 0
    ----- stdout -----
    NAME                     STATE     RULES   UNCOVERED   NEW   LAST-SEEN   AGE
    deployment-web-egress    monitor   3       2           0     3h          28h
    deployment-web-ingress   monitor   0       1           0     8h          28h
    ");
    assert!(!environment.path("policies/shop/deployment-web-egress.proposal.yaml").exists());
}

#[test]
fn what_is_there_already_is_told() {
    let environment = Environment::learned();
    environment.good("promote statefulset/db -n shop --dir policies");
    let before = environment.files("policies/shop");
    insta::assert_snapshot!(environment.run("promote statefulset/db -n shop --dir policies"), @"
    exit 0
    ----- stderr -----
    policy shop/statefulset-db-ingress is in monitor already; promote --protect makes it deny
    ");
    assert_eq!(environment.files("policies/shop"), before);
    environment
        .good("promote statefulset/db -n shop --protect --accept-uncovered all --dir policies");
    insta::assert_snapshot!(environment.run("promote statefulset/db -n shop --protect --dir policies"), @"
    exit 0
    ----- stderr -----
    policy shop/statefulset-db-ingress is in protect already
    ");
    insta::assert_snapshot!(environment.run("promote statefulset/db -n shop --monitor --dir policies"), @"
    exit 0
    ----- stderr -----
    policy shop/statefulset-db-ingress is in protect already; demote takes it back to monitor
    ");
    insta::assert_snapshot!(environment.run("promote statefulset/db -n shop --protect --dir policies -o json"), @r#"
    exit 0
    ----- stdout -----
    {
      "items": []
    }
    ----- stderr -----
    policy shop/statefulset-db-ingress is in protect already
    "#);
}

#[test]
fn protecting_is_refused_unless_each_item_passes_or_is_accepted() {
    let environment = Environment::learned();
    let before = environment.files("policies/shop");
    insta::assert_snapshot!(environment.run(PROTECT), @"
    exit 1
    ----- stdout -----
    PREFLIGHT  deployment-web-egress  window 25h >= 24h                                            pass
    PREFLIGHT  deployment-web-egress  new rules in the last 1h: 0                                  pass
    PREFLIGHT  deployment-web-egress  uncovered: 2 (External api.example.com 443/TCP [ujr958z], Unanswered db 9999/TCP [uv1v9c5])  FAIL  (allow them with kubectl netenf allow ID, or accept their loss with --accept-uncovered ID,… or all)
    PREFLIGHT  deployment-web-egress  recorded connections that would be denied: 8, listed as uncovered: 8  FAIL  (allow or accept what is listed as uncovered)
    PREFLIGHT  deployment-web-egress  enforcer: a folder cannot tell what enforces in the cluster  warn
    PREFLIGHT  deployment-web-egress  DNS is allowed                                               pass
    ----- stderr -----
    error: not promoted: 2 checks failed (deployment-web-egress)
    hint: each line with FAIL says what to do; promote without --protect only monitors
    ");
    insta::assert_snapshot!(environment.run(&format!("{PROTECT} --min-window 30h --quiet-period 48h --accept-uncovered all")), @"
    exit 1
    ----- stdout -----
    PREFLIGHT  deployment-web-egress  window 25h < 30h                                             FAIL  (record longer, or accept with --accept window)
    PREFLIGHT  deployment-web-egress  new rules in the last 2d: 1                                  FAIL  (wait until nothing new comes, or accept with --accept quiet)
    PREFLIGHT  deployment-web-egress  uncovered: 0, accepted: 2 (ujr958z, uv1v9c5)                 accepted
      - External api.example.com 443/TCP [ujr958z]
      - Unanswered db 9999/TCP [uv1v9c5]
    PREFLIGHT  deployment-web-egress  recorded connections that would be denied: 8, listed as uncovered: 8  accepted
      - shop/web -> api.example.com(203.0.113.7) 443/TCP 3x [ujr958z]
      - shop/web -> api.example.com(203.0.113.8) 443/TCP 2x [ujr958z]
      - shop/web -> api.example.com(203.0.113.9) 443/TCP 3x [ujr958z]
    PREFLIGHT  deployment-web-egress  enforcer: a folder cannot tell what enforces in the cluster  warn
    PREFLIGHT  deployment-web-egress  DNS is allowed                                               pass
    ----- stderr -----
    error: not promoted: 2 checks failed (deployment-web-egress)
    hint: each line with FAIL says what to do; promote without --protect only monitors
    ");
    assert_eq!(environment.files("policies/shop"), before, "nothing is changed");
    insta::assert_snapshot!(environment.run(&format!("{PROTECT} --min-window 30h --quiet-period 48h --accept window,quiet --accept-uncovered all")), @"
    exit 0
    ----- stdout -----
    PREFLIGHT  deployment-web-egress  window 25h < 30h                                             accepted
    PREFLIGHT  deployment-web-egress  new rules in the last 2d: 1                                  accepted
    PREFLIGHT  deployment-web-egress  uncovered: 0, accepted: 2 (ujr958z, uv1v9c5)                 accepted
      - External api.example.com 443/TCP [ujr958z]
      - Unanswered db 9999/TCP [uv1v9c5]
    PREFLIGHT  deployment-web-egress  recorded connections that would be denied: 8, listed as uncovered: 8  accepted
      - shop/web -> api.example.com(203.0.113.7) 443/TCP 3x [ujr958z]
      - shop/web -> api.example.com(203.0.113.8) 443/TCP 2x [ujr958z]
      - shop/web -> api.example.com(203.0.113.9) 443/TCP 3x [ujr958z]
    PREFLIGHT  deployment-web-egress  enforcer: a folder cannot tell what enforces in the cluster  warn
    PREFLIGHT  deployment-web-egress  DNS is allowed                                               pass
    workloadnetworkpolicy.networkenforcer.kubewarden.io/deployment-web-egress promoted (protect)
    ----- stderr -----
    undo with kubectl netenf demote
    ");
}

#[test]
fn uncovered_items_are_accepted_by_id() {
    let environment = Environment::learned();
    let external = environment.uncovered("deployment-web-egress", "External");
    let unanswered = environment.uncovered("deployment-web-egress", "Unanswered");
    let run = environment.run(&format!("{PROTECT} --accept-uncovered {external}"));
    assert!(run.code == 1 && run.stdout.contains("uncovered: 1 (Unanswered"), "{run}");
    insta::assert_snapshot!(environment.run(&format!("{PROTECT} --accept-uncovered zzz")), @r#"
    exit 1
    ----- stderr -----
    error: nothing uncovered in what is named has the id "zzz"
    hint: kubectl netenf diff and the preflight show the ids
    "#);
    let run = environment.run(&format!("{PROTECT} --accept-uncovered {external},{unanswered}"));
    assert_eq!(run.code, 0, "{run}");
}

#[test]
fn what_was_accepted_stays_to_be_seen() {
    let environment = Environment::learned();
    environment.good(&format!("{PROTECT} --accept-uncovered all"));
    let shown = |line: &str| environment.run(&format!("{line} --dir policies")).stdout;
    let get = "get deployment-web-egress -n shop";
    assert!(shown(get).contains(" accepted(2) "), "{}", shown(get));
    environment
        .good("demote deployment/web --direction egress --to proposal -n shop --dir policies");
    assert!(shown(get).contains(" accepted(2) "), "{}", shown(get));
    let diff = shown("diff deployment-web-egress -n shop");
    let accepted = diff.lines().filter(|line| line.starts_with("  accepted  -> "));
    assert_eq!(accepted.count(), 2, "{diff}");
    environment
        .good("learn --input-file flows.jsonl --cluster-state state.yaml --fresh --dir policies");
    assert!(shown(get).contains(" accepted(2) "), "{}", shown(get));
}

#[test]
fn preflight_and_diff_tell_one_number() {
    let environment = Environment::learned();
    for name in ["deployment-web-egress", "statefulset-db-ingress", "statefulset-prometheus-egress"]
    {
        let preflight =
            environment.run(&format!("promote {name} --protect --dry-run --dir policies"));
        let diff = environment.run(&format!("diff --against-traffic {name} --dir policies"));
        let number = |run: &crate::environment::Run| {
            let text = run.stdout.split("would be denied: ").nth(1).unwrap().to_owned();
            text.chars().take_while(char::is_ascii_digit).collect::<String>()
        };
        assert_eq!(number(&preflight), number(&diff), "{preflight}{diff}");
    }
}

#[test]
fn the_preflight_as_json() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("promote statefulset/prometheus -n monitoring --protect --dry-run -o json --dir policies"), @r#"
    exit 0
    ----- stdout -----
    {
      "items": [
        {
          "mode": "protect",
          "name": "statefulset-prometheus-egress",
          "namespace": "monitoring",
          "preflight": [
            {
              "details": [],
              "hint": null,
              "item": "window",
              "message": "window 25h >= 24h",
              "result": "pass"
            },
            {
              "details": [],
              "hint": null,
              "item": "quiet",
              "message": "new rules in the last 1h: 0",
              "result": "pass"
            },
            {
              "details": [],
              "hint": null,
              "item": "uncovered",
              "message": "uncovered: 0",
              "result": "pass"
            },
            {
              "details": [],
              "hint": null,
              "item": "traffic",
              "message": "recorded connections that would be denied: 0",
              "result": "pass"
            },
            {
              "details": [],
              "hint": null,
              "item": "enforcer",
              "message": "enforcer: a folder cannot tell what enforces in the cluster",
              "result": "warn"
            },
            {
              "details": [],
              "hint": null,
              "item": "dns",
              "message": "DNS is allowed",
              "result": "pass"
            }
          ]
        }
      ]
    }
    "#);
}

#[test]
fn a_dry_run_writes_nothing() {
    let environment = Environment::learned();
    let before = environment.files("policies");
    insta::assert_snapshot!(environment.run("promote statefulset/prometheus -n monitoring --protect --dry-run --dir policies"), @"
    exit 0
    ----- stdout -----
    PREFLIGHT  statefulset-prometheus-egress  window 25h >= 24h                                            pass
    PREFLIGHT  statefulset-prometheus-egress  new rules in the last 1h: 0                                  pass
    PREFLIGHT  statefulset-prometheus-egress  uncovered: 0                                                 pass
    PREFLIGHT  statefulset-prometheus-egress  recorded connections that would be denied: 0                 pass
    PREFLIGHT  statefulset-prometheus-egress  enforcer: a folder cannot tell what enforces in the cluster  warn
    PREFLIGHT  statefulset-prometheus-egress  DNS is allowed                                               pass
    workloadnetworkpolicy.networkenforcer.kubewarden.io/statefulset-prometheus-egress promoted (protect) (dry run)
    ");
    assert_eq!(environment.files("policies"), before);
}

#[test]
fn one_that_cannot_protect_holds_all_back_and_every_preflight_is_shown() {
    let environment = Environment::learned();
    let before = environment.files("policies/shop");
    insta::assert_snapshot!(environment.run("promote deployment/web -n shop --protect --accept-uncovered all --dir policies"), @"
    exit 1
    ----- stdout -----
    PREFLIGHT  deployment-web-egress   window 25h >= 24h                                            pass
    PREFLIGHT  deployment-web-egress   new rules in the last 1h: 0                                  pass
    PREFLIGHT  deployment-web-egress   uncovered: 0, accepted: 2 (ujr958z, uv1v9c5)                 accepted
      - External api.example.com 443/TCP [ujr958z]
      - Unanswered db 9999/TCP [uv1v9c5]
    PREFLIGHT  deployment-web-egress   recorded connections that would be denied: 8, listed as uncovered: 8  accepted
      - shop/web -> api.example.com(203.0.113.7) 443/TCP 3x [ujr958z]
      - shop/web -> api.example.com(203.0.113.8) 443/TCP 2x [ujr958z]
      - shop/web -> api.example.com(203.0.113.9) 443/TCP 3x [ujr958z]
    PREFLIGHT  deployment-web-egress   enforcer: a folder cannot tell what enforces in the cluster  warn
    PREFLIGHT  deployment-web-egress   DNS is allowed                                               pass
    PREFLIGHT  deployment-web-ingress  window 25h >= 24h                                            pass
    PREFLIGHT  deployment-web-ingress  new rules in the last 1h: 0                                  pass
    PREFLIGHT  deployment-web-ingress  uncovered: 0, accepted: 1 (u986z0k)                          accepted
      - Unanswered n2 8080/TCP [u986z0k]
    PREFLIGHT  deployment-web-ingress  recorded connections that would be denied: 0                 pass
    PREFLIGHT  deployment-web-ingress  enforcer: a folder cannot tell what enforces in the cluster  warn
    PREFLIGHT  deployment-web-ingress  no rule: everything would be denied                          FAIL  (learn longer, allow what is uncovered, or accept with --deny-all)
    ----- stderr -----
    error: not promoted: 1 check failed (deployment-web-ingress)
    hint: each line with FAIL says what to do; promote without --protect only monitors
    ");
    assert_eq!(environment.files("policies/shop"), before);
    insta::assert_snapshot!(environment.run("promote deployment/web --direction ingress -n shop --protect --deny-all --accept-uncovered all --dir policies"), @"
    exit 0
    ----- stdout -----
    PREFLIGHT  deployment-web-ingress  window 25h >= 24h                                            pass
    PREFLIGHT  deployment-web-ingress  new rules in the last 1h: 0                                  pass
    PREFLIGHT  deployment-web-ingress  uncovered: 0, accepted: 1 (u986z0k)                          accepted
      - Unanswered n2 8080/TCP [u986z0k]
    PREFLIGHT  deployment-web-ingress  recorded connections that would be denied: 0                 pass
    PREFLIGHT  deployment-web-ingress  enforcer: a folder cannot tell what enforces in the cluster  warn
    PREFLIGHT  deployment-web-ingress  no rule: everything would be denied                          accepted
    workloadnetworkpolicy.networkenforcer.kubewarden.io/deployment-web-ingress promoted (protect)
    ----- stderr -----
    undo with kubectl netenf demote
    ");
}

#[test]
fn one_that_is_refused_does_not_hold_back_what_only_monitors() {
    let environment = Environment::learned();
    // The policy is there, written by hand: the proposal of that name cannot become it.
    let name = "policies/shop/deployment-api-egress";
    let proposal = environment.read(&format!("{name}.proposal.yaml"));
    let policy = proposal.split("status:").next().unwrap().replace("PolicyProposal", "Policy");
    environment.write(&format!("{name}.policy.yaml"), policy);
    insta::assert_snapshot!(environment.run("promote deployment/api -n shop --dir policies"), @"
    exit 1
    ----- stdout -----
    workloadnetworkpolicy.networkenforcer.kubewarden.io/deployment-api-ingress promoted (monitor)
    ----- stderr -----
    policy shop/deployment-api-egress is in monitor already; promote --protect makes it deny
    error: cannot promote proposal shop/deployment-api-egress: a policy of that name exists already
    hint: compare both with `diff`; demote or delete the policy, or delete the proposal
    undo with kubectl netenf demote
    ");
}

#[test]
fn all_are_those_of_the_namespace() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("promote --all -n monitoring --dir policies"), @"
    exit 0
    ----- stdout -----
    workloadnetworkpolicy.networkenforcer.kubewarden.io/statefulset-prometheus-egress promoted (monitor)
    ----- stderr -----
    undo with kubectl netenf demote
    ");
    insta::assert_snapshot!(environment.run("promote --all --dir policies"), @"
    exit 0
    ----- stdout -----
    shop/workloadnetworkpolicy.networkenforcer.kubewarden.io/deployment-api-egress promoted (monitor)
    shop/workloadnetworkpolicy.networkenforcer.kubewarden.io/deployment-api-ingress promoted (monitor)
    shop/workloadnetworkpolicy.networkenforcer.kubewarden.io/deployment-web-egress promoted (monitor)
    shop/workloadnetworkpolicy.networkenforcer.kubewarden.io/deployment-web-ingress promoted (monitor)
    shop/workloadnetworkpolicy.networkenforcer.kubewarden.io/statefulset-db-ingress promoted (monitor)
    ----- stderr -----
    policy monitoring/statefulset-prometheus-egress is in monitor already; promote --protect makes it deny
    undo with kubectl netenf demote
    ");
}

#[test]
fn nothing_is_changed_unasked() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("promote --dir policies"), @"
    exit 2
    ----- stderr -----
    error: nothing is named to change
    hint: name workloads such as deployment/web, or give --all
    ");
    insta::assert_snapshot!(environment.run("promote --all deployment/web --dir policies"), @"
    exit 2
    ----- stderr -----
    error: the argument '--all' cannot be used with '[WORKLOAD]...'

    Usage: kubectl netenf promote --all --dir <DIR> [WORKLOAD]...

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(environment.run("promote deployment/nope --dir policies"), @r#"
    exit 1
    ----- stderr -----
    error: nothing in the folder is called "deployment/nope"
    hint: kubectl netenf get -A shows what there is
    "#);
    insta::assert_snapshot!(environment.run("promote deployment/web --accept window --dir policies"), @"
    exit 2
    ----- stderr -----
    error: the following required arguments were not provided:
      --protect

    Usage: kubectl netenf promote --protect --accept <ITEM> --dir <DIR> <WORKLOAD>...

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(environment.run("promote deployment/web --protect --accept uncovered --dir policies"), @"
    exit 2
    ----- stderr -----
    error: invalid value 'uncovered' for '--accept <ITEM>'
      [possible values: window, quiet, traffic, enforcer, dns]

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(environment.run("promote deployment/web --protect --min-window 24 --dir policies"), @r#"
    exit 2
    ----- stderr -----
    error: invalid value '24' for '--min-window <TIME>': "24" is no length of time; write for example 90s, 10m, 1h30m or 7d

    For more information, try '--help'.
    "#);
}
