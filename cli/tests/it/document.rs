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
