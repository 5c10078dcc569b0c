//! Our side: objects through the reading of the command line into the engine.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use netenf_k8s::Index;
use netenf_policy::domain::{Answer, Asker, Data, Record, Settings};
use netenf_policy::{Cluster, DomainCache, Engine, Explanation, Packet, Side, Snapshot};

use super::document::Document;

/// Names are asked right after they were resolved.
const NOW: Duration = Duration::ZERO;
const RESOLVER: &str = "10.96.0.10";

/// A document, read and compiled.
pub(crate) struct Ours {
    pub(crate) cluster: Cluster,
    snapshot: Arc<Snapshot>,
}

// === impl Ours ===

impl Ours {
    pub(crate) fn read(document: &Document) -> Self {
        let text: String = document.objects.iter().map(|object| format!("{object}\n")).collect();
        let (objects, diagnostics) = netenf_k8s::object::read("document", &text);
        assert_eq!(diagnostics, [], "objects that cannot be read");
        let mut cluster = Index::of(objects).cluster();
        cluster.domains = resolved(&document.domains);
        let snapshot = Engine::new(cluster.clone()).publish();
        Self { cluster, snapshot }
    }

    /// What the text of the APIs says; an error if the compiled form says something else.
    pub(crate) fn explain(&self, packet: &Packet) -> Result<Explanation, String> {
        let explanation = self.cluster.explain(packet, NOW);
        let ruling = self.snapshot.verdict(packet, NOW);
        let compiled = [ruling.egress.allowed(), ruling.ingress.allowed()];
        if compiled == [Side::Egress, Side::Ingress].map(|side| allowed(&explanation, side)) {
            return Ok(explanation);
        }
        Err(format!("compiled {ruling:?}, but the text says {explanation:?}"))
    }
}

/// Whether one direction lets the packet pass.
pub(crate) fn allowed(explanation: &Explanation, side: Side) -> bool {
    match side {
        Side::Egress => explanation.egress.allowed,
        Side::Ingress => explanation.ingress.allowed,
    }
}

/// A cache that was told these answers.
fn resolved(domains: &BTreeMap<String, Vec<IpAddr>>) -> DomainCache {
    let resolver: IpAddr = RESOLVER.parse().unwrap();
    let settings = Settings { resolvers: [resolver].into(), ..Settings::default() };
    let mut cache = DomainCache::new(settings);
    for (name, addresses) in domains {
        let record = |address: &IpAddr| Record {
            owner: name,
            ttl: Duration::from_mins(1),
            data: Data::Address(*address),
        };
        let records = addresses.iter().map(record).collect();
        let answer = Answer { resolver, asker: Asker::Node, question: name, records };
        cache.observe(&answer, NOW).unwrap();
    }
    cache
}
