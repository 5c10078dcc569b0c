//! `flows`: recorded flows, filtered, as they are or grouped.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use netenf_flows::Record;
use netenf_k8s::Index;
use netenf_learn::classify::Skip;
use netenf_learn::{Config, Learner, LostEvents, NodeStatus};

use crate::args::Global;
use crate::error::{CommandError, Exit};
use crate::output::{Pages, escaped_json, print, tell};
use crate::wiring::{self, FlowInput, account};

mod end;
mod filter;
mod group;
mod line;

use filter::Filter;

/// Show recorded flows
///
/// Filters: values of one flag are alternatives, different flags must all hold, and each --not turns
/// the filter that follows it around. A flow belongs to a namespace (-n) if either end does. Without
/// --raw, answers and packets of connections that are already open are left out of tables. JSON holds
/// them, with what the source says of its nodes and losses: learning from it is like learning from the
/// recording.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # What a workload talks to, and who talks to it
  kubectl netenf flows deployment/web -n shop --input-file flows.jsonl

  # Denied flows of a namespace, save those of nodes, to learn from or to keep
  kubectl netenf flows -n shop --verdict denied --not --peer host --input-file flows.jsonl -o json

  # Who talks to whom, counted
  kubectl netenf flows --group --input-file flows.jsonl")]
pub(crate) struct Args {
    #[command(flatten)]
    input: FlowInput,
    /// The cluster's objects, by which --group and filters know workloads: a file, a folder or -
    #[arg(long, value_name = "PLACE")]
    cluster_state: Vec<PathBuf>,
    /// Count by who talks to whom instead of listing
    #[arg(long, conflicts_with_all = ["raw", "first", "last"])]
    group: bool,
    /// Show answers, repeated packets and socket events too
    #[arg(long)]
    raw: bool,
    /// Only the first N that match
    #[arg(long, value_name = "N", conflicts_with = "last")]
    first: Option<usize>,
    /// Only the last N that match
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Print the filters as they are understood, one a line, and stop
    #[arg(long)]
    print_filters: bool,
    /// Output: compact, wide, or json (the source's own JSON, which can be learned from again)
    #[arg(short, long, value_enum, default_value_t = Format::Compact, value_name = "FORMAT")]
    output: Format,
    #[command(flatten)]
    filter: filter::FilterArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Compact,
    Wide,
    Json,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    let namespace = global.only_namespace();
    let filter = Filter::new(&args.filter, namespace)?;
    if args.print_filters {
        print(&filter.to_string())?;
        return Ok(Exit::Done);
    }
    if args.input.files.is_empty() {
        return Err(CommandError::usage("flows needs a recording")
            .hint("give --input-file FILE, or --input-file - to read standard input"));
    }
    let index = Arc::new(wiring::cluster_state(&args.cluster_state)?);
    let filter = filter.with(&index);
    if args.group { args.grouped(&filter, &index) } else { args.listed(&filter) }
}

// === impl Args ===

impl Args {
    fn listed(&self, filter: &Filter) -> Result<Exit, CommandError> {
        let mut replay = self.input.replay()?;
        let mut shown = Shown::new(self.first, self.last);
        while shown.wants_more()
            && let Some(item) = replay.next()?
        {
            let raw = || escaped_json(String::from_utf8_lossy(item.raw).trim_end());
            match (&item.record, self.output) {
                // What is learned from again must hold the answers too: they say which attempts worked.
                (Record::Flow(flow), Format::Json) if filter.matches_connection(flow) => {
                    shown.add(&raw())?;
                }
                (
                    Record::Lost(LostEvents { time, .. })
                    | Record::NodeStatus(NodeStatus { time, .. }),
                    Format::Json,
                ) if filter.matches_time(*time) => {
                    shown.add_beside(&raw())?;
                }
                (Record::Flow(flow), Format::Compact | Format::Wide)
                    if (self.raw || !line::is_noise(flow)) && filter.matches(flow) =>
                {
                    let is_wide = self.output == Format::Wide;
                    shown.add(&if is_wide { line::wide(flow) } else { line::compact(flow) })?;
                }
                (Record::Flow(_) | Record::Lost(_) | Record::NodeStatus(_), _) => {}
            }
        }
        shown.finish()?;
        account::tell_unread(replay.summary());
        Ok(Exit::Done)
    }

    /// Every flow that the list shows, by who talks to whom.
    fn grouped(&self, filter: &Filter, index: &Arc<Index>) -> Result<Exit, CommandError> {
        let mut replay = self.input.replay()?;
        let mut learner = Learner::new(Config::default(), Arc::clone(index));
        let mut groups = group::Groups::default();
        while let Some(item) = replay.next()? {
            let Record::Flow(flow) = &item.record else { continue };
            if !filter.matches_connection(flow) {
                continue;
            }
            let skip = learner.try_observe(flow).err();
            // Denials and resets are told by what they end.
            let is_told = line::is_noise(flow) || line::is_reset(flow);
            if let Some(skip) = skip.filter(|skip| *skip != Skip::Denied && !is_told) {
                groups.skip(index, flow, skip);
            }
        }
        let proposals = learner.proposals();
        proposals.traffic().iter().for_each(|one| groups.traffic(one));
        proposals.denials().iter().for_each(|one| groups.denial(one));
        print(&match self.output {
            Format::Json => groups.json()?,
            Format::Compact => groups.table(false),
            Format::Wide => groups.table(true),
        })?;
        if groups.is_empty() {
            tell("no flow matches; --print-filters shows how the filters are understood");
        }
        account::tell_unread(replay.summary());
        Ok(Exit::Done)
    }
}

/// Lines that are shown at once, or the last of them at the end.
struct Shown {
    first: Option<usize>,
    last: Option<usize>,
    count: usize,
    /// Lines that may be among the last, and whether they count.
    kept: VecDeque<(String, bool)>,
    /// How many of them count.
    waiting: usize,
    pages: Pages,
}

// === impl Shown ===

impl Shown {
    fn new(first: Option<usize>, last: Option<usize>) -> Self {
        Self { first, last, count: 0, kept: VecDeque::new(), waiting: 0, pages: Pages::default() }
    }

    fn wants_more(&self) -> bool {
        self.first.is_none_or(|first| self.count < first)
    }

    fn add(&mut self, line: &str) -> Result<(), CommandError> {
        self.count += 1;
        let Some(last) = self.last else { return self.show(line) };
        self.kept.push_back((line.to_owned(), true));
        self.waiting += 1;
        while self.waiting > last
            && let Some((_, counts)) = self.kept.pop_front()
        {
            self.waiting -= usize::from(counts);
        }
        Ok(())
    }

    /// A line that stands among the others and is none of the first or the last.
    fn add_beside(&mut self, line: &str) -> Result<(), CommandError> {
        if self.last.is_none() {
            return self.show(line);
        }
        self.kept.push_back((line.to_owned(), false));
        Ok(())
    }

    fn show(&mut self, line: &str) -> Result<(), CommandError> {
        self.pages.add(&format!("{line}\n"))
    }

    fn finish(mut self) -> Result<(), CommandError> {
        for (line, _) in std::mem::take(&mut self.kept) {
            self.show(&line)?;
        }
        self.pages.finish()?;
        if self.count == 0 && self.first != Some(0) {
            tell(
                "no flow matches; --print-filters shows how the filters are understood, --raw shows all packets",
            );
        }
        Ok(())
    }
}
