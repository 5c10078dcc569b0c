use http::Response;
use http_body_util::BodyExt as _;
use kube::client::{Body, DynBody};
use rstest::rstest;
use serde_json::Value;

use super::told;

fn answer(status: u16, retry_after: Option<&str>) -> Response<Box<DynBody>> {
    let mut response = Response::builder().status(status);
    if let Some(text) = retry_after {
        response = response.header("Retry-After", text);
    }
    let body: Box<DynBody> = Box::new(Body::from(b"as it was".to_vec()).map_err(Into::into));
    response.body(body).unwrap()
}

#[rstest]
#[case::of_a_busy_server(429, Some("12"), Some(12))]
#[case::longer_than_is_believed(429, Some("86400"), Some(300))]
#[case::no_number(429, Some("soon"), None)]
#[case::none(429, None, None)]
#[case::of_another_answer(503, Some("12"), None)]
#[tokio::test]
async fn a_pause_is_told_in_the_body(
    #[case] status: u16,
    #[case] header: Option<&str>,
    #[case] expected: Option<u64>,
) {
    let told = told(answer(status, header));
    assert_eq!(told.status(), status);
    let body = told.into_body().collect().await.unwrap().to_bytes();
    let Some(pause) = expected else { return assert_eq!(body, "as it was") };
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["details"]["retryAfterSeconds"], pause);
}
