//! Whether a connection may be, as a person asks: ends by their names, and the policies that count (DESIGN D8, D9).
//!
//! ```text
//! text -> end::Pattern -> Inquiry::ends -> policy::End ─┐
//! our objects, index -> policies -> Reach ──────────────┴─ Question::answer -> reach::Answer
//! ```
//!
//! The command line asks it of files, the agent of the cluster that it watches: what one answers the other does.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use netenf_learn::Workload;
use netenf_policy::space::AddressRange;
use netenf_policy::{End, Labels, Pod, domain};

use crate::end::Pattern;
use crate::index::Index;
use crate::lifecycle::Resource;
use crate::lower;
use crate::near::near;
use crate::reach::Reach;
use crate::unclear::{Hint, Unclear};

mod policies;
mod question;
mod service;

pub use policies::{Counted, Scope, counted, outline};
pub use question::Question;

/// What a question is asked of.
#[derive(Clone, Copy)]
pub struct Inquiry<'a> {
    /// The cluster's objects.
    pub index: &'a Index,
    /// Our proposals and policies, each name of each kind once.
    pub ours: &'a [Resource],
    /// The namespace of what is named without one; any where there is none.
    pub namespace: Option<&'a str>,
    /// By what the pods of a workload are selected, where neither objects nor policies of its own tell.
    pub recorded: &'a dyn Recorded,
}

/// What was recorded of workloads, beside what objects say.
pub trait Recorded {
    /// By what the pods of the workload were selected; `None` where nothing tells.
    fn selector(&self, workload: &Workload) -> Option<LabelSelector>;
}

/// Nothing was recorded: objects tell everything.
#[derive(Debug, Clone, Copy)]
pub struct NothingRecorded;

/// The ends that a pattern names.
#[derive(Debug, Clone, PartialEq)]
pub struct Meant {
    /// The ends; never none.
    pub ends: Vec<End>,
    /// What a person should know of them.
    pub note: Option<String>,
}

// === impl NothingRecorded ===

impl Recorded for NothingRecorded {
    fn selector(&self, _workload: &Workload) -> Option<LabelSelector> {
        None
    }
}

// === impl Meant ===

impl From<Vec<End>> for Meant {
    fn from(ends: Vec<End>) -> Self {
        Self { ends, note: None }
    }
}

// === impl Inquiry ===

impl fmt::Debug for Inquiry<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Inquiry")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl Inquiry<'_> {
    /// The ends that `pattern` names; never none.
    pub fn ends(&self, pattern: &Pattern, reach: &Reach<'_>) -> Result<Meant, Unclear> {
        let index = self.index;
        let ends = match pattern {
            Pattern::Workload { namespace, kind, name } => {
                self.workload(namespace.as_deref(), kind, name)
            }
            Pattern::Pod { namespace, name } => self.workload(namespace.as_deref(), "Pod", name),
            Pattern::Namespace(name) => return self.of_namespace(&name.as_str().into()),
            Pattern::Node(name) => match index.end_of_node(name) {
                Some(end) => Ok(vec![end]),
                None => Err(unknown("node", name, index.nodes().map(|node| &*node.name))),
            },
            Pattern::Host => {
                let nodes = index.nodes().filter_map(|node| index.end_of_node(&node.name));
                found(nodes.collect(), "node", "nodes")
            }
            Pattern::Block(block) if block.prefix_len() == block.max_prefix_len() => {
                Ok(vec![index.end_at(block.addr())])
            }
            Pattern::Block(block) => Ok(reach.ends_within(index, AddressRange::from(*block))),
            Pattern::World => Ok(reach.ends_of_world(index)),
            Pattern::Name(name) => match domain::Name::parse(name) {
                Some(name) => Ok(vec![End::Name(name)]),
                None => Err(Unclear::malformed(format!("{name:?} is no domain name"))),
            },
            Pattern::ApiServer => {
                found(index.api_server_ends(), "address of the API server", "endpointslices")
            }
        };
        ends.map(Meant::from)
    }

    /// The workload of that kind and name, of which there must be one.
    fn named(&self, namespace: Option<&str>, kind: &str, name: &str) -> Result<Workload, Unclear> {
        let here = |workload: &Workload| {
            namespace.is_none_or(|namespace| *workload.namespace == *namespace)
                && (&*workload.kind, &*workload.name) == (kind, name)
        };
        let known = self.workloads();
        let found: Vec<&Workload> = known.iter().filter(|workload| here(workload)).collect();
        match found[..] {
            [one] => Ok(one.clone()),
            [] => {
                let wanted = Workload::new(namespace.unwrap_or_default(), kind, name);
                let called = if namespace.is_some() { word(&wanted) } else { short(&wanted) };
                let names: Vec<String> = known.iter().map(word).collect();
                let error = unknown("", &called, names.iter().map(String::as_str));
                Err(error.hint(Hint::Objects(None)))
            }
            [..] => {
                let all: Vec<String> = found.into_iter().map(word).collect();
                let text = format!(
                    "{} can be {}",
                    all[0].split_once('/').map_or("", |own| own.1),
                    all.join(" or ")
                );
                Err(Unclear::malformed(text).hint(Hint::Namespace(None)))
            }
        }
    }

    /// An end as a person writes it. Workloads of kinds that only the objects know are ends too.
    pub fn pattern(&self, text: &str) -> Result<Pattern, Unclear> {
        let namespace = self.namespace;
        Pattern::parse(text, namespace).or_else(|error| {
            let is_meant = |own: &Workload| {
                let (full, short) = (word(own), short(own));
                let here = namespace.is_none_or(|namespace| *own.namespace == *namespace);
                full.eq_ignore_ascii_case(text) || (here && short.eq_ignore_ascii_case(text))
            };
            match self.workloads().into_iter().find(is_meant) {
                Some(own) => Ok(Pattern::of(&own)),
                None => Err(error),
            }
        })
    }

    /// A workload as a person writes it, of which there must be one.
    pub fn parsed(&self, text: &str) -> Result<Workload, Unclear> {
        match self.pattern(text)? {
            Pattern::Workload { namespace, kind, name } => {
                self.named(namespace.as_deref(), &kind, &name)
            }
            Pattern::Pod { namespace, name } => self.named(namespace.as_deref(), "Pod", &name),
            Pattern::Namespace(_)
            | Pattern::Node(_)
            | Pattern::Block(_)
            | Pattern::Name(_)
            | Pattern::World
            | Pattern::ApiServer
            | Pattern::Host => Err(Unclear::malformed(format!("{text:?} names no workload"))
                .plain("write KIND/NAME or NAMESPACE/KIND/NAME, for example deployment/web or shop/sts/db")),
        }
    }

    /// Every workload that nothing else controls, with its pods; those of our objects too.
    pub fn all_ends(&self) -> Vec<(Workload, Vec<End>)> {
        let mut tops: BTreeSet<Workload> = self.index.top_workloads().cloned().collect();
        tops.extend(self.of_ours());
        let known = tops.into_iter().filter_map(|own| Some((self.known_ends(&own)?, own)));
        known.filter(|(ends, _)| !ends.is_empty()).map(|(ends, own)| (own, ends)).collect()
    }

    /// Workloads that only our objects know.
    pub fn known_by_ours(&self) -> impl Iterator<Item = Workload> {
        self.of_ours().filter(|own| self.index.ends_of(own).is_none())
    }

    /// The pods of a workload; never none.
    pub fn ends_of(&self, workload: &Workload) -> Result<Vec<End>, Unclear> {
        let name = word(workload);
        match self.known_ends(workload) {
            Some(ends) if !ends.is_empty() => Ok(ends),
            Some(_) => Err(Unclear::unknown(format!("all pods of {name} have finished"))
                .plain("a pod that has finished owns no address: no policy is asked about it")),
            None => {
                Err(Unclear::unknown(format!("nothing tells the labels of the pods of {name}"))
                    .hint(Hint::Objects(None)))
            }
        }
    }

    /// The pods of a workload as the objects tell them, or else as our objects select them.
    fn known_ends(&self, workload: &Workload) -> Option<Vec<End>> {
        self.index.ends_of(workload).or_else(|| Some(vec![End::Pod(self.by_selector(workload)?)]))
    }

    fn workload(
        &self,
        namespace: Option<&str>,
        kind: &str,
        name: &str,
    ) -> Result<Vec<End>, Unclear> {
        self.ends_of(&self.named(namespace, kind, name)?)
    }

    /// Every pod of the namespace that is known, and where there is none a pod without labels.
    fn of_namespace(&self, namespace: &Arc<str>) -> Result<Meant, Unclear> {
        let own = self.all_ends().into_iter().filter(|(own, _)| own.namespace == *namespace);
        let ends: Vec<End> = own.flat_map(|(_, ends)| ends).collect();
        if !ends.is_empty() {
            return Ok(ends.into());
        }
        let known: Vec<Workload> = self.workloads();
        let names: BTreeSet<&str> = known.iter().map(|own| &*own.namespace).collect();
        if !names.is_empty() && !self.index.has_namespace(namespace) {
            return Err(unknown("namespace", namespace, names.into_iter()));
        }
        let note = format!(
            "no pod of namespace {namespace} is known; a pod without labels stands for all"
        );
        Ok(Meant { ends: vec![End::Pod(self.index.pod_in(namespace))], note: Some(note) })
    }

    /// Workloads of the objects, and those of ours.
    fn workloads(&self) -> Vec<Workload> {
        let mut all: Vec<Workload> = self.index.every_workload().collect();
        all.extend(self.of_ours());
        all.sort();
        all.dedup();
        all
    }

    /// Workloads that our objects are for.
    fn of_ours(&self) -> impl Iterator<Item = Workload> {
        self.ours.iter().filter_map(|object| {
            let target = object.target_ref()?;
            let namespace = object.key().namespace;
            Some(Workload::new(namespace, target.kind.to_string(), target.name.as_str()))
        })
    }

    /// A pod with the labels by which our objects select the workload's pods, or with which it was recorded;
    /// `None` if a pod of just these labels would not be selected.
    fn by_selector(&self, workload: &Workload) -> Option<Pod> {
        let is_own = |object: &&Resource| {
            *object.key().namespace == *workload.namespace
                && object.target_ref().is_some_and(|target| {
                    *target.kind.to_string() == *workload.kind && *target.name == *workload.name
                })
        };
        let mut own = self.ours.iter().filter(is_own);
        let declared = own.find_map(|object| object.kubernetes()?.pod_selector.clone());
        let selector = declared.or_else(|| self.recorded.selector(workload))?;
        let labels: Labels =
            selector.match_labels.clone().unwrap_or_default().into_iter().collect();
        let (selector, _) = lower::selector(&selector);
        let is_selected = !selector.is_empty() && selector.matches(&labels);
        is_selected.then(|| Pod { labels, ..self.index.pod_in(&workload.namespace) })
    }
}

/// A workload as one word, with its namespace.
pub fn word(workload: &Workload) -> String {
    format!("{}/{}", workload.namespace, short(workload))
}

/// A workload as one word, within its namespace.
fn short(workload: &Workload) -> String {
    format!("{}/{}", workload.kind.to_lowercase(), workload.name)
}

fn found(ends: Vec<End>, what: &str, resource: &'static str) -> Result<Vec<End>, Unclear> {
    if ends.is_empty() {
        return Err(
            Unclear::unknown(format!("no {what} is known")).hint(Hint::Objects(Some(resource)))
        );
    }
    Ok(ends)
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Unclear {
    let what = if what.is_empty() { String::new() } else { format!("{what} ") };
    let error = Unclear::unknown(format!("no {what}{name} is known"));
    match near(name, known).as_slice() {
        [] => error,
        near => error.plain(format!("did you mean {}?", near.join(" or "))),
    }
}

#[cfg(test)]
mod tests;
