//! The guides that need nothing but kubectl are true: every command is run, and prints what the page says.
//!
//! `$ ` begins a command, what follows is its output: white space counts once, `…` stands for anything, ages for any
//! age. Comments `<!-- flow: shop/web > shop/db:5432 -->` are what happens in the cluster at that point.

use std::path::Path;
use std::process::Command;

use netenf_testkit::control_plane::Client;
use netenf_testkit::deadline::within;
use netenf_testkit::peer::peer;

use crate::person::SOON;
use crate::place::Scene;

/// What a page has happen.
#[derive(Debug, PartialEq)]
enum Step<'a> {
    Flow(&'a str),
    Command { words: String, output: Vec<&'a str> },
}

#[test]
fn without_the_plugin() {
    let Scene { plane, feed, agent, .. } = Scene::new();
    plane.admin().kubectl(&["create", "namespace", "shop"]).unwrap();
    for name in ["web", "db", "cache", "queue"] {
        let create = ["create", "deployment", name, "--image=example.com/shop:1", "-n=shop"];
        plane.admin().kubectl(&create).unwrap();
    }
    let page = include_str!("../../docs/guides/without-the-plugin.md");
    let steps = steps(page);
    assert!(steps.len() > 20, "{steps:?}");
    for step in steps {
        match step {
            Step::Flow(flow) => {
                feed.connects(flow);
                feed.wait(&agent);
            }
            Step::Command { words, output } => run(plane.admin(), &words, &output),
        }
    }
}

fn steps(page: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    let mut is_code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = line == "```console";
        } else if let Some(flow) = line.strip_prefix("<!-- flow: ") {
            steps.push(Step::Flow(flow.strip_suffix(" -->").unwrap()));
        } else if is_code {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(words), _) => {
                    steps.push(Step::Command { words: words.to_owned(), output: Vec::new() });
                }
                (None, Some(Step::Command { words, .. })) if words.ends_with('\\') => {
                    words.pop();
                    words.push_str(line.trim_start());
                }
                (None, Some(Step::Command { output, .. })) => output.push(line),
                (None, _) => panic!("output of no command: {line}"),
            }
        }
    }
    steps
}

/// What only looks is done again until it shows what the page says: the agent takes its time.
#[track_caller]
fn run(client: &Client, words: &str, expected: &[&str]) {
    let only_looks = words.starts_with("kubectl get ") || words.starts_with("kubectl describe ");
    let mut last = String::new();
    let mut is_right = || {
        last = shell(client, words);
        fits(&last, expected)
    };
    let result = if only_looks {
        within(SOON, words, || Ok(is_right().then_some(()))).is_ok()
    } else {
        is_right()
    };
    assert!(result, "$ {words}\n{last}\nbut the page says\n{}", expected.join("\n"));
}

/// Standard output and error.
fn shell(client: &Client, words: &str) -> String {
    let kubectl = peer("kubectl");
    let folder = kubectl.parent().unwrap_or(Path::new("/")).display();
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {words}\n}} 2>&1")])
        .env_clear()
        .env("PATH", format!("{folder}:/usr/bin:/bin"))
        .env("KUBECONFIG", client.kubeconfig())
        .env("KUBECACHEDIR", client.kubeconfig().with_extension("cache"))
        .output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

fn fits(found: &str, expected: &[&str]) -> bool {
    let found: Vec<&str> = found.lines().filter(|line| !line.trim().is_empty()).collect();
    let expected: Vec<&&str> = expected.iter().filter(|line| !line.trim().is_empty()).collect();
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| {
            let (found, expected) = (found.split_whitespace(), expected.split_whitespace());
            let (found, expected): (Vec<&str>, Vec<&str>) = (found.collect(), expected.collect());
            found.len() == expected.len()
                && found.iter().zip(expected).all(|(found, expected)| word_fits(found, expected))
        })
}

fn word_fits(found: &str, expected: &str) -> bool {
    if is_age(found) && is_age(expected) {
        return true;
    }
    match expected.split_once('…') {
        None => found == expected,
        Some((start, end)) => {
            let rest = found.strip_prefix(start);
            rest.is_some_and(|rest| rest.ends_with(end))
        }
    }
}

/// `5s`, `3m12s`, `2d`.
fn is_age(word: &str) -> bool {
    word.starts_with(|one: char| one.is_ascii_digit())
        && word.ends_with(['s', 'm', 'h', 'd'])
        && word.chars().all(|one| one.is_ascii_digit() || "smhd".contains(one))
}

#[test]
fn a_wrong_page_is_noticed() {
    let page = "text\n```console\n$ kubectl get \\\n  pods\nNAME AGE\na 5s\nx-…-z 1\n```\n<!-- flow: a > b:1 -->\n";
    let found = steps(page);
    let Step::Command { words, output } = &found[0] else { panic!("{found:?}") };
    assert_eq!((words.as_str(), &found[1]), ("kubectl get pods", &Step::Flow("a > b:1")));
    assert!(fits("NAME   AGE\na   12m3s\nx-y-z 1\n", output));
    for wrong in [
        "NAME AGE\na 5s\n",
        "NAME AGE\nb 5s\nx-y-z 1\n",
        "NAME AGE\na 5\nx-y-z 1\n",
        "NAME AGE\na 5s\nx-y 1\n",
    ] {
        assert!(!fits(wrong, output), "{wrong}");
    }
}
