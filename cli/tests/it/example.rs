//! The examples in the help are run as they stand.

use std::io::Write as _;

use crate::environment::{Environment, Run};
use crate::{help, recording};

/// A policy of the shop's database.
const POLICY: &str = "
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: db, namespace: shop}
spec:
  podSelector: {matchLabels: {app: db}}
  policyTypes: [Egress]
  egress: [{to: [{ipBlock: {cidr: 1.1.1.0/24}}], ports: [{port: 443}]}]
";

/// What the examples of a command take for granted.
fn environment(command: &str) -> Environment {
    let environment = Environment::new();
    environment.write("flows.jsonl", recording::with_many_ports());
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(recording::demo().as_bytes()).unwrap();
    environment.write("flows.jsonl.gz", packed.finish().unwrap());
    environment.write("policy.yaml", POLICY);
    let learn = "learn --cluster-state state.yaml --input-file";
    environment.good(&format!("{learn} flows.jsonl --dir policies"));
    environment.good(&format!("{learn} flows.jsonl.gz --dir ../main/policies"));
    match command {
        "demote" => drop(environment.good("promote --all -n shop --dir policies")),
        "ack" => {
            environment.good("promote --all -n shop --dir policies");
            environment.good(&format!("{learn} later.jsonl --dir policies"));
        }
        "rollback" => {
            let id = environment.uncovered("deployment-web-egress", "External");
            environment.good(&format!("allow {id} --dir policies"));
        }
        _ => {}
    }
    environment
}

fn examples(environment: &Environment, command: &str) -> Vec<String> {
    let help = environment.good(&format!("{command} --help"));
    help.lines()
        .filter_map(|line| line.strip_prefix("  kubectl netenf "))
        .map(str::to_owned)
        .collect()
}

/// Runs an example with the ids that this recording really has.
fn run(environment: &Environment, example: &str) -> Run {
    let external = environment.uncovered("deployment-web-egress", "External");
    let range = recording::suggestion(environment);
    environment.run(&example.replace("u3f9k2a", &external).replace("s81c0qz", &range))
}

#[test]
fn every_command_has_three_examples() {
    let environment = Environment::new();
    for command in help::commands() {
        let examples = examples(&environment, &command);
        assert!(examples.len() >= 3, "{command} has {} examples", examples.len());
        for example in examples {
            assert_eq!(example.split(' ').next(), Some(command.as_str()), "{example}");
        }
        let help = environment.good(&format!("{command} --help"));
        for line in help.split("Examples:\n").nth(1).unwrap().lines() {
            let begins = line.starts_with("  # ") || line.starts_with("  kubectl netenf ");
            assert!(line.is_empty() || begins, "{command}: too long for 100 columns: {line}");
        }
    }
    assert_eq!(examples(&environment, "").len(), 3);
}

#[test]
fn examples_do_what_they_say() {
    for command in help::commands() {
        for example in examples(&Environment::new(), &command) {
            let environment = environment(&command);
            if example.contains("--undo") {
                environment.good("ack --all --yes --reason known --dir policies");
            }
            let run = match command.as_str() {
                "ack" | "demote" | "rollback" => environment.run(&example),
                _ => run(&environment, &example),
            };
            // 1 is an answer: there is a difference, or a preflight refuses.
            let expected = match command.as_str() {
                "diff" => 1,
                "promote" if example.contains("--dry-run") => 1,
                _ => 0,
            };
            assert_eq!(run.code, expected, "{example}\n{run}");
        }
    }
}

#[test]
fn the_examples_of_the_first_page_are_one_after_the_other() {
    let environment = Environment::new();
    for example in examples(&environment, "") {
        environment.good(&example);
    }
}
