use std::process::Command;

use crate::candidates;
use crate::environment::{Environment, repository};

#[test]
fn a_script_for_each_shell() {
    let environment = Environment::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = environment.good(&format!("completion {shell}"));
        assert!(script.contains("kubectl-netenf") && script.contains("promote"), "{shell}");
    }
    insta::assert_snapshot!(environment.run("completion tcsh"), @"
    exit 2
    ----- stderr -----
    error: invalid value 'tcsh' for '<SHELL>'
      [possible values: bash, elvish, fish, powershell, zsh]

      tip: a similar value exists: 'zsh'

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(environment.run("completion"), @"
    exit 2
    ----- stderr -----
    error: the following required arguments were not provided:
      <SHELL>

    Usage: kubectl netenf completion <SHELL>

    For more information, try '--help'.
    ");
}

/// What kubectl runs to complete a plugin: it looks for a program of that name on PATH.
fn completed(environment: &Environment, words: &[&str]) -> String {
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_kubectl-netenf")).parent().unwrap();
    let shim = repository().join("completions");
    let mut command = Command::new("kubectl_complete-netenf");
    command.args(words).current_dir(environment.path(".")).env_clear();
    command.env("PATH", format!("{}:{}:/usr/bin:/bin", shim.display(), binary.display()));
    let run = environment.finish(&mut command, b"");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run}");
    run.stdout
}

#[test]
fn kubectl_gets_candidates_through_the_shim() {
    let environment = Environment::learned();
    let at = |words: &[&str]| completed(&environment, words);
    candidates::are_given(at);
    insta::assert_snapshot!(at(&[""]), @"
    learn	Learn from recorded flows and propose policies
    get	List proposals and policies
    diff	Show what promoting would allow, or what protecting would have denied
    check	Check whether policies would allow a connection, and say why
    explain	Explain what policies let workloads do
    promote	Turn proposals into policies, and monitored policies into protecting ones
    demote	Take a policy one step back: from protect to monitor, from monitor to learning
    violations	List what policies deny, or would deny if they protected
    ack	Acknowledge violations: they are known, stay denied, and are not reported again
    allow	Add a rule for something uncovered, for a violation, or for a suggested range
    flows	Show recorded flows
    export	Write policies as objects to apply
    history	Show what was done to a workload's proposals and policies
    rollback	Restore an earlier revision of a policy
    status	Show what was received, learned, skipped and lost
    completion	Print a completion script for a shell
    version	Print the version
    help	Print this message or the help of the given subcommand(s)
    :4
    ");
    insta::assert_snapshot!(at(&["get", "--dir=policies", "-n", "monitoring", ""]), @"
    statefulset/prometheus
    :4
    ");
    insta::assert_snapshot!(at(&["diff", "-o", ""]), @"
    text
    markdown
    json
    dot
    yaml
    :4
    ");
    insta::assert_snapshot!(at(&["completion", ""]), @"
    bash
    elvish
    fish
    powershell
    zsh
    :4
    ");
    insta::assert_snapshot!(at(&["allow", "--dir", "policies", "u"]), @"
    u986z0k	deployment-web-ingress
    ugjtth2	statefulset-db-ingress
    ujr958z	deployment-web-egress
    uv1v9c5	deployment-web-egress
    :4
    ");
    environment.good("promote --all --dir policies");
    environment.good("learn --input-file later.jsonl --cluster-state state.yaml --dir policies");
    let ack = |undo: &[&str]| at(&[&["ack", "--dir", "policies"], undo, &[""]].concat());
    insta::assert_snapshot!(ack(&[]), @"
    vf760ecfd	deployment-web-egress
    :4
    ");
    insta::assert_snapshot!(ack(&["--undo"]), @":4");
    environment.good("ack --all --yes --reason known --dir policies");
    insta::assert_snapshot!(ack(&[]), @":4");
    insta::assert_snapshot!(ack(&["--undo"]), @"
    vf760ecfd	deployment-web-egress
    :4
    ");
    insta::assert_snapshot!(at(&["version", ""]), @":4");
    insta::assert_snapshot!(at(&["demote", "--dry-run", ""]), @":4");
}

#[test]
fn version_of_the_program_and_of_the_api() {
    let environment = Environment::new();
    insta::assert_snapshot!(environment.run("version"), @"
    exit 0
    ----- stdout -----
    kubectl-netenf 0.1.0 (networkenforcer.kubewarden.io/v1alpha1)
    ");
    insta::assert_snapshot!(environment.run("version -o json"), @r#"
    exit 0
    ----- stdout -----
    {
      "apiVersion": "networkenforcer.kubewarden.io/v1alpha1",
      "version": "0.1.0"
    }
    "#);
}
