use rstest::rstest;

use super::*;
use crate::selector::Selector;

fn labels(text: &str) -> Labels {
    text.split(',').filter(|l| !l.is_empty()).filter_map(|l| l.split_once('=')).collect()
}

fn select(text: &str) -> Selector {
    Selector::of_labels(labels(text))
}

fn pod(namespace: &str, text: &str, address: &str) -> End {
    End::Pod(Pod {
        namespace: namespace.into(),
        namespace_labels: [("kubernetes.io/metadata.name", namespace)].into_iter().collect(),
        labels: labels(text),
        addresses: vec![address.parse().unwrap()],
        ports: vec![("http".into(), Protocol::Tcp, 8080)],
        ..Pod::default()
    })
}

/// Policy of `shop` on `app=db`: `web` of the same namespace on 5432, `ops` pods anywhere in `ops`
/// on the port named http, 10.0.0.0/8 without 10.1.0.0/16 on 9000-9100.
fn policy() -> NetworkPolicy {
    let port = |range| Some(vec![PortMatch { protocol: Protocol::Tcp, range }]);
    let rule = |peer, range| Rule { peers: Some(vec![peer]), ports: port(range) };
    NetworkPolicy {
        kind: "NetworkPolicy".into(),
        namespace: "shop".into(),
        name: "db".into(),
        pods: select("app=db"),
        ingress: Some(vec![
            rule(
                Peer::Pods { namespaces: None, pods: Some(select("app=web")) },
                PortRange::Numbers(5432, 5432),
            ),
            rule(
                Peer::Pods {
                    namespaces: Some(select("kubernetes.io/metadata.name=ops")),
                    pods: None,
                },
                PortRange::Named("http".into()),
            ),
            rule(
                Peer::Block {
                    cidr: "10.0.0.0/8".parse().unwrap(),
                    except: vec!["10.1.0.0/16".parse().unwrap()],
                },
                PortRange::Numbers(9000, 9100),
            ),
        ]),
        egress: None,
    }
}

#[rstest]
#[case::own_namespace(pod("shop", "app=web", "10.2.0.1"), 5432, Some(0))]
#[case::other_port(pod("shop", "app=web", "10.2.0.1"), 5433, None)]
#[case::same_labels_elsewhere(pod("test", "app=web", "10.2.0.1"), 5432, None)]
#[case::named_port(pod("ops", "app=any", "10.2.0.1"), 8080, Some(1))]
#[case::range_low(End::Address("10.9.9.9".parse().unwrap()), 9000, Some(2))]
#[case::range_high(End::Address("10.9.9.9".parse().unwrap()), 9100, Some(2))]
#[case::beyond_range(End::Address("10.9.9.9".parse().unwrap()), 9101, None)]
#[case::excepted(End::Address("10.1.2.3".parse().unwrap()), 9000, None)]
#[case::a_pod_is_in_a_block_too(pod("test", "", "10.2.0.9"), 9000, Some(2))]
fn the_first_rule_that_admits_decides(
    #[case] source: End,
    #[case] port: u16,
    #[case] rule: Option<usize>,
) {
    let destination = pod("shop", "app=db,role=main", "10.2.0.2");
    let connection = Connection { source, destination, protocol: Protocol::Tcp, port };
    let verdict = evaluate(&[policy()], &connection);
    assert!(verdict.egress.allowed);
    match rule {
        Some(rule) => {
            let (namespace, policy) = ("shop".into(), "db".into());
            assert_eq!(verdict.ingress.reason, Reason::Rule { namespace, policy, rule });
        }
        None => {
            assert_eq!(verdict.ingress.reason, Reason::NoRule { policies: vec!["shop/db".into()] });
        }
    }
}

#[test]
fn a_pod_that_no_policy_selects_is_not_isolated() {
    let connection = Connection {
        source: pod("shop", "app=web", "10.2.0.1"),
        destination: pod("shop", "app=cache", "10.2.0.3"),
        protocol: Protocol::Tcp,
        port: 1,
    };
    assert_eq!(evaluate(&[policy()], &connection).ingress.reason, Reason::NotIsolated);
}
