//! The address of a collector.

use anyhow::{Context as _, ensure};
use http::Uri;
use http::uri::Scheme;

use crate::config::Protocol;

/// Where requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// For gRPC scheme and authority, for HTTP the whole address.
    pub(crate) uri: Uri,
}

/// Below the address of a collector (OTLP specification, OTLP/HTTP request).
const LOGS: &str = "v1/logs";

// === impl Endpoint ===

impl Endpoint {
    /// Whether it is spoken to over TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.uri.scheme() == Some(&Scheme::HTTPS)
    }
}

/// A scheme is asked for: without one nobody could tell whether TLS was meant. The text is in errors only once
/// it is known to hold no password.
pub(crate) fn parse(text: &str, protocol: Protocol) -> anyhow::Result<Endpoint> {
    // It may hold a key, and is not repeated.
    ensure!(
        !text.contains('?'),
        "the address of the collector has a query; give what it says as a header"
    );
    ensure!(
        !text.contains('@'),
        "the address of the collector holds a user or password; give them as a header"
    );
    let hint = || format!("the collector {text:?} has no address that is understood");
    let uri: Uri = text.parse().with_context(hint)?;
    let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
        anyhow::bail!("{}; write https://HOST:PORT or http://HOST:PORT", hint());
    };
    ensure!(
        *scheme == Scheme::HTTPS || *scheme == Scheme::HTTP,
        "{}; it begins with https:// or http://",
        hint()
    );
    let path = uri.path().trim_end_matches('/');
    let path = match protocol {
        Protocol::HttpProtobuf => format!("{path}/{LOGS}"),
        Protocol::Grpc => {
            ensure!(
                path.is_empty(),
                "the collector {text:?} has a path, which gRPC has no use for; leave it out or choose http/protobuf"
            );
            "/".to_owned()
        }
    };
    let parts = Uri::builder().scheme(scheme.clone()).authority(authority.clone());
    let uri = parts.path_and_query(path).build().with_context(hint)?;
    Ok(Endpoint { uri })
}

#[cfg(test)]
mod tests;
