//! Fixed cases: what is right, what kube-network-policies says, and the exception that stands between.

use std::collections::BTreeMap;
use std::net::IpAddr;

use netenf_policy::Packet;
use serde::Deserialize;
use serde_json::Value;

use super::compare;
use super::document::{self, Document};
use super::exception::Exception;
use super::ours::Ours;
use super::reference::{Reference, Said};

const CASES: &str = include_str!("../../testdata/oracle/cases.yaml");

#[derive(Deserialize)]
struct Cases {
    world: Vec<Value>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    claim: String,
    exception: Option<Exception>,
    #[serde(default)]
    domains: BTreeMap<String, Vec<IpAddr>>,
    objects: Vec<Value>,
    packets: Vec<Expected>,
}

/// A packet with the right verdict and the reference's.
#[derive(Deserialize)]
struct Expected {
    packet: String,
    right: Said,
    reference: Said,
}

/// The cases as documents.
fn cases() -> Vec<(Case, Document)> {
    let Cases { world, cases } = serde_saphyr::from_str(CASES).unwrap();
    let document = |case: &Case| Document {
        objects: world.iter().chain(&case.objects).cloned().collect(),
        domains: case.domains.clone(),
        packets: case.packets.iter().map(|expected| document::packet(&expected.packet)).collect(),
    };
    let documents: Vec<Document> = cases.iter().map(document).collect();
    cases.into_iter().zip(documents).collect()
}

/// What both say about a packet.
type Verdicts = Vec<(Packet, Said)>;

#[test]
fn we_are_right() {
    for (case, document) in cases() {
        let ours = Ours::read(&document);
        let said = document.packets.iter().map(|packet| {
            let explanation = ours.explain(packet).unwrap();
            (*packet, Said::of(explanation.allowed()))
        });
        let right = document.packets.iter().copied().zip(case.packets.iter().map(|one| one.right));
        assert_eq!(said.collect::<Verdicts>(), right.collect::<Verdicts>(), "{}", case.claim);
    }
}

#[test]
fn the_reference_says_what_was_recorded() {
    let mut reference = Reference::start();
    for (case, document) in cases() {
        let recorded: Vec<Said> = case.packets.iter().map(|expected| expected.reference).collect();
        assert_eq!(reference.judge(&document), recorded, "{}", case.claim);
    }
}

/// An exception that is not needed any more must go, and so must one that excuses more than its own.
#[test]
fn each_exception_alone_excuses_its_case() {
    let mut reference = Reference::start();
    for exception in Exception::ALL {
        let all = cases();
        let mut own = all.iter().filter(|(case, _)| case.exception == Some(exception)).peekable();
        assert!(own.peek().is_some(), "no case pins {exception:?}");
        for (case, document) in own {
            let differences = case.packets.iter().filter(|one| one.right != one.reference).count();
            let excused = compare(&mut reference, document, &[exception]);
            let excused = excused.map_err(|fault| fault.message);
            assert_eq!(excused, Ok(differences), "{exception:?}: {}", case.claim);
            let others: Vec<Exception> =
                Exception::ALL.into_iter().filter(|other| *other != exception).collect();
            let unexcused = compare(&mut reference, document, &others);
            assert!(unexcused.is_err(), "{exception:?} is not needed: {}", case.claim);
        }
    }
}
