//! Everything that policies let pass between two ends, and what decides on each part of it.

use crate::explanation::Decider;
use crate::transports::Transports;

/// What may pass between two ends: both directions must allow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connectivity {
    /// What holds for the way out of the source; the parts hold each transport once.
    pub egress: Vec<Part>,
    /// What holds for the way into the destination.
    pub ingress: Vec<Part>,
}

/// Transports on which one thing decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// On what it decides; never empty.
    pub transports: Transports,
    /// Whether it lets them pass.
    pub allowed: bool,
    /// What decides.
    pub by: Decider,
}

// === impl Connectivity ===

impl Connectivity {
    /// What passes.
    pub fn allowed(&self) -> Transports {
        allowed(&self.egress).intersection(&allowed(&self.ingress))
    }
}

/// What passes in one direction.
pub fn allowed(parts: &[Part]) -> Transports {
    let parts = parts.iter().filter(|part| part.allowed);
    parts.fold(Transports::default(), |all, part| all.union(&part.transports))
}
