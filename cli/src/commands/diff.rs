//! `diff`: what promoting would change, as connectivity; and what protecting would have denied.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use netenf_api::Direction;
use netenf_store::{DirStore, Key, Kind, Listing, Resource, StoreError, Stored};
use serde_json::json;

use crate::args::Global;
use crate::error::{CommandError, Exit};
use crate::output::{self, escaped, painted, print, tell};
use crate::wiring::select::Selection;
use crate::wiring::store::{self, Session};

mod connectivity;
mod traffic;
mod view;

use traffic::Traffic;
use view::{Line, Sign};

/// Show what promoting would allow, or what protecting would have denied
///
/// Compares each proposal with the policy of the same name, or a folder with another one (-f), as
/// connectivity: + is new, - is gone, ~ is another port of a known peer or another mode, ? was seen and has
/// no rule; of a policy these are its violations. Exits with 1 if there is a difference. With --against-traffic it lists the recorded connections that the policies
/// and proposals would deny if they protected.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # What promoting a workload's proposals would allow
  kubectl netenf diff deployment/web -n shop --dir policies

  # What protecting everything would have denied
  kubectl netenf diff --against-traffic --dir policies

  # A table for a pull request: this folder against the one on the main branch
  kubectl netenf diff --dir policies -f ../main/policies -o markdown

  # Who may talk to whom once everything protects, by all policies together, as a graph
  kubectl netenf diff --connectivity --dir policies --cluster-state state.yaml -o dot")]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Older folder to compare with: shows what --dir has in place of it
    #[arg(short = 'f', long = "filename", value_name = "DIR")]
    filename: Option<PathBuf>,
    /// List recorded connections that would be denied if everything selected protected
    #[arg(long)]
    against_traffic: bool,
    /// Compare who may talk to whom by all policies together: those that protect, with those that monitor and
    /// proposals too; with -f the older folder's with this one's
    #[arg(long, conflicts_with = "against_traffic")]
    connectivity: bool,
    #[command(flatten)]
    judged: connectivity::Judging,
    /// Output: text, markdown, json, dot (of --connectivity, for graphviz), or yaml (a plain diff of the objects)
    #[arg(short, long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    output: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    #[value(alias = "md")]
    Markdown,
    Json,
    Dot,
    Yaml,
}

/// The two sides of one name.
struct Pair<'a> {
    key: Key,
    old: Option<&'a Resource>,
    new: Option<&'a Resource>,
}

// === impl Pair ===

impl Pair<'_> {
    fn lines(&self, of_folders: bool) -> Vec<Line> {
        let mut lines = view::compare(self.old, self.new);
        // A proposal is compared with the policy that it would replace: there the state says nothing.
        if of_folders {
            lines.extend(view::compare_state(self.old, self.new));
        }
        lines
    }
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    if args.connectivity {
        return args.compare_connectivity(global);
    }
    let session = Session::open(global)?;
    if args.against_traffic {
        return args.traffic(global, &session);
    }
    let other = match &args.filename {
        Some(dir) => store::listed(&older(dir)?)?,
        None => Listing::default(),
    };
    let own = session.listing().objects.as_slice();
    let mut search = args.selection.search([own, &other.objects], global)?;
    let found = std::mem::take(&mut search.objects);
    let pairs = if args.filename.is_some() {
        let is_own = |stored: &&Stored| own.iter().any(|one| std::ptr::eq(one, *stored));
        let (found, other): (Vec<&Stored>, Vec<&Stored>) = found.into_iter().partition(is_own);
        against_folder(&found, &other)
    } else {
        against_policies(&session, &found)
    };
    let compared: Vec<(&Pair<'_>, Vec<Line>)> =
        pairs.iter().map(|pair| (pair, pair.lines(args.filename.is_some()))).collect();
    let text = match args.output {
        Format::Text => text(&compared),
        Format::Markdown => markdown(&compared),
        Format::Json => as_json(&compared)?,
        Format::Yaml => yaml(&compared)?,
        Format::Dot => return Err(no_graph()),
    };
    let differs = match args.output {
        Format::Yaml => !text.is_empty(),
        Format::Text | Format::Markdown | Format::Json | Format::Dot => {
            compared.iter().any(|(_, lines)| lines.iter().any(|line| line.sign != Sign::Same))
        }
    };
    print(&text)?;
    if !differs && search.missing.is_empty() && store::unreadable(&other) == 0 {
        tell("no differences");
    }
    let answer = search.exit(if differs { Exit::No } else { Exit::Done });
    Ok(if store::unreadable(&other) > 0 { Exit::Failed } else { session.exit(answer) })
}

/// Rules have no graph.
fn no_graph() -> CommandError {
    CommandError::usage("only connectivity is drawn").hint("add --connectivity to -o dot")
}

fn older(dir: &Path) -> Result<DirStore, CommandError> {
    match DirStore::open(dir) {
        Err(error @ (StoreError::NoFolder { .. } | StoreError::NotFolder { .. })) => {
            Err(CommandError::failed(error.to_string()).hint("check the folder after -f"))
        }
        other => Ok(other?),
    }
}

/// Proposals beside the policies that they would replace, and policies that something violates.
fn against_policies<'a>(session: &'a Session, found: &[&'a Stored]) -> Vec<Pair<'a>> {
    let pair = |stored: &&'a Stored| {
        let key = stored.object.key();
        let new = Some(&stored.object);
        match &stored.object {
            Resource::Proposal(_) => {
                let policy = session.listing().find(&key.with_kind(Kind::Policy));
                Some(Pair { key, old: policy.map(|stored| &stored.object), new })
            }
            Resource::Policy(policy) => {
                let status = policy.status.as_ref()?;
                (!status.violations.is_empty()).then_some(Pair { key, old: new, new })
            }
        }
    };
    found.iter().filter_map(pair).collect()
}

/// The same names in two folders.
fn against_folder<'a>(found: &[&'a Stored], other: &[&'a Stored]) -> Vec<Pair<'a>> {
    let mut pairs: BTreeMap<(String, String), Pair<'a>> = BTreeMap::new();
    for stored in found {
        let key = stored.object.key();
        let new = Some(&stored.object);
        pairs.insert((key.namespace.clone(), key.name.clone()), Pair { key, old: None, new });
    }
    for stored in other {
        let key = stored.object.key();
        let name = (key.namespace.clone(), key.name.clone());
        pairs.entry(name).or_insert(Pair { key, old: None, new: None }).old = Some(&stored.object);
    }
    pairs.into_values().collect()
}

fn text(compared: &[(&Pair<'_>, Vec<Line>)]) -> String {
    let mut text = String::new();
    for (pair, lines) in compared {
        text.push_str(&format!("{}\n", pair.key));
        let width = |part: fn(&Line) -> &str| {
            lines.iter().map(|line| part(line).chars().count()).max().unwrap_or(0)
        };
        let (peers, ports) = (width(|line| &line.peer), width(|line| &line.port));
        for line in lines {
            let arrow = match (line.what, line.direction) {
                ("state", _) => "  ",
                (_, Direction::Egress) => "->",
                (_, Direction::Ingress) => "<-",
            };
            let row = format!(
                "{} {:<9} {arrow} {:<peers$}  {:<ports$}  {}",
                line.sign.as_str(),
                line.what,
                line.peer,
                line.port,
                line.evidence()
            );
            let row = escaped(row.trim_end());
            text.push_str(&match line.sign {
                Sign::Added => painted(32, &row),
                Sign::Removed => painted(31, &row),
                Sign::Changed | Sign::Uncovered => painted(33, &row),
                Sign::Same => row,
            });
            text.push('\n');
        }
    }
    text
}

fn markdown(compared: &[(&Pair<'_>, Vec<Line>)]) -> String {
    let mut text = "| Policy | | Peer | Port | Evidence |\n|---|---|---|---|---|\n".to_owned();
    for (pair, lines) in compared {
        for line in lines.iter().filter(|line| line.sign != Sign::Same) {
            text.push_str(&format!(
                "| {}/{} | {} {} | {} | {} | {} |\n",
                cell(&pair.key.namespace),
                cell(&pair.key.name),
                line.sign.as_str().trim(),
                line.what,
                cell(&line.peer),
                cell(&line.port),
                cell(&line.evidence())
            ));
        }
    }
    text
}

/// Text that neither ends a cell nor is taken for markup.
fn cell(text: &str) -> String {
    escaped(text).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

fn as_json(compared: &[(&Pair<'_>, Vec<Line>)]) -> Result<String, CommandError> {
    let line = |line: &Line| {
        json!({
            "change": line.sign.word(), "what": line.what, "direction": line.direction,
            "peer": line.peer, "port": line.port, "rule": line.rule.as_ref().map(view::Rule::json),
            "id": line.seen.id, "reason": line.seen.reason,
            "count": line.seen.count, "lastSeen": line.seen.last, "provenance": line.seen.provenance,
            "notes": line.seen.notes,
        })
    };
    let items: Vec<serde_json::Value> = compared
        .iter()
        .map(|(pair, lines)| {
            let (namespace, name) = (&pair.key.namespace, &pair.key.name);
            json!({"namespace": namespace, "name": name, "lines": lines.iter().map(line).collect::<Vec<_>>()})
        })
        .collect();
    output::json(&json!({"items": items}))
}

/// A plain diff of the objects.
fn yaml(compared: &[(&Pair<'_>, Vec<Line>)]) -> Result<String, CommandError> {
    let mut text = String::new();
    for (pair, _) in compared {
        let of = |object: Option<&Resource>| {
            object.map_or(Ok(String::new()), netenf_store::to_neat_yaml)
        };
        let (old, new) = (of(pair.old)?, of(pair.new)?);
        let diff = similar::TextDiff::from_lines(&old, &new);
        let name = format!("{}/{}", pair.key.namespace, pair.key.name);
        text.push_str(
            &diff.unified_diff().header(&format!("a/{name}"), &format!("b/{name}")).to_string(),
        );
    }
    Ok(escaped(&text))
}

// === impl Args ===

impl Args {
    /// Recorded connections that everything selected would deny, beside the other policies of the folder.
    fn traffic(&self, global: &Global, session: &Session) -> Result<Exit, CommandError> {
        let found = self.selection.find(session, global)?;
        let state = session.state()?;
        if let Some(warning) = state.warning() {
            tell(&warning);
        }
        let edges = state.edges();
        if edges.is_empty() {
            tell(
                "no traffic is recorded in the folder: kubectl netenf learn --dir keeps what it saw",
            );
        }
        let objects: Vec<&Resource> = found.iter().map(|stored| &stored.object).collect();
        let denied = Traffic::of(session, &objects, &edges);
        print(&match self.output {
            Format::Json => denied.json()?,
            Format::Text => denied.text(),
            Format::Markdown => denied.markdown(),
            Format::Dot => return Err(no_graph()),
            Format::Yaml => {
                return Err(CommandError::usage("--against-traffic has no -o yaml")
                    .hint("use -o text, markdown or json"));
            }
        })?;
        Ok(session.exit(if denied.is_empty() { Exit::Done } else { Exit::No }))
    }
}
