//! The client that writes.
//!
//! kube's own one tries again by itself what a busy server refuses, within the request: a worker waits with it, and
//! gives the request up where the server asks for a longer pause than a request may take. This one tells the pause,
//! so that the worker goes on with other objects and comes back in time.

use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use kube::client::{Body, ClientBuilder, DynBody};
use kube::{Client, Config};
use serde_json::json;
use tower::util::MapResponseLayer;

#[cfg(test)]
mod tests;

/// No server asks for a longer pause than this one that is believed.
const LONGEST: Duration = Duration::from_mins(5);

/// A client that never tries again, and says when to.
///
/// # Errors
/// If the configuration names certificates or keys that cannot be used.
pub fn writing(mut config: Config) -> kube::Result<Client> {
    config.default_retry = false;
    Ok(ClientBuilder::try_from(config)?.with_layer(&MapResponseLayer::new(told)).build())
}

/// Puts the pause that a busy server asks for into the body of its answer, of which kube reads nothing else. The
/// filter that refuses too many requests says it by the header alone (k8s.io/apiserver, `tooManyRequests`).
fn told(mut response: Response<Box<DynBody>>) -> Response<Box<DynBody>> {
    let pause = response.headers().get(RETRY_AFTER).and_then(seconds);
    let (StatusCode::TOO_MANY_REQUESTS, Some(pause)) = (response.status(), pause) else {
        return response;
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "TooManyRequests", "code": 429,
        "message": "the server is busy", "details": {"retryAfterSeconds": pause},
    });
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    *response.body_mut() =
        Box::new(Body::from(status.to_string().into_bytes()).map_err(Into::into));
    response
}

/// The other form, a date, is none that an API server uses.
fn seconds(header: &HeaderValue) -> Option<u64> {
    let seconds: u64 = header.to_str().ok()?.parse().ok()?;
    Some(seconds.min(LONGEST.as_secs()))
}
