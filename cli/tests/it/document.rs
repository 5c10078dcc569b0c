//! docs/output.md: every shape that it shows is what the command prints.

use serde_json::Value;

use crate::environment::{Environment, repository};

fn document() -> String {
    std::fs::read_to_string(repository().join("docs/output.md")).unwrap()
}

/// The first place at which `shown` has something that `real` has not.
fn missing(shown: &Value, real: &Value, place: &str) -> Option<String> {
    match (shown, real) {
        (Value::Object(shown), Value::Object(real)) => shown.iter().find_map(|(name, value)| {
            let place = format!("{place}.{name}");
            match real.get(name) {
                Some(real) => missing(value, real, &place),
                None => Some(place),
            }
        }),
        (Value::Array(shown), Value::Array(real)) => shown.iter().find_map(|value| {
            let all: Vec<Option<String>> =
                real.iter().map(|real| missing(value, real, &format!("{place}[]"))).collect();
            if all.contains(&None) {
                None
            } else {
                all.into_iter().next().flatten().or(Some(place.to_owned()))
            }
        }),
        (Value::Object(_) | Value::Array(_), _) | (_, Value::Object(_) | Value::Array(_)) => {
            Some(place.to_owned())
        }
        (Value::Null, _) | (_, Value::Null) => None,
        (shown, real) => (std::mem::discriminant(shown) != std::mem::discriminant(real))
            .then(|| place.to_owned()),
    }
}

#[test]
fn every_shape_is_what_the_command_prints() {
    let environment = Environment::learned();
    environment.good("promote deployment/web -n shop --direction egress --dir policies");
    environment.good("learn --input-file later.jsonl --cluster-state state.yaml --dir policies");
    let text = document();
    let mut shapes = 0;
    for section in text.split("\n## ").skip(1) {
        let Some((before, after)) = section.split_once("```json\n") else { continue };
        let shown: Value = serde_json::from_str(after.split("```").next().unwrap()).unwrap();
        let command = before.rsplit("`kubectl netenf ").next().unwrap().split('`').next().unwrap();
        let run = environment.run(command);
        assert!(run.code <= 1, "{command}\n{run}");
        let stream = serde_json::Deserializer::from_str(&run.stdout).into_iter::<Value>();
        let real: Vec<Value> = stream.collect::<Result<_, _>>().unwrap();
        let fits = real.iter().any(|real| missing(&shown, real, "").is_none());
        assert!(fits, "{command} prints no {:?}\n{run}", missing(&shown, &real[0], ""));
        shapes += 1;
    }
    assert!(shapes >= 10, "only {shapes} shapes are shown");
}

#[test]
fn every_command_with_json_is_there() {
    let text = document();
    let environment = Environment::new();
    for command in crate::help::commands() {
        let help = environment.good(&format!("{command} -h"));
        let output = help.lines().find(|line| line.contains("--output <"));
        if output.is_some() {
            assert!(text.contains(&format!("`kubectl netenf {command}")), "{command}");
        }
    }
}

#[test]
fn every_variable_that_is_read_is_there() {
    let text = document();
    for name in ["NETENF_DIR", "NETENF_AUTHOR", "USER", "LOGNAME", "NO_COLOR", "TERM"] {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
}

/// What stands between backquotes or in the first cell of a table's row.
fn explained(text: &str) -> Vec<&str> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    rows.flat_map(|cell| cell.split(", ")).collect()
}

#[test]
fn every_reason_is_explained() {
    let text = std::fs::read_to_string(repository().join("docs/learning.md")).unwrap();
    let explained = explained(&text);
    let source =
        std::fs::read_to_string(repository().join("crates/learn/src/classify.rs")).unwrap();
    let names = source.split("const fn name").nth(1).unwrap().split("\n    }\n").next().unwrap();
    let skipped: Vec<&str> =
        names.lines().filter_map(|line| line.split("=> \"").nth(1)?.split('"').next()).collect();
    assert!(skipped.len() > 20, "{skipped:?}");
    let uncovered: Vec<String> =
        netenf_api::UncoveredReason::ALL.iter().map(ToString::to_string).collect();
    // The cluster's DNS and its monitoring are declared and never learned.
    let learned =
        uncovered.iter().map(String::as_str).filter(|name| !["Dns", "Monitoring"].contains(name));
    for reason in skipped.into_iter().chain(learned) {
        assert!(explained.contains(&reason), "{reason} is not explained in docs/learning.md");
    }
}

#[test]
fn one_command_gets_the_objects_everywhere() {
    let source = std::fs::read_to_string(repository().join("cli/src/wiring.rs")).unwrap();
    let command =
        source.split("GET_STATE: &str =\n    \"").nth(1).unwrap().split('"').next().unwrap();
    for place in ["README.md", "docs/demo/state.yaml"] {
        let text = std::fs::read_to_string(repository().join(place)).unwrap();
        let shown: Vec<&str> =
            text.lines().filter_map(|line| Some(&line[line.find("kubectl get ")?..])).collect();
        assert!(!shown.is_empty(), "{place}");
        for line in shown {
            assert!(line.starts_with(command), "{place}: {line}");
        }
    }
}
