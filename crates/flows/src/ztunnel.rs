//! ztunnel's JSON log: lines about connections, and lines about what a policy decided.
//!
//! A connection is logged by the ztunnels of both ends when it is over. What a policy decided is
//! logged apart, without port and identities; joining the two is the classifier's work.

mod access;
mod policy;
mod wire;

use std::sync::Arc;

use netenf_learn::{End, Endpoint, PodName, PolicyRef, ServiceRef};

use self::wire::{Head, Side};
use crate::cache::{Cache, Names};
use crate::value::Text;
use crate::{DecodeError, Format, Record, error};

/// Decodes ztunnel's log lines; endpoints and services that were seen before are shared.
#[derive(Debug, Default)]
pub struct Decoder {
    endpoints: Cache<Arc<Endpoint>>,
    services: Cache<Option<Arc<ServiceRef>>>,
    policies: Cache<Arc<PolicyRef>>,
    names: Names,
    nobody: Arc<Endpoint>,
    scratch: Vec<u8>,
}

// === impl Decoder ===

impl Decoder {
    /// Decodes one log line, without the container runtime's prefix. `None` is a blank line, or
    /// one that is not about a connection.
    pub fn decode(&mut self, line: &[u8]) -> Result<Option<Record>, DecodeError> {
        match line.trim_ascii_start() {
            [] => return Ok(None),
            [b'{', ..] => {}
            _ => return Err(DecodeError::foreign(Format::Ztunnel, line)),
        }
        let text = error::text(line)?;
        let head: Head<'_> = error::parse(text)?;
        let Some((scope, message)) = head.scope.zip(head.message) else {
            return Err(DecodeError::foreign(Format::Ztunnel, line));
        };
        let observation = match scope.as_str() {
            "access" => self.access(message.as_str(), text)?,
            "ztunnel::state" => self.policy(message.as_str(), text)?,
            _ => None,
        };
        Ok(observation.map(Record::Flow))
    }

    /// The endpoint that these parts name.
    fn endpoint(
        &mut self,
        namespace: Option<&str>,
        pod: Option<&str>,
        identity: Option<&str>,
    ) -> Arc<Endpoint> {
        if namespace.or(pod).or(identity).is_none() {
            return Arc::clone(&self.nobody);
        }
        let Self { endpoints, names, scratch, .. } = self;
        scratch.clear();
        for part in [namespace, pod, identity] {
            let part = part.unwrap_or_default();
            scratch.extend_from_slice(&part.len().to_le_bytes());
            scratch.extend_from_slice(part.as_bytes());
        }
        endpoints.value(scratch, || {
            Arc::new(Endpoint {
                namespace: namespace.map(|namespace| names.share(namespace)),
                pod: pod.map(|pod| PodName::Exact(names.share(pod))),
                identity: identity.map(|identity| names.share(identity)),
                ..Endpoint::default()
            })
        })
    }

    /// The end that one side of an access line describes, without its address.
    fn side(&mut self, side: &Side<'_>) -> End {
        let identity = Text::filled(side.identity.as_ref());
        let identity = identity.map(|text| text.strip_prefix("spiffe://").unwrap_or(text));
        let namespace = Text::filled(side.namespace.as_ref());
        let pod = Text::filled(side.workload.as_ref());
        let endpoint = self.endpoint(namespace, pod, identity);
        End { endpoint, address: None, names: Vec::new() }
    }
}

/// `ns/name`, as ztunnel writes pods and policies.
fn namespaced(text: &str) -> Option<(&str, &str)> {
    text.split_once('/').filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty())
}

#[cfg(test)]
mod tests;
