//! The proxy's side of its clients.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::super::certificate::Pair;
use super::{Fate, Request, Shared, Stage};

type Body = BoxBody<Bytes, hyper::Error>;

/// Nothing is answered: the connection ends.
#[derive(Debug)]
struct Cut;

// === impl Cut ===

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection is cut")
    }
}

impl std::error::Error for Cut {}

pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Who shows that certificate. Without ALPN a client speaks HTTP/1.1.
pub(super) fn acceptor(pair: &Pair) -> anyhow::Result<TlsAcceptor> {
    let certificate = CertificateDer::from_pem_file(&pair.certificate)?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivateKeyDer::from_pem_file(&pair.key)?)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Serves for ever, each connection on its own. One that fails is its client's matter.
pub(super) async fn run(
    listener: std::net::TcpListener,
    acceptor: TlsAcceptor,
    shared: Arc<Shared>,
) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (acceptor, shared) = (acceptor.clone(), Arc::clone(&shared));
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(move |request| answer(request, Arc::clone(&shared)));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(
    request: hyper::Request<Incoming>,
    shared: Arc<Shared>,
) -> Result<Response<Body>, Cut> {
    // What was asked is decided on to its end, also if who asked is gone in the meantime.
    let decided = tokio::spawn(async move {
        let method = request.method().to_string();
        let asked = Request { method, path: request.uri().to_string() };
        let number = shared.note(&asked);
        let response = decided(request, &asked, &shared).await?;
        if let Some(record) = shared.records().get_mut(number) {
            record.status = Some(response.status().as_u16());
        }
        Ok(response)
    });
    decided.await.unwrap_or(Err(Cut))
}

async fn decided(
    request: hyper::Request<Incoming>,
    asked: &Request,
    shared: &Shared,
) -> Result<Response<Body>, Cut> {
    match shared.fate(asked, Stage::Asked) {
        Fate::Pass => {}
        Fate::Cut => return Err(Cut),
        Fate::Answer { status, retry_after } => return Ok(said(status, retry_after)),
    }
    // An API server that cannot be reached looks the same through the proxy as without it.
    let answer = shared.upstream.ask(request, shared.view.as_deref()).await.map_err(|_| Cut)?;
    match shared.fate(asked, Stage::Answered(answer.status().as_u16())) {
        Fate::Pass => Ok(answer.map(BodyExt::boxed)),
        Fate::Cut => Err(Cut),
        Fate::Answer { status, retry_after } => Ok(said(status, retry_after)),
    }
}

/// The status as an API server says it: too many requests by a plain text, as the filter does that refuses
/// them (k8s.io/apiserver, `tooManyRequests`), everything else by an object.
fn said(status: u16, retry_after: Option<Duration>) -> Response<Body> {
    let reason = match status {
        410 => "Expired",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    };
    let (kind, text) = match status {
        429 => ("text/plain; charset=utf-8", "Too many requests, please try again later.\n".into()),
        _ => (
            "application/json",
            format!(
                r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"the proxy of a test says so","reason":"{reason}","code":{status}}}"#
            ),
        ),
    };
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Some(after) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(after.as_secs()));
    }
    response
}
