//! The certificates and keys of a plane's components.

use std::path::Path;

use super::certificate::{Authority, Pair, Subject, signing_pair};

/// The name by which the API server knows its own proxied requests.
pub(super) const FRONT_PROXY: &str = "front-proxy-client";

/// What the components know each other and their clients by.
pub(super) struct Secrets {
    /// Signs the API server's certificate and those of its clients.
    pub(super) cluster: Authority,
    pub(super) serving: Pair,
    /// Signs what the API server shows to extension API servers; no other client may hold such a
    /// certificate, since its holder says who a request is from.
    pub(super) front_proxy_authority: Authority,
    pub(super) front_proxy: Pair,
    pub(super) tokens: Pair,
}

// === impl Secrets ===

impl Secrets {
    pub(super) fn create(folder: &Path) -> anyhow::Result<Self> {
        let cluster = Authority::create(folder, "cluster-authority")?;
        let front_proxy_authority = Authority::create(folder, "front-proxy-authority")?;
        let subject = Subject { user: FRONT_PROXY, group: None };
        Ok(Self {
            serving: cluster.server("api-server", &["127.0.0.1", "localhost"])?,
            front_proxy: front_proxy_authority.client("front-proxy", &subject)?,
            tokens: signing_pair(folder)?,
            cluster,
            front_proxy_authority,
        })
    }
}
