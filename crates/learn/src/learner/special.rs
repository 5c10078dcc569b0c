//! Observations that are not plain openings of a connection: denials, protocols that no rule can name,
//! services' addresses, traffic of a pod's own node, and reports from the side that does not enforce.

use std::sync::Arc;

use netenf_policy::Protocol;

use super::{DENIALS_LIMIT, Ends, Learner, nanos, time_of};
use crate::classify::Skip;
use crate::connection::{Denied, Sign, hosts};
use crate::directory::{Directory, ServiceTarget};
use crate::identity::{Party, Workload};
use crate::observation::{
    Direction, DnsAnswer, End, Entities, Event, Observation, Provider, Reporter, ServiceRef,
    Transport,
};
use crate::resolve::{Resolved, on_host};
use crate::sum::{DenialKey, DenialSum, NoteSum, keep_smallest};

/// The service of the API server.
const API_SERVICE: &str = "default/kubernetes";
/// How many addresses names are kept for.
const NAMES_LIMIT: usize = 1 << 17;

impl<D: Directory> Learner<D> {
    /// A denial teaches no rule; who denied is told on the proposal (case B82). Whether it violates a
    /// policy of ours is for those to say who know the policies.
    pub(super) fn take_denied(
        &mut self,
        observation: &Observation,
        protocol: Option<Protocol>,
    ) -> Result<(), Skip> {
        if is_without_identity(observation) {
            return Err(Skip::TransientIdentity);
        }
        let ends = self.ends(observation)?;
        if self.is_unknown_pod(&observation.source, ends.source)
            || self.is_unknown_pod(&observation.destination, ends.destination)
        {
            return Err(Skip::TransientIdentity);
        }
        let direction = observation.direction.or(match observation.reporter {
            Some(Reporter::Source) => Some(Direction::Egress),
            Some(Reporter::Destination) => Some(Direction::Ingress),
            None => None,
        });
        let key = DenialKey {
            edge: (ends.source, ends.destination, observation.destination_port, protocol),
            direction,
            by: observation.denied_by.clone(),
        };
        let denial = self.denial(key);
        let weight = u32::try_from(observation.connections).unwrap_or(u32::MAX).max(1);
        let connections = match protocol {
            Some(protocol) => {
                let denied = Denied { denial, weight };
                self.report(observation, ends, protocol, Sign::Denied(denied))
            }
            // Nothing tells which reports of other protocols are of one exchange.
            None => weight,
        };
        if let Some(denial) = denial {
            let sum = &mut self.denials[denial as usize];
            sum.note.add(observation.time);
            sum.connections += u64::from(connections);
        }
        Err(Skip::Denied)
    }

    /// The number of a denial; `None` over the limit.
    fn denial(&mut self, key: DenialKey) -> Option<u32> {
        if let Some(&denial) = self.denial_ids.get(&key) {
            return Some(denial);
        }
        let denial = u32::try_from(self.denials.len()).ok()?;
        if self.denials.len() >= DENIALS_LIMIT {
            self.unlist("denials");
            return None;
        }
        self.denial_ids.insert(key.clone(), denial);
        self.denials.push(DenialSum { key, note: NoteSum::EMPTY, connections: 0 });
        Some(denial)
    }

    /// A pod that the source took for something outside: its identity was not known yet (case B59).
    fn is_unknown_pod(&self, end: &End, party: u32) -> bool {
        let is_pod = self.parties[party as usize].party.workload().is_some();
        is_pod && end.endpoint.pod.is_none() && end.endpoint.entities.contains(Entities::WORLD)
    }

    /// An ICMP error answers what nothing else answered between its ends (DESIGN D2).
    pub(super) fn take_unreachable(&mut self, observation: &Observation) -> Result<(), Skip> {
        let Ok(ends) = self.ends(observation) else { return Err(Skip::Icmp) };
        let (source, destination) = self.legs(observation, ends);
        let within = nanos(self.config.answer_within);
        let noted = self.errors.note(hosts(source, destination), time_of(observation), within);
        if !noted {
            self.unlist("ICMP errors");
        }
        Err(Skip::Icmp)
    }

    pub(super) fn take_inexpressible(&mut self, observation: &Observation) -> Result<(), Skip> {
        let ends = self.ends(observation)?;
        self.local(observation, ends)?;
        let protocol: Arc<str> = match &observation.transport {
            Transport::Icmp(_) => "ICMP".into(),
            Transport::Other(name) => name.clone(),
            Transport::Tcp(_) | Transport::Udp | Transport::Sctp | Transport::Missing => {
                return Err(Skip::Incomplete);
            }
        };
        let key = (ends.source, ends.destination, protocol);
        if self.inexpressible.len() >= self.config.caps.edges
            && !self.inexpressible.contains_key(&key)
        {
            return Err(Skip::Limit);
        }
        self.inexpressible.entry(key).or_insert(NoteSum::EMPTY).add(observation.time);
        Ok(())
    }

    /// Traffic that no policy can stop: from a pod's own node (case B43), and of a pod with itself.
    pub(super) fn local(&self, observation: &Observation, ends: Ends) -> Result<(), Skip> {
        let (source, destination) = (&observation.source, &observation.destination);
        if source.address.is_some() && source.address == destination.address {
            return Err(Skip::SamePod);
        }
        let from_host = source.endpoint.entities.contains(Entities::HOST);
        if self.parties[ends.destination as usize].party.namespace().is_none() {
            return Ok(());
        }
        let (Party::Node { name, .. } | Party::Router { node: name }) =
            &self.parties[ends.source as usize].party
        else {
            // Where the API server runs on the pod's node, Cilium reports both identities.
            let passes = from_host && !self.config.compat.node_probes;
            return if passes { Err(Skip::NodeLocal) } else { Ok(()) };
        };
        let runs_on = destination.address.and_then(|address| self.directory.node_of(address));
        let known = source.address.is_some_and(|address| {
            !self.directory.is_empty() && self.directory.holder(address, observation.time).is_some()
        });
        let own_node = match runs_on {
            Some(node) if known => node == *name,
            Some(_) | None => from_host,
        };
        let passes = own_node && !self.config.compat.node_probes;
        if passes { Err(Skip::NodeLocal) } else { Ok(()) }
    }

    /// Whether the connection is reported by the side that enforces too: ztunnel's outbound lines of
    /// connections within the mesh.
    pub(super) fn reported_by_the_other_side(observation: &Observation) -> bool {
        observation.provider == Provider::Ztunnel
            && observation.event == Event::Connection
            && observation.reporter == Some(Reporter::Source)
            && observation.destination.endpoint.identity.is_some()
    }

    /// A destination that is a service's address is replaced by the ends behind it; a node's port by a
    /// party of its own (DESIGN §3). Returns whether it was one.
    pub(super) fn through_service(
        &mut self,
        observation: &Observation,
        ends: Ends,
        protocol: Protocol,
        port: u16,
    ) -> Result<bool, Skip> {
        match self.service_target(observation, ends, protocol, port) {
            Some(target) if target.node_port => {
                self.open_node_port(observation, ends, protocol, port, target)?;
                Ok(true)
            }
            Some(target) if &*target.service == API_SERVICE => {
                let port = self.directory.api_server().map_or(port, |target| target.port);
                self.open_api_server(observation, ends, protocol, port)?;
                Ok(true)
            }
            Some(target) => self.open_backends(observation, ends, protocol, port, &target),
            None if self.is_api_server(observation, ends) => {
                self.open_api_server(observation, ends, protocol, port)?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn service_target(
        &self,
        observation: &Observation,
        ends: Ends,
        protocol: Protocol,
        port: u16,
    ) -> Option<ServiceTarget> {
        let by_address = matches!(
            self.parties[ends.destination as usize].party,
            Party::External(_) | Party::Node { .. } | Party::Router { .. } | Party::ApiServer
        );
        let address = observation.destination.address.filter(|_| by_address)?;
        self.directory.service(address, port, protocol)
    }

    fn open_node_port(
        &mut self,
        observation: &Observation,
        ends: Ends,
        protocol: Protocol,
        port: u16,
        target: ServiceTarget,
    ) -> Result<(), Skip> {
        let party = Party::NodePort { service: target.service.clone() };
        let node_port = self.plain_party(party, observation)?;
        let service = service_ref(&target.service, None);
        let mut counts = None;
        for (workload, port) in target.backends {
            let backend = self.backend(workload, observation)?;
            let ends = Ends { source: node_port, destination: backend, ..ends };
            counts = Some(self.open_too(observation, ends, protocol, port, service.as_ref())?);
        }
        let to_node = Ends { destination: node_port, ..ends };
        let at_client = self.open_too(observation, to_node, protocol, port, service.as_ref())?;
        // The observation counts once, where a proposal can list it; and last: over a limit it is skipped.
        let inside = self.parties[ends.source as usize].party.namespace().is_some();
        let edge = counts.filter(|_| !inside).unwrap_or(at_client);
        self.edges[edge as usize].observations += 1;
        Ok(())
    }

    fn open_api_server(
        &mut self,
        observation: &Observation,
        ends: Ends,
        protocol: Protocol,
        port: u16,
    ) -> Result<(), Skip> {
        let destination = self.plain_party(Party::ApiServer, observation)?;
        let service = service_ref(API_SERVICE, None);
        self.open(observation, Ends { destination, ..ends }, protocol, port, service.as_ref())
    }

    /// Opens a connection to each workload behind a service; the observation counts once.
    fn open_backends(
        &mut self,
        observation: &Observation,
        ends: Ends,
        protocol: Protocol,
        port: u16,
        target: &ServiceTarget,
    ) -> Result<bool, Skip> {
        let service = service_ref(&target.service, Some(port));
        let mut counted = None;
        for (workload, port) in &target.backends {
            let destination = self.backend(workload.clone(), observation)?;
            let ends = Ends { destination, ..ends };
            let edge = self.open_too(observation, ends, protocol, *port, service.as_ref())?;
            counted = counted.or(Some(edge));
        }
        if let Some(edge) = counted {
            self.edges[edge as usize].observations += 1;
        }
        Ok(counted.is_some())
    }

    pub(super) fn note_probe(
        &mut self,
        observation: &Observation,
        workload: u32,
        port: u16,
        protocol: Protocol,
    ) {
        let Some(address) = observation.source.address else { return };
        let key = (workload, port, protocol, address);
        if self.probes.len() < self.config.caps.edges || self.probes.contains_key(&key) {
            self.probes.entry(key).or_insert(NoteSum::EMPTY).add(observation.time);
        }
    }

    /// A source that knows the service tells the API server where its address does not (Goldmane has none).
    fn is_api_server(&self, observation: &Observation, ends: Ends) -> bool {
        let service = observation.service.as_ref();
        let addressed = service.is_some_and(|service| {
            (&*service.namespace, &*service.name) == ("default", "kubernetes")
        });
        let party = &self.parties[ends.destination as usize].party;
        addressed
            && matches!(
                party,
                Party::External(_) | Party::Node { .. } | Party::Router { .. } | Party::Network(_)
            )
    }

    fn backend(&mut self, workload: Workload, observation: &Observation) -> Result<u32, Skip> {
        let host = on_host(&self.directory, &workload);
        self.plain_party(host.unwrap_or(Party::Workload(workload)), observation)
    }

    fn plain_party(&mut self, party: Party, observation: &Observation) -> Result<u32, Skip> {
        self.party(
            Resolved { party, labels: None, note: None },
            &observation.destination,
            observation,
        )
    }

    pub(super) fn note_names(&mut self, answer: &DnsAnswer) {
        for address in &answer.addresses {
            if self.names.len() >= NAMES_LIMIT && !self.names.contains_key(address) {
                self.unlist("names of addresses");
                continue;
            }
            let names = self.names.entry(*address).or_default();
            keep_smallest(names, answer.query.clone(), crate::sum::KEPT);
        }
    }
}

/// A service written as `namespace/name`.
fn service_ref(text: &str, port: Option<u16>) -> Option<Arc<ServiceRef>> {
    let (namespace, name) = text.split_once('/')?;
    Some(Arc::new(ServiceRef { namespace: namespace.into(), name: name.into(), port }))
}

/// Whether an end's identity was not known yet.
pub(super) fn is_without_identity(observation: &Observation) -> bool {
    let ends = [&observation.source, &observation.destination];
    ends.iter().any(|end| end.endpoint.entities.contains(Entities::INIT))
}
