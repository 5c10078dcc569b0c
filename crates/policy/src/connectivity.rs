//! Everything that policies let pass in one direction between two ends, and what decides on each part of it.

use crate::explanation::Decider;
use crate::transports::Transports;

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

/// What passes in one direction.
pub fn allowed(parts: &[Part]) -> Transports {
    let parts = parts.iter().filter(|part| part.allowed);
    parts.fold(Transports::default(), |all, part| all.union(&part.transports))
}
