//! Why a step of the lifecycle was refused, and what a person can do about it.

use ipnet::IpNet;
use netenf_api::violation::MAX_REASON;
use netenf_api::{Backend, Mode, Protocol};

use super::resource::Key;

/// A step that was not taken, with the object it was meant for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot {step} {object}: {reason}")]
pub struct Refusal {
    /// What was asked for, as a verb.
    pub step: &'static str,
    /// The object it was asked for.
    pub object: Key,
    /// Why it was refused.
    pub reason: Box<Reason>,
}

/// Why a step was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// A policy of that name is there, and did not come from this proposal.
    #[error("a policy of that name exists already")]
    PolicyExists,
    /// The policy that this proposal became is there.
    #[error("it is promoted already and only left over")]
    AlreadyPromoted,
    /// A proposal of that name is there, and differs from the policy.
    #[error("a proposal of that name exists already")]
    ProposalExists,
    /// The object carries no body for its backend.
    #[error("it has no spec.{backend}, although its backend is {backend}")]
    NoBody {
        /// The backend that the object names.
        backend: Backend,
    },
    /// The selector selects every pod of the namespace.
    #[error("its selector is empty and would select every pod of the namespace")]
    EmptySelector,
    /// Istio enforces inbound traffic only.
    #[error("the istio backend has no Egress: ztunnel enforces inbound traffic")]
    IstioEgress,
    /// The selector of an `AuthorizationPolicy` knows labels only.
    #[error("its selector has matchExpressions, which an AuthorizationPolicy does not know")]
    MatchExpressions,
    /// Istio takes no ranges and no names of ports.
    #[error("{port:?} is no port of an AuthorizationPolicy")]
    IstioPort {
        /// The port as it is written.
        port: String,
    },
    /// Protecting without any rule denies everything.
    #[error("it has no rule, so that protect would deny everything")]
    NoRules,
    /// The object is there already, or before that step.
    #[error("it is in {mode} and demoting goes one step back")]
    NotAStepBack {
        /// Mode of the policy.
        mode: Mode,
    },
    /// No entry has that id.
    #[error("no entry has the id {id}")]
    UnknownId {
        /// The id that was given.
        id: String,
    },
    /// Too little of an id is no name of an entry.
    #[error("{id:?} is too short for an id")]
    ShortId {
        /// The id that was given.
        id: String,
    },
    /// Several entries begin with that id.
    #[error("the id {id} could be {}", candidates.join(" or "))]
    AmbiguousId {
        /// The id that was given.
        id: String,
        /// The full ids that begin with it.
        candidates: Vec<String>,
    },
    /// No rule can name the protocol.
    #[error("no rule can name the protocol {protocol}")]
    ProtocolWithoutRule {
        /// Protocol of the entry.
        protocol: Protocol,
    },
    /// The connection came through a node port, and what the policy sees then depends on the CNI.
    #[error("it came through a node port, which a policy of pods cannot name")]
    NodePort,
    /// The source did not tell the port.
    #[error("the port of {id} is not known")]
    NoPort {
        /// Id of the entry.
        id: String,
    },
    /// The entry carries no address.
    #[error("no address of {id} is known")]
    NoAddress {
        /// Id of the entry.
        id: String,
    },
    /// The entry carries no labels, and none were given.
    #[error("no labels are known that select the pods of {id}")]
    NoSelector {
        /// Id of the entry.
        id: String,
    },
    /// The entry carries no mesh identity.
    #[error("no mesh identity of {id} is known")]
    NoIdentity {
        /// Id of the entry.
        id: String,
    },
    /// A suggestion is accepted as it is or not at all.
    #[error("{id} is a suggested range, not a peer")]
    IsSuggestion {
        /// Id of the entry.
        id: String,
    },
    /// Only a suggestion names a range.
    #[error("{id} is no suggested range")]
    NoSuggestion {
        /// Id of the entry.
        id: String,
    },
    /// The rule would not allow what was seen.
    #[error("{} is not in {}", list(missing), list(blocks))]
    OutsideBlocks {
        /// The addresses that were seen and would stay denied.
        missing: Vec<IpNet>,
        /// What the rule would allow.
        blocks: Vec<IpNet>,
    },
    /// The addresses are in a range that stays denied.
    #[error("{} is in a range that any leaves out", list(missing))]
    LeftOut {
        /// The addresses that were seen and would stay denied.
        missing: Vec<IpNet>,
    },
    /// Istio's rules name identities.
    #[error("rules of the istio backend name identities, not addresses")]
    NamesIdentities,
    /// Another policy denies it, so that a rule in this one would change nothing.
    #[error("it is denied by {by}, so that a rule here would change nothing")]
    DeniedElsewhere {
        /// The policy that denies.
        by: String,
    },
    /// The object is about both directions, or about none.
    #[error("it does not say its direction")]
    NoDirection,
    /// Which rule of the spec the evidence is for cannot be told.
    #[error("{count} rules of its spec fit {rule}")]
    UnclearRule {
        /// The rule that was meant.
        rule: String,
        /// Number of rules that fit.
        count: usize,
    },
    /// The rule is part of a wider one.
    #[error("a wider rule of its spec allows {rule}")]
    WiderRule {
        /// The rule that was meant.
        rule: String,
    },
    /// There is no evidence for such a rule.
    #[error("it has no rule {rule}")]
    UnknownRule {
        /// The rule that was meant.
        rule: String,
    },
    /// The rule was refused before.
    #[error("the rule {rule} is refused already")]
    AlreadyRefused {
        /// The rule that was meant.
        rule: String,
    },
    /// The violation was acknowledged before.
    #[error("{id} is acknowledged already")]
    AlreadyAcknowledged {
        /// Id of the violation.
        id: String,
    },
    /// The reason of the acknowledgement is longer than the API takes.
    #[error("the reason has {length} characters, and {MAX_REASON} are the most")]
    LongReason {
        /// Number of characters that were given.
        length: usize,
    },
    /// The revision is of another kind of object.
    #[error("revision {number} is a {kind}")]
    OtherKind {
        /// Number of the revision.
        number: u64,
        /// Kind that the revision holds, as a word.
        kind: &'static str,
    },
    /// The revision is of another backend, and the backend never changes.
    #[error("revision {number} is for the {backend} backend, and the backend never changes")]
    OtherBackend {
        /// Number of the revision.
        number: u64,
        /// Backend of the revision.
        backend: Backend,
    },
    /// The revision is of an object with another name.
    #[error("revision {number} is of {object}")]
    OtherObject {
        /// Number of the revision.
        number: u64,
        /// The object that the revision holds.
        object: Key,
    },
}

pub(super) fn list(blocks: &[IpNet]) -> String {
    blocks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

// === impl Refusal ===

impl Refusal {
    pub(crate) fn new(step: &'static str, object: Key, reason: Reason) -> Self {
        Self { step, object, reason: Box::new(reason) }
    }

    /// What a person can do next.
    pub fn next_step(&self) -> &'static str {
        self.reason.next_step()
    }
}

// === impl Reason ===

impl Reason {
    /// What a person can do next.
    pub const fn next_step(&self) -> &'static str {
        match self {
            Self::PolicyExists => {
                "compare both with `diff`; demote or delete the policy, or delete the proposal"
            }
            Self::AlreadyPromoted => "delete the proposal; the policy holds its rules",
            Self::ProposalExists => "compare both with `diff`; delete the proposal or the policy",
            Self::NoBody { .. } => "write the body that the backend names, or learn again",
            Self::EmptySelector => "name the workload's labels in the selector",
            Self::IstioEgress => "use the kubernetes backend for outbound traffic",
            Self::MatchExpressions => {
                "give the workload a selector of labels only; leaving the expressions out would widen the policy"
            }
            Self::IstioPort { .. } => "write each port as a number from 1 to 65535",
            Self::NoRules => {
                "learn longer, allow what is uncovered, or give --deny-all to deny everything"
            }
            Self::NotAStepBack { .. } => "see `get` for its mode",
            Self::UnknownId { .. } => "kubectl netenf get -o yaml shows the ids",
            Self::ShortId { .. } => "give at least 4 characters of the id",
            Self::AmbiguousId { .. } => "give more of the id",
            Self::ProtocolWithoutRule { .. } => {
                "accept its loss with promote --accept-uncovered, or allow it in a policy of the CNI"
            }
            Self::NodePort => {
                "allow the peer of the connection in the policy of the pods behind it"
            }
            Self::NoPort { .. } => "write the rule into the spec by hand, with its port",
            Self::NoAddress { .. } => "find out where it is and allow that as a CIDR",
            Self::NoSelector { .. } => {
                "learn again with --cluster-state, which tells the labels of pods, or write the rule by hand"
            }
            Self::NoIdentity { .. } => "bring the peer into the mesh and learn again",
            Self::IsSuggestion { .. } => "accept the suggestion as a range, or leave the list",
            Self::NoSuggestion { .. } => "allow it as a peer, as addresses, as a CIDR, or as any",
            Self::OutsideBlocks { .. } => {
                "give a wider CIDR, further ones beside it, or allow the addresses themselves"
            }
            Self::LeftOut { .. } => "allow it as addresses, or as a CIDR",
            Self::NamesIdentities => "allow it as a peer",
            Self::DeniedElsewhere { .. } => "change that policy; status.violations names it",
            Self::NoDirection => "set spec.direction",
            Self::UnclearRule { .. } | Self::WiderRule { .. } => "edit the spec by hand",
            Self::UnknownRule { .. } | Self::AlreadyRefused { .. } => {
                "see status.rules with `get -o yaml`"
            }
            Self::AlreadyAcknowledged { .. } => {
                "its reason stands in status.acknowledgedViolations"
            }
            Self::LongReason { .. } => "say it shorter, and link to what says more",
            Self::OtherKind { .. } => "promote or demote first, then roll back",
            Self::OtherBackend { .. } | Self::OtherObject { .. } => {
                "choose another revision of `history`"
            }
        }
    }
}
