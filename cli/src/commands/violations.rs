//! `violations`: what policies deny, or would deny.

use clap::ValueEnum;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_api::{Mode, ViolationReason};
use netenf_store::Stored;
use serde_json::{Value, json};

use crate::args::Global;
use crate::clock;
use crate::error::{CommandError, Exit};
use crate::output::{self, Table, count, escaped, print, tell};
use crate::wiring::account;
use crate::wiring::recording::Recording;
use crate::wiring::select::{self, Selection};
use crate::wiring::store::Session;
use crate::wiring::violation::{self, EndFilter, Entry};

/// List what policies deny, or would deny if they protected
///
/// Without a recording these are the violations that learning has stored in the folder's policies. With
/// --input-file they are those that a recording shows against the policies, as learn would record them; nothing
/// is written then. Acknowledged violations are known and left out unless they are asked for. A violation
/// belongs to a namespace (-n) if either end does.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # What a namespace's policies deny, or would deny
  kubectl netenf violations -n shop --dir policies

  # What a new recording shows against the policies; nothing is stored
  kubectl netenf violations --input-file flows.jsonl --cluster-state state.yaml --dir policies

  # For CI: exit with 1 if there was any within a day
  kubectl netenf violations --since 24h --exit-code --dir policies")]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    recording: Recording,
    /// Only what was seen since a time (RFC 3339) or within an age (5m, 2h, 3d)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    #[command(flatten)]
    ends: EndFilter,
    /// Show acknowledged violations too, in a STATE of their own
    #[arg(long)]
    acknowledged: bool,
    /// Exit with 1 if anything is listed
    #[arg(long)]
    exit_code: bool,
    /// Leave the titles out
    #[arg(long)]
    no_headers: bool,
    /// Output: table, wide, json, yaml or name
    #[arg(short, long, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    output: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Wide,
    Json,
    Yaml,
    Name,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    let since = args.since.as_deref().map(|text| clock::point(text, clock::now())).transpose()?;
    // Without names a violation is looked for at both of its ends, whosever policy it is of.
    let is_named = !args.selection.names.is_empty();
    let ends = args.ends.ends(global, global.only_namespace().filter(|_| !is_named))?;
    let everywhere = global.all_namespaces || !is_named;
    let place = Global { all_namespaces: everywhere, ..global.clone() };
    let session = Session::open(global)?;
    let search = args.selection.search([&*session.listing().objects], &place)?;
    let mut entries = args.entries(&session, &search.objects)?;
    entries.retain(|entry| {
        let last = entry.violation.last_seen.0.as_nanosecond();
        ends.cover(entry) && since.is_none_or(|since| last >= i128::from(since.0))
    });
    let left_out = if args.acknowledged { 0 } else { leave_acknowledged(&mut entries) };
    print(&args.text(global, &entries)?)?;
    if left_out > 0 {
        let left_out = count(left_out, "violation");
        tell(&format!("left out as acknowledged: {left_out}; --acknowledged shows them too"));
    } else if entries.is_empty() && search.missing.is_empty() {
        if let Some(namespace) = global.only_namespace() {
            select::tell_of_no_such(namespace, session.listing().objects.iter());
        }
        tell(nothing(&search.objects));
    }
    let is_no = args.exit_code && !entries.is_empty();
    Ok(session.exit(search.exit(if is_no { Exit::No } else { Exit::Done })))
}

// === impl Args ===

impl Args {
    fn entries<'a>(
        &self,
        session: &Session,
        objects: &[&'a Stored],
    ) -> Result<Vec<Entry<'a>>, CommandError> {
        if !self.recording.is_given() {
            objects.iter().copied().for_each(tell_cut);
            return Ok(violation::stored(objects));
        }
        let index = self.recording.index()?;
        let (mut learner, summary) = self.recording.learn(Some(session), &index, Ok)?;
        learner.settle();
        let mut outcome = learner.outcome();
        let entries = violation::replayed(session, objects, &mut outcome, &index);
        account::tell_funnel(&outcome.funnel, &summary);
        account::tell_missing(&index);
        account::tell_strangers(&outcome, &index);
        Ok(entries)
    }

    fn text(&self, global: &Global, entries: &[Entry<'_>]) -> Result<String, CommandError> {
        Ok(match self.output {
            Format::Table | Format::Wide => self.table(global, entries),
            Format::Json => output::json(&as_json(entries))?,
            Format::Yaml => output::yaml_value(&as_json(entries))?,
            Format::Name => {
                entries.iter().map(|entry| output::violation(&entry.violation.id) + "\n").collect()
            }
        })
    }

    fn table(&self, global: &Global, entries: &[Entry<'_>]) -> String {
        let is_wide = self.output == Format::Wide;
        let mut titles = vec!["ID", "LAST", "COUNT", "FROM", "TO", "PORT", "DIR", "MODE", "REASON"];
        if global.spans_namespaces() {
            titles.insert(0, "NAMESPACE");
        }
        titles.extend(self.acknowledged.then_some("STATE"));
        titles.extend(is_wide.then_some(["POLICY", "FIRST"]).into_iter().flatten());
        let mut table = Table::new(&titles);
        for entry in entries {
            let mut row = row(entry);
            if global.spans_namespaces() {
                row.insert(0, entry.policy.object.key().namespace);
            }
            row.extend(self.acknowledged.then(|| state(entry)));
            if is_wide {
                row.extend([
                    output::policy(&entry.policy.object.key(), true),
                    age(&entry.violation.first_seen),
                ]);
            }
            table.row(row);
        }
        if table.is_empty() { String::new() } else { table.text(!self.no_headers) }
    }
}

/// Leaves out what a person knows, and says how many those are.
fn leave_acknowledged(entries: &mut Vec<Entry<'_>>) -> usize {
    let before = entries.len();
    entries.retain(|entry| entry.acknowledged.is_none());
    before - entries.len()
}

fn row(entry: &Entry<'_>) -> Vec<String> {
    let one = &entry.violation;
    // Values hold no blank, so that cut and awk work.
    let end = |peer| output::peer_with_address(peer).replace(' ', "_");
    let port = one.dst_port.map(|port| format!("{port}/")).unwrap_or_default();
    vec![
        one.id.clone(),
        age(&one.last_seen),
        one.count.to_string(),
        end(&one.source),
        end(&one.dest),
        format!("{port}{}", one.protocol),
        one.direction.to_string().to_lowercase(),
        mode(one.action).to_owned(),
        reason(one.reason).to_owned(),
    ]
}

/// How long ago; a source that tells no times leaves 1970.
fn age(time: &Time) -> String {
    clock::age(Some(time).filter(|time| time.0 != Timestamp::UNIX_EPOCH))
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Monitor => "monitor",
        Mode::Protect => "protect",
    }
}

fn reason(reason: ViolationReason) -> &'static str {
    match reason {
        ViolationReason::NoRule => "no-rule",
        ViolationReason::DeniedByPolicy => "denied-by-policy",
        ViolationReason::Unknown => "unknown",
    }
}

fn state(entry: &Entry<'_>) -> String {
    match entry.acknowledged {
        Some(_) => "acknowledged",
        None => "active",
    }
    .to_owned()
}

/// The records with their policies (DESIGN D12).
fn as_json(entries: &[Entry<'_>]) -> Value {
    let record = |entry: &Entry<'_>| {
        let key = entry.policy.object.key();
        let mut record = json!(entry.violation);
        record["policy"] = json!({"namespace": key.namespace, "name": key.name});
        if let Some(known) = entry.acknowledged {
            record["acknowledged"] = json!({
                "reason": known.reason, "at": known.acknowledged_at, "by": known.acknowledged_by,
            });
        }
        record
    };
    json!({"items": entries.iter().map(record).collect::<Vec<_>>()})
}

/// Tells what a policy has no room for.
fn tell_cut(stored: &Stored) {
    let status = stored.object.as_policy().and_then(|policy| policy.status.as_ref());
    let cut = status.and_then(|status| status.violations_truncated).unwrap_or_default();
    if let Ok(cut @ 1..) = usize::try_from(cut) {
        let cut = count(cut, "older violation");
        tell(&escaped(&format!("warning: the {} has no room for {cut}", stored.object.key())));
    }
}

/// Why nothing is listed, and what to do.
fn nothing(objects: &[&Stored]) -> &'static str {
    if objects.iter().any(|stored| stored.object.as_policy().is_some()) {
        "no violations; learn --dir stores those that a recording shows, violations --input-file lists them"
    } else {
        "no violations: only policies have any, and there is none; kubectl netenf promote makes them"
    }
}
