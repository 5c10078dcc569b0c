use clap::CommandFactory as _;

use super::{Cli, spelled_as_plugin};

fn spelled(words: &str) -> String {
    let args = words.split(' ').map(Into::into);
    let out: Vec<String> =
        spelled_as_plugin(args).into_iter().map(|arg| arg.into_string().unwrap()).collect();
    out.join(" ")
}

#[test]
fn the_command_line_is_well_formed() {
    Cli::command().debug_assert();
}

#[test]
fn not_turns_the_filter_that_follows_around() {
    let at = |words: &str| spelled(&format!("netenf flows {words}"));
    assert_eq!(at("--not --peer host"), "netenf flows --not-peer host");
    assert_eq!(at("--not --peer=host --port 80"), "netenf flows --not-peer=host --port 80");
    assert_eq!(at("--not web"), "netenf flows --not web", "left for the command to refuse");
    assert_eq!(at("--not --dir x"), "netenf flows --not --dir x", "no filter follows");
}

#[test]
fn usage_lines_start_with_kubectl_unless_called_as_netenf() {
    assert_eq!(spelled("/usr/bin/kubectl-netenf get"), "kubectl netenf get");
    assert_eq!(spelled("./netenf get"), "netenf get");
}
