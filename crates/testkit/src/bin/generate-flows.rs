//! `generate-flows`: writes a synthetic recording of flows to standard output.

use std::fmt::Write;
use std::io::{self, ErrorKind};

use anyhow::{Context, anyhow, bail};
use netenf_testkit::generate::{self, Form, Traffic};

const USAGE: &str = "usage: generate-flows [--form hubble|goldmane|ztunnel] [--OPTION NUMBER]...";

fn main() -> anyhow::Result<()> {
    let mut form = Form::Hubble;
    let mut traffic = Traffic::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or_else(|| usage(&traffic))?;
        if option == "--form" {
            form = named(&value)?;
            continue;
        }
        let number: u64 = value.parse().with_context(|| format!("{option} {value}: no number"))?;
        set(&mut traffic, &option, number)?;
    }
    match generate::write(form, &traffic, &mut io::stdout().lock()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write the recording"),
    }
}

fn named(form: &str) -> anyhow::Result<Form> {
    match form {
        "hubble" => Ok(Form::Hubble),
        "goldmane" => Ok(Form::Goldmane),
        "ztunnel" => Ok(Form::Ztunnel),
        other => bail!("there is no form {other:?}: hubble, goldmane or ztunnel"),
    }
}

fn set(traffic: &mut Traffic, option: &str, number: u64) -> anyhow::Result<()> {
    let size = usize::try_from(number)?;
    match option {
        "--seed" => traffic.seed = number,
        "--flows" => traffic.flows = number,
        "--workloads" => traffic.workloads = size,
        "--replicas" => traffic.replicas = size,
        "--edges" => traffic.edges = size,
        "--namespaces" => traffic.namespaces = size,
        "--nodes" => traffic.nodes = size,
        "--rate" => traffic.rate = number,
        "--replies" => traffic.replies = number,
        "--dns" => traffic.dns = number,
        "--external" => traffic.external = number,
        "--drops" => traffic.drops = number,
        _ => return Err(usage(traffic)),
    }
    Ok(())
}

fn usage(traffic: &Traffic) -> anyhow::Error {
    let mut text = USAGE.to_owned();
    let _ = write!(text, "\noptions and what they are: {traffic:?}");
    anyhow!(text)
}
