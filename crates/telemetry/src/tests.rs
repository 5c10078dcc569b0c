//! What a genuine collector does not do when it is asked to: answers as the specification has them, on loopback.

use std::time::Duration;

use netenf_api::{Backend, Violation};
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsPartialSuccess, ExportLogsServiceResponse,
};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use prost::Message as _;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use crate::config::Limits;
use crate::{Config, Protocol, Telemetry};

const LIMITS: Limits = Limits {
    queue: 2048,
    batch: 512,
    delay: Duration::from_millis(50),
    pause: Duration::from_millis(10),
    longest_pause: Duration::from_millis(100),
    age: Duration::from_mins(1),
    shutdown: Duration::from_secs(30),
};

/// Answers one request after the other, each on a connection of its own; gives their heads in small letters.
async fn answer(listener: TcpListener, answers: Vec<(&str, Vec<u8>)>) -> Vec<String> {
    let mut heads = Vec::new();
    for (head, body) in answers {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut reader = BufReader::new(&mut stream);
        let mut request = String::new();
        while !request.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut request).await.unwrap() > 0, "{request:?} ends");
        }
        let request = request.to_lowercase();
        let length =
            request.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let mut content = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut content).await.unwrap();
        let length = body.len();
        let head =
            format!("HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(&[head.as_bytes(), &body].concat()).await.unwrap();
        heads.push(request);
    }
    heads
}

fn violation() -> Violation {
    serde_json::from_value(serde_json::json!({
        "id": "k7m2q9x4", "direction": "Egress", "protocol": "UDP", "action": "monitor", "source": {}, "dest": {},
        "reason": "Unknown", "firstSeen": "2026-09-02T10:00:00Z", "lastSeen": "2026-09-02T10:05:00Z",
    }))
    .unwrap()
}

/// Tells of three violations; gives the heads of the requests, and the metrics.
async fn tell(headers: &str, answers: Vec<(&str, Vec<u8>)>) -> (Vec<String>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = Config {
        endpoint: Some(format!("http://{}/otlp/", listener.local_addr().unwrap())),
        protocol: Protocol::HttpProtobuf,
        headers: headers.to_owned().into(),
        ..Config::default()
    };
    let mut registry = Registry::default();
    let telemetry = Telemetry::start_within(&config, LIMITS, &mut registry).unwrap();
    for _ in 0..3 {
        telemetry.observed(&violation(), ("shop", "web"), Backend::Kubernetes);
    }
    let (heads, ()) = tokio::join!(answer(listener, answers), telemetry.shutdown());
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    (heads, text)
}

#[track_caller]
fn counts(metrics: &str, outcome: &str, count: u64) {
    let labels = format!("event=\"policy_violation_observed\",outcome=\"{outcome}\"");
    let line = format!("telemetry_records_total{{{labels}}} {count}\n");
    assert!(metrics.contains(&line), "{outcome} is not {count}: {metrics}");
}

#[tokio::test]
async fn every_request_has_the_headers_and_one_that_failed_is_tried_again() {
    let answers = vec![("503 Service Unavailable", Vec::new()), ("200 OK", Vec::new())];
    let (heads, metrics) = tell("authorization=Bearer%20s3cret,x-tenant=shop", answers).await;
    assert_eq!(heads.len(), 2);
    for head in heads {
        assert!(head.starts_with("post /otlp/v1/logs http/1.1\r\n"), "{head}");
        let lines = [
            "authorization: bearer s3cret",
            "x-tenant: shop",
            "content-type: application/x-protobuf",
        ];
        for line in lines {
            assert!(head.lines().any(|it| it == line), "{line} is not in {head}");
        }
    }
    counts(&metrics, "Delivered", 3);
}

#[tokio::test]
async fn records_that_a_collector_refuses_are_counted_as_many_as_it_says() {
    let partial =
        ExportLogsPartialSuccess { rejected_log_records: 1, error_message: "late".to_owned() };
    let answer = ExportLogsServiceResponse { partial_success: Some(partial) };
    let (_, metrics) = tell("", vec![("200 OK", answer.encode_to_vec())]).await;
    counts(&metrics, "Delivered", 2);
    counts(&metrics, "Rejected", 1);
}

#[tokio::test]
async fn a_refusal_for_good_is_not_tried_again_and_a_redirection_not_followed() {
    for head in ["401 Unauthorized", "307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/"] {
        let (heads, metrics) = tell("", vec![(head, Vec::new())]).await;
        assert_eq!(heads.len(), 1);
        counts(&metrics, "Rejected", 3);
    }
}
