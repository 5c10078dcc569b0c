use rstest::rstest;

use super::*;

/// TCP ports.
fn tcp(ports: &[u16]) -> Transports {
    let mut transports = Transports::default();
    for port in ports {
        transports.insert(Protocol::Tcp, *port..=*port);
    }
    transports
}

#[rstest]
#[case::nothing(tcp(&[]), tcp(&[]), "nothing", json!([]))]
#[case::between_all(tcp(&[80]), tcp(&[80]), "80/TCP", json!([{"protocol": "TCP", "port": 80}]))]
#[case::between_some(
    tcp(&[80]), tcp(&[]), "80/TCP (some pods)", json!([{"protocol": "TCP", "port": 80, "allPods": false}])
)]
#[case::more_between_some(
    tcp(&[80, 443]), tcp(&[80]), "80/TCP,443/TCP (some pods)",
    json!([{"protocol": "TCP", "port": 80}, {"protocol": "TCP", "port": 443, "allPods": false}])
)]
#[case::everything_between_some(
    Transports::all(), tcp(&[]), "everything (some pods)",
    json!([
        {"protocol": "TCP", "allPods": false}, {"protocol": "UDP", "allPods": false},
        {"protocol": "SCTP", "allPods": false}, {"protocol": "Other", "allPods": false},
    ])
)]
fn what_passes_between_some_pods_only_is_told(
    #[case] some: Transports,
    #[case] all: Transports,
    #[case] words: &str,
    #[case] json: Value,
) {
    let passing = Passing { some, all };
    assert_eq!(
        (passing_words(&passing).as_str(), Value::from(passing_json(&passing))),
        (words, json)
    );
}
