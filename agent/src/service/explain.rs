//! Whether a connection may be: the answer of `kubectl netenf check`, of the cluster as it is known now.

use std::sync::{Arc, PoisonError};

use netenf_k8s::inquiry::{Counted, Inquiry, NothingRecorded, Question, Scope, counted, outline};
use netenf_k8s::lifecycle::Resource;
use netenf_k8s::reach::{Answer, Reach};
use netenf_k8s::unclear::{Fault, Hint, Unclear};
use netenf_policy::{End, Finding, Object, Protocol, Side, Tier};
use netenf_proto::netenf::v1;
use tonic::Status;

use super::{Guards, Service, convert};
use crate::judging::guards;
use crate::stored::Name;

/// Longer than any name of an end: a domain name has 253 characters, an object's name too.
pub(super) const MAX_END: usize = 600;

/// What is asked.
#[derive(Debug)]
pub(super) struct Asked {
    source: String,
    destination: String,
    protocol: Protocol,
    port: u16,
    scope: Scope,
}

// === impl Asked ===

impl Asked {
    pub(super) fn new(request: v1::ExplainRequest) -> Result<Self, Status> {
        let invalid = |text: String| Err(Status::invalid_argument(text));
        for (what, end) in [("source", &request.source), ("destination", &request.destination)] {
            if end.is_empty() || end.len() > MAX_END {
                return invalid(format!("{what} names no end: it has {} bytes", end.len()));
            }
        }
        let protocol = match v1::Protocol::try_from(request.protocol) {
            Ok(v1::Protocol::Tcp | v1::Protocol::Unspecified) => Protocol::Tcp,
            Ok(v1::Protocol::Udp) => Protocol::Udp,
            Ok(v1::Protocol::Sctp) => Protocol::Sctp,
            Ok(v1::Protocol::Icmp | v1::Protocol::Icmpv6 | v1::Protocol::Other) | Err(_) => {
                return invalid("policies know TCP, UDP and SCTP; ask about one of them".into());
            }
        };
        let port = u16::try_from(request.port).ok().filter(|port| *port > 0);
        let Some(port) = port else {
            return invalid(format!("port {} is not between 1 and 65535", request.port));
        };
        let scope = match v1::PolicyScope::try_from(request.scope) {
            Ok(v1::PolicyScope::Unspecified | v1::PolicyScope::InForce) => Scope::InForce,
            Ok(v1::PolicyScope::AssumeProtect) => Scope::AssumeProtect,
            Err(_) => return invalid(format!("scope {} is not known", request.scope)),
        };
        let v1::ExplainRequest { source, destination, .. } = request;
        Ok(Self { source, destination, protocol, port, scope })
    }

    /// Whether all proposals have to be read for the answer.
    pub(super) fn is_of_proposals(&self) -> bool {
        self.scope == Scope::AssumeProtect
    }
}

/// The answer. It takes as long as the policies are many.
pub(super) fn answer(service: &Service, asked: &Asked) -> Result<v1::ExplainResponse, Status> {
    let Ours { objects: ours, counted, guards } = ours(service, asked.scope);
    let index = service.index.read().unwrap_or_else(PoisonError::into_inner);
    let names = counted.policies.iter().map(|policy| (&*policy.namespace, &*policy.name));
    let natives = index.natives_beside(names);
    let cluster = index.cluster_policies().iter().map(|policy| &**policy);
    let reach = Reach::new(natives.chain(&counted.policies), cluster);
    let inquiry =
        Inquiry { index: &index, ours: &ours, namespace: None, recorded: &NothingRecorded };
    let to = (asked.protocol, asked.port);
    let question = Question::new(&inquiry, &asked.source, &asked.destination, to);
    let question = question.map_err(|unclear| status(&unclear))?;
    let (answer, notes) = question.answer(&inquiry, &reach).map_err(|unclear| status(&unclear))?;
    let notes = question.note.into_iter().chain(notes).chain(left_out(&counted)).collect();
    Ok(response(&reach, &answer, notes, &guards))
}

/// What is ours.
pub(super) struct Ours {
    /// The objects, proposals without their rules.
    pub(super) objects: Vec<Resource>,
    pub(super) counted: Counted,
    /// Our policies with their modes.
    guards: Guards,
}

/// What is ours and may count. Proposals are many and take long to read, so nobody waits for all of them, and much
/// memory, so they are read one at a time; those that become policies meanwhile are found as such.
pub(super) fn ours(service: &Service, scope: Scope) -> Ours {
    let stored = || service.stored.lock();
    let names: Vec<Name> = match scope {
        Scope::AssumeProtect => stored().proposals.keys().cloned().collect(),
        Scope::InForce => Vec::new(),
    };
    let (mut objects, mut proposed) = (Vec::new(), Counted::default());
    for name in &names {
        let Some(proposal) = stored().proposal(name) else { continue };
        let proposal = Arc::new(proposal);
        proposed.add(&Resource::Proposal(Arc::clone(&proposal)));
        objects.push(outline(Arc::unwrap_or_clone(proposal)));
    }
    let stored = stored();
    proposed.drop_those(|namespace, name| {
        stored.policies.contains_key(&(namespace.to_owned(), name.to_owned()))
    });
    let policies: Vec<Resource> = stored.policies.values().cloned().map(Resource::from).collect();
    let guards = Arc::new(guards(&stored, service.backend));
    drop(stored);
    proposed.extend(counted(&policies, scope));
    objects.extend(policies);
    Ours { objects, counted: proposed, guards }
}

/// What no answer here counts, where something is.
fn left_out(counted: &Counted) -> Option<String> {
    let number = counted.left_out.len();
    (number > 0).then(|| format!("{number} policies for Istio are left out"))
}

fn response(
    reach: &Reach<'_>,
    answer: &Answer,
    notes: Vec<String>,
    guards: &Guards,
) -> v1::ExplainResponse {
    let (source, destination) = &answer.ends;
    let (egress, ingress) = (&answer.explanation.egress, &answer.explanation.ingress);
    let part = (answer.denied > 0 && answer.denied < answer.pairs)
        .then(|| format!("for {} of {} pairs of ends", answer.denied, answer.pairs));
    let notes: Vec<String> = part.into_iter().chain(notes).collect();
    let explained =
        |side, subject, finding| explanation(reach, (side, subject), finding, (&notes, guards));
    v1::ExplainResponse {
        verdict: convert::verdict(answer.denied == 0).into(),
        egress: Some(explained(Side::Egress, source, egress)),
        ingress: Some(explained(Side::Ingress, destination, ingress)),
    }
}

fn explanation(
    reach: &Reach<'_>,
    (side, subject): (Side, &End),
    finding: &Finding,
    (notes, guards): (&[String], &Guards),
) -> v1::Explanation {
    let mut text = finding.by.to_string();
    if let Some(nearest) = &finding.nearest {
        text.push_str(&format!("; nearest: {nearest}"));
    }
    for note in notes {
        text.push_str(&format!("; {note}"));
    }
    v1::Explanation {
        decision: Some(convert::decision(finding, guards)),
        considered: considered(reach, side, subject).iter().map(convert::policy_ref).collect(),
        nearest: finding.nearest.as_ref().map(|nearest| convert::rule_ref(&nearest.rule)),
        text,
    }
}

/// The policies that select the subject in that direction, in the order of their tiers.
fn considered(reach: &Reach<'_>, side: Side, subject: &End) -> Vec<Object> {
    let selecting = reach.policies().selecting(subject);
    let of_tier = |tier: Tier| {
        let own = selecting
            .cluster()
            .iter()
            .filter(move |policy| policy.precedence().0 == tier && !policy.rules(side).is_empty());
        own.map(|policy| Object::of_cluster(policy)).collect::<Vec<_>>()
    };
    let network = selecting.network().iter().filter(|policy| policy.rules(side).is_some());
    let mut all = of_tier(Tier::Admin);
    all.extend(network.map(|policy| Object::of_network(policy)));
    all.extend(of_tier(Tier::Baseline));
    all
}

/// Why there is no answer, with what to write instead.
pub(super) fn status(unclear: &Unclear) -> Status {
    let hints = unclear.hints.iter().filter_map(|hint| match hint {
        Hint::Plain(hint) => Some(hint.clone()),
        Hint::Namespace(Some(form)) => Some(format!("write {form}")),
        Hint::Namespace(None) => Some("name its namespace".to_owned()),
        // Here the cluster itself is asked.
        Hint::Objects(_) => None,
    });
    let parts: Vec<String> = std::iter::once(unclear.message.clone()).chain(hints).collect();
    let message = parts.join("; ");
    match unclear.fault {
        Fault::Malformed => Status::invalid_argument(message),
        Fault::Unknown => Status::not_found(message),
    }
}
