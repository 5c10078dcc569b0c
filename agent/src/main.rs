//! `netenf-agent`: what runs in the cluster. `controller` looks at the cluster's objects and at flows,
//! learns, and keeps proposals and policies; replicas of it elect one that writes.
//!
//! Exit codes: 0 after SIGTERM or SIGINT, 2 for wrong arguments, 3 if the cluster or an address cannot be
//! used.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;
use tokio::runtime::Runtime;

mod address;
mod arguments;
mod awaited;
mod board;
mod clock;
mod controller;
mod counts;
mod duration;
mod enforcement;
mod export;
mod judging;
mod learning;
mod ledger;
mod log;
mod packed;
mod readiness;
mod reconciler;
mod resume;
#[cfg(test)]
mod sample;
mod server;
mod service;
mod source;
mod stored;
mod tap;
mod wiring;

use arguments::{Arguments, Command};

/// Every flush makes thousands of proposals on one thread and frees them on others: the system's allocator keeps what
/// is freed so (docs/performance.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let Arguments { command: Command::Controller(arguments) } = Arguments::parse();
    log::start(&arguments.log_level);
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "the agent cannot go on");
            ExitCode::from(3)
        }
    }
}

fn run(arguments: &arguments::Controller) -> anyhow::Result<()> {
    // The one place where cryptography is chosen: everything that speaks TLS here takes this one.
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("another cryptography provider was installed before"))?;
    let runtime = Runtime::new().context("cannot start threads")?;
    let ended = runtime.block_on(wiring::run(arguments));
    // A thread may still read a pipe to which nobody writes any more, and cannot be told to stop.
    runtime.shutdown_background();
    ended
}
