//! Reads recordings and tells how fast: `cargo run --release -p netenf-flows --example replay FILE…`.
#![expect(clippy::print_stdout, reason = "a program for a terminal")]

use std::time::Instant;

use netenf_flows::{Input, Options, Replay, ReplayError};

fn main() -> Result<(), ReplayError> {
    let inputs = std::env::args().skip(1).map(Input::from_argument).collect();
    let mut replay = Replay::new(inputs, Options::default())?;
    let start = Instant::now();
    let mut bytes = 0;
    while let Some(item) = replay.next()? {
        bytes += item.raw.len();
    }
    let seconds = start.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rate = bytes as f64 / seconds / 1e6;
    println!("{:#?}\n{rate:.0} MB/s of JSON in {seconds:.3} s", replay.summary());
    Ok(())
}
