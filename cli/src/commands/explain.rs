//! `explain`: what policies let a workload do, in words; without one, who may talk to whom.

use std::collections::BTreeSet;

use netenf_k8s::inquiry::{Inquiry, word};
use netenf_k8s::reach::{Link, Place, Reach};
use netenf_learn::Workload;
use netenf_policy::{AddressRange, End, Side, space};
use serde_json::{Value, json};

use crate::args::Global;
use crate::error::{CommandError, Exit};
use crate::output::{self, JsonOnly, Table, escaped, print, tell};
use crate::wiring::policies::{Judged, PolicyInput};

mod rules;

use rules::Direction;

/// Explain what policies let workloads do
///
/// For each workload and direction: the rules that select it in the order in which they decide, what
/// becomes of everything else, and with whom it may talk. Without a workload it lists who may talk to whom.
/// Native policies of -f and --cluster-state count, and ours that protect; --assume-protect adds those that
/// monitor, and proposals.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # What a workload may do once its proposals protect
  kubectl netenf explain deployment/web -n shop --dir policies --assume-protect

  # By what stands in the cluster
  kubectl netenf explain shop/statefulset/db --cluster-state state.yaml

  # Who may talk to whom, for programs
  kubectl netenf explain --cluster-state state.yaml -o json")]
pub(crate) struct Args {
    /// Workloads: KIND/NAME or NAMESPACE/KIND/NAME
    #[arg(value_name = "WORKLOAD")]
    workloads: Vec<String>,
    #[command(flatten)]
    input: PolicyInput,
    /// Output: json
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<JsonOnly>,
}

/// How many nodes or names of a place are shown; programs are given all.
const SHOWN: usize = 2;

/// What holds for one workload.
struct Explained {
    workload: Workload,
    egress: Direction,
    ingress: Direction,
    links: Vec<Link>,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    let judged = args.input.read(global)?;
    let reach = judged.reach();
    let all = judged.inquiry(global).all_ends();
    if args.workloads.is_empty() {
        let namespace = global.only_namespace();
        let wanted = |own: &Workload| namespace.is_none_or(|wanted| *own.namespace == *wanted);
        let links = reach.map(&judged.index, &all, wanted);
        args.show_links(&judged, &links)?;
    } else {
        let named: BTreeSet<Workload> = args
            .workloads
            .iter()
            .map(|text| Ok(judged.inquiry(global).parsed(text)?))
            .collect::<Result<_, CommandError>>()?;
        let explained: Vec<Explained> = named
            .into_iter()
            .map(|own| explain(&judged.inquiry(global), &reach, &all, own))
            .collect::<Result<_, _>>()?;
        print(&match args.output {
            None => explained.iter().map(text).collect::<Vec<_>>().join("\n"),
            Some(JsonOnly::Json) => {
                let items: Vec<Value> = explained.iter().map(as_json).collect();
                output::json(&json!({ "items": items, "leftOut": judged.left_out() }))?
            }
        })?;
    }
    Ok(judged.exit(Exit::Done))
}

// === impl Args ===

impl Args {
    fn show_links(&self, judged: &Judged, links: &[Link]) -> Result<(), CommandError> {
        if self.output == Some(JsonOnly::Json) {
            let items: Vec<Value> = links.iter().map(link_json).collect();
            let left_out = judged.left_out();
            return print(&output::json(&json!({ "items": items, "leftOut": left_out }))?);
        }
        if links.is_empty() {
            tell("nothing may talk to anything, or no workload is known");
            return Ok(());
        }
        let mut table = Table::new(&["FROM", "TO", "PORTS"]);
        for link in links {
            let ports = output::passing_words(&link.passing);
            table.row(vec![place(&link.source), place(&link.destination), ports]);
        }
        print(&table.text(true))
    }
}

fn explain(
    inquiry: &Inquiry<'_>,
    reach: &Reach<'_>,
    all: &[(Workload, Vec<End>)],
    workload: Workload,
) -> Result<Explained, CommandError> {
    let own = inquiry.ends_of(&workload)?;
    let direction = |side| Direction::new(reach, side, &own);
    let (egress, ingress) = (direction(Side::Egress), direction(Side::Ingress));
    let mut all = all.to_vec();
    if !all.iter().any(|(other, _)| *other == workload) {
        all.push((workload.clone(), own));
    }
    let links = reach.map(inquiry.index, &all, |one| *one == workload);
    Ok(Explained { workload, egress, ingress, links })
}

// === impl Explained ===

impl Explained {
    /// Others with whom it may talk in a direction, and what passes.
    fn others(&self, side: Side) -> impl Iterator<Item = (&Place, &Link)> {
        self.links.iter().filter_map(move |link| {
            let (own, other) = match side {
                Side::Egress => (&link.source, &link.destination),
                Side::Ingress => (&link.destination, &link.source),
            };
            let is_own = matches!(own, Place::Workload(own) if *own == self.workload);
            is_own.then_some((other, link))
        })
    }
}

fn text(explained: &Explained) -> String {
    let mut text = format!("{}\n", word(&explained.workload));
    for (side, direction) in
        [(Side::Ingress, &explained.ingress), (Side::Egress, &explained.egress)]
    {
        text.push_str(&direction.text(side));
        let (verb, mut table) = match side {
            Side::Ingress => ("from", Table::new(&["", "FROM", "PORTS"])),
            Side::Egress => ("to", Table::new(&["", "TO", "PORTS"])),
        };
        for (other, link) in explained.others(side) {
            table.row(vec![verb.to_owned(), place(other), output::passing_words(&link.passing)]);
        }
        text.push_str("  effect:\n");
        if table.is_empty() {
            text.push_str("    nothing that is known passes\n");
        }
        for line in table.text(false).lines() {
            text.push_str(&format!("    {}\n", line.trim_end()));
        }
    }
    escaped_lines(&text)
}

/// Each line by itself: line breaks are ours.
fn escaped_lines(text: &str) -> String {
    text.lines().map(|line| escaped(line) + "\n").collect()
}

/// A place as one word.
pub(crate) fn place(place: &Place) -> String {
    match place {
        Place::Workload(workload) => word(workload),
        Place::Nodes(names) => format!("nodes({})", few(names)),
        Place::Names(patterns) => format!("names({})", few(patterns)),
        Place::World(ranges) => format!("world({})", space::words(ranges).join(",")),
    }
}

/// The first of them, and how many more there are.
fn few(all: &[impl ToString]) -> String {
    let mut words: Vec<String> = all.iter().take(SHOWN).map(ToString::to_string).collect();
    if all.len() > SHOWN {
        words.push(format!("+{}", all.len() - SHOWN));
    }
    words.join(",")
}

fn as_json(explained: &Explained) -> Value {
    let direction = |side, direction: &Direction| {
        let mut value = direction.json();
        let others = explained.others(side).map(|(other, link)| {
            let mut entry = place_json(other);
            entry["ports"] = json!(output::passing_json(&link.passing));
            entry["allPods"] = json!(!link.passing.is_partial());
            entry
        });
        value["peers"] = others.collect();
        value
    };
    json!({
        "workload": workload_json(&explained.workload),
        "ingress": direction(Side::Ingress, &explained.ingress),
        "egress": direction(Side::Egress, &explained.egress),
    })
}

fn link_json(link: &Link) -> Value {
    json!({
        "from": place_json(&link.source),
        "to": place_json(&link.destination),
        "ports": output::passing_json(&link.passing),
        "allPods": !link.passing.is_partial(),
    })
}

/// A place for programs.
pub(crate) fn place_json(place: &Place) -> Value {
    match place {
        Place::Workload(workload) => workload_json(workload),
        Place::Nodes(names) => json!({"nodes": names.iter().map(|one| &**one).collect::<Vec<_>>()}),
        Place::Names(patterns) => {
            json!({"names": patterns.iter().map(ToString::to_string).collect::<Vec<_>>()})
        }
        Place::World(ranges) => {
            let blocks = ranges.iter().flat_map(|range: &AddressRange| range.blocks());
            json!({"addresses": blocks.map(|block| block.to_string()).collect::<Vec<_>>()})
        }
    }
}

fn workload_json(workload: &Workload) -> Value {
    json!({
        "kind": &*workload.kind,
        "namespace": &*workload.namespace,
        "name": &*workload.name,
    })
}
