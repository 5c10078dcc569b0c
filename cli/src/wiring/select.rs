//! Which objects of the store a command is about.

use std::collections::BTreeSet;

use netenf_api::{Direction, TargetKind};
use netenf_k8s::end::workload;
use netenf_k8s::near::near;
use netenf_store::{Kind, Resource, Stored};

use super::store::Session;
use crate::args::Global;
use crate::error::{CommandError, Exit};
use crate::output;

/// Objects by workload or name.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Selection {
    /// Workloads (KIND/NAME, NAMESPACE/KIND/NAME) or names of proposals and policies
    #[arg(value_name = "WORKLOAD")]
    pub(crate) names: Vec<String>,
    /// Only one direction
    #[arg(long, value_enum, value_name = "DIRECTION")]
    pub(crate) direction: Option<DirectionName>,
}

/// Directions as they are typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DirectionName {
    /// Into the workload
    Ingress,
    /// Out of the workload
    Egress,
}

// === impl Selection ===

impl Selection {
    /// The objects that are named, or all of the namespace where none is; sorted. A name that names
    /// nothing is an answer of no.
    pub(crate) fn find<'a>(
        &self,
        session: &'a Session,
        global: &Global,
    ) -> Result<Vec<&'a Stored>, CommandError> {
        let found = self.search([&*session.listing().objects], global)?;
        match found.missing.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(found.objects),
        }
    }

    /// The same in several listings, for a command that shows what there is beside what is not: a name must
    /// name something in one of them, and something must be found.
    pub(crate) fn search<'a, const N: usize>(
        &self,
        listings: [&'a [Stored]; N],
        global: &Global,
    ) -> Result<Found<'a>, CommandError> {
        let namespace = global.only_namespace();
        let objects = || listings.into_iter().flatten();
        let here = |stored: &&Stored| {
            namespace.is_none_or(|namespace| stored.object.key().namespace == namespace)
                && self.is_direction(stored)
        };
        let mut found = Found::default();
        if self.names.is_empty() {
            found.objects = objects().filter(here).collect();
            if let Some(namespace) = namespace {
                tell_of_no_such(namespace, objects());
            }
            return Ok(found);
        }
        for name in &self.names {
            let wanted = Wanted::parse(name, namespace)?;
            let named: Vec<&Stored> = objects().filter(|stored| wanted.is(stored)).collect();
            let mut matching = named.iter().filter(|stored| self.is_direction(stored)).peekable();
            if matching.peek().is_none() {
                found.missing.push(match named.first() {
                    Some(other) => self.other_direction(name, other),
                    None => not_found(name, namespace, objects()),
                });
            }
            for one in matching {
                if !found.objects.iter().any(|known| std::ptr::eq(*known, *one)) {
                    found.objects.push(one);
                }
            }
        }
        found.objects.sort_by_key(|stored| stored.object.key());
        if found.objects.is_empty() && found.missing.len() == 1 {
            return Err(found.missing.remove(0));
        }
        Ok(found)
    }

    /// The same, for a command that changes what it names: nothing is changed unasked.
    pub(crate) fn find_named<'a>(
        &self,
        session: &'a Session,
        global: &Global,
        all: bool,
    ) -> Result<Vec<&'a Stored>, CommandError> {
        if self.names.is_empty() && !all {
            return Err(CommandError::usage("nothing is named to change")
                .hint("name workloads such as deployment/web, or give --all"));
        }
        self.find(session, global)
    }

    /// It is there, but not in the direction that is asked for.
    fn other_direction(&self, name: &str, other: &Stored) -> CommandError {
        let wanted = match self.direction {
            Some(DirectionName::Ingress) => "ingress",
            Some(DirectionName::Egress) | None => "egress",
        };
        let key = other.object.key();
        CommandError::no(format!("{name:?} has nothing in the direction {wanted}"))
            .hint(format!("there is the {key}; leave --direction out"))
    }

    fn is_direction(&self, stored: &Stored) -> bool {
        let own = stored.object.direction();
        match self.direction {
            None => true,
            Some(DirectionName::Ingress) => own == Some(Direction::Ingress),
            Some(DirectionName::Egress) => own == Some(Direction::Egress),
        }
    }
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found<'a> {
    pub(crate) objects: Vec<&'a Stored>,
    /// Names that name nothing.
    pub(crate) missing: Vec<CommandError>,
}

// === impl Found ===

impl Found<'_> {
    /// Tells what was not found, which makes an answer of no.
    pub(crate) fn exit(&self, answer: Exit) -> Exit {
        self.missing.iter().for_each(output::error);
        if self.missing.is_empty() { answer } else { Exit::No }
    }
}

/// Tells if nothing at all is in the namespace while there is something in others: it may be a slip of the hand,
/// and an answer that nothing differs or is denied would be taken for all clear.
pub(crate) fn tell_of_no_such<'a>(namespace: &str, objects: impl Iterator<Item = &'a Stored>) {
    let namespaces: BTreeSet<String> =
        objects.map(|stored| stored.object.key().namespace).collect();
    if namespaces.is_empty() || namespaces.contains(namespace) {
        return;
    }
    let alike = near(namespace, namespaces.iter().map(String::as_str));
    let alike = match alike.as_slice() {
        [] => String::new(),
        alike => format!("; did you mean {}?", alike.join(" or ")),
    };
    output::tell(&output::escaped(&format!(
        "note: the folder has nothing in namespace {namespace}{alike}"
    )));
}

fn not_found<'a>(
    name: &str,
    namespace: Option<&str>,
    objects: impl Iterator<Item = &'a Stored>,
) -> CommandError {
    let place = namespace.map_or_else(
        || "in the folder".to_owned(),
        |namespace| format!("in namespace {namespace}"),
    );
    let error = CommandError::no(format!("nothing {place} is called {name:?}"));
    if is_kind(name) {
        return error.hint(
            "a kind alone names nothing: write KIND/NAME, for example sts/db; without a name all are meant",
        );
    }
    let names: BTreeSet<String> =
        objects.flat_map(|stored| names(&stored.object, name.matches('/').count())).collect();
    match near(name, names.iter().map(String::as_str)).as_slice() {
        [] => error.hint("kubectl netenf get -A shows what there is"),
        near => error.hint(format!("did you mean {}?", near.join(" or "))),
    }
}

/// What an object may be called, with as many slashes.
fn names(object: &Resource, slashes: usize) -> Vec<String> {
    let workload = object.target_ref().map(output::workload);
    match slashes {
        0 => vec![object.key().name],
        1 => workload.into_iter().collect(),
        _ => workload.map(|own| format!("{}/{own}", object.key().namespace)).into_iter().collect(),
    }
}

/// Whether a person wrote a kind where a name belongs.
fn is_kind(word: &str) -> bool {
    const OURS: [&str; 8] = [
        "wnpp",
        "wnp",
        "proposal",
        "proposals",
        "policy",
        "policies",
        "workloadnetworkpolicyproposals",
        "workloadnetworkpolicies",
    ];
    OURS.contains(&word) || workload(&format!("{word}/x"), Some("x")).is_ok()
}

/// Stands for the namespace where none is given; no namespace has such a name.
const ANY: &str = "*";

/// What one name means.
#[derive(Debug)]
struct Wanted {
    namespace: Option<String>,
    workload: Option<(TargetKind, String)>,
    object: Option<(Option<Kind>, String)>,
}

// === impl Wanted ===

impl Wanted {
    /// `NAME` or `[NAMESPACE/]TYPE/NAME` of an object of ours, or a workload.
    fn parse(text: &str, namespace: Option<&str>) -> Result<Self, CommandError> {
        let namespace = namespace.map(str::to_owned);
        let kind = |word: &str| match word.split('.').next().unwrap_or_default() {
            "wnpp" | "workloadnetworkpolicyproposal" | "workloadnetworkpolicyproposals" => {
                Some(Kind::Proposal)
            }
            "wnp" | "workloadnetworkpolicy" | "workloadnetworkpolicies" => Some(Kind::Policy),
            _ => None,
        };
        let parts: Vec<&str> = text.split('/').collect();
        match parts.as_slice() {
            [name] => {
                Ok(Self { namespace, workload: None, object: Some((None, (*name).to_owned())) })
            }
            [word, name] if kind(word).is_some() => Ok(Self {
                namespace,
                workload: None,
                object: Some((kind(word), (*name).to_owned())),
            }),
            // As -o name prints objects of several namespaces.
            [own, word, name] if kind(word).is_some() => Ok(Self {
                namespace: Some((*own).to_owned()),
                workload: None,
                object: Some((kind(word), (*name).to_owned())),
            }),
            _ => {
                let any = namespace.as_deref().or(Some(ANY));
                let workload = workload(text, any)?;
                let target = workload.kind.parse::<TargetKind>().ok();
                Ok(Self {
                    namespace: Some(workload.namespace.to_string())
                        .filter(|namespace| namespace != ANY),
                    workload: target.map(|kind| (kind, workload.name.to_string())),
                    object: None,
                })
            }
        }
    }

    fn is(&self, stored: &Stored) -> bool {
        let key = stored.object.key();
        let here = self.namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace);
        let target = stored.object.target_ref();
        let workload = self.workload.as_ref().is_some_and(|(kind, name)| {
            target.is_some_and(|target| target.kind == *kind && target.name == *name)
        });
        let object = self.object.as_ref().is_some_and(|(kind, name)| {
            kind.is_none_or(|kind| kind == key.kind) && *name == key.name
        });
        here && (workload || object)
    }
}

#[cfg(test)]
mod tests;
