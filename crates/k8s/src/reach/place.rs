//! Places of a map: what may stand at an end of a link.

use std::sync::Arc;

use netenf_learn::Workload;
use netenf_policy::Pattern;
use netenf_policy::space::{self, AddressRange};

/// A place in a map of what may talk to what. The API server is among nodes or the world, by its addresses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A workload.
    Workload(Workload),
    /// Nodes, by their names.
    Nodes(Vec<Arc<str>>),
    /// Names outside the cluster.
    Names(Vec<Pattern>),
    /// Addresses, as far as nothing in the cluster has them.
    World(Vec<AddressRange>),
}

// === impl Place ===

impl Place {
    /// The same with ranges of addresses that touch as one.
    pub(super) fn joined(self) -> Self {
        match self {
            Self::World(ranges) => Self::World(space::join(ranges)),
            Self::Workload(_) | Self::Nodes(_) | Self::Names(_) => self,
        }
    }

    /// Each workload, node, name or range for itself.
    pub(super) fn each(&self) -> Vec<Self> {
        match self {
            Self::Workload(_) => vec![self.clone()],
            Self::Nodes(all) => all.iter().map(|one| Self::Nodes(vec![one.clone()])).collect(),
            Self::Names(all) => all.iter().map(|one| Self::Names(vec![one.clone()])).collect(),
            Self::World(all) => all.iter().map(|one| Self::World(vec![*one])).collect(),
        }
    }

    /// What places of its sort have in common: a workload is a sort of its own.
    pub(super) fn sort(&self) -> Self {
        match self {
            Self::Workload(_) => self.clone(),
            Self::Nodes(_) => Self::Nodes(Vec::new()),
            Self::Names(_) => Self::Names(Vec::new()),
            Self::World(_) => Self::World(Vec::new()),
        }
    }

    /// Adds a place of the same sort.
    pub(super) fn add(&mut self, other: Self) {
        match (self, other) {
            (Self::Nodes(own), Self::Nodes(more)) => own.extend(more),
            (Self::Names(own), Self::Names(more)) => own.extend(more),
            (Self::World(own), Self::World(more)) => own.extend(more),
            (Self::Workload(_) | Self::Nodes(_) | Self::Names(_) | Self::World(_), _) => {}
        }
    }
}
