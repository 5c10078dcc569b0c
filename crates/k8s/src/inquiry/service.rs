//! Services as ends: policies judge the pods behind them, on their own ports ("after translation").

use std::net::IpAddr;

use netenf_learn::Directory as _;
use netenf_learn::directory::ServiceTarget;
use netenf_policy::Protocol;

use super::Inquiry;
use crate::render;
use crate::unclear::{Hint, Unclear};

impl Inquiry<'_> {
    /// What is behind the service that `text` names: `[NAMESPACE/]svc/NAME`, an address of it, or its name in the
    /// cluster's DNS. `None` if it names no service.
    pub fn service(
        &self,
        text: &str,
        (protocol, port): (Protocol, u16),
    ) -> Result<Option<ServiceTarget>, Unclear> {
        let parsed = text.trim_matches(['[', ']']).parse::<IpAddr>();
        if let Ok(address) = parsed {
            return Ok(self.index.service(address, port, protocol));
        }
        let Some((namespace, name)) = self.called(text)? else { return Ok(None) };
        if let Some(target) = self.index.service_named(&namespace, &name, (protocol, port)) {
            return Ok(Some(target));
        }
        let protocol = render::protocol(protocol).as_str();
        Err(if self.index.has_service(&namespace, &name) {
            Unclear::unknown(format!("Service {namespace}/{name} has no port {port}/{protocol}"))
                .plain(
                    "give a port of the Service, or ask about its workload and the pods' own port",
                )
        } else {
            Unclear::unknown(format!("no Service {namespace}/{name} is known"))
                .hint(Hint::Objects(None))
        })
    }

    /// Namespace and name of the service that `text` names.
    fn called(&self, text: &str) -> Result<Option<(String, String)>, Unclear> {
        let own = |namespace: &str, name: &str| Some((namespace.to_owned(), name.to_owned()));
        Ok(match text.split('/').collect::<Vec<_>>()[..] {
            [namespace, "svc" | "service" | "services", name] => own(namespace, name),
            ["svc" | "service" | "services", name] => {
                let namespace = self.namespace.ok_or_else(|| {
                    Unclear::malformed(format!("{text:?} needs a namespace"))
                        .hint(Hint::Namespace(Some("NAMESPACE/svc/NAME")))
                })?;
                own(namespace, name)
            }
            [name] => match name.trim_end_matches('.').split('.').collect::<Vec<_>>()[..] {
                [name, namespace, "svc", ..] => own(namespace, name),
                [name, namespace] if self.index.has_service(namespace, name) => {
                    own(namespace, name)
                }
                _ => None,
            },
            _ => None,
        })
    }
}
