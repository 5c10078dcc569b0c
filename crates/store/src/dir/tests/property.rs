//! Any objects are the same after they were written and read.

use std::collections::BTreeMap;

use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicyEgressRule, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use netenf_api::{
    Direction, PeerRef, Protocol, Provenance, RuleEvidence, TargetKind, TargetRef, UncoveredPeer,
    UncoveredReason, WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal,
    WorkloadNetworkPolicyProposalSpec, WorkloadNetworkPolicyProposalStatus,
    WorkloadNetworkPolicyStatus,
};
use netenf_k8s::lifecycle::{Key, Resource};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::support::*;
use crate::store::{Change, Scope, Store};
use crate::yaml::to_neat_yaml;

/// Text that YAML has its own ideas about.
fn tricky() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "",
            "~",
            "null",
            "true",
            "no",
            "on",
            "y",
            "0x1f",
            "1_000",
            "1.5",
            ".inf",
            "12:30",
            "2026-09-01",
            "2026-09-01T10:00:00Z",
            "# no comment",
            "a # b",
            "- a",
            "a: b",
            "[a",
            "{a",
            "*a",
            "&a",
            "!a",
            "|",
            ">",
            "%a",
            "@a",
            "`a",
            "'",
            "\"",
            "a\nb",
            "a\n",
            "\n",
            " a ",
            "a\tb",
            "---",
            "...",
            "\u{feff}",
            "\u{85}",
            "a\r\nb",
            "=",
            "<<",
            "ä",
            "\u{1f600}",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,90}",
        "\\PC{0,20}",
        "[a-z \n#:|>-]{0,20}",
    ]
}

fn labels() -> impl Strategy<Value = BTreeMap<String, String>> {
    prop::collection::btree_map("[a-z]{1,8}(/[a-z]{1,8})?|metadata|status|ports", tricky(), 1..4)
}

fn selector() -> impl Strategy<Value = LabelSelector> {
    labels()
        .prop_map(|labels| LabelSelector { match_labels: Some(labels), match_expressions: None })
}

fn time() -> impl Strategy<Value = Time> {
    (0..2_000_000_000_i64).prop_map(|second| Time(jiff::Timestamp::from_second(second).unwrap()))
}

fn peer() -> impl Strategy<Value = NetworkPolicyPeer> {
    prop_oneof![
        (option::of(selector()), selector()).prop_map(|(namespaces, pods)| NetworkPolicyPeer {
            ip_block: None,
            namespace_selector: namespaces,
            pod_selector: Some(pods),
        }),
        ("[0-9.:/a-f]{1,20}", option::of(prop::collection::vec("[0-9./]{1,9}", 1..3))).prop_map(
            |(cidr, except)| NetworkPolicyPeer {
                ip_block: Some(IPBlock { cidr, except }),
                namespace_selector: None,
                pod_selector: None,
            }
        ),
    ]
}

fn port() -> impl Strategy<Value = NetworkPolicyPort> {
    let number = prop_oneof![
        (1..65_536).prop_map(IntOrString::Int),
        "[a-z0-9-]{1,8}".prop_map(IntOrString::String)
    ];
    (option::of(number), option::of(1..65_536), option::of(select(vec!["TCP", "UDP"]))).prop_map(
        |(port, end_port, protocol)| NetworkPolicyPort {
            end_port,
            port,
            protocol: protocol.map(str::to_owned),
        },
    )
}

fn policy_body() -> impl Strategy<Value = NetworkPolicySpec> {
    let rule = (
        option::of(prop::collection::vec(peer(), 1..3)),
        option::of(prop::collection::vec(port(), 1..3)),
    );
    let rule = rule.prop_map(|(to, ports)| NetworkPolicyEgressRule { to, ports });
    (selector(), option::of(prop::collection::vec(rule, 1..3))).prop_map(|(pods, egress)| {
        NetworkPolicySpec {
            egress,
            ingress: None,
            pod_selector: Some(pods),
            policy_types: Some(vec!["Egress".to_owned()]),
        }
    })
}

fn peer_ref() -> impl Strategy<Value = PeerRef> {
    let text = || option::of(tricky());
    (text(), text(), text(), text(), prop::collection::vec(tricky(), 0..2)).prop_map(
        |(kind, namespace, name, address, names)| PeerRef {
            kind,
            namespace,
            name,
            identity: None,
            address,
            addresses: Vec::new(),
            names,
            service: None,
        },
    )
}

fn evidence() -> impl Strategy<Value = RuleEvidence> {
    let notes = prop::collection::vec(tricky(), 0..2);
    (peer_ref(), option::of(1..u16::MAX), 0..i64::MAX, option::of(time()), any::<bool>(), notes)
        .prop_map(|(peer, port, count, first_seen, refused, notes)| RuleEvidence {
            count,
            first_seen,
            refused,
            notes,
            ..RuleEvidence::new(peer, port, Protocol::Tcp, Provenance::Observed)
        })
}

fn uncovered() -> impl Strategy<Value = UncoveredPeer> {
    (tricky(), peer_ref(), option::of(selector()), any::<bool>()).prop_map(
        |(id, peer, selector, accepted)| UncoveredPeer {
            id,
            peer,
            port: Some(443),
            selector,
            protocol: Protocol::Udp,
            reason: UncoveredReason::External,
            count: 1,
            first_seen: None,
            last_seen: None,
            notes: Vec::new(),
            accepted,
        },
    )
}

fn object() -> impl Strategy<Value = Resource> {
    let name = "[a-z]{1,3}(-[a-z0-9]{1,3})?";
    let metadata =
        (select(vec!["shop", "test", "a-b"]), name, option::of(labels()), option::of(labels()));
    let status = (
        prop::collection::vec(evidence(), 0..3),
        prop::collection::vec(uncovered(), 0..3),
        option::of(time()),
    );
    (metadata, policy_body(), option::of(status), any::<bool>()).prop_map(
        |((namespace, name, labels, annotations), body, status, is_policy)| {
            let metadata = ObjectMeta {
                namespace: Some(namespace.to_owned()),
                name: Some(name),
                labels,
                annotations,
                ..ObjectMeta::default()
            };
            let mut spec = WorkloadNetworkPolicyProposalSpec::kubernetes(body);
            spec.target_ref = Some(TargetRef { kind: TargetKind::Job, name: "web".to_owned() });
            spec.direction = Some(Direction::Egress);
            // A status that says nothing is none.
            let status = status.filter(|(rules, uncovered, time)| {
                !rules.is_empty() || !uncovered.is_empty() || time.is_some()
            });
            if is_policy {
                WorkloadNetworkPolicy {
                    metadata,
                    spec: spec.to_policy_spec(netenf_api::Mode::Protect),
                    status: status.map(|(rules, uncovered, learned_since)| {
                        WorkloadNetworkPolicyStatus {
                            rules,
                            uncovered,
                            learned_since,
                            ..WorkloadNetworkPolicyStatus::default()
                        }
                    }),
                }
                .into()
            } else {
                WorkloadNetworkPolicyProposal {
                    metadata,
                    spec,
                    status: status.map(|(rules, uncovered, learned_since)| {
                        WorkloadNetworkPolicyProposalStatus {
                            rules,
                            uncovered,
                            learned_since,
                            ..WorkloadNetworkPolicyProposalStatus::default()
                        }
                    }),
                }
                .into()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn objects_are_the_same_after_they_were_written(objects in prop::collection::vec(object(), 1..5)) {
        let objects: BTreeMap<Key, Resource> =
            objects.into_iter().map(|object| (object.key(), object)).collect();
        let folder = Folder::new();
        let store = folder.lock();
        store.apply(&changes(objects.values().cloned().map(Change::Create))).unwrap();
        let listing = store.list(Scope::All).unwrap();
        prop_assert_eq!(&listing.diagnostics, &[]);
        let read: BTreeMap<Key, Resource> =
            listing.objects.iter().map(|stored| (stored.object.key(), stored.object.clone())).collect();
        prop_assert_eq!(&read, &objects);
        for stored in &listing.objects {
            let text = std::fs::read_to_string(&stored.place).unwrap();
            prop_assert_eq!(to_neat_yaml(&stored.object).unwrap(), text);
        }
        // Written again, nothing changes; and each can be removed.
        let before = folder.objects();
        let again = listing.objects.iter().map(|stored| stored.replace(stored.object.clone()));
        store.apply(&changes(again)).unwrap();
        prop_assert_eq!(folder.objects(), before);
        store.apply(&changes(listing.objects.iter().map(crate::store::Stored::delete))).unwrap();
        prop_assert!(folder.objects().is_empty());
    }

    #[test]
    fn objects_of_one_file_are_independent(
        objects in prop::collection::vec(object(), 2..5),
        changed in any::<prop::sample::Index>(),
    ) {
        let objects: BTreeMap<Key, Resource> =
            objects.into_iter().map(|object| (object.key(), object)).collect();
        let texts: Vec<String> = objects.values().map(|object| to_neat_yaml(object).unwrap()).collect();
        let folder = Folder::with(&[("all.yaml", &texts.join("---\n"))]);
        let store = folder.lock();
        let key = changed.get(&objects.keys().cloned().collect::<Vec<_>>()).clone();
        let stored = store.get(&key).unwrap().unwrap();
        prop_assert_eq!(&stored.object, &objects[&key]);
        let new = labelled(&stored, "changed");
        store.apply(&changes([stored.replace(new.clone())])).unwrap();
        for stored in store.list(Scope::All).unwrap().objects {
            let key = stored.object.key();
            let expected = if key == new.key() { &new } else { &objects[&key] };
            prop_assert_eq!(&stored.object, expected);
        }
    }
}
