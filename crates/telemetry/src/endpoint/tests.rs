use rstest::rstest;

use super::parse;
use crate::config::Protocol;

#[rstest]
#[case::tls("https://otel:4317", "https://otel:4317/")]
#[case::plain("http://[::1]:4317/", "http://[::1]:4317/")]
fn grpc_has_a_host(#[case] text: &str, #[case] expected: &str) {
    let read = parse(text, Protocol::Grpc).unwrap();
    assert_eq!(read.uri.to_string(), expected);
    assert_eq!(read.is_secure(), text.starts_with("https"));
}

#[rstest]
#[case::bare("https://otel:4318", "https://otel:4318/v1/logs")]
#[case::slash("https://otel:4318/", "https://otel:4318/v1/logs")]
#[case::below("http://otel/tenant/a", "http://otel/tenant/a/v1/logs")]
fn http_has_a_path_for_logs(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(parse(text, Protocol::HttpProtobuf).unwrap().uri.to_string(), expected);
}

#[rstest]
#[case::no_scheme("otel:4317", "write https://HOST:PORT or http://HOST:PORT")]
#[case::host_alone("otel", "write https://HOST:PORT or http://HOST:PORT")]
#[case::scheme("grpc://otel:4317", "it begins with https:// or http://")]
#[case::path("https://otel:4318/v1/logs", "has a path, which gRPC has no use for")]
#[case::no_address("https://", "has no address that is understood")]
#[case::blank("https://a b", "has no address that is understood")]
fn what_is_wrong_is_told(#[case] text: &str, #[case] expected: &str) {
    let error = format!("{:#}", parse(text, Protocol::Grpc).unwrap_err());
    assert!(error.contains(expected) && error.contains(text), "{error}");
}

#[test]
fn a_query_is_refused_and_not_told() {
    let error =
        format!("{:#}", parse("https://otel:4317?key=hunter2", Protocol::Grpc).unwrap_err());
    assert!(error.contains("as a header") && !error.contains("hunter2"), "{error}");
}

#[test]
fn a_password_is_refused_and_not_told() {
    let error =
        format!("{:#}", parse("https://jane:hunter2@otel:4317", Protocol::Grpc).unwrap_err());
    assert!(error.contains("give them as a header") && !error.contains("hunter2"), "{error}");
}
