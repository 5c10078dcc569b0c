//! Synthetic recordings of flows, of any size, for benchmarks and load tests.
//!
//! ```text
//! Traffic -> cluster: who is there, and who talks to whom -> conversations -> one JSON line an event
//! ```
//!
//! The lines have the fields, order and values of what the genuine servers write; the cluster and its
//! traffic are made up. The same [`Traffic`] gives the same bytes on every machine. Memory grows with
//! the cluster, never with the number of flows.

use std::io::{self, Write};

use self::clock::Clock;
use self::cluster::Cluster;
use self::conversation::{Conversation, Planner, Side};
use self::random::Random;

pub use self::population::{Placed, Population, Program};

mod clock;
mod cluster;
mod conversation;
mod goldmane;
mod hubble;
mod population;
pub mod random;
mod ztunnel;

/// How many conversations are under way at any time: their events come mixed, as in a real recording.
const ACTIVE: usize = 512;

/// How much text is gathered before it is written.
const CHUNK: usize = 64 << 10;

/// What is recorded. Shares are per cent of the flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// What everything random follows from.
    pub seed: u64,
    /// Lines of the recording.
    pub flows: u64,
    /// Workloads, besides the cluster's DNS.
    pub workloads: usize,
    /// Distinct pairs of workloads that talk, each on one port. Every pair is seen once before pairs
    /// repeat, and some pairs repeat far more often than others.
    pub edges: usize,
    /// Pods of a workload, at most; one is the least, and that of a DaemonSet follows from the nodes.
    pub replicas: usize,
    /// Namespaces.
    pub namespaces: usize,
    /// Nodes.
    pub nodes: usize,
    /// Flows a second of recorded time.
    pub rate: u64,
    /// Packets of the answering side, within each conversation.
    pub replies: u64,
    /// DNS: packets, queries and answers.
    pub dns: u64,
    /// Traffic to addresses outside the cluster.
    pub external: u64,
    /// What policies denied.
    pub drops: u64,
}

/// Who writes the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `hubble observe -o json`, at the trace points of both ends' nodes.
    Hubble,
    /// Goldmane's `FlowResult`, of both ends' reporters. Shares of replies do not apply.
    Goldmane,
    /// Access lines of ztunnel, of both ends. Only traffic between workloads passes one.
    Ztunnel,
}

/// Writes the recording of `traffic` to `out`.
///
/// # Errors
/// If `traffic` is impossible (`InvalidInput`), or if `out` fails.
pub fn write(form: Form, traffic: &Traffic, out: &mut dyn Write) -> io::Result<()> {
    traffic.check().map_err(|reason| io::Error::new(io::ErrorKind::InvalidInput, reason))?;
    let mut random = Random::new(traffic.seed);
    let cluster = Cluster::new(traffic, &mut random);
    let mut planner = Planner::new(traffic, &cluster, Random::new(random.next()));
    let recorder = Recorder { out, text: String::new(), clock: Clock::new(traffic.rate), random };
    match form {
        Form::Hubble => by_event(traffic.flows, planner, recorder, &hubble::Writer::new(&cluster)),
        Form::Goldmane => {
            let conversations = std::iter::repeat_with(|| planner.start());
            let write = |line: Line<'_>| goldmane::write(&cluster, line);
            by_conversation(traffic.flows, conversations, recorder, &write)
        }
        Form::Ztunnel => {
            let conversations = std::iter::repeat_with(|| planner.start()).filter(ztunnel::passes);
            let write = |line: Line<'_>| ztunnel::write(&cluster, line);
            by_conversation(traffic.flows, conversations, recorder, &write)
        }
    }
}

/// Where lines go, and when.
struct Recorder<'a> {
    out: &'a mut dyn Write,
    text: String,
    clock: Clock,
    random: Random,
}

/// One line that sums up a conversation, as one of its ends reports it.
struct Line<'a> {
    text: &'a mut String,
    clock: &'a Clock,
    random: &'a mut Random,
    conversation: &'a Conversation,
    reporter: Side,
    number: u64,
}

/// Records every event of every conversation.
fn by_event(
    flows: u64,
    mut planner: Planner<'_>,
    mut recorder: Recorder<'_>,
    writer: &hubble::Writer<'_>,
) -> io::Result<()> {
    let mut active: Vec<Conversation> = (0..ACTIVE).map(|_| planner.start()).collect();
    for _ in 0..flows {
        let conversation = &mut active[recorder.random.below(ACTIVE)];
        let event = loop {
            match conversation.events.next() {
                Some(event) => break event,
                None => *conversation = planner.start(),
            }
        };
        let Recorder { text, clock, random, .. } = &mut recorder;
        clock.advance(random);
        writer.write(text, clock, random, conversation, event);
        recorder.end_line()?;
    }
    recorder.end()
}

/// Records every conversation once for each end that reports it.
fn by_conversation(
    flows: u64,
    conversations: impl Iterator<Item = Conversation>,
    mut recorder: Recorder<'_>,
    write: &dyn Fn(Line<'_>),
) -> io::Result<()> {
    let lines = conversations.flat_map(|conversation| {
        let reporters = conversation.reporters();
        reporters.iter().map(move |reporter| (conversation.clone(), *reporter)).collect::<Vec<_>>()
    });
    for (number, (conversation, reporter)) in (0..flows).zip(lines) {
        let Recorder { text, clock, random, .. } = &mut recorder;
        clock.advance(random);
        let conversation = &conversation;
        write(Line { text, clock, random, conversation, reporter, number });
        recorder.end_line()?;
    }
    recorder.end()
}

// === impl Traffic ===

impl Default for Traffic {
    /// A recording of middle size of a cluster of middle size.
    fn default() -> Self {
        Self {
            seed: 1,
            flows: 250_000,
            workloads: 500,
            replicas: 3,
            edges: 5_000,
            namespaces: 25,
            nodes: 20,
            rate: 10_000,
            replies: 40,
            dns: 10,
            external: 5,
            drops: 2,
        }
    }
}

// === impl Recorder ===

impl Recorder<'_> {
    fn end_line(&mut self) -> io::Result<()> {
        self.text.push('\n');
        if self.text.len() >= CHUNK {
            self.out.write_all(self.text.as_bytes())?;
            self.text.clear();
        }
        Ok(())
    }

    fn end(self) -> io::Result<()> {
        self.out.write_all(self.text.as_bytes())?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests;
