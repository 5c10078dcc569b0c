//! How the controller and its source are.

use netenf_k8s::Enforcer;
use netenf_learn::proposal::Funnel;
use netenf_proto::netenf::v1;

use super::{Service, convert};
use crate::board::State;
use crate::clock::now;

pub(super) fn answer(service: &Service) -> v1::StatusResponse {
    let state = service.board.read();
    let role = if service.leadership.is_held() { v1::Role::Active } else { v1::Role::Standby };
    v1::StatusResponse {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pod: service.pod.clone(),
        role: role.into(),
        started: Some(convert::time(service.started)),
        enforcer: match service.enforcement.now() {
            Enforcer::Present { name } => name.to_owned(),
            Enforcer::Absent { .. } | Enforcer::Unknown => String::new(),
        },
        edges: state.edges.try_into().unwrap_or(u64::MAX),
        sources: source(&state).into_iter().collect(),
    }
}

fn source(state: &State) -> Option<v1::SourceStatus> {
    let (provider, endpoint) = state.source.clone()?;
    let nodes = state.nodes.iter().map(|(name, node)| v1::NodeStatus {
        name: name.to_string(),
        state: convert::node_state(node.state).into(),
        message: node.message.to_string(),
        version: node.version.as_deref().unwrap_or_default().to_owned(),
    });
    Some(v1::SourceStatus {
        provider: provider.into(),
        endpoint,
        state: state.state.into(),
        message: state.message.clone(),
        since: state.since.map(convert::time),
        last_observation: state.last.map(convert::time),
        rate: state.rate(now()),
        funnel: Some(funnel(&state.funnel)),
        nodes: nodes.collect(),
        losses: state.losses.iter().map(|lost| convert::loss(lost, provider)).collect(),
    })
}

fn funnel(funnel: &Funnel) -> v1::Funnel {
    let skipped = funnel.skipped.iter().map(|(reason, count)| ((*reason).to_owned(), *count));
    v1::Funnel {
        received: funnel.received,
        learned: funnel.learned,
        skipped: skipped.collect(),
        uncovered: funnel.uncovered,
        violations: funnel.violations,
        errors: funnel.errors,
        lost: funnel.lost,
    }
}
