use crate::environment::{Environment, repository};
use crate::recording;

const LATER: &str = "flows --input-file later.jsonl";

#[test]
fn one_line_a_flow_without_answers_unless_raw() {
    let environment = Environment::new();
    insta::assert_snapshot!(environment.run(LATER), @"
    exit 0
    ----- stdout -----
    12:00:00  shop/web-7d9f8b6c5-abcde -> shop/cache-5b8c9d7f6-q2w3e 6379/TCP  ALLOWED  svc/cache
    12:00:00  shop/web-7d9f8b6c5-abcde -> shop/cache-5b8c9d7f6-q2w3e 6379/TCP  ALLOWED  svc/cache
    12:00:10  shop/web-7d9f8b6c5-abcde -> shop/api-6f5d9c7d8-4tsvd 8080/TCP  ALLOWED  svc/api
    12:00:10  shop/web-7d9f8b6c5-abcde -> shop/api-6f5d9c7d8-4tsvd 8080/TCP  ALLOWED  svc/api
    12:01:00  shop/web-7d9f8b6c5-abcde -> shop/cache-5b8c9d7f6-q2w3e 6379/TCP  ALLOWED  svc/cache
    12:01:00  shop/web-7d9f8b6c5-abcde -> shop/cache-5b8c9d7f6-q2w3e 6379/TCP  ALLOWED  svc/cache
    12:01:10  shop/web-7d9f8b6c5-abcde -> shop/api-6f5d9c7d8-4tsvd 8080/TCP  ALLOWED  svc/api
    12:01:10  shop/web-7d9f8b6c5-abcde -> shop/api-6f5d9c7d8-4tsvd 8080/TCP  ALLOWED  svc/api
    12:02:00  shop/web-7d9f8b6c5-abcde -> shop/cache-5b8c9d7f6-q2w3e 6379/TCP  ALLOWED  svc/cache
    12:02:00  shop/web-7d9f8b6c5-abcde -> shop/cache-5b8c9d7f6-q2w3e 6379/TCP  ALLOWED  svc/cache
    12:02:10  shop/web-7d9f8b6c5-abcde -> shop/api-6f5d9c7d8-4tsvd 8080/TCP  ALLOWED  svc/api
    12:02:10  shop/web-7d9f8b6c5-abcde -> shop/api-6f5d9c7d8-4tsvd 8080/TCP  ALLOWED  svc/api
    ");
    insta::assert_snapshot!(environment.run(&format!("{LATER} --raw --last 3 -o wide")), @"
    exit 0
    ----- stdout -----
    2026-09-02T12:02:10.151363Z  shop/api-6f5d9c7d8-4tsvd -> shop/web-7d9f8b6c5-abcde 41569/TCP  ALLOWED  egress  default/n1  -
    2026-09-02T12:02:10.250268Z  shop/web-7d9f8b6c5-abcde -> shop/api-6f5d9c7d8-4tsvd 8080/TCP  ALLOWED  svc/api  egress  default/n1  -
    2026-09-02T12:02:10.303487Z  shop/web-7d9f8b6c5-abcde -> shop/api-6f5d9c7d8-4tsvd 8080/TCP  ALLOWED  svc/api  ingress  default/n2  -
    ");
}

#[test]
fn the_first_and_the_last() {
    let environment = Environment::new();
    let all = environment.good(LATER);
    let lines: Vec<&str> = all.lines().collect();
    let first = environment.good(&format!("{LATER} --first 2"));
    assert_eq!(first.lines().collect::<Vec<_>>(), lines[..2]);
    let last = environment.good(&format!("{LATER} --last 2"));
    assert_eq!(last.lines().collect::<Vec<_>>(), lines[lines.len() - 2..]);
    assert_eq!(environment.good(&format!("{LATER} --first 0")), "");
    assert_eq!(environment.good(&format!("{LATER} --last 0")), "");
    assert_eq!(environment.run(&format!("{LATER} --first 1 --last 1")).code, 2);
}

#[test]
fn each_filter_narrows_and_not_turns_it_around() {
    let environment = Environment::new();
    let total = environment.good("flows --input-file flows.jsonl").lines().count();
    let count = |filters: &str| {
        let run = environment.run(&format!("flows --input-file flows.jsonl {filters}"));
        assert_eq!(run.code, 0, "{filters}: {run}");
        run.stdout.lines().count()
    };
    for filter in [
        "--from shop/deployment/web",
        "--from pod/web-7d9f8b6c5-abcde",
        "--to shop/deployment/api",
        "--to 10.244.2.15",
        "--to 203.0.113.0/24",
        "--to api.example.com",
        "--to world",
        "--peer shop/sts/db",
        "--peer namespace/monitoring",
        "--peer node/n1",
        "--peer host",
        "--port 5432",
        "--protocol udp",
        "--verdict denied",
        "--direction ingress",
    ] {
        let (with, without) = (count(filter), count(&format!("--not {filter}")));
        assert_eq!(with + without, total, "{filter}");
        let may_be_empty = filter == "--peer node/n1";
        assert!(with > 0 || may_be_empty, "{filter} matches nothing");
        assert!(without > 0, "{filter} matches everything");
    }
    assert_eq!(count("--verdict would-deny"), 0);
    let ports = count("--port 5432") + count("--port 8080");
    assert_eq!(count("--port 5432 --port 8080"), ports, "values of a flag are alternatives");
    assert_eq!(count("--port 5432 --protocol udp"), 0, "flags must all hold");
    let (since, until) =
        (count("--since 2026-09-02T00:00:00Z"), count("--until 2026-09-02T00:00:00Z"));
    assert_eq!(since + until, total);
    assert_eq!(count("--since 12h30m"), since, "ages count from now");
}

#[test]
fn a_flow_belongs_to_the_namespace_of_either_end() {
    let environment = Environment::new();
    insta::assert_snapshot!(environment.run("flows -n monitoring --input-file flows.jsonl --first 2"), @"
    exit 0
    ----- stdout -----
    08:00:04  monitoring/prometheus-0 -> shop/api-6f5d9c7d8-4tsvd 9102/TCP  ALLOWED
    08:00:04  monitoring/prometheus-0 -> shop/api-6f5d9c7d8-4tsvd 9102/TCP  ALLOWED
    ");
    let all = environment.good("flows --input-file flows.jsonl");
    assert_eq!(environment.good("flows -n monitoring -A --input-file flows.jsonl"), all);
}

#[test]
fn filters_are_printed_as_they_are_understood() {
    let environment = Environment::new();
    insta::assert_snapshot!(environment.run("flows deploy/web -n shop --from pod/web-1 --to 10.0.0.0/8 --not --peer host --port 80 --port 443 --protocol tcp --verdict denied --not --verdict would-deny --direction ingress --since 5m --until 2026-09-02T12:00:00Z --print-filters"), @"
    exit 0
    ----- stdout -----
    either end is namespace/shop
    either end is shop/deployment/web
    sender is shop/pod/web-1
    receiver is 10.0.0.0/8
    port is 80 or 443
    protocol is TCP
    verdict is denied
    direction is ingress
    not either end is host
    not verdict is would-deny
    time is not before 2026-09-02T12:25:00Z
    time is not after 2026-09-02T12:00:00Z
    ");
    insta::assert_snapshot!(environment.run("flows --print-filters"), @"
    exit 0
    ----- stdout -----
    every flow
    ");
}

#[test]
fn what_no_filter_can_mean_is_an_error_of_usage() {
    let environment = Environment::new();
    insta::assert_snapshot!(environment.run(&format!("{LATER} web")), @r#"
    exit 2
    ----- stderr -----
    error: "web" names no end of a flow
    hint: write KIND/NAME, pod/NAME, node/NAME, namespace/NAME, an address, a CIDR, a domain name, world, host or apiserver
    "#);
    insta::assert_snapshot!(environment.run(&format!("{LATER} --not deployment/web")), @"
    exit 2
    ----- stderr -----
    error: --not turns around the filter that follows, and none does
    hint: write for example --not --peer host; for a workload --not --peer deployment/web
    ");
    insta::assert_snapshot!(environment.run(&format!("{LATER} --since yesterday")), @r#"
    exit 2
    ----- stderr -----
    error: "yesterday" is no time
    hint: write a time such as 2026-09-01T10:00:00Z, or an age such as 5m, 2h or 3d
    "#);
    insta::assert_snapshot!(environment.run(&format!("{LATER} --port 70000")), @"
    exit 2
    ----- stderr -----
    error: invalid value '70000' for '--port <PORT>': write a number from 0 to 65535; flows do not name ports

    For more information, try '--help'.
    ");
    for (filter, message) in [
        ("--port http", "write a number from 0 to 65535; flows do not name ports"),
        ("--protocol bogus", "write tcp, udp, sctp, icmp, vrrp, igmp, esp, ah, gre or a number"),
        (
            "--not --protocol bogus",
            "write tcp, udp, sctp, icmp, vrrp, igmp, esp, ah, gre or a number",
        ),
        ("--to 10.244.1.300", "\"10.244.1.300\" is no address"),
        ("--from 10.244.1.0/33", "\"10.244.1.0/33\" is no range of addresses"),
    ] {
        let run = environment.run(&format!("{LATER} {filter}"));
        assert!(run.code == 2 && run.stderr.contains(message), "{filter}: {run}");
    }
    insta::assert_snapshot!(environment.run("flows"), @"
    exit 2
    ----- stderr -----
    error: flows needs a recording
    hint: give --input-file FILE, or --input-file - to read standard input
    ");
}

#[test]
fn where_nothing_matches_it_says_so() {
    let environment = Environment::new();
    insta::assert_snapshot!(environment.run(&format!("{LATER} -n nowhere")), @"
    exit 0
    ----- stderr -----
    no flow matches; --print-filters shows how the filters are understood, --raw shows all packets
    ");
    insta::assert_snapshot!(environment.run(&format!("{LATER} -n nowhere --group")), @"
    exit 0
    ----- stderr -----
    no flow matches; --print-filters shows how the filters are understood
    ");
}

/// What is learned from a recording: the proposals, what became of every observation, and the remarks.
fn learned(environment: &Environment, options: &str) -> (String, String, String) {
    let yaml = environment.run(&format!("learn {options}"));
    let funnel = environment.run(&format!("learn {options} -o json"));
    (yaml.stdout, funnel.stdout, yaml.stderr)
}

#[test]
fn json_can_be_learned_from_again() {
    let environment = Environment::new();
    let raw = environment.good("flows --input-file flows.jsonl -o json");
    environment.write("raw.jsonl", &raw);
    let options = "--cluster-state state.yaml";
    assert_eq!(
        learned(&environment, &format!("--input-file raw.jsonl {options}")),
        learned(&environment, &format!("--input-file flows.jsonl {options}"))
    );
    assert_eq!(raw, recording::demo(), "the source's own JSON, line by line");
    assert_eq!(raw, environment.good("flows --input-file flows.jsonl -o json --raw"));
}

/// The same for every recording of the field reports: all three sources, losses and states of nodes.
#[test]
fn every_recording_can_be_learned_from_again() {
    let environment = Environment::new();
    let mut sources = std::collections::BTreeSet::new();
    let cases = repository().join("crates/k8s/tests/cases");
    for case in std::fs::read_dir(cases).unwrap() {
        let case = case.unwrap().path();
        for source in ["flows.jsonl", "goldmane.jsonl", "ztunnel.jsonl"] {
            let Ok(recording) = std::fs::read_to_string(case.join(source)) else { continue };
            let state = std::fs::read_to_string(case.join("state.yaml")).ok();
            environment.write("recording.jsonl", &recording);
            environment.write("state.yaml", state.as_deref().unwrap_or_default());
            let options = if state.is_some() { "--cluster-state state.yaml" } else { "" };
            let raw = environment.run("flows --input-file recording.jsonl -o json");
            environment.write("raw.jsonl", &raw.stdout);
            assert_eq!(
                learned(&environment, &format!("--input-file raw.jsonl {options}")),
                learned(&environment, &format!("--input-file recording.jsonl {options}")),
                "{}",
                case.display()
            );
            sources.insert(source);
        }
    }
    assert_eq!(sources.len(), 3, "{sources:?}");
}

#[test]
fn filters_of_json_are_about_connections() {
    let environment = Environment::new();
    let whole = environment.good("learn --input-file flows.jsonl --cluster-state state.yaml");
    let egress = |text: &str| {
        let mut objects = text.split("---\n");
        let own = objects.find(|object| object.contains("name: deployment-web-egress\n")).unwrap();
        // How long nothing new came depends on the last flow of all.
        let lines = own.lines().filter(|line| !line.contains("lastTransitionTime"));
        lines.collect::<Vec<_>>().join("\n")
    };
    for filter in ["--from deployment/web", "deployment/web", "--not --to deployment/web"] {
        let part = environment.good(&format!("flows {filter} --input-file flows.jsonl -o json"));
        environment.write("part.jsonl", &part);
        let part = environment.good("learn --input-file part.jsonl --cluster-state state.yaml");
        assert_eq!(egress(&part), egress(&whole), "{filter}: answers say which attempts worked");
    }
}

#[test]
fn losses_and_states_of_nodes_stand_among_the_flows_and_are_none_of_the_last() {
    let environment = Environment::new();
    let lost = r#"{"lost_events":{"source":"PERF_EVENT_RING_BUFFER","num_events_lost":"7"},"node_name":"n1","time":"2026-09-01T08:00:00Z"}"#;
    let status = r#"{"node_status":{"state_change":"NODE_GONE","node_names":["n9"]},"time":"2026-09-01T08:00:00Z"}"#;
    let flows: Vec<String> = recording::demo().lines().take(4).map(str::to_owned).collect();
    let text = [&flows[0], lost, &flows[1], &flows[2], status, &flows[3], ""].join("\n");
    environment.write("lost.jsonl", &text);
    let shown =
        |options: &str| environment.good(&format!("flows --input-file lost.jsonl {options}"));
    assert_eq!(shown("-o json"), text);
    assert_eq!(shown("-o json --last 2"), [&flows[2], status, &flows[3], ""].join("\n"));
    assert_eq!(shown("-o json --first 2"), [&flows[0], lost, &flows[1], ""].join("\n"));
    assert_eq!(shown("-o json -n nowhere"), [lost, status, ""].join("\n"));
    assert_eq!(shown("-o json --until 2026-08-01T00:00:00Z"), "");
}

/// Ports and protocols, with their verdicts' first words, of what is shown.
fn ports(text: &str, column: impl Fn(&str) -> Option<&str>) -> std::collections::BTreeSet<String> {
    text.lines().filter_map(|line| column(line).map(str::to_owned)).collect()
}

/// What a person sees in the list is found again among the groups, whatever becomes of it.
#[test]
fn groups_hold_everything_that_the_list_shows() {
    let environment = Environment::new();
    let cases = repository().join("crates/k8s/tests/cases");
    let mut recordings: Vec<_> = std::fs::read_dir(cases)
        .unwrap()
        .flat_map(|case| {
            let case = case.unwrap().path();
            ["flows.jsonl", "goldmane.jsonl", "ztunnel.jsonl"].map(|source| case.join(source))
        })
        .filter(|path| path.exists())
        .collect();
    recordings.push(repository().join("docs/demo/flows.jsonl"));
    for recording in recordings {
        environment.write("recording.jsonl", std::fs::read(&recording).unwrap());
        for filter in ["", "--direction egress", "--protocol tcp"] {
            let list = environment.run(&format!("flows {filter} --input-file recording.jsonl"));
            // Service ports are translated, and who resets is told by what it resets.
            let listed = ports(&list.stdout, |line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let is_service = line.contains("world(10.96.");
                let is_client =
                    words[4].split('/').next()?.parse::<u16>().is_ok_and(|port| port >= 32_768);
                let has_port = !matches!(words[4], "ALLOWED" | "DENIED" | "WOULD-DENY" | "FAILED");
                (!is_service && !is_client).then_some(if has_port { words[4] } else { "<none>" })
            });
            let grouped =
                environment.run(&format!("flows --group {filter} --input-file recording.jsonl"));
            let grouped = ports(&grouped.stdout, |line| line.split_whitespace().nth(2));
            let missing: Vec<&String> = listed.difference(&grouped).collect();
            assert!(
                missing.is_empty(),
                "{} {filter}: {missing:?}\n{list}{grouped:?}",
                recording.display()
            );
        }
    }
}

#[test]
fn workloads_are_known_by_their_objects_in_the_list_and_in_groups() {
    let environment = Environment::new();
    let options = "cronjob/report -n shop --input-file flows.jsonl --cluster-state state.yaml";
    let list = environment.good(&format!("flows {options}"));
    assert_eq!(list.lines().count(), 8, "two nodes report each of four connections: {list}");
    insta::assert_snapshot!(environment.run(&format!("flows --group {options}")), @"
    exit 0
    ----- stdout -----
    FROM                  TO                    PORT       COUNT   LAST                   VERDICT
    shop/cronjob/report   shop/statefulset/db   5432/TCP   4       2026-09-02T09:21:05Z   ALLOWED
    ");
}

#[test]
fn groups_count_connections() {
    let environment = Environment::new();
    insta::assert_snapshot!(environment.run("flows --group --input-file flows.jsonl --cluster-state state.yaml -o wide"), @"
    exit 0
    ----- stdout -----
    FROM                                TO                                      PORT       COUNT   LAST                   VERDICT      FIRST                  POLICY
    shop/deployment/api                 external/198.51.100.9                   25/TCP     1       2026-09-01T15:48:00Z   DENIED       2026-09-01T15:48:00Z   <none>
    shop/cronjob/report                 shop/statefulset/db                     5432/TCP   4       2026-09-02T09:21:05Z   ALLOWED      2026-09-01T08:00:05Z   <none>
    shop/deployment/api                 kube-system/deployment/coredns          53/UDP     10      2026-09-02T08:03:02Z   ALLOWED      2026-09-01T08:39:02Z   <none>
    shop/deployment/api                 shop/statefulset/db                     5432/TCP   40      2026-09-02T09:21:01Z   ALLOWED      2026-09-01T08:00:01Z   <none>
    shop/deployment/web                 kube-system/deployment/coredns          53/UDP     10      2026-09-02T07:24:02Z   ALLOWED      2026-09-01T08:00:02Z   <none>
    shop/deployment/web                 shop/deployment/api                     8080/TCP   40      2026-09-02T09:21:00Z   ALLOWED      2026-09-01T08:00:00Z   <none>
    shop/deployment/web                 external/api.example.com(203.0.113.7)   443/TCP    3       2026-09-02T03:30:03Z   ALLOWED      2026-09-01T08:00:03Z   <none>
    shop/deployment/web                 external/api.example.com(203.0.113.8)   443/TCP    2       2026-09-02T00:15:03Z   ALLOWED      2026-09-01T14:30:03Z   <none>
    shop/deployment/web                 external/api.example.com(203.0.113.9)   443/TCP    3       2026-09-02T06:45:03Z   ALLOWED      2026-09-01T11:15:03Z   <none>
    shop/deployment/web                 shop/statefulset/db                     9999/TCP   1       2026-09-01T21:00:04Z   UNANSWERED   2026-09-01T21:00:00Z   <none>
    node/n1                             shop/deployment/web                     8080/TCP   7       2026-09-02T07:24:06Z   NODE-LOCAL   2026-09-01T08:00:06Z   <none>
    node/n2                             shop/deployment/web                     8080/TCP   4       2026-09-02T03:30:07Z   UNANSWERED   2026-09-01T08:00:07Z   <none>
    monitoring/statefulset/prometheus   shop/deployment/api                     9102/TCP   14      2026-09-02T09:21:04Z   ALLOWED      2026-09-01T08:00:04Z   <none>
    ");
    insta::assert_snapshot!(environment.run("flows --group --input-file later.jsonl -o json"), @r#"
    exit 0
    ----- stdout -----
    {"count":3,"deniedBy":null,"destination":{"kind":"Deployment","name":"api","namespace":"shop"},"firstSeen":"2026-09-02T12:00:10Z","lastSeen":"2026-09-02T12:02:10Z","port":8080,"protocol":"TCP","source":{"kind":"Deployment","name":"web","namespace":"shop"},"verdict":"ALLOWED"}
    {"count":3,"deniedBy":null,"destination":{"kind":"Deployment","name":"cache","namespace":"shop"},"firstSeen":"2026-09-02T12:00:00Z","lastSeen":"2026-09-02T12:02:00Z","port":6379,"protocol":"TCP","source":{"kind":"Deployment","name":"web","namespace":"shop"},"verdict":"ALLOWED"}
    "#);
    insta::assert_snapshot!(environment.run(&format!("{LATER} --group --last 1")), @"
    exit 2
    ----- stderr -----
    error: the argument '--group' cannot be used with '--last <N>'

    Usage: kubectl netenf flows --input-file <FILE> --group [WORKLOAD]...

    For more information, try '--help'.
    ");
}

#[test]
fn standard_input_and_several_files_are_recordings_too() {
    let environment = Environment::new();
    let (flows, later) = (recording::demo(), environment.read("later.jsonl"));
    let piped = environment.pipe("flows --input-file -", later.as_bytes());
    assert_eq!(piped.stdout, environment.good(LATER));
    let both = environment.good("flows --input-file flows.jsonl --input-file later.jsonl");
    let joined = environment.pipe("flows --input-file -", (flows + &later).as_bytes());
    assert_eq!(joined.stdout, both);
}

#[test]
fn a_line_that_cannot_be_read_is_told() {
    let environment = Environment::new();
    let first = recording::demo().lines().next().unwrap().to_owned();
    environment.write("bad.jsonl", format!("{first}\n{{\"flow\": 7}}\n"));
    insta::assert_snapshot!(environment.run("flows --input-file bad.jsonl"), @"
    exit 0
    ----- stdout -----
    08:00:00  shop/web-7d9f8b6c5-abcde -> shop/api-6f5d9c7d8-4tsvd 8080/TCP  ALLOWED  svc/api
    ----- stderr -----
    warning: bad.jsonl:2: invalid type: integer `7`, expected an object at column 10
    ");
    insta::assert_snapshot!(environment.run("flows --input-file bad.jsonl --strict"), @"
    exit 3
    ----- stderr -----
    error: bad.jsonl:2: invalid type: integer `7`, expected an object at column 10
    hint: mend that line, or leave --strict out to count bad lines and go on
    ");
    insta::assert_snapshot!(environment.run("flows --input-file bad.jsonl --group"), @"
    exit 0
    ----- stdout -----
    FROM                TO                    PORT       COUNT   LAST                   VERDICT
    shop/pods/app=web   shop/deployment/api   8080/TCP   1       2026-09-01T08:00:00Z   ALLOWED
    ----- stderr -----
    warning: bad.jsonl:2: invalid type: integer `7`, expected an object at column 10
    ");
}
