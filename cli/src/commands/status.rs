//! `status`: what became of everything that was seen.

use netenf_api::Mode;
use netenf_learn::proposal::Funnel;
use serde_json::json;

use crate::args::Global;
use crate::clock;
use crate::error::{CommandError, Exit};
use crate::output::{self, JsonOnly, escaped, print};
use crate::wiring;
use crate::wiring::state::State;
use crate::wiring::store::Session;

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
    /// Exit with 1 if nothing was learned, or if there were errors, losses or nodes that do not report
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
    let sound =
        funnel.learned > 0 && funnel.errors == 0 && funnel.lost == 0 && missing_nodes(&state) == 0;
    Ok(if args.check && !sound { Exit::No } else { Exit::Done })
}

fn as_json(state: &State, funnel: &Funnel) -> serde_json::Value {
    let mut value = wiring::funnel(funnel);
    value["window"] = json!({"first": state.first, "last": state.last});
    value["nodes"] = json!(state.nodes);
    value["unplaced"] = json!(state.unplaced);
    value
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
    lines.push(format!("skipped     {}", funnel.skipped.values().sum::<u64>()));
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
        lines.extend(state.unplaced.iter().take(20).map(unplaced));
    }
    escaped(&(lines.join("\n") + "\n"))
}

fn unplaced(one: &wiring::state::Unplaced) -> String {
    let (subject, peer) = (output::peer(&one.subject), output::peer(&one.peer));
    let port = one.port.map(|port| format!("{port}/")).unwrap_or_default();
    let arrow = match one.direction {
        netenf_api::Direction::Egress => "->",
        netenf_api::Direction::Ingress => "<-",
    };
    format!("  {subject} {arrow} {peer} {port}{} x{}: {}", one.protocol, one.count, one.reason)
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
