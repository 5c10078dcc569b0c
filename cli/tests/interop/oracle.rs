//! Our engine beside the genuine one of kube-network-policies, on generated clusters and on fixed cases.
//!
//! ```text
//! seed -> objects and packets ─┬─ reading, index, compiled engine ─┐
//!                              ├─ reading, index, naive evaluator ─┼─ the same verdict, or a named exception
//!                              └─ kube-network-policies ───────────┘
//! ```

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::SystemTime;

use netenf_policy::{Explanation, Packet, Side};

use self::document::{Document, shown};
use self::exception::{Exception, Judged, corrected};
use self::ours::{Ours, allowed};
use self::reference::{Reference, Said};

mod document;
mod exception;
mod fixed;
mod generate;
mod ours;
mod reference;
mod shrink;

/// How many clusters a run generates, and how many packets are judged in each.
const CLUSTERS: u64 = 800;
const PACKETS: usize = 125;

/// A packet about which somebody is wrong.
struct Fault {
    packet: Packet,
    message: String,
}

/// A packet, and what we say.
type Explained = (Packet, Explanation);

/// Each run generates other clusters; `NETENF_ORACLE_SEED` repeats one, from the cluster of that seed on.
#[test]
fn generated_clusters_are_judged_as_by_kube_network_policies() {
    let first = match std::env::var("NETENF_ORACLE_SEED") {
        Ok(seed) => seed.parse().expect("NETENF_ORACLE_SEED is a number"),
        Err(_) => SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() * CLUSTERS,
    };
    eprintln!("NETENF_ORACLE_SEED={first}");
    let mut reference = Reference::start();
    let mut excused = 0;
    for seed in first..first + CLUSTERS {
        let document = generate::document(seed, PACKETS);
        match compare(&mut reference, &document, &Exception::ALL) {
            Ok(differences) => excused += differences,
            Err(fault) => panic!("{}", report(&mut reference, seed, &document, &fault)),
        }
    }
    eprintln!(
        "{CLUSTERS} clusters of {PACKETS} packets, {excused} judged otherwise by named exceptions"
    );
}

/// Judges the packets of a document by all. Gives how many the reference judges otherwise, all of them for one of
/// `exceptions`.
fn compare(
    reference: &mut Reference,
    document: &Document,
    exceptions: &[Exception],
) -> Result<usize, Fault> {
    let ours = Ours::read(document);
    let mut differences = 0;
    let mut doubted: BTreeMap<IpAddr, Vec<Explained>> = BTreeMap::new();
    for (packet, said) in document.packets.iter().zip(reference.judge(document)) {
        let explanation =
            ours.explain(packet).map_err(|message| Fault { packet: *packet, message })?;
        let differs = said != Said::of(explanation.allowed());
        differences += usize::from(differs);
        // One direction that denies hides what is said of the other.
        if differs || said == Said::Deny {
            doubted.entry(packet.destination).or_default().push((*packet, explanation));
        }
    }
    for of_destination in doubted.values() {
        for side in [Side::Egress, Side::Ingress] {
            excuse(reference, document, exceptions, &ours, side, of_destination)?;
        }
    }
    Ok(differences)
}

/// Whether the reference agrees about one side of packets to one destination, save for `exceptions`: told in other words
/// it agrees, and these words mean the same to us.
fn excuse(
    reference: &mut Reference,
    document: &Document,
    exceptions: &[Exception],
    ours: &Ours,
    side: Side,
    explained: &[Explained],
) -> Result<(), Fault> {
    let packets: Vec<Packet> = explained.iter().map(|(packet, _)| *packet).collect();
    let ports = ours.cluster.owner(packets[0].destination).map(|pod| pod.ports.clone());
    let ports = ports.unwrap_or_default();
    let corrected = corrected(document, exceptions, side, &ours.cluster, &ports);
    let said = reference.judge(&corrected.with_packets(&packets));
    let same = Ours::read(&corrected);
    for ((packet, explanation), said) in explained.iter().zip(said) {
        let fault = |message| Fault { packet: *packet, message };
        let judged = Judged { side, explanation };
        if exceptions.iter().any(|exception| exception.excuses(document, &judged)) {
            continue;
        }
        let right = allowed(explanation, side);
        if said != Said::of(right) {
            return Err(fault(format!("{side:?}: {said:?} by the reference, but {explanation:?}")));
        }
        let again = same.explain(packet).map_err(fault)?;
        if allowed(&again, side) != right {
            return Err(fault(format!(
                "{side:?}: a correction changed {explanation:?} to {again:?}"
            )));
        }
    }
    Ok(())
}

/// What a person needs to find the fault: the least document that has it.
fn report(reference: &mut Reference, seed: u64, document: &Document, fault: &Fault) -> String {
    let least = shrink::shrink(document, fault.packet, |smaller| {
        compare(reference, smaller, &Exception::ALL).is_err()
    });
    let message = match compare(reference, &least, &Exception::ALL) {
        Err(fault) => fault.message,
        Ok(_) => fault.message.clone(),
    };
    format!(
        "{} with NETENF_ORACLE_SEED={seed}: {message}\n\nThe least document:\n{}",
        shown(&fault.packet),
        least.shown()
    )
}
