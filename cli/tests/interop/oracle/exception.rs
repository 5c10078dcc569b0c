//! Where kube-network-policies v1.1.1 decides otherwise, and who is right.
//!
//! An exception does not say "such documents may differ". It spells what the document means in another way, one that the
//! reference takes as it is meant; a difference is excused only if the reference then agrees. Three exceptions cannot be
//! spelled away, since no policy says what they say: these name the verdicts that they excuse, a direction at a time.

use netenf_policy::cluster::NamedPort;
use netenf_policy::{Action, Cluster, Decider, Explanation, Finding, RuleId, Side};
use serde::Deserialize;

use super::document::{Document, kind, rules};

mod correction;
mod unknown;

/// A difference that is meant. Each is pinned by a case of `cases.yaml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Exception {
    /// Baseline is for what no NetworkPolicy isolates *in that direction*; the reference ends with the NetworkPolicies once
    /// one selects the pod, in either. The text ("pods that are not selected by any NetworkPolicy") can be read both ways;
    /// NetworkPolicy's own isolation is per direction, and policy-assistant reads it so too.
    BaselinePerPod,
    /// `ingress: []` is no rule, and allows nothing; the reference takes it for a rule for everyone. We are right: "If this
    /// field is empty then this NetworkPolicy does not allow any traffic". An API server stores it as absent.
    EmptyRules,
    /// A `namedPort` of v1alpha1 is the number and the protocol of a port of the destination; the reference only asks
    /// whether the destination has a port of that name. We are right: "`NamedPort` selects a port on a pod(s) based on name".
    NamedPortByNameAlone,
    /// `nodes` of v1alpha1 are the addresses of nodes; the reference takes the pods on them, and no node. We are right:
    /// "by matching on the IPs present in the node.Status.Addresses field of the node"; its own v1alpha2 does so.
    NodesByPods,
    /// A block that is no CIDR matches nothing; the reference takes it to match everything. An API server refuses it.
    UnreadableBlock,
    /// A rule with something that is not understood closes; the reference passes over it. We are right: "the deployed CRD is of
    /// an incompatible version with an unknown field. In that case it should fail closed". So are taken a selector that is
    /// refused, and a range that ends before it starts.
    Unknown,
    /// A pod reaches itself; the reference asks the policies. We are right: "a pod cannot block access to itself". In its
    /// dataplane such packets are seldom seen, as they do not leave the pod.
    Itself,
    /// A named port is no port 0; the reference reads the name as a number, which gives 0. We are right.
    NameAsNumber,
    /// A pod that has finished has no address any more; the reference finds it where no other pod runs. We are right:
    /// the address is free to be given to another.
    FinishedPod,
    /// `domainNames` are for Accept only; the reference asks them in other rules as well. We are right:
    /// "`domainNames` is only supported for Accept rules".
    DeniedDomain,
    /// A selector that is refused matches nothing; the reference takes it to match everything in a NetworkPolicy's peer.
    /// An API server refuses it.
    RefusedSelector,
    /// A port without protocol is one of TCP, and `policyTypes` follow from the rules; the reference fails on the one and
    /// applies no policy without the other. It may rely on the API server, which writes both down.
    Undefaulted,
    /// A node reaches the pods that run on it; the reference asks the policies. Both are right: "traffic to and from the node
    /// where a Pod is running is always allowed", which the reference sees to in its packet filter.
    OwnNode,
}

/// One direction of a packet with our finding.
pub(crate) struct Judged<'a> {
    pub(crate) side: Side,
    pub(crate) explanation: &'a Explanation,
}

// === impl Exception ===

impl Exception {
    /// All of them, in the order in which documents are corrected: what has its defaults is easier to correct.
    pub(crate) const ALL: [Self; 13] = [
        Self::Undefaulted,
        Self::EmptyRules,
        Self::UnreadableBlock,
        Self::RefusedSelector,
        Self::Unknown,
        Self::NamedPortByNameAlone,
        Self::NameAsNumber,
        Self::NodesByPods,
        Self::DeniedDomain,
        Self::FinishedPod,
        Self::Itself,
        Self::OwnNode,
        Self::BaselinePerPod,
    ];

    /// Spells the document so that the reference takes it as it is meant, for packets to a destination with these ports.
    fn correct(self, document: &mut Document, side: Side, cluster: &Cluster, ports: &[NamedPort]) {
        match self {
            Self::Undefaulted => correction::fill_defaults(document),
            Self::EmptyRules => correction::drop_empty_rules(document),
            Self::UnreadableBlock => correction::close_unreadable_blocks(document),
            Self::RefusedSelector => correction::close_refused_selectors(document),
            Self::Unknown => unknown::close(document, side),
            Self::NamedPortByNameAlone => correction::resolve_admin_names(document, side, ports),
            Self::NameAsNumber => correction::resolve_policy_names(document, side, ports),
            Self::NodesByPods => correction::spell_nodes_as_networks(document, cluster),
            Self::DeniedDomain => correction::close_denied_domains(document),
            Self::FinishedPod => correction::drop_finished_pods(document),
            Self::BaselinePerPod => correction::drop_policies_of_other_side(document, side),
            Self::Itself | Self::OwnNode => {}
        }
    }

    /// Whether this direction of a packet may differ whatever the reference is told.
    pub(crate) fn excuses(self, document: &Document, judged: &Judged<'_>) -> bool {
        let finding = judged.finding();
        match self {
            Self::Itself => finding.by == Decider::Itself,
            Self::OwnNode => finding.by == Decider::OwnNode,
            // No peer of an ingress rule is an address outside, so that no rule can deny one.
            Self::Unknown => match &finding.by {
                Decider::Rule(rule) => {
                    judged.side == Side::Ingress
                        && rule.action == Action::Deny
                        && is_unknown(document, rule)
                }
                Decider::NoPod
                | Decider::Itself
                | Decider::OwnNode
                | Decider::Isolated(_)
                | Decider::Default => false,
            },
            Self::BaselinePerPod
            | Self::EmptyRules
            | Self::NamedPortByNameAlone
            | Self::NodesByPods
            | Self::UnreadableBlock
            | Self::NameAsNumber
            | Self::FinishedPod
            | Self::DeniedDomain
            | Self::RefusedSelector
            | Self::Undefaulted => false,
        }
    }
}

// === impl Judged ===

impl Judged<'_> {
    fn finding(&self) -> &Finding {
        match self.side {
            Side::Egress => &self.explanation.egress,
            Side::Ingress => &self.explanation.ingress,
        }
    }
}

/// The document as it concerns one side of packets to a destination, corrected for these exceptions.
pub(crate) fn corrected(
    document: &Document,
    exceptions: &[Exception],
    side: Side,
    cluster: &Cluster,
    ports: &[NamedPort],
) -> Document {
    let mut corrected = document.clone();
    for exception in exceptions {
        exception.correct(&mut corrected, side, cluster, ports);
    }
    correction::open_other_side(&mut corrected, side);
    corrected
}

/// Whether something in this ingress rule is not understood.
fn is_unknown(document: &Document, id: &RuleId) -> bool {
    let is_meant =
        |name: &str, of_kind: &str| name == &*id.object.name && of_kind == &*id.object.kind;
    let policy = document.objects.iter().find(|object| {
        is_meant(object["metadata"]["name"].as_str().unwrap_or_default(), kind(object))
    });
    policy.is_some_and(|policy| {
        let rules = rules(&mut policy.clone(), Side::Ingress).to_vec();
        rules.get(id.index).is_some_and(|rule| unknown::is_in(rule, Side::Ingress))
    })
}
