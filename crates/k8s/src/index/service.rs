//! Services: what is behind their addresses and ports.

use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use netenf_learn::Workload;
use netenf_learn::directory::ServiceTarget;
use netenf_policy::Protocol;

use super::apply::{protocol_of, unlink};
use super::{Index, Key, NamedPort, NodeAddress, Service, ServicePort, Target};
use crate::object::{Kind, labels};

impl Index {
    pub(super) fn apply_service(&mut self, service: core::Service) {
        let key = self.cover(Kind::Service, &service.metadata);
        let spec = service.spec.unwrap_or_default();
        let status = service.status.unwrap_or_default();
        let ingress =
            status.load_balancer.and_then(|balancer| balancer.ingress).unwrap_or_default();
        let addresses = spec.cluster_ips.unwrap_or_default().into_iter().chain(spec.cluster_ip);
        let addresses = addresses.chain(spec.external_ips.unwrap_or_default());
        let addresses = addresses.chain(ingress.into_iter().filter_map(|ingress| ingress.ip));
        let ports = spec.ports.unwrap_or_default();
        let entry = Service {
            selector: labels(spec.selector.as_ref()),
            addresses: addresses.filter_map(|address| address.parse::<IpAddr>().ok()).collect(),
            ports: ports.iter().filter_map(service_port).collect(),
        };
        self.unlink_service(&key);
        for address in &entry.addresses {
            self.services_at.entry(*address).or_default().insert(key.clone());
        }
        for port in &entry.ports {
            if let Some(node_port) = port.node_port {
                let at = (node_port, port.protocol);
                self.node_ports.entry(at).or_default().insert(key.clone());
            }
        }
        self.services.insert(key, entry);
    }

    pub(super) fn remove_service(&mut self, key: &Key) {
        self.uncover(&Kind::Service, key);
        self.unlink_service(key);
    }

    /// Takes a service out of every map.
    fn unlink_service(&mut self, key: &Key) {
        let Some(old) = self.services.remove(key) else { return };
        for address in &old.addresses {
            unlink(&mut self.services_at, address, key);
        }
        for port in &old.ports {
            if let Some(node_port) = port.node_port {
                unlink(&mut self.node_ports, &(node_port, port.protocol), key);
            }
        }
    }

    pub(super) fn service_target(
        &self,
        address: IpAddr,
        port: u16,
        protocol: Protocol,
    ) -> Option<ServiceTarget> {
        let by_node = self.node_at(address).is_some_and(|(kind, _)| kind == NodeAddress::Own);
        let mut own = self.services_at.get(&address).into_iter().flatten();
        let by_address = own.find_map(|key| {
            self.target(key, false, |entry| entry.protocol == protocol && entry.port == port)
        });
        by_address.or_else(|| {
            let by_port = self.node_ports.get(&(port, protocol)).filter(|_| by_node);
            by_port.into_iter().flatten().find_map(|key| {
                let is_meant = |entry: &ServicePort| {
                    entry.protocol == protocol && entry.node_port == Some(port)
                };
                self.target(key, true, is_meant)
            })
        })
    }

    /// What is behind a port of the service; `None` if there is no such service or port.
    pub fn service_named(
        &self,
        namespace: &str,
        name: &str,
        (protocol, port): (Protocol, u16),
    ) -> Option<ServiceTarget> {
        let is_meant = |entry: &ServicePort| entry.protocol == protocol && entry.port == port;
        self.target(&(namespace.into(), name.into()), false, is_meant)
    }

    /// Whether there is such a service.
    pub fn has_service(&self, namespace: &str, name: &str) -> bool {
        self.services.contains_key(&(namespace.into(), name.into()))
    }

    fn target(
        &self,
        key: &Key,
        node_port: bool,
        is_meant: impl Fn(&ServicePort) -> bool,
    ) -> Option<ServiceTarget> {
        let service = self.services.get(key)?;
        let entry = service.ports.iter().find(|entry| is_meant(entry))?;
        let name = format!("{}/{}", key.0, key.1).into();
        Some(ServiceTarget {
            service: name,
            node_port,
            backends: self.backends(key, service, entry),
        })
    }

    /// The workloads behind a service's port with the pod ports that it leads to, sorted.
    pub(super) fn backends(
        &self,
        key: &Key,
        service: &Service,
        port: &ServicePort,
    ) -> Vec<(Workload, u16)> {
        let mut backends = self.backends_by_endpoints(key, port);
        if backends.is_empty() && !service.selector.is_empty() {
            let behind = self.tops_in(&key.0);
            let behind = behind.filter(|(_, entry)| entry.labels.contains_all(&service.selector));
            let numbered = behind.filter_map(|(workload, entry)| {
                Some((self.top(workload), resolve(&port.target, port.protocol, &entry.ports)?))
            });
            backends.extend(numbered);
        }
        backends.sort();
        backends.dedup();
        backends
    }

    fn backends_by_endpoints(&self, key: &Key, port: &ServicePort) -> Vec<(Workload, u16)> {
        let listed = self.endpoints.get(key).into_iter().flat_map(|listed| listed.values());
        let endpoints = listed.flatten();
        let backend = |endpoint: &super::Endpoint| {
            let named = |one: &&NamedPort| one.name == port.name && one.protocol == port.protocol;
            let number = endpoint.ports.iter().find(named)?.number;
            let pod = self.pods.get(&endpoint.pod)?;
            Some((self.top(&pod.owner), number))
        };
        endpoints.filter_map(backend).collect()
    }

    /// Whether a service in front of the workload leads to the pod port.
    pub(super) fn is_target(&self, workload: &Workload, port: u16, protocol: Protocol) -> bool {
        let Some(entry) = self.workloads.get(workload) else { return false };
        let near = self.services.range((workload.namespace.clone(), Arc::from(""))..);
        let near = near.take_while(|(key, _)| key.0 == workload.namespace);
        let in_front = near.filter(|(_, service)| {
            !service.selector.is_empty() && entry.labels.contains_all(&service.selector)
        });
        let mut ports = in_front.flat_map(|(_, service)| &service.ports);
        ports.any(|one| {
            one.protocol == protocol && resolve(&one.target, protocol, &entry.ports) == Some(port)
        })
    }
}

/// The number of a target port; a name means what the pods call so, which may differ between workloads
/// behind one service (case B14).
pub(super) fn resolve(target: &Target, protocol: Protocol, ports: &[NamedPort]) -> Option<u16> {
    match target {
        Target::Number(number) => Some(*number),
        Target::Name(name) => ports
            .iter()
            .find(|port| port.name.as_ref() == Some(name) && port.protocol == protocol)
            .map(|port| port.number),
    }
}

fn service_port(port: &core::ServicePort) -> Option<ServicePort> {
    let number = |value: i32| u16::try_from(value).ok().filter(|number| *number > 0);
    let own = number(port.port)?;
    let target = match &port.target_port {
        None => Target::Number(own),
        Some(IntOrString::Int(value)) => Target::Number(number(*value).unwrap_or(own)),
        Some(IntOrString::String(name)) => Target::Name(name.as_str().into()),
    };
    Some(ServicePort {
        name: port.name.as_deref().filter(|name| !name.is_empty()).map(Arc::from),
        protocol: protocol_of(port.protocol.as_deref())?,
        port: own,
        target,
        node_port: port.node_port.and_then(number),
    })
}
