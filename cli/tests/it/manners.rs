use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::time::Duration;

use netenf_store::{DirStore, MissingFolder, Writer};

use crate::environment::Environment;
use crate::recording;

const LEARN: &str = "learn --cluster-state state.yaml --dir policies --input-file";

#[test]
fn without_a_folder_there_is_nothing_to_work_on() {
    let environment = Environment::learned();
    insta::assert_snapshot!(environment.run("get"), @"
    exit 2
    ----- stderr -----
    error: there is no store to work on
    hint: give --dir DIR or set NETENF_DIR; a cluster as the store comes with the agent
    ");
    for verb in [
        "diff",
        "promote --all",
        "demote --all",
        "violations",
        "ack x --reason y",
        "allow x",
        "export",
        "history",
        "status",
    ] {
        assert_eq!(environment.run(verb).code, 2, "{verb}");
    }
    insta::assert_snapshot!(environment.run("get --dir nothere"), @"
    exit 3
    ----- stderr -----
    error: there is no folder nothere
    hint: check --dir and NETENF_DIR; `learn --dir` makes a new folder
    ");
    insta::assert_snapshot!(environment.run("get --dir flows.jsonl"), @"
    exit 3
    ----- stderr -----
    error: flows.jsonl is no folder
    hint: give the name of a folder, or move away what has that name
    ");
    insta::assert_snapshot!(environment.run("promote --all --dir nothere"), @"
    exit 3
    ----- stderr -----
    error: there is no folder nothere
    hint: check --dir and NETENF_DIR; `learn --dir` makes a new folder
    ");
}

#[test]
fn the_folder_may_come_from_the_environment() {
    let environment = Environment::learned();
    let with = |value: &str, args: &[&str]| {
        let mut command = environment.command(args);
        environment.finish(command.env("NETENF_DIR", value), b"")
    };
    let expected = environment.good("get --dir policies");
    assert_eq!(with("policies", &["get"]).stdout, expected);
    assert_eq!(with("nothere", &["get", "--dir", "policies"]).stdout, expected, "the flag wins");
    assert_eq!(with("", &["get"]).code, 2, "an empty variable is none");
    let learn = ["learn", "--input-file", "flows.jsonl"];
    assert!(with("", &learn).stdout.starts_with("apiVersion"), "and learn prints");
}

#[test]
fn what_makes_no_sense_is_2_and_names_the_command_as_it_was_called() {
    let environment = Environment::new();
    insta::assert_snapshot!(environment.run("foo"), @"
    exit 2
    ----- stderr -----
    error: unrecognized subcommand 'foo'

    Usage: kubectl netenf [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(environment.run("get --foo"), @"
    exit 2
    ----- stderr -----
    error: unexpected argument '--foo' found

      tip: to pass '--foo' as a value, use '-- --foo'

    Usage: kubectl netenf get [OPTIONS] [WORKLOAD]...

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(environment.run("get -o table"), @"
    exit 2
    ----- stderr -----
    error: invalid value 'table' for '--output <FORMAT>'
      [possible values: wide, json, yaml, name]

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(environment.run("learn"), @"
    exit 2
    ----- stderr -----
    error: learn needs a recording
    hint: give --input-file FILE, or --input-file - to read standard input
    ");
    let mut command = environment.command(&["foo"]);
    let run = environment.finish(command.arg0("/usr/local/bin/netenf"), b"");
    assert!(run.stderr.contains("Usage: kubectl netenf") || run.stderr.contains("Usage: netenf"));
}

#[test]
fn a_recording_that_cannot_be_used_changes_nothing() {
    let environment = Environment::learned();
    let before = environment.files("policies");
    let first = recording::demo().lines().next().unwrap().to_owned();
    environment.write("empty.jsonl", "");
    environment.write("binary.jsonl", [0_u8, 159, 146, 150, 10, 0, 1, 2]);
    environment.write("garbage.jsonl", "this is\nno recording\n");
    environment.write("half.jsonl", &first[..200]);
    environment.write("half.jsonl.gz", [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xab]);
    insta::assert_snapshot!(environment.run(&format!("{LEARN} nothere.jsonl")), @"
    exit 3
    ----- stderr -----
    error: cannot open the recording nothere.jsonl: No such file or directory (os error 2)
    hint: check the name after --input-file
    ");
    insta::assert_snapshot!(environment.run(&format!("{LEARN} .")), @"
    exit 3
    ----- stderr -----
    error: cannot open the recording .: is a directory
    hint: check the name after --input-file
    ");
    insta::assert_snapshot!(environment.run(&format!("{LEARN} empty.jsonl")), @"
    exit 3
    ----- stderr -----
    error: empty.jsonl holds no flows: it is empty
    hint: give what hubble observe -o json, Goldmane or ztunnel (in JSON) writes, one record a line
    ");
    insta::assert_snapshot!(environment.run(&format!("{LEARN} binary.jsonl")), @"
    exit 3
    ----- stderr -----
    error: binary.jsonl holds no flows: it begins like binary data
    hint: give what hubble observe -o json, Goldmane or ztunnel (in JSON) writes, one record a line
    ");
    insta::assert_snapshot!(environment.run(&format!("{LEARN} garbage.jsonl")), @"
    exit 3
    ----- stderr -----
    error: garbage.jsonl holds no flows: it begins like plain text: this is
    hint: give what hubble observe -o json, Goldmane or ztunnel (in JSON) writes, one record a line
    ");
    insta::assert_snapshot!(environment.run(&format!("{LEARN} half.jsonl")), @"
    exit 3
    ----- stderr -----
    error: half.jsonl holds no flows: it begins like a JSON object: line 1: the JSON text is cut off after 200 bytes (`jq -c .` writes whole texts, one a line)
    hint: give what hubble observe -o json, Goldmane or ztunnel (in JSON) writes, one record a line
    ");
    insta::assert_snapshot!(environment.run(&format!("{LEARN} half.jsonl.gz")), @"
    exit 3
    ----- stderr -----
    error: cannot read the recording half.jsonl.gz after line 0: incomplete deflate stream
    hint: the file is cut off or damaged; record again, or give the part before that line
    ");
    insta::assert_snapshot!(environment.run(&format!("{LEARN} state.yaml")), @"
    exit 3
    ----- stderr -----
    error: state.yaml holds no flows: it begins like a Kubernetes object (kind: List)
    hint: give the cluster's objects with --cluster-state, and recorded flows with --input-file
    ");
    insta::assert_snapshot!(environment.run(&format!("{LEARN} flows.jsonl --provider calico")), @"
    exit 3
    ----- stderr -----
    error: flows.jsonl holds no flows of Goldmane: it begins like a record of Hubble
    hint: leave --provider out, or name the source that wrote the recording
    ");
    assert_eq!(environment.files("policies"), before);
}

#[test]
fn a_bad_line_is_counted_or_with_strict_an_error() {
    let environment = Environment::learned();
    let before = environment.files("policies");
    let demo = recording::demo();
    let lines: Vec<&str> = demo.lines().take(3).collect();
    let bad = format!("{}\n{{\"flow\": 7}}\n{}\nnot JSON\n", lines[0], lines[1]);
    environment.write("bad.jsonl", bad);
    insta::assert_snapshot!(environment.run(&format!("{LEARN} bad.jsonl --strict")), @"
    exit 3
    ----- stderr -----
    error: bad.jsonl:2: invalid type: integer `7`, expected an object at column 10
    hint: mend that line, or leave --strict out to count bad lines and go on
    ");
    assert_eq!(environment.files("policies"), before);
    insta::assert_snapshot!(environment.run("learn --input-file bad.jsonl -n shop deployment/api -o name"), @"
    exit 0
    ----- stdout -----
    workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-api-ingress
    ----- stderr -----
    warning: bad.jsonl:2: invalid type: integer `7`, expected an object at column 10 (2 such lines; this is the first)
    4 received: 1 learned, 0 uncovered, 1 skipped, 0 violations, 2 errors; 0 lost by the source
    skipped: 1 Reply
    1 proposal, 0 uncovered items
    ");
}

#[test]
fn a_line_of_any_length_costs_no_other() {
    let environment = Environment::new();
    let first = recording::demo().lines().next().unwrap().to_owned();
    let huge = format!("{{\"flow\":{{\"Summary\":\"{}\"}}}}", "x".repeat(17 << 20));
    environment.write("huge.jsonl", format!("{first}\n{huge}\n{first}\n"));
    insta::assert_snapshot!(environment.run("learn --input-file huge.jsonl -o json"), @r#"
    exit 0
    ----- stdout -----
    {
      "errors": 1,
      "learned": 2,
      "lost": 0,
      "received": 3,
      "skipped": {},
      "uncovered": 0,
      "violations": 0
    }
    ----- stderr -----
    warning: huge.jsonl:2: longer than 16777216 bytes
    3 received: 2 learned, 0 uncovered, 0 skipped, 0 violations, 1 error; 0 lost by the source
    1 proposal, 0 uncovered items
    seen, but without a proposal of its own: 1 UnknownOwner
    hint: the recording names pods but not all of their workloads or labels; give the cluster's objects:
          kubectl get ns,nodes,pods,rs,deploy,sts,ds,jobs,cronjobs,svc,endpointslices,netpol -A -o yaml > state.yaml
          and add --cluster-state state.yaml
    "#);
}

#[test]
fn cluster_state_that_is_broken_in_part_is_used_in_part() {
    let environment = Environment::new();
    let state = environment.read("state.yaml");
    environment.write("state/a.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: [}\n");
    environment.write("state/b.yaml", &state);
    environment.write("state/notes.txt", "no objects");
    let run = environment.run("learn --input-file flows.jsonl --cluster-state state -o name");
    insta::assert_snapshot!(run, @"
    exit 0
    ----- stdout -----
    monitoring/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/statefulset-prometheus-egress
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-api-egress
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-api-ingress
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-egress
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/deployment-web-ingress
    shop/workloadnetworkpolicyproposal.networkenforcer.kubewarden.io/statefulset-db-ingress
    ----- stderr -----
    warning: state/a.yaml: mismatched bracket '[' closed by '}' at line 3, column 18
    389 received: 236 learned, 15 uncovered, 138 skipped, 0 violations, 0 errors; 0 lost by the source
    skipped: 130 Reply, 7 NodeLocal, 1 Denied
    6 proposals, 4 uncovered items
    seen, but without a proposal of its own: 1 UnknownOwner
    hint: --subjects all writes proposals for these kinds too: CronJob
    ");
    insta::assert_snapshot!(environment.run("learn --input-file flows.jsonl --cluster-state nothere"), @"
    exit 3
    ----- stderr -----
    error: cannot read nothere: No such file or directory (os error 2)
    hint: check the name after --cluster-state
    ");
    environment.write("none.yaml", "hello: world\n");
    insta::assert_snapshot!(environment.run("learn --input-file flows.jsonl --cluster-state none.yaml"), @"
    exit 3
    ----- stderr -----
    error: --cluster-state holds no Kubernetes object: none.yaml, document 1: no Kubernetes object: it has no kind; it was left out
    hint: give what kubectl get ns,nodes,pods,rs,deploy,sts,ds,jobs,cronjobs,svc,endpointslices,netpol -A -o yaml prints
    ");
    let whole = environment.good("learn --input-file flows.jsonl --cluster-state state.yaml");
    let piped =
        environment.pipe("learn --input-file flows.jsonl --cluster-state -", state.as_bytes());
    assert_eq!(piped.stdout, whole);
}

#[test]
fn providers_that_need_different_backends_are_learned_one_by_one() {
    let environment = Environment::learned();
    let before = environment.files("policies");
    let ztunnel = r#"{"level":"info","time":"2026-09-01T08:00:00.000000Z","scope":"access","message":"connection complete","src.addr":"10.0.0.1:40000","src.workload":"a-1","src.namespace":"shop","src.identity":"spiffe://cluster.local/ns/shop/sa/a","dst.addr":"10.0.0.2:15008","dst.hbone_addr":"10.0.0.2:8080","dst.workload":"b-1","dst.namespace":"shop","dst.identity":"spiffe://cluster.local/ns/shop/sa/b","direction":"inbound","bytes_sent":1,"bytes_recv":1,"duration":"1ms"}"#;
    environment.write("ztunnel.jsonl", format!("{ztunnel}\n"));
    insta::assert_snapshot!(environment.run(&format!("{LEARN} flows.jsonl --input-file ztunnel.jsonl")), @"
    exit 2
    ----- stderr -----
    error: ztunnel.jsonl:1: ztunnel's flows become Istio policies and the others NetworkPolicies: they cannot be learned together
    hint: learn them into folders of their own, or choose with --backend kubernetes
    ");
    insta::assert_snapshot!(environment.run(&format!("{LEARN} ztunnel.jsonl")), @"
    exit 1
    ----- stderr -----
    error: these flows become policies for istio, but the folder holds 6 objects for kubernetes, such as proposal monitoring/statefulset-prometheus-egress
    hint: give a folder of their own with --dir
    ");
    assert_eq!(environment.files("policies"), before);
}

#[test]
fn several_files_are_one_recording() {
    let environment = Environment::new();
    let both = environment.read("flows.jsonl") + &environment.read("later.jsonl");
    let learn = "learn --cluster-state state.yaml";
    let files =
        environment.good(&format!("{learn} --input-file flows.jsonl --input-file later.jsonl"));
    let turned =
        environment.good(&format!("{learn} --input-file later.jsonl --input-file flows.jsonl"));
    let piped = environment.pipe(&format!("{learn} --input-file -"), both.as_bytes());
    assert_eq!(files, piped.stdout);
    assert_eq!(files, turned, "in any order");
}

#[test]
fn a_second_writer_is_told_who_writes() {
    let environment = Environment::learned();
    let before = environment.files("policies/shop");
    let writer = Writer {
        command: "kubectl netenf learn",
        wait: Duration::ZERO,
        missing: MissingFolder::Refuse,
    };
    let held = DirStore::lock(environment.path("policies"), writer).unwrap();
    let mut run = environment.run("promote --all --dir policies");
    run.stderr = run.stderr.replace(&std::process::id().to_string(), "PID");
    insta::assert_snapshot!(run, @"
    exit 3
    ----- stderr -----
    error: policies/.netenf/lock is locked by process PID (kubectl netenf learn)
    hint: wait for that command to end, and run this one again
    ");
    assert_eq!(environment.run(&format!("{LEARN} later.jsonl")).code, 3);
    assert_eq!(environment.run("get --dir policies").code, 0, "readers do not wait");
    assert_eq!(environment.run("promote --all --dry-run --dir policies").code, 0);
    assert_eq!(environment.files("policies/shop"), before);
    drop(held);
    environment.good("promote --all --dir policies");
}

#[test]
fn beside_a_broken_file_is_read_and_nothing_is_written() {
    let environment = Environment::learned();
    let broken = "apiVersion: networkenforcer.kubewarden.io/v1alpha1\nkind: WorkloadNetworkPolicy\nmetadata: {name: x\n";
    environment.write("policies/shop/x.yaml", broken);
    let before = environment.files("policies");
    insta::assert_snapshot!(environment.run("get -n monitoring --dir policies"), @"
    exit 3
    ----- stdout -----
    NAME                            STATE    RULES   UNCOVERED   NEW   LAST-SEEN   AGE
    statefulset-prometheus-egress   stable   3       0           0     3h          28h
    ----- stderr -----
    error: policies/shop/x.yaml:3: unclosed bracket '{' at line 3, column 11; correct the file, or restore it from Git
    ");
    insta::assert_snapshot!(environment.run("promote --all -n monitoring --dir policies"), @"
    exit 3
    ----- stderr -----
    error: policies/shop/x.yaml:3: unclosed bracket '{' at line 3, column 11; correct the file, or restore it from Git
    error: nothing was changed: 1 file in the folder cannot be read
    hint: mend or remove what is named above, and run the command again
    ");
    let dry = ["promote --all --dry-run", "demote --all --dry-run", "allow u --dry-run"];
    let changes = ["promote --all", "allow u", "rollback deployment-web-egress", "export"];
    for verb in changes.iter().chain(&dry) {
        let run = environment.run(&format!("{verb} --dir policies"));
        assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{verb}: {run}");
    }
    environment.good("learn --input-file flows.jsonl --cluster-state state.yaml --dir sound");
    for verb in ["get", "get -o json", "diff", "diff --against-traffic", "diff -f sound", "status"]
    {
        let run = environment.run(&format!("{verb} --dir policies"));
        let sound = environment.run(&format!("{verb} --dir sound"));
        assert_eq!((run.code, &run.stdout), (3, &sound.stdout), "{verb}: {run}");
    }
    let run = environment.run("diff -f policies --dir sound");
    assert_eq!(run.code, 3, "{run}");
    assert_eq!(environment.run(&format!("{LEARN} later.jsonl")).code, 3);
    assert_eq!(environment.files("policies"), before);
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    use std::os::unix::fs::PermissionsExt as _;
    let environment = Environment::learned();
    let before = environment.files("policies");
    let open = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(environment.path(".").parent().unwrap(), 0o755);
    open(&environment.path("policies/.netenf/lock"), 0o444);
    open(&environment.path("policies/shop"), 0o555);
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| {
        use std::os::unix::fs::MetadataExt as _;
        own.uid() == 0
    });
    let run = |args: &[&str]| {
        let mut command = environment.command(args);
        if is_root {
            // Nobody may write to a folder of root.
            command.uid(65_534);
        }
        environment.finish(&mut command, b"")
    };
    insta::assert_snapshot!(run(&["promote", "--all", "--dir", "policies"]), @"
    exit 3
    ----- stderr -----
    error: cannot lock policies/.netenf/lock: Permission denied (os error 13)
    hint: make the folder and its files readable and writable for you, or work on a copy
    ");
    assert_eq!(run(&["get", "--dir", "policies"]).code, 0);
    assert_eq!(run(&["promote", "--all", "--dry-run", "--dir", "policies"]).code, 0);
    assert_eq!(environment.files("policies"), before);
    open(&environment.path("policies/shop"), 0o755);
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let environment = Environment::new();
    let flows = recording::demo().repeat(20);
    environment.write("many.jsonl", flows);
    let mut command = environment.command(&["flows", "--input-file", "many.jsonl"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 16];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!((child.wait().unwrap().code(), told.as_str()), (Some(0), ""));
}

#[test]
fn colour_is_for_terminals_unless_it_is_asked_for() {
    let environment = Environment::learned();
    let diff = ["diff", "--dir", "policies"];
    let with = |args: &[&str], name: &str, value: &str| {
        let mut command = environment.command(args);
        environment.finish(command.env(name, value), b"").stdout
    };
    let plain = environment.run_args(&diff).stdout;
    assert!(!plain.contains('\u{1b}'));
    for (when, name, value) in [
        ("auto", "NO_COLOR", "1"),
        ("never", "TERM", "xterm"),
        ("auto", "TERM", "dumb"),
        ("auto", "TERM", "xterm"),
    ] {
        let args = [&diff[..], &["--color", when]].concat();
        assert_eq!(with(&args, name, value), plain, "{when} {name}={value}");
    }
    let always = with(&[&diff[..], &["--color=always"]].concat(), "TERM", "xterm");
    assert!(always.contains("\u{1b}[32m+ allow"), "{always}");
    let mut stripped = String::new();
    let mut rest = always.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        stripped.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    assert_eq!(stripped + rest, plain, "colour adds nothing that is not there without");
}

#[test]
fn flags_of_every_command_stand_anywhere() {
    let environment = Environment::learned();
    let expected = environment.good("get -n shop --dir policies");
    assert_eq!(environment.good("--dir policies -n shop get"), expected);
    assert_eq!(environment.good("-n shop get --dir=policies"), expected);
    assert_eq!(environment.good("get --namespace=shop --dir=policies"), expected);
}

#[test]
fn the_version_is_told_by_a_flag_too() {
    let environment = Environment::new();
    let version = environment.good("version");
    assert_eq!(environment.good("--version"), version);
    assert_eq!(environment.good("-V"), version);
}

/// A slip of the hand in a namespace is no all clear.
#[test]
fn a_namespace_that_nothing_is_in_is_told() {
    let environment = Environment::learned();
    environment.good("promote statefulset/db -n shop --dir policies");
    for command in ["diff", "get", "violations", "diff --against-traffic", "promote --all"] {
        let run = environment.run(&format!("{command} -n shopp --dir policies"));
        let note = "note: the folder has nothing in namespace shopp; did you mean shop?";
        assert!(run.stderr.contains(note), "{command}: {run}");
        let run = environment.run(&format!("{command} -n shop --dir policies"));
        assert!(!run.stderr.contains("note: the folder has nothing"), "{command}: {run}");
    }
}
