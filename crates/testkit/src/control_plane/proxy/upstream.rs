//! The API server, as the proxy's requests find it.

use std::path::Path;

use anyhow::Context as _;
use hyper::body::Incoming;
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::{Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use super::serve::provider;

/// Kinds that have no namespace, of those that are listed.
const OF_THE_CLUSTER: [&str; 6] = [
    "adminnetworkpolicies",
    "baselineadminnetworkpolicies",
    "clusternetworkpolicies",
    "customresourcedefinitions",
    "namespaces",
    "nodes",
];

/// Connections to the API server, which are kept.
pub(super) struct Upstream {
    client: Client<HttpsConnector<HttpConnector>, Incoming>,
    authority: Authority,
}

// === impl Upstream ===

impl Upstream {
    /// The server at `port`, known by a certificate of the authority in that file.
    pub(super) fn new(port: u16, authority: &Path) -> anyhow::Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(authority)?)?;
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_only()
            .enable_http1()
            .build();
        let authority = format!("127.0.0.1:{port}").parse().context("not an authority")?;
        Ok(Self { client: Client::builder(TokioExecutor::new()).build(connector), authority })
    }

    /// What the server answers. Lists of the whole cluster are those of the namespace `view`.
    pub(super) async fn ask(
        &self,
        mut request: Request<Incoming>,
        view: Option<&str>,
    ) -> Result<Response<Incoming>, Error> {
        let mut parts = request.uri().clone().into_parts();
        parts.scheme = Some(Scheme::HTTPS);
        parts.authority = Some(self.authority.clone());
        let narrowed = view.and_then(|namespace| narrowed(request.uri(), namespace));
        parts.path_and_query = narrowed.or(parts.path_and_query);
        if let Ok(uri) = Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
        self.client.request(request).await
    }
}

/// The path of a list of the whole cluster, for one namespace; `None` for other paths.
fn narrowed(uri: &Uri, namespace: &str) -> Option<PathAndQuery> {
    let parts: Vec<&str> = uri.path().split('/').collect();
    let (group, plural) = match &parts[..] {
        ["", "api", version, plural] => (format!("/api/{version}"), plural),
        ["", "apis", group, version, plural] => (format!("/apis/{group}/{version}"), plural),
        _ => return None,
    };
    if OF_THE_CLUSTER.contains(plural) {
        return None;
    }
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{group}/namespaces/{namespace}/{plural}{query}").parse().ok()
}
