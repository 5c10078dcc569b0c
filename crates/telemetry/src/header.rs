//! Headers of requests, as `OTEL_EXPORTER_OTLP_HEADERS` has them: `name=value,…`, values percent-encoded
//! (OpenTelemetry specification, OTLP exporter, "Specifying headers via environment variables"). They hold
//! tokens, so no error shows one.

use anyhow::{Context as _, anyhow};
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;

/// The headers that `text` tells. Each is marked as sensitive, so that no library prints it.
pub(crate) fn parse(text: &str) -> anyhow::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (index, pair) in text.split(',').enumerate().filter(|(_, pair)| !pair.trim().is_empty()) {
        let wrong = || format!("header {} of the collector is not NAME=VALUE", index + 1);
        let (name, value) = pair.split_once('=').ok_or_else(|| anyhow!(wrong()))?;
        let name: HeaderName = name.trim().parse().ok().with_context(wrong)?;
        let value: Vec<u8> = percent_decode_str(value.trim()).collect();
        let mut value = HeaderValue::from_bytes(&value).ok().with_context(wrong)?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests;
