use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::environment::{Environment, Run};
use crate::progress::terminal;
use crate::recording;
use crate::violations::violated;

const LATER: &str = "--input-file later.jsonl --cluster-state state.yaml --dir policies";

/// The demo with violations of two policies: web talks to a cache, and a bare pod to api.
fn with_two() -> Environment {
    let environment = violated();
    environment.write("toolbox.jsonl", recording::of_a_bare_pod());
    environment.good("learn --input-file toolbox.jsonl --dir policies");
    environment
}

fn status(environment: &Environment, name: &str) -> Value {
    let list = environment.good(&format!("get {name} --dir policies -o json"));
    serde_json::from_str::<Value>(&list).unwrap()["items"][0]["status"].clone()
}

#[test]
fn an_acknowledged_violation_is_known_and_not_listed() {
    let environment = violated();
    let ack = ["ack", "vf76", "--reason", "the cache moves", "--dir", "policies"];
    let before = environment.files("policies");
    insta::assert_snapshot!(environment.run_args(&[&ack[..], &["--dry-run"]].concat()), @"
    exit 0
    ----- stdout -----
    violation/vf760ecfd acknowledged (shop/deployment-web-egress) (dry run)
    ");
    assert_eq!(environment.files("policies"), before);
    let mut command = environment.command(&ack);
    insta::assert_snapshot!(environment.finish(command.env("NETENF_AUTHOR", "ben"), b""), @"
    exit 0
    ----- stdout -----
    violation/vf760ecfd acknowledged (shop/deployment-web-egress)
    ----- stderr -----
    undo with kubectl netenf ack ID --undo
    ");
    insta::assert_snapshot!(environment.run("violations --exit-code --dir policies"), @"
    exit 0
    ----- stderr -----
    left out as acknowledged: 1 violation; --acknowledged shows them too
    ");
    insta::assert_snapshot!(environment.run("violations --acknowledged -n shop --dir policies"), @"
    exit 0
    ----- stdout -----
    ID          LAST   COUNT   FROM                  TO                      PORT       DIR      MODE      REASON    STATE
    vf760ecfd   28m    3       shop/deployment/web   shop/deployment/cache   6379/TCP   egress   monitor   no-rule   acknowledged
    ");
    let json = environment.good("violations --acknowledged -o json --dir policies");
    let json: Value = serde_json::from_str(&json).unwrap();
    insta::assert_snapshot!(json["items"][0]["acknowledged"], @r#"{"at":"2026-09-02T12:30:00Z","by":"ben","reason":"the cache moves"}"#);
    let status = status(&environment, "deployment-web-egress");
    assert_eq!(
        (&status["violationCount"], &status["activeViolationCount"]),
        (&3.into(), &0.into())
    );
    insta::assert_snapshot!(environment.run("history deployment-web-egress --dir policies"), @"
    exit 0
    ----- stdout -----
    NAME                         REVISION   TIME                   VERB          BY       SUMMARY
    shop/deployment-web-egress   1          2026-09-02T12:30:00Z   learn         <none>   created from a recording
    shop/deployment-web-egress   2          2026-09-02T12:30:00Z   promote       <none>   to monitor
    shop/deployment-web-egress   3          2026-09-02T12:30:00Z   acknowledge   ben      acknowledged vf760ecfd: the cache moves
    ");
}

/// A recurrence is counted where it is known, whether it is learned or only judged (case B80).
#[test]
fn a_recurrence_stays_acknowledged() {
    let environment = violated();
    environment.good("ack vf760ecfd --reason known --dir policies");
    insta::assert_snapshot!(environment.run(&format!("violations --exit-code {LATER}")), @"
    exit 0
    ----- stderr -----
    18 received: 6 learned, 0 uncovered, 6 skipped, 6 violations, 0 errors; 0 lost by the source
    skipped: 6 Reply
    left out as acknowledged: 1 violation; --acknowledged shows them too
    ");
    insta::assert_snapshot!(environment.run(&format!("violations --acknowledged -n shop {LATER}")), @"
    exit 0
    ----- stdout -----
    ID          LAST   COUNT   FROM                  TO                      PORT       DIR      MODE      REASON    STATE
    vf760ecfd   28m    3       shop/deployment/web   shop/deployment/cache   6379/TCP   egress   monitor   no-rule   acknowledged
    ----- stderr -----
    18 received: 6 learned, 0 uncovered, 6 skipped, 6 violations, 0 errors; 0 lost by the source
    skipped: 6 Reply
    ");
    environment.good(&format!("learn {LATER}"));
    let status = status(&environment, "deployment-web-egress");
    assert_eq!(status["violations"], Value::Null);
    assert_eq!(status["acknowledgedViolations"][0]["violation"]["count"], 6);
}

#[test]
fn it_can_be_undone() {
    let environment = violated();
    let ack = "ack vf760ecfd --reason known --dir policies";
    let violations = environment.good("violations --dir policies");
    environment.good(ack);
    insta::assert_snapshot!(environment.run(ack), @"
    exit 1
    ----- stderr -----
    error: cannot acknowledge a violation of policy shop/deployment-web-egress: vf760ecfd is acknowledged already
    hint: its reason stands in status.acknowledgedViolations
    ");
    insta::assert_snapshot!(environment.run("ack vf760ecfd --undo --dir policies"), @"
    exit 0
    ----- stdout -----
    violation/vf760ecfd no longer acknowledged (shop/deployment-web-egress)
    ");
    assert_eq!(environment.good("violations --dir policies"), violations);
    insta::assert_snapshot!(environment.run("ack vf760ecfd --undo --dir policies"), @"
    exit 1
    ----- stderr -----
    error: vf760ecfd is not acknowledged
    hint: kubectl netenf violations --acknowledged shows which are
    ");
    // The rules are rolled back, and what a person knows stays.
    environment.good(ack);
    environment.good("promote deployment-web-egress --protect --accept traffic,window,quiet,enforcer,dns --accept-uncovered all --dir policies");
    environment.good("rollback deployment-web-egress --dir policies");
    assert_eq!(environment.good("violations --dir policies"), "");
}

#[test]
fn what_cannot_be_done_is_told_and_the_rest_is_done() {
    let environment = with_two();
    insta::assert_snapshot!(environment.run("ack vf760ecfe vf760ecfd nothing-like vf7 vf76 --reason known --dir policies"), @r#"
    exit 1
    ----- stdout -----
    violation/vf760ecfd acknowledged (shop/deployment-web-egress)
    ----- stderr -----
    undo with kubectl netenf ack ID --undo
    error: no violation has the id "vf760ecfe"
    hint: did you mean vf760ecfd?
    error: no violation has the id "nothing-like"
    hint: kubectl netenf violations --acknowledged shows the ids
    error: the id "vf7" is too short
    hint: give at least 4 characters of it
    "#);
    assert_eq!(environment.good("violations --dir policies -o name").lines().count(), 1);
    insta::assert_snapshot!(environment.run("ack vf760ecfd -n monitoring --reason known --dir policies"), @r#"
    exit 1
    ----- stderr -----
    error: no violation has the id "vf760ecfd"
    hint: kubectl netenf violations --acknowledged shows the ids
    "#);
}

/// A file that somebody copied to another namespace holds the ids of the first.
#[test]
fn an_id_of_two_policies_needs_a_namespace() {
    let environment = violated();
    let file = "policies/shop/deployment-web-egress.policy.yaml";
    let copied = environment.read(file).replace("  namespace: shop\n", "  namespace: copy\n");
    environment.write(&file.replace("shop", "copy"), copied);
    insta::assert_snapshot!(environment.run("ack vf760ecfd --reason known --dir policies"), @r#"
    exit 1
    ----- stderr -----
    error: the id "vf760ecfd" could be vf760ecfd of copy/deployment-web-egress or vf760ecfd of shop/deployment-web-egress
    hint: write more of the id, or name the namespace with -n
    "#);
    for namespace in ["shop", "copy"] {
        let ack = format!("ack vf760ecfd -n {namespace} --reason known --dir policies");
        environment.good(&ack);
    }
    assert_eq!(environment.good("violations --dir policies"), "");
}

#[test]
fn many_at_once_are_confirmed() {
    let environment = with_two();
    let before = environment.files("policies");
    insta::assert_snapshot!(environment.run("ack --all --reason known --dir policies"), @"
    exit 2
    ----- stderr -----
    error: nobody is there to be asked: acknowledge 2 violations?
    hint: give --yes, or see with --dry-run what would be done
    ");
    insta::assert_snapshot!(environment.run("ack --all --reason known --dry-run=client -n shop --dir policies"), @"
    exit 0
    ----- stdout -----
    violation/v12397325 acknowledged (deployment-api-ingress) (dry run)
    violation/vf760ecfd acknowledged (deployment-web-egress) (dry run)
    ");
    assert_eq!(environment.files("policies"), before);
    insta::assert_snapshot!(environment.run("ack --all --to deploy/cache --reason known --yes -o name --dir policies"), @"
    exit 0
    ----- stdout -----
    violation/vf760ecfd
    ----- stderr -----
    undo with kubectl netenf ack ID --undo
    ");
    insta::assert_snapshot!(environment.run("ack --all --reason known -y --dir policies"), @"
    exit 0
    ----- stdout -----
    violation/v12397325 acknowledged (shop/deployment-api-ingress)
    ----- stderr -----
    undo with kubectl netenf ack ID --undo
    ");
    insta::assert_snapshot!(environment.run("ack --all --reason known --dir policies"), @"
    exit 0
    ----- stderr -----
    nothing to change; kubectl netenf violations --acknowledged shows all
    ");
    insta::assert_snapshot!(environment.run("ack --all --undo --yes --dir policies"), @"
    exit 0
    ----- stdout -----
    violation/v12397325 no longer acknowledged (shop/deployment-api-ingress)
    violation/vf760ecfd no longer acknowledged (shop/deployment-web-egress)
    ");
}

#[test]
fn what_is_known_can_be_allowed_later() {
    let environment = violated();
    environment.good("ack vf760ecfd --reason known --dir policies");
    environment.good("allow vf760ecfd --dir policies");
    assert_eq!(environment.good("violations --acknowledged --dir policies"), "");
}

/// `kubectl netenf ack $(kubectl netenf violations -o name)`.
#[test]
fn what_is_printed_by_name_is_taken() {
    let environment = violated();
    let name = environment.good("violations -o name --dir policies").trim().to_owned();
    let allowed = environment.good(&format!("allow {name} --dry-run --dir policies"));
    assert!(allowed.contains("allows vf760ecfd"), "{allowed}");
    let ack = format!("ack {name} --reason known -o name --dir policies");
    assert_eq!(environment.good(&ack).trim(), name);
}

/// What a person at a terminal is asked, and what becomes of the answer.
#[test]
fn a_person_is_asked_how_many_are_meant() {
    for (answer, code, left) in [("n\n", 1, 2), ("\n", 1, 2), ("y\n", 0, 0)] {
        let environment = with_two();
        let (mut person, program) = terminal();
        person.write_all(answer.as_bytes()).unwrap();
        let mut command =
            environment.command(&["ack", "--all", "--reason", "known", "--dir", "policies"]);
        command.stdin(program.try_clone().unwrap()).stdout(Stdio::null()).stderr(program);
        let ended = command.status().unwrap();
        assert_eq!(ended.code(), Some(code), "{answer:?}");
        let violations = environment.good("violations --dir policies -o name");
        assert_eq!(violations.lines().count(), left, "{answer:?}");
    }
}

fn of_reason(reason: &str) -> Run {
    violated().run_args(&["ack", "vf760ecfd", "--reason", reason, "--dir", "policies"])
}

#[test]
fn a_reason_is_given_and_has_a_limit() {
    insta::assert_snapshot!(violated().run("ack vf760ecfd --dir policies"), @"
    exit 2
    ----- stderr -----
    error: the following required arguments were not provided:
      --reason <TEXT>

    Usage: kubectl netenf ack --dir <DIR> --reason <TEXT> <ID>...

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(of_reason(" "), @"
    exit 2
    ----- stderr -----
    error: invalid value ' ' for '--reason <TEXT>': say why the violation may stay as it is

    For more information, try '--help'.
    ");
    let run = of_reason(&"x".repeat(1025));
    assert!(
        run.code == 2 && run.stderr.contains("it has 1025 characters, and 1024 are the most"),
        "{run}"
    );
    assert_eq!(of_reason(&"x".repeat(1024)).code, 0);
    insta::assert_snapshot!(violated().run("ack --reason known --dir policies"), @"
    exit 2
    ----- stderr -----
    error: the following required arguments were not provided:
      <ID>...

    Usage: kubectl netenf ack --reason <TEXT> --dir <DIR> <ID>...

    For more information, try '--help'.
    ");
}

#[test]
fn what_a_person_says_does_not_reach_the_terminal_as_it_is() {
    let environment = violated();
    let reason = "two\nlines\u{1b}[31m";
    environment.run_args(&["ack", "vf760ecfd", "--reason", reason, "--dir", "policies"]);
    let history = environment.good("history deployment-web-egress --dir policies");
    assert!(history.ends_with("acknowledged vf760ecfd: two lines\\u{1b}[31m\n"), "{history}");
    let shown = environment.good("violations --acknowledged -o yaml --dir policies");
    assert!(!shown.contains('\u{1b}'), "{shown}");
}
