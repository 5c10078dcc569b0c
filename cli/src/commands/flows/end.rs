//! Ends as a source reported them, for people.

use netenf_learn::{End, Entities, Network, PodName};

/// An end as one word.
pub(crate) fn describe(end: &End) -> String {
    let endpoint = &*end.endpoint;
    let namespace =
        endpoint.namespace.as_deref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    let address = end.address.map(|address| address.to_string());
    if let Some(pod) = &endpoint.pod {
        return match pod {
            PodName::Exact(name) => format!("{namespace}{name}"),
            PodName::Generated(prefix) => format!("{namespace}{prefix}*"),
        };
    }
    let entity = [
        (Entities::KUBE_APISERVER, "apiserver"),
        (Entities::HOST, "host"),
        (Entities::REMOTE_NODE, "node"),
        (Entities::WORLD, "world"),
        (Entities::HEALTH, "health"),
        (Entities::INIT, "init"),
        (Entities::UNMANAGED, "unmanaged"),
        (Entities::INGRESS, "ingress"),
    ];
    let entity = entity
        .into_iter()
        .find(|(entity, _)| endpoint.entities.contains(*entity))
        .map(|(_, word)| word);
    let network = endpoint.network.as_ref().map(|network| match network {
        Network::Public => "pub".to_owned(),
        Network::Private => "pvt".to_owned(),
        Network::Set { name, .. } => format!("networkset/{name}"),
        Network::Host(name) => format!("node/{name}"),
    });
    let name = end.names.first().map(|name| name.trim_end_matches('.').to_owned());
    let who = network
        .or(name)
        .or(endpoint.workload.as_ref().map(|own| format!("{namespace}{}", own.name)));
    match (who, entity, address) {
        (Some(who), _, Some(address)) => format!("{who}({address})"),
        (Some(who), _, None) => who,
        (None, Some(entity), Some(address)) => format!("{entity}({address})"),
        (None, None, Some(address)) => address,
        (None, Some(entity), None) => entity.to_owned(),
        (None, None, None) => "unknown".to_owned(),
    }
}
