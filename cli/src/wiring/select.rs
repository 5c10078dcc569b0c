//! Which objects of the store a command is about.

use netenf_api::{Direction, TargetKind};
use netenf_store::{Kind, Stored};

use super::store::Session;
use crate::args::Global;
use crate::error::CommandError;

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
        self.find_among([&*session.listing().objects], global)
    }

    /// The same in several listings: a name must name something in one of them.
    pub(crate) fn find_among<'a, const N: usize>(
        &self,
        listings: [&'a [Stored]; N],
        global: &Global,
    ) -> Result<Vec<&'a Stored>, CommandError> {
        let namespace = global.only_namespace();
        let objects = || listings.into_iter().flatten();
        let here = |stored: &&Stored| {
            namespace.is_none_or(|namespace| stored.object.key().namespace == namespace)
                && self.is_direction(stored)
        };
        if self.names.is_empty() {
            return Ok(objects().filter(here).collect());
        }
        let mut found: Vec<&Stored> = Vec::new();
        for name in &self.names {
            let wanted = Wanted::parse(name, namespace)?;
            let matching: Vec<&Stored> =
                objects().filter(|stored| self.is_direction(stored) && wanted.is(stored)).collect();
            if matching.is_empty() {
                return Err(not_found(name, namespace));
            }
            for one in matching {
                if !found.iter().any(|known| std::ptr::eq(*known, one)) {
                    found.push(one);
                }
            }
        }
        found.sort_by_key(|stored| stored.object.key());
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

    fn is_direction(&self, stored: &Stored) -> bool {
        let own = stored.object.direction();
        match self.direction {
            None => true,
            Some(DirectionName::Ingress) => own == Some(Direction::Ingress),
            Some(DirectionName::Egress) => own == Some(Direction::Egress),
        }
    }
}

fn not_found(name: &str, namespace: Option<&str>) -> CommandError {
    let place = namespace.map_or_else(
        || "in the folder".to_owned(),
        |namespace| format!("in namespace {namespace}"),
    );
    CommandError::no(format!("nothing {place} is called {name:?}"))
        .hint("kubectl netenf get -A shows what there is")
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
                let workload = super::workload(text, any)?;
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
        let target = match (stored.object.as_proposal(), stored.object.as_policy()) {
            (Some(proposal), _) => proposal.spec.target_ref.as_ref(),
            (_, Some(policy)) => policy.spec.target_ref.as_ref(),
            (None, None) => None,
        };
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
