//! `/healthz`, `/readyz` and `/metrics`.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use crate::address::Address;
use crate::readiness::Readiness;

/// The format that the metrics are in (`OpenMetrics` 1.0).
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves the state of the agent until the process ends.
pub(crate) async fn serve_health(address: Address, readiness: Readiness) -> anyhow::Result<()> {
    let router = Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(readyz))
        .with_state(readiness);
    serve("health", address, router).await
}

/// Serves what is counted until the process ends.
pub(crate) async fn serve_metrics(address: Address, registry: Registry) -> anyhow::Result<()> {
    let router = Router::new().route("/metrics", get(metrics)).with_state(Arc::new(registry));
    serve("metrics", address, router).await
}

async fn serve(what: &'static str, address: Address, router: Router) -> anyhow::Result<()> {
    let listener = address.listen().await;
    let listener = listener
        .with_context(|| format!("cannot serve {what} at {address:?}; choose another address"))?;
    let Some(listener) = listener else { return Ok(()) };
    let local = listener.local_addr().context("a listener has an address")?;
    tracing::info!(what, address = %local, "serving");
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(what, %error, "serving ended");
        }
    });
    Ok(())
}

/// One line for a probe; the whole report with `?verbose`.
async fn readyz(
    State(readiness): State<Readiness>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Response {
    let report = readiness.report();
    let status = if report.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    if query.contains_key("verbose") {
        return (status, Json(report)).into_response();
    }
    let faults = report.faults.iter().map(|(part, why)| format!("{part}: {why}"));
    let text = if report.ready { "ok".to_owned() } else { faults.collect::<Vec<_>>().join("\n") };
    (status, text).into_response()
}

async fn metrics(State(registry): State<Arc<Registry>>) -> Response {
    let mut text = String::new();
    match encode(&mut text, &registry) {
        Ok(()) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
