//! One request to the collector, and what its answer means. A transport holds its connections; it makes new
//! ones, with what stands in the files by then, when a file of certificates changes.

use std::error::Error;
use std::time::Duration;

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Collected, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_client::LogsServiceClient;
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsServiceRequest, ExportLogsServiceResponse,
};
use prost::Message as _;
use tokio::time::timeout;
use tonic::body::Body;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use crate::config::{Checked, Protocol};
use crate::endpoint::Endpoint;
use crate::trust::{self, Content, Trust};

/// Of an answer as much is read.
const LONGEST_ANSWER: usize = 64 << 10;

/// Of what a collector says as much is told.
const LONGEST_TEXT: usize = 512;

/// A connection that says nothing is asked whether it lives: one that a network dropped would otherwise cost
/// the whole time limit of a request.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The way to one collector.
pub(crate) struct Transport {
    endpoint: Endpoint,
    protocol: Protocol,
    headers: HeaderMap,
    limit: Duration,
    trust: Trust,
    content: Content,
    client: Http,
}

type Http = Client<HttpsConnector<HttpConnector>, Body>;

/// The collector's answer: it took the request, but for so many records.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) rejected: usize,
    /// What it says about them.
    pub(crate) message: String,
}

/// The request came to nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) then: Then,
}

/// What is to be done about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// Trying again is useless.
    Drop,
    /// Trying again, after this time if the collector named one.
    Retry(Option<Duration>),
}

// === impl Transport ===

impl Transport {
    /// Reads the files, and connects to nothing yet.
    pub(crate) fn new(config: Checked) -> anyhow::Result<Self> {
        let Checked { endpoint, protocol, authorities, identity, headers, timeout } = config;
        let trust = Trust { authorities, identity };
        let content = trust.read()?;
        let client = client(&endpoint, protocol, &trust, &content)?;
        Ok(Self { endpoint, protocol, headers, limit: timeout, trust, content, client })
    }

    /// Sends the request once.
    pub(crate) async fn send(
        &mut self,
        request: ExportLogsServiceRequest,
    ) -> Result<Taken, Failure> {
        self.refresh();
        let sending = async {
            match self.protocol {
                Protocol::Grpc => self.send_grpc(request).await,
                Protocol::HttpProtobuf => self.send_http(request).await,
            }
        };
        timeout(self.limit, sending).await.unwrap_or_else(|_| {
            Err(Failure {
                message: format!("no answer within {:?}", self.limit),
                then: Then::Retry(None),
            })
        })
    }

    /// The address, for the log; it holds no password.
    pub(crate) fn uri(&self) -> &Uri {
        &self.endpoint.uri
    }

    /// Takes over files that changed. Ones that cannot be used, as in the middle of being replaced, change
    /// nothing: the old ones serve until they do.
    fn refresh(&mut self) {
        let changed = self.trust.read().and_then(|content| {
            if content == self.content {
                return Ok(None);
            }
            let client = client(&self.endpoint, self.protocol, &self.trust, &content)?;
            Ok(Some((content, client)))
        });
        match changed {
            Ok(None) => {}
            Ok(Some((content, client))) => {
                tracing::info!("the certificates for the collector changed");
                (self.content, self.client) = (content, client);
            }
            Err(error) => {
                let error = format!("{error:#}");
                tracing::warn!(error, "the certificates for the collector are not taken over");
            }
        }
    }

    async fn send_grpc(&self, message: ExportLogsServiceRequest) -> Result<Taken, Failure> {
        let mut service =
            LogsServiceClient::with_origin(self.client.clone(), self.endpoint.uri.clone())
                .max_decoding_message_size(LONGEST_ANSWER);
        let mut request = tonic::Request::new(message);
        *request.metadata_mut() = MetadataMap::from_headers(self.headers.clone());
        match service.export(request).await {
            Ok(answer) => Ok(taken(answer.into_inner())),
            Err(status) => Err(refused(&status)),
        }
    }

    async fn send_http(&self, message: ExportLogsServiceRequest) -> Result<Taken, Failure> {
        let body = Body::new(Full::from(message.encode_to_vec()));
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.endpoint.uri.clone();
        *request.headers_mut() = self.headers.clone();
        let kind = HeaderValue::from_static("application/x-protobuf");
        request.headers_mut().insert(CONTENT_TYPE, kind);
        let answer = self.client.request(request).await.map_err(|error| broken(&error))?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, LONGEST_ANSWER).collect().await;
        if !head.status.is_success() {
            let text = body.map(Collected::to_bytes).unwrap_or_default();
            return Err(unsuccessful(head.status, &head.headers, &text));
        }
        // It took the request, whatever became of the answer. An unreadable one says no more than that.
        let body = body.map(Collected::to_bytes).unwrap_or_default();
        Ok(ExportLogsServiceResponse::decode(body).map(taken).unwrap_or_default())
    }
}

fn client(
    endpoint: &Endpoint,
    protocol: Protocol,
    trust: &Trust,
    content: &Content,
) -> anyhow::Result<Http> {
    let builder = HttpsConnectorBuilder::new();
    let builder = if endpoint.is_secure() {
        builder.with_tls_config(trust.client(content)?).https_only()
    } else {
        builder.with_tls_config(trust::nobody()?).https_or_http()
    };
    let (connector, is_grpc) = match protocol {
        Protocol::Grpc => (builder.enable_http2().build(), true),
        Protocol::HttpProtobuf => (builder.enable_all_versions().build(), false),
    };
    let mut client = Client::builder(TokioExecutor::new());
    client.http2_only(is_grpc).timer(TokioTimer::new()).pool_timer(TokioTimer::new());
    client.http2_keep_alive_interval(KEEP_ALIVE);
    Ok(client.build(connector))
}

fn taken(answer: ExportLogsServiceResponse) -> Taken {
    let partial = answer.partial_success.unwrap_or_default();
    Taken {
        rejected: usize::try_from(partial.rejected_log_records).unwrap_or_default(),
        message: cut(&partial.error_message).to_owned(),
    }
}

/// The connection failed, or what came over it was no answer.
fn broken(error: &(dyn Error + 'static)) -> Failure {
    Failure { message: cut(&chain(error)).to_owned(), then: Then::Retry(None) }
}

/// Which codes are tried again stands in the OTLP specification, OTLP/gRPC response. A status with a source
/// was not sent by the collector: the connection failed.
fn refused(status: &Status) -> Failure {
    if let Some(source) = status.source() {
        return broken(source);
    }
    let asked = status.get_details_retry_info().and_then(|info| info.retry_delay);
    let then = match status.code() {
        Code::Cancelled
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unavailable
        | Code::DataLoss => Then::Retry(asked),
        Code::ResourceExhausted if asked.is_some() => Then::Retry(asked),
        Code::ResourceExhausted
        | Code::Ok
        | Code::Unknown
        | Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::FailedPrecondition
        | Code::Unimplemented
        | Code::Internal
        | Code::Unauthenticated => Then::Drop,
    };
    let message = format!("{:?}: {}", status.code(), status.message());
    Failure { message: cut(&message).to_owned(), then }
}

/// Which statuses are tried again stands in the OTLP specification, OTLP/HTTP response.
fn unsuccessful(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
    let then = match status {
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => {
            let seconds = headers.get(RETRY_AFTER).and_then(|it| it.to_str().ok()?.parse().ok());
            Then::Retry(seconds.map(Duration::from_secs))
        }
        _ => Then::Drop,
    };
    let text = String::from_utf8_lossy(body);
    Failure { message: cut(&format!("{status}: {text}")).trim_end().to_owned(), then }
}

/// The error and what caused it, each said once.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        next = cause.source();
    }
    text
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_TEXT)]
}

#[cfg(test)]
mod tests;
