//! `status`: what became of everything that was seen.

use netenf_api::Mode;
use netenf_learn::Subjects;
use netenf_learn::proposal::Funnel;
use serde_json::json;

use crate::args::Global;
use crate::clock;
use crate::error::{CommandError, Exit};
use crate::output::{self, JsonOnly, escaped, print, tell};
use crate::wiring::state::{Cut, State};
use crate::wiring::store::Session;
use crate::wiring::{self, account};

/// How many entries are shown of what belongs to no proposal.
const SHOWN: usize = 20;

/// Show what was received, learned, skipped and lost
///
/// Answers "why is nothing proposed": every observation is counted once, as learned, skipped (with the
/// reason), uncovered, violation or error.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # What became of everything that was seen
  kubectl netenf status --dir policies

  # The counters as JSON
  kubectl netenf status --dir policies -o json

  # For CI: fail if nothing was learned, or input was bad or lost
  kubectl netenf status --dir policies --check")]
pub(crate) struct Args {
    /// Exit with 1 if nothing was learned, or if there were errors, losses, nodes that do not report, or
    /// more than a folder keeps
    #[arg(long)]
    check: bool,
    /// Output: json
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<JsonOnly>,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    let session = Session::open(global)?;
    let state = session.state()?;
    let funnel = state.funnel();
    print(&match args.output {
        Some(JsonOnly::Json) => output::json(&as_json(&state, &funnel))?,
        None => text(&session, &state, &funnel),
    })?;
    let wrong = if args.check { wrong(&state, &funnel) } else { Vec::new() };
    if !wrong.is_empty() {
        tell(&format!("check failed: {}", wrong.join(", ")));
    }
    Ok(session.exit(if wrong.is_empty() { Exit::Done } else { Exit::No }))
}

/// What a check finds.
fn wrong(state: &State, funnel: &Funnel) -> Vec<String> {
    let missing = missing_nodes(state);
    let lost = funnel.lost;
    [
        (funnel.learned == 0).then(|| "nothing was learned".to_owned()),
        (funnel.errors > 0).then(|| format!("errors: {}", funnel.errors)),
        (lost > 0).then(|| format!("lost by the sources: {lost}")),
        (missing > 0).then(|| format!("nodes that do not report: {missing}")),
        (state.cut != Cut::default()).then(|| "more was seen than a folder keeps".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn as_json(state: &State, funnel: &Funnel) -> serde_json::Value {
    let mut value = account::funnel(funnel);
    value["window"] = json!({"first": state.first, "last": state.last});
    value["nodes"] = json!(state.nodes);
    value["unplaced"] = json!(state.unplaced);
    value["cut"] = json!(state.cut);
    value
}

fn total(funnel: &Funnel) -> u64 {
    funnel.skipped.values().fold(0, |sum, count| sum.saturating_add(*count))
}

fn missing_nodes(state: &State) -> usize {
    state.nodes.values().filter(|word| *word != "Connected").count()
}

fn text(session: &Session, state: &State, funnel: &Funnel) -> String {
    let mut lines = vec![objects(session)];
    match (state.window(), &state.first, &state.last) {
        (Some(window), Some(first), Some(last)) => {
            lines.push(format!("window      {} ({} to {})", clock::span(window), first.0, last.0));
        }
        _ => lines
            .push("window      none: nothing with a time was learned into this folder".to_owned()),
    }
    lines.push(format!("received    {}", funnel.received));
    lines.push(format!("learned     {}", funnel.learned));
    lines.push(format!("uncovered   {}", funnel.uncovered));
    lines.push(format!("violations  {}", funnel.violations));
    lines.push(format!("errors      {}", funnel.errors));
    lines.push(format!("skipped     {}", total(funnel)));
    let mut skipped: Vec<(&&str, &u64)> = funnel.skipped.iter().collect();
    skipped.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    lines.extend(skipped.into_iter().map(|(reason, count)| format!("  {reason:<22}{count}")));
    lines.push(format!("lost        {} (told by the sources, not part of received)", funnel.lost));
    if !state.nodes.is_empty() {
        let connected = state.nodes.len() - missing_nodes(state);
        lines.push(format!("nodes       {connected}/{} report", state.nodes.len()));
        let missing = state.nodes.iter().filter(|(_, word)| *word != "Connected");
        lines.extend(missing.map(|(node, word)| format!("  {node:<22}{word}")));
    }
    if !state.unplaced.is_empty() {
        lines.push(format!("without a proposal of their own  {}", state.unplaced.len()));
        lines.extend(state.unplaced.iter().take(SHOWN).map(unplaced));
        if let Some(more @ 1..) = state.unplaced.len().checked_sub(SHOWN) {
            lines.push(format!("  and {more} more; -o json shows all"));
        }
    }
    lines.extend(cut(state));
    escaped(&(lines.join("\n") + "\n"))
}

/// How much is over the limits of a folder.
fn cut(state: &State) -> Option<String> {
    let Cut { edges, unplaced, nodes } = state.cut;
    let parts = [("edges", edges), ("without a proposal", unplaced), ("nodes", nodes)];
    let parts = parts.iter().filter(|(_, cut)| *cut > 0);
    let parts: Vec<String> = parts.map(|(what, cut)| format!("{what}: {cut}")).collect();
    let told = format!("not kept    {} (over the limits of a folder)", parts.join(", "));
    (!parts.is_empty()).then_some(told)
}

fn unplaced(one: &wiring::state::Unplaced) -> String {
    let (subject, peer) = (output::peer(&one.subject), output::peer(&one.peer));
    let port = one.port.map(|port| format!("{port}/")).unwrap_or_default();
    let arrow = match one.direction {
        netenf_api::Direction::Egress => "->",
        netenf_api::Direction::Ingress => "<-",
    };
    let kind = one.subject.kind.as_deref().unwrap_or_default();
    let is_other = Subjects::All.cover(kind) && !Subjects::Standard.cover(kind);
    let also = if is_other { ", learned without --subjects all" } else { "" };
    format!(
        "  {subject} {arrow} {peer} {port}{} x{}: {}{also}",
        one.protocol, one.count, one.reason
    )
}

fn objects(session: &Session) -> String {
    let proposals = session.listing().proposals().count();
    let modes: Vec<Mode> = session.listing().policies().map(|policy| policy.spec.mode).collect();
    let of = |mode: Mode| modes.iter().filter(|one| **one == mode).count();
    format!(
        "objects     {}, {} monitor, {} protect",
        output::count(proposals, "proposal"),
        of(Mode::Monitor),
        of(Mode::Protect)
    )
}
