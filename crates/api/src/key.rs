//! Labels and annotations with a meaning of their own.

/// Label on a proposal: promotes it to a policy in the mode that it names.
pub const PROMOTE: &str = "networkenforcer.kubewarden.io/promote";

/// Label on a policy: the name of the proposal that it was promoted from.
pub const PROMOTED_FROM: &str = "networkenforcer.kubewarden.io/promoted-from";

/// Start of an annotation on a policy: the violation id follows, the value is the reason.
pub const ACKNOWLEDGE_PREFIX: &str = "networkenforcer.kubewarden.io/acknowledge-";

/// Annotation on an `AuthorizationPolicy`: `true` reports instead of blocking.
pub const ISTIO_DRY_RUN: &str = "istio.io/dry-run";

/// Annotation on the agent's Lease: the source of flows, and the time until which everything that it reported is
/// written.
pub const LEARNED_UNTIL: &str = "networkenforcer.kubewarden.io/learned-until";

/// The annotation that acknowledges the violation `id`.
pub fn acknowledge(id: &str) -> String {
    format!("{ACKNOWLEDGE_PREFIX}{id}")
}

/// The violation id that an annotation acknowledges.
pub fn acknowledged_id(annotation: &str) -> Option<&str> {
    annotation.strip_prefix(ACKNOWLEDGE_PREFIX)
}

#[cfg(test)]
mod tests;
