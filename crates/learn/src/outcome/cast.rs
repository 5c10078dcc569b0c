//! Which of the ends that were seen are the same, and by which selector their pods are selected.
//!
//! A node names the workloads of its own pods only, so the same pods come with and without their
//! workload. Ends with equal names are one; pods without a workload are the one workload of their
//! namespace whose labels they carry.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use netenf_policy::{Labels, Selector};

use crate::directory::Directory;
use crate::identity::{Party, SelectorOrigin, WorkloadSelector};
use crate::learner::Learner;
use crate::proposal::Reason;

/// The ends of all edges, unified.
pub(super) struct Cast {
    /// For each end that was seen the one that stands for it.
    stands_for: Vec<u32>,
    selectors: Vec<Result<WorkloadSelector, Reason>>,
    names: Vec<BTreeSet<Arc<str>>>,
    labels: Vec<Option<Labels>>,
}

/// Labels of ends, by namespace and each of them: in the shortest list of an end's labels are all that
/// carry all of these.
#[derive(Default)]
struct ByLabel<'a>(HashMap<Label<'a>, Vec<u32>, RandomState>);

/// Ends by the one of their labels that the fewest carry: whoever carries all labels of such an end
/// carries that one.
struct ByRarest<'a>(HashMap<Label<'a>, Vec<u32>, RandomState>);

/// Namespace, key and value.
type Label<'a> = (&'a str, &'a str, &'a str);

// === impl Cast ===

impl Cast {
    pub(super) fn new<D: Directory>(learner: &Learner<D>) -> Self {
        let stands_for = unify(learner);
        let labels = common_labels(learner, &stands_for);
        let selectors = select(learner, &stands_for, &labels);
        let mut names = vec![BTreeSet::new(); learner.parties.len()];
        for (id, sum) in learner.parties.iter().enumerate() {
            let known = &mut names[stands_for[id] as usize];
            known.extend(sum.names.iter().cloned());
            if let Party::External(address) = sum.party {
                known.extend(learner.names.get(&address).into_iter().flatten().cloned());
            }
        }
        Self { stands_for, selectors, names, labels }
    }

    /// The end that stands for `id`.
    pub(super) fn of(&self, id: u32) -> u32 {
        self.stands_for[id as usize]
    }

    /// How the pods of `id` are selected, or why they cannot be.
    pub(super) fn selector(&self, id: u32) -> Result<&WorkloadSelector, Reason> {
        self.selectors[id as usize].as_ref().map_err(|reason| *reason)
    }

    /// Labels of the pods of `id`: of the workload's object, else those that all flows of it showed.
    pub(super) fn labels<D: Directory>(&self, learner: &Learner<D>, id: u32) -> Option<Labels> {
        let workload = learner.parties[id as usize].party.workload();
        let declared = workload.and_then(|workload| learner.directory.labels(workload));
        declared.or_else(|| self.labels[id as usize].clone())
    }

    /// DNS names of `id`.
    pub(super) fn names(&self, id: u32) -> &BTreeSet<Arc<str>> {
        &self.names[id as usize]
    }
}

fn unify<D: Directory>(learner: &Learner<D>) -> Vec<u32> {
    let mut nodes: BTreeMap<&str, u32> = BTreeMap::new();
    let mut workloads = Vec::new();
    for (id, sum) in (0u32..).zip(&learner.parties) {
        match (&sum.party, &sum.labels) {
            (Party::Node { name, workload: None }, _) => drop(nodes.insert(name, id)),
            (Party::Workload(workload), Some(labels)) => {
                workloads.push((&*workload.namespace, labels, id));
            }
            _ => {}
        }
    }
    let workloads = ByRarest::new(&workloads);
    let labels_of = |id: u32| learner.parties[id as usize].labels.as_ref();
    let stand_in = |id: u32| match &learner.parties[id as usize].party {
        Party::Pods { namespace, labels } => {
            let carried = |id: &u32| {
                labels_of(*id).is_some_and(|own| !own.is_empty() && labels.contains_all(own))
            };
            only(workloads.may_be_held(namespace, labels).filter(carried))
        }
        // The same address may be reported as the world's and as a node's (case B37).
        Party::External(address) => nodes.get(address.to_string().as_str()).copied(),
        _ => None,
    };
    let count = u32::try_from(learner.parties.len()).unwrap_or(u32::MAX);
    (0..count).map(|id| stand_in(id).unwrap_or(id)).collect()
}

/// The labels that all ends share that one stands for.
fn common_labels<D: Directory>(learner: &Learner<D>, stands_for: &[u32]) -> Vec<Option<Labels>> {
    let mut common: Vec<Option<Labels>> =
        learner.parties.iter().map(|sum| sum.labels.clone()).collect();
    for (id, &by) in stands_for.iter().enumerate() {
        if let (true, Some(labels)) = (by as usize != id, &learner.parties[id].labels) {
            let known = common[by as usize].take();
            common[by as usize] =
                Some(known.map_or_else(|| labels.clone(), |k| k.intersection(labels)));
        }
    }
    common
}

fn select<D: Directory>(
    learner: &Learner<D>,
    stands_for: &[u32],
    labels: &[Option<Labels>],
) -> Vec<Result<WorkloadSelector, Reason>> {
    let mut carried = ByLabel::default();
    for (id, sum) in (0u32..).zip(&learner.parties) {
        if let (Some(namespace), Some(own)) = (sum.party.namespace(), &labels[id as usize])
            && stands_for[id as usize] == id
        {
            carried.insert(namespace, own, id);
        }
    }
    let directory = &learner.directory;
    let infer = |id: u32, namespace: &Arc<str>| {
        let own =
            labels[id as usize].as_ref().filter(|own| !own.is_empty()).ok_or(Reason::NoSelector)?;
        // Labels that another workload carries too would admit that one as well.
        let others = carried.may_carry(namespace, own).iter().filter(|other| **other != id);
        let shared = others
            .filter_map(|other| labels[*other as usize].as_ref())
            .any(|l| l.contains_all(own));
        if shared {
            return Err(Reason::NoSelector);
        }
        let selector = Selector::of_labels(own.clone());
        Ok(WorkloadSelector { selector, origin: SelectorOrigin::Inferred, also: Vec::new() })
    };
    let of = |(id, sum): (u32, &crate::sum::PartySum)| match &sum.party {
        Party::Workload(workload) => match directory.selector(workload) {
            Some(selector) if !selector.is_empty() => {
                let also = directory.selected_too(workload);
                Ok(WorkloadSelector { selector, origin: SelectorOrigin::Object, also })
            }
            Some(_) => Err(Reason::NoSelector),
            None if directory.covers(&workload.namespace) => Err(Reason::UnknownOwner),
            None => infer(id, &workload.namespace),
        },
        Party::Pods { namespace, .. } => infer(id, namespace),
        Party::Pod { .. } if directory.is_empty() => Err(Reason::NoSelector),
        Party::Pod { .. } => Err(Reason::UnknownOwner),
        _ => Err(Reason::NoSelector),
    };
    (0u32..).zip(&learner.parties).map(of).collect()
}

/// The only item, if there is exactly one.
fn only(mut items: impl Iterator<Item = u32>) -> Option<u32> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

// === impl ByLabel ===

impl<'a> ByLabel<'a> {
    fn insert(&mut self, namespace: &'a str, labels: &'a Labels, id: u32) {
        for (key, value) in labels.iter() {
            self.0.entry((namespace, key, value)).or_default().push(id);
        }
    }

    /// Some ends, among which are all that carry all of `labels`.
    fn may_carry<'b>(&'b self, namespace: &'b str, labels: &'b Labels) -> &'b [u32] {
        let lists = labels.iter().map(|(key, value)| {
            self.0.get(&(namespace, key, value)).map_or(&[][..], Vec::as_slice)
        });
        lists.min_by_key(|list| list.len()).unwrap_or_default()
    }
}

// === impl ByRarest ===

impl<'a> ByRarest<'a> {
    fn new(ends: &[(&'a str, &'a Labels, u32)]) -> Self {
        let mut counts: HashMap<Label<'a>, usize, RandomState> = HashMap::default();
        for (namespace, labels, _) in ends {
            for (key, value) in labels.iter() {
                *counts.entry((namespace, key, value)).or_default() += 1;
            }
        }
        let mut lists: HashMap<Label<'a>, Vec<u32>, RandomState> = HashMap::default();
        for (namespace, labels, id) in ends {
            let all = labels.iter().map(|(key, value)| (*namespace, key, value));
            if let Some(rarest) = all.min_by_key(|label| (counts[label], *label)) {
                lists.entry(rarest).or_default().push(*id);
            }
        }
        Self(lists)
    }

    /// Some ends, among which are all whose labels `labels` hold; each once.
    fn may_be_held<'b>(
        &'b self,
        namespace: &'b str,
        labels: &'b Labels,
    ) -> impl Iterator<Item = u32> + use<'a, 'b> {
        let lists =
            labels.iter().filter_map(move |(key, value)| self.0.get(&(namespace, key, value)));
        lists.flatten().copied()
    }
}
