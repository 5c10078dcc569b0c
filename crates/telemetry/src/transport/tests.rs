use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, StatusCode};
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsPartialSuccess, ExportLogsServiceResponse,
};
use rstest::rstest;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use super::{LONGEST_TEXT, Taken, Then, refused, taken, unsuccessful};

const SECONDS: Duration = Duration::from_secs(7);

/// OTLP specification, "OTLP/HTTP Response": those that are not named are not tried again, redirections neither.
#[rstest]
#[case::too_many(429, Then::Retry(None))]
#[case::bad_gateway(502, Then::Retry(None))]
#[case::unavailable(503, Then::Retry(None))]
#[case::gateway_timeout(504, Then::Retry(None))]
#[case::redirected(307, Then::Drop)]
#[case::bad_request(400, Then::Drop)]
#[case::unauthorized(401, Then::Drop)]
#[case::too_large(413, Then::Drop)]
#[case::failed(500, Then::Drop)]
fn a_status_of_http_says_what_is_then(#[case] status: u16, #[case] expected: Then) {
    let status = StatusCode::from_u16(status).unwrap();
    assert_eq!(unsuccessful(status, &HeaderMap::new(), b"").then, expected);
}

#[rstest]
#[case::seconds("7", Some(SECONDS))]
#[case::date("Fri, 31 Dec 1999 23:59:59 GMT", None)]
#[case::negative("-1", None)]
fn a_collector_may_ask_for_a_pause(#[case] text: &'static str, #[case] expected: Option<Duration>) {
    let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]);
    let failure = unsuccessful(StatusCode::SERVICE_UNAVAILABLE, &headers, b"");
    assert_eq!(failure.then, Then::Retry(expected));
}

#[test]
fn of_what_a_collector_says_the_beginning_is_told() {
    let body = "é".repeat(LONGEST_TEXT);
    let failure = unsuccessful(StatusCode::BAD_REQUEST, &HeaderMap::new(), body.as_bytes());
    assert!(failure.message.starts_with("400 Bad Request: éé"), "{}", failure.message);
    assert!(failure.message.len() <= LONGEST_TEXT);
    let failure = unsuccessful(StatusCode::BAD_REQUEST, &HeaderMap::new(), &[0xff, 0xfe]);
    assert_eq!(failure.message, "400 Bad Request: \u{fffd}\u{fffd}");
}

/// OTLP specification, "OTLP/gRPC Response".
#[rstest]
#[case::cancelled(Code::Cancelled, Then::Retry(None))]
#[case::deadline(Code::DeadlineExceeded, Then::Retry(None))]
#[case::aborted(Code::Aborted, Then::Retry(None))]
#[case::out_of_range(Code::OutOfRange, Then::Retry(None))]
#[case::unavailable(Code::Unavailable, Then::Retry(None))]
#[case::data_loss(Code::DataLoss, Then::Retry(None))]
#[case::exhausted(Code::ResourceExhausted, Then::Drop)]
#[case::invalid(Code::InvalidArgument, Then::Drop)]
#[case::unknown_sender(Code::Unauthenticated, Then::Drop)]
#[case::forbidden(Code::PermissionDenied, Then::Drop)]
#[case::unimplemented(Code::Unimplemented, Then::Drop)]
#[case::internal(Code::Internal, Then::Drop)]
fn a_code_of_grpc_says_what_is_then(#[case] code: Code, #[case] expected: Then) {
    assert_eq!(refused(&Status::new(code, "so")).then, expected);
}

#[rstest]
#[case::unavailable(Code::Unavailable)]
#[case::exhausted(Code::ResourceExhausted)]
fn a_collector_that_recovers_may_ask_for_a_pause(#[case] code: Code) {
    let details = ErrorDetails::with_retry_info(Some(SECONDS));
    let status = Status::with_error_details(code, "busy", details);
    assert_eq!(refused(&status).then, Then::Retry(Some(SECONDS)));
}

#[rstest]
#[case::all(None, 0, "")]
#[case::some_refused(Some((2, "too old")), 2, "too old")]
#[case::a_warning(Some((0, "deprecated")), 0, "deprecated")]
#[case::nonsense(Some((-1, "")), 0, "")]
fn an_answer_says_how_many_were_refused(
    #[case] partial: Option<(i64, &str)>,
    #[case] rejected: usize,
    #[case] message: &str,
) {
    let partial = partial.map(|(rejected_log_records, text)| ExportLogsPartialSuccess {
        rejected_log_records,
        error_message: text.to_owned(),
    });
    let answer = ExportLogsServiceResponse { partial_success: partial };
    assert_eq!(taken(answer), Taken { rejected, message: message.to_owned() });
}
