//! What objects list as the endpoints of services.

use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use netenf_policy::Protocol;

use super::apply::named_port;
use super::{Endpoint, Index, Key, NamedPort, PortsAt};
use crate::object::Kind;

/// The API server announces itself as the endpoints of this service (DESIGN D5).
const API_SERVER: (&str, &str) = (super::DEFAULT_NAMESPACE, "kubernetes");

impl Index {
    pub(super) fn apply_slice(&mut self, slice: &EndpointSlice) {
        let key = self.cover(Kind::EndpointSlice, &slice.metadata);
        let labels = slice.metadata.labels.as_ref();
        let label = labels.and_then(|labels| labels.get("kubernetes.io/service-name"));
        let service: Arc<str> = label.map_or(key.1.clone(), |service| service.as_str().into());
        let ports = slice.ports.iter().flatten().filter_map(|port| {
            named_port(port.name.as_deref(), port.protocol.as_deref(), port.port?)
        });
        let ports: Vec<NamedPort> = ports.collect();
        let addresses = slice.endpoints.iter().flat_map(|endpoint| &endpoint.addresses);
        let addresses: Vec<IpAddr> = addresses.filter_map(|address| address.parse().ok()).collect();
        let pods = slice.endpoints.iter().filter_map(|endpoint| endpoint.target_ref.as_ref());
        let pods = pods.filter(|target| target.kind.as_deref() == Some("Pod"));
        let pods: Vec<Arc<str>> =
            pods.filter_map(|target| target.name.as_deref()).map(Arc::from).collect();
        let endpoints = endpoints_of(&key.0, pods, &ports).collect();
        let listed = vec![(tcp(&ports), addresses)];
        self.list(Kind::EndpointSlice, &key, service, endpoints, listed);
    }

    pub(super) fn apply_endpoints(&mut self, endpoints: &core::Endpoints) {
        let key = self.cover(Kind::Endpoints, &endpoints.metadata);
        let mut all = Vec::new();
        let mut listed = Vec::new();
        for subset in endpoints.subsets.iter().flatten() {
            let ports = subset.ports.iter().flatten().filter_map(|port| {
                named_port(port.name.as_deref(), port.protocol.as_deref(), port.port)
            });
            let ports: Vec<NamedPort> = ports.collect();
            let addresses = subset.addresses.iter().flatten();
            let pods = addresses.clone().filter_map(|address| address.target_ref.as_ref());
            let pods = pods.filter_map(|target| target.name.as_deref()).map(Arc::from).collect();
            all.extend(endpoints_of(&key.0, pods, &ports));
            let addresses = addresses.filter_map(|address| address.ip.parse().ok()).collect();
            listed.push((tcp(&ports), addresses));
        }
        let service = key.1.clone();
        self.list(Kind::Endpoints, &key, service, all, listed);
    }

    pub(super) fn remove_listing(&mut self, kind: &Kind, key: &Key) {
        self.uncover(kind, key);
        self.unlist(kind, key);
    }

    /// Notes what the object `by` lists for a service, in place of what it listed before.
    fn list(
        &mut self,
        kind: Kind,
        by: &Key,
        service: Arc<str>,
        endpoints: Vec<Endpoint>,
        listed: Vec<PortsAt>,
    ) {
        self.unlist(&kind, by);
        let listing = (kind, by.1.clone());
        if (&*by.0, &*service) == API_SERVER {
            self.api_server.insert(listing.clone(), listed);
        }
        let service = (by.0.clone(), service);
        self.listed_for.insert((listing.0.clone(), by.clone()), service.1.clone());
        self.endpoints.entry(service).or_default().insert(listing, endpoints);
    }

    fn unlist(&mut self, kind: &Kind, by: &Key) {
        let Some(service) = self.listed_for.remove(&(kind.clone(), by.clone())) else { return };
        let (service, listing) = ((by.0.clone(), service), (kind.clone(), by.1.clone()));
        if (&*service.0, &*service.1) == API_SERVER {
            self.api_server.remove(&listing);
        }
        if let Some(listings) = self.endpoints.get_mut(&service) {
            listings.remove(&listing);
            if listings.is_empty() {
                self.endpoints.remove(&service);
            }
        }
    }
}

fn tcp(ports: &[NamedPort]) -> Vec<u16> {
    let tcp = ports.iter().filter(|port| port.protocol == Protocol::Tcp);
    tcp.map(|port| port.number).collect()
}

/// The endpoints of one object.
fn endpoints_of(
    namespace: &Arc<str>,
    pods: Vec<Arc<str>>,
    ports: &[NamedPort],
) -> impl Iterator<Item = Endpoint> {
    pods.into_iter().map(|pod| Endpoint { pod: (namespace.clone(), pod), ports: ports.to_vec() })
}
