//! The seven laws of cases.md over generated clusters and traffic, with and without the cluster's objects.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use netenf_api::WorkloadNetworkPolicyProposal;
use netenf_k8s::merge::merge;
use netenf_k8s::{Index, render};
use netenf_learn::proposal::{Outcome, Peer, Proposal, Provenance, RulePeer};
use netenf_learn::{
    Caps, Direction, DropReason, End, Event, Observation, TcpFlags, Verdict, Workload,
};
use netenf_policy::{End as PolicyEnd, Protocol};
use proptest::prelude::*;

use super::traffic::{Seen, Sender, allowed, decoded_anew, learn, shuffled, yaml};
use super::world::{Member, Place, World, world};

/// How an attempt to connect ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Answered,
    Silent,
    Reset,
    Denied,
    /// Only packets of an established connection are seen, and nothing says whose.
    Underway,
}

#[derive(Debug, Clone)]
struct Attempt {
    client: usize,
    server: usize,
    client_port: u16,
    port: u16,
    udp: bool,
    second: i64,
    ending: Ending,
    /// Which nodes report: 1 the client's, 2 the server's, 3 both.
    nodes: u8,
    /// How many points of the datapath report each packet.
    points: usize,
    /// Whether the last packet looks like a new connection the other way.
    late: bool,
}

prop_compose! {
    fn attempt()(
        client in any::<usize>(), server in any::<usize>(), client_port in 40_000..40_006u16,
        port in prop::sample::select(vec![80u16, 5353, 5432, 6443, 8080, 39_999]), udp in any::<bool>(),
        second in 0..600i64,
        ending in prop::sample::select(vec![
            Ending::Answered, Ending::Answered, Ending::Answered, Ending::Silent, Ending::Reset,
            Ending::Denied, Ending::Underway,
        ]),
        nodes in 1..4u8, points in 1..3usize, late in any::<bool>(),
    ) -> Attempt {
        // What comes back in UDP is an answer.
        let ending = if udp && ending == Ending::Reset { Ending::Answered } else { ending };
        let client_port = if ending == Ending::Underway { client_port + 1000 } else { client_port };
        Attempt { client, server, client_port, port, udp, second, ending, nodes, points, late }
    }
}

/// One end of an attempt.
#[derive(Debug, Clone)]
enum Who {
    Pod(Member),
    Place(Place),
    Service(IpAddr, Workload),
}

impl Who {
    fn pick(world: &World, number: usize, as_server: bool) -> Self {
        let places = [Place::Outside, Place::ApiServer, Place::Node];
        let services = if as_server { world.services.len() } else { 0 };
        let at = number % (world.members.len() + places.len() + services);
        if let Some(member) = world.members.get(at) {
            return Self::Pod(member.clone());
        }
        let at = at - world.members.len();
        match places.get(at) {
            Some(place) => Self::Place(*place),
            None => {
                let (address, workload) = world.services[at - places.len()].clone();
                Self::Service(address, workload)
            }
        }
    }

    fn end(&self, local: bool) -> End {
        match self {
            Self::Pod(member) => member.end(local),
            Self::Place(place) => place.end(),
            Self::Service(address, _) => End { address: Some(*address), ..Place::Outside.end() },
        }
    }

    fn pod(&self) -> Option<&Member> {
        match self {
            Self::Pod(member) if !member.host_network => Some(member),
            Self::Pod(_) | Self::Place(_) | Self::Service(..) => None,
        }
    }

    fn workload(&self) -> Option<&Workload> {
        match self {
            Self::Service(_, workload) => Some(workload),
            _ => self.pod().map(|member| &member.workload),
        }
    }

    /// Whether `peer` tells of it.
    fn is(&self, world: &World, peer: &Peer) -> bool {
        let kind = peer.kind.as_deref();
        let at =
            |address: IpAddr| peer.address == Some(address) || peer.addresses.contains(&address);
        let of = |workload: &Workload| {
            (peer.namespace.as_ref(), peer.name.as_ref())
                == (Some(&workload.namespace), Some(&workload.name))
        };
        match self {
            Self::Pod(member) if member.host_network => kind == Some("Node") && at(member.address),
            Self::Pod(member) => of(&member.workload),
            Self::Place(Place::Outside) => kind == Some("External") && at(Place::Outside.address()),
            Self::Place(Place::ApiServer) => kind == Some("ApiServer"),
            Self::Place(Place::Node) => kind == Some("Node") && at(Place::Node.address()),
            // A port that the service does not have leads nowhere.
            Self::Service(address, workload) => {
                let mut behind = world.members.iter().filter(|one| one.workload == *workload);
                let on_hosts =
                    behind.all(|one| one.host_network && kind == Some("Node") && at(one.address));
                of(workload) || on_hosts || (kind == Some("External") && at(*address))
            }
        }
    }

    /// Who may be behind it, as policies see them.
    fn policy_ends(&self, world: &World) -> Vec<PolicyEnd> {
        match self {
            Self::Pod(member) => vec![member.policy_end()],
            Self::Place(place) => vec![PolicyEnd::Address(place.address())],
            Self::Service(_, workload) => {
                let behind = world.members.iter().filter(|member| member.workload == *workload);
                behind.map(Member::policy_end).collect()
            }
        }
    }
}

/// The packets that nodes report of an attempt.
fn packets(world: &World, attempt: &Attempt) -> Vec<Observation> {
    let client = Who::pick(world, attempt.client, false);
    let server = Who::pick(world, attempt.server, true);
    let node = |who: &Who| match who {
        Who::Pod(member) => Some(member.node.clone()),
        Who::Place(_) | Who::Service(..) => None,
    };
    let sides = [(1, node(&client), Direction::Egress), (2, node(&server), Direction::Ingress)];
    let mut packets = Vec::new();
    for (bit, node, direction) in sides {
        let Some(node) = node.filter(|_| attempt.nodes & bit != 0) else { continue };
        let of_client = direction == Direction::Egress;
        let seen = Seen {
            node: &node,
            direction,
            client: client.end(of_client),
            server: server.end(!of_client),
            client_port: attempt.client_port,
            port: attempt.port,
            udp: attempt.udp,
            second: attempt.second,
        };
        for _ in 0..attempt.points {
            packets.extend(reported(attempt, &seen));
        }
    }
    packets
}

fn reported(attempt: &Attempt, seen: &Seen<'_>) -> Vec<Observation> {
    let ack = TcpFlags::ACK;
    let opening = seen.packet(Sender::Client, Some(false), TcpFlags::SYN, 0);
    match attempt.ending {
        Ending::Answered => {
            let answer = seen.packet(Sender::Server, Some(true), TcpFlags::SYN.with(ack), 1);
            let mut all = vec![opening, answer];
            if attempt.late {
                all.push(seen.packet(Sender::Server, Some(false), TcpFlags::FIN.with(ack), 20));
            }
            all
        }
        Ending::Silent => vec![opening],
        Ending::Reset => {
            vec![opening, seen.packet(Sender::Server, Some(true), TcpFlags::RST, 1)]
        }
        Ending::Denied => {
            let verdict = Verdict::Dropped;
            let drop_reason = Some(DropReason::Policy);
            vec![Observation { verdict, drop_reason, reply: None, event: Event::Drop, ..opening }]
        }
        Ending::Underway => {
            let sender = if attempt.late { Sender::Server } else { Sender::Client };
            vec![seen.packet(sender, None, ack, 0)]
        }
    }
}

fn proposal<'a>(
    outcome: &'a Outcome,
    subject: &Workload,
    direction: Direction,
) -> Option<&'a Proposal> {
    outcome.proposals.iter().find(|one| one.subject == *subject && one.direction == direction)
}

/// Port after translation: services listen on 80 and lead to 8080.
fn at(attempt: &Attempt, server: &Who) -> (Protocol, u16) {
    let protocol = if attempt.udp { Protocol::Udp } else { Protocol::Tcp };
    match server {
        Who::Service(..) if attempt.port == 80 && !attempt.udp => (protocol, 8080),
        _ => (protocol, attempt.port),
    }
}

/// Law 4, for one side of an answered connection: allowed, or listed.
fn is_told(
    world: &World,
    outcome: &Outcome,
    own: &Member,
    direction: Direction,
    ends: (&Who, &Who),
    attempt: &Attempt,
) -> Result<(), String> {
    let at = at(attempt, ends.1);
    if &*own.workload.namespace == "kube-system" {
        return Ok(());
    }
    let standard = ["Deployment", "StatefulSet", "DaemonSet"].contains(&&*own.workload.kind);
    let other = if direction == Direction::Egress { ends.1 } else { ends.0 };
    let is_it = |port: Option<u16>, peer: &Peer| port == Some(at.1) && other.is(world, peer);
    let unplaced = outcome.unplaced.iter().any(|one| {
        one.direction == direction
            && one.subject.name.as_deref() == Some(&*own.workload.name)
            && is_it(one.uncovered.port, &one.uncovered.peer)
    });
    if !standard {
        return if unplaced { Ok(()) } else { Err("not even unplaced".to_owned()) };
    }
    let Some(proposal) = proposal(outcome, &own.workload, direction) else {
        let asks_dns = ends.1.workload().is_some_and(|to| &*to.name == "coredns") && at.1 == 5353;
        return if asks_dns || unplaced { Ok(()) } else { Err("no proposal".to_owned()) };
    };
    if proposal.uncovered.iter().any(|item| is_it(item.port, &item.peer)) {
        return Ok(());
    }
    for source in ends.0.policy_ends(world) {
        for destination in ends.1.policy_ends(world) {
            if !allowed(proposal, source.clone(), destination, at) {
                return Err(format!("denied by {:?}", proposal.rules));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn order_repetition_and_splitting_change_nothing(
        world in world(),
        attempts in prop::collection::vec(attempt(), 1..25),
        seed in any::<u64>(),
    ) {
        let all: Vec<Observation> = attempts.iter().flat_map(|one| packets(&world, one)).collect();
        for index in [world.index(false), Arc::new(Index::default())] {
            let expected = learn(&index, &all);
            prop_assert_eq!(expected.funnel.sum(), expected.funnel.received);
            prop_assert_eq!(expected.funnel.received, all.len() as u64);
            let other = learn(&index, &shuffled(&all, seed));
            prop_assert_eq!(yaml(&other), yaml(&expected), "in another order");
            prop_assert_eq!(&other, &expected, "in another order");
            prop_assert_eq!(&learn(&index, &decoded_anew(&all)), &expected, "from several inputs");
            let twice: Vec<Observation> = all.iter().chain(&all).cloned().collect();
            let doubled = learn(&index, &shuffled(&twice, seed));
            prop_assert_eq!(doubled.funnel.sum(), doubled.funnel.received);
            prop_assert_eq!(yaml(&doubled), yaml(&expected), "repeated");
        }
        let (one, other) = (learn(&world.index(false), &all), learn(&world.index(true), &all));
        prop_assert_eq!(one, other, "objects in another order");
    }

    #[test]
    fn a_rule_comes_from_an_opened_connection_only(
        world in world(),
        attempts in prop::collection::vec(attempt(), 1..25),
    ) {
        let all: Vec<Observation> = attempts.iter().flat_map(|one| packets(&world, one)).collect();
        let outcome = learn(&world.index(false), &all);
        for proposal in &outcome.proposals {
            for one in proposal.evidence.iter().filter(|one| one.provenance == Provenance::Observed) {
                let opened = attempts.iter().any(|attempt| {
                    let client = Who::pick(&world, attempt.client, false);
                    let server = Who::pick(&world, attempt.server, true);
                    let (own, peer) = match proposal.direction {
                        Direction::Egress => (&client, &server),
                        Direction::Ingress => (&server, &client),
                    };
                    matches!(attempt.ending, Ending::Answered | Ending::Silent)
                        && at(attempt, &server) == (one.protocol, one.port)
                        && own.workload() == Some(&proposal.subject)
                        && peer.workload().map(|peer| &*peer.name) == one.peer.name.as_deref()
                });
                prop_assert!(opened, "{:?} {} {one:?}", proposal.direction, proposal.subject.name);
            }
        }
    }

    #[test]
    fn selectors_mean_exactly_the_pods_of_their_workload(
        world in world(),
        attempts in prop::collection::vec(attempt(), 1..25),
    ) {
        let all: Vec<Observation> = attempts.iter().flat_map(|one| packets(&world, one)).collect();
        let outcome = learn(&world.index(false), &all);
        let pods = |wanted: &dyn Fn(&Member) -> bool| -> BTreeSet<String> {
            let own = world.members.iter().filter(|member| wanted(member));
            own.map(|member| format!("{}/{}", member.namespace, member.name)).collect()
        };
        for proposal in &outcome.proposals {
            let selector = &proposal.selector.selector;
            let namespace = &proposal.subject.namespace;
            prop_assert_eq!(
                pods(&|one| *one.namespace == **namespace && selector.matches(&one.labels())),
                pods(&|one| one.workload == proposal.subject)
            );
            for one in &proposal.evidence {
                let RulePeer::Pods { namespace, selector } = &one.rule else { continue };
                let name = if one.peer.kind.as_deref() == Some("Dns") {
                    Some("coredns")
                } else {
                    one.peer.name.as_deref()
                };
                prop_assert_eq!(
                    pods(&|one| *one.namespace == **namespace && selector.matches(&one.labels())),
                    pods(&|member| Some(&*member.workload.name) == name && *member.namespace == **namespace)
                );
            }
        }
    }

    #[test]
    fn what_was_seen_is_allowed_or_listed(
        world in world(),
        attempts in prop::collection::vec(attempt(), 1..25),
    ) {
        let all: Vec<Observation> = attempts.iter().flat_map(|one| packets(&world, one)).collect();
        let outcome = learn(&world.index(false), &all);
        for attempt in attempts.iter().filter(|attempt| attempt.ending == Ending::Answered) {
            if packets(&world, attempt).is_empty() {
                continue;
            }
            let client = Who::pick(&world, attempt.client, false);
            let server = Who::pick(&world, attempt.server, true);
            let same = client.end(true).address == server.end(true).address;
            let from_own_node = client.pod().is_none()
                && server.pod().is_some_and(|pod| {
                    let node = if pod.node == "n1" { "10.0.0.4" } else { "10.0.0.5" };
                    client.end(true).address == node.parse().ok()
                });
            if same || from_own_node {
                continue;
            }
            for (own, direction) in [(client.pod(), Direction::Egress), (server.pod(), Direction::Ingress)] {
                let Some(own) = own else { continue };
                let told = is_told(&world, &outcome, own, direction, (&client, &server), attempt);
                prop_assert!(told.is_ok(), "{told:?} {direction:?} of {own:?}: {attempt:?}");
            }
        }
    }

    #[test]
    fn neighbours_of_what_was_seen_are_denied(
        world in world(),
        attempts in prop::collection::vec(attempt(), 1..25),
    ) {
        let all: Vec<Observation> = attempts.iter().flat_map(|one| packets(&world, one)).collect();
        let outcome = learn(&world.index(false), &all);
        let talked = |one: &Workload, other: &Workload| {
            attempts.iter().any(|attempt| {
                let client = Who::pick(&world, attempt.client, false);
                let server = Who::pick(&world, attempt.server, true);
                let ends = (client.workload(), server.workload());
                ends == (Some(one), Some(other)) || ends == (Some(other), Some(one))
            })
        };
        for proposal in &outcome.proposals {
            let own = world.members.iter().find(|one| one.workload == proposal.subject).unwrap();
            for one in &proposal.evidence {
                for member in &world.members {
                    let (source, destination) = match proposal.direction {
                        Direction::Egress => (own.policy_end(), member.policy_end()),
                        Direction::Ingress => (member.policy_end(), own.policy_end()),
                    };
                    let ends = (source, destination);
                    for port in [one.port - 1, one.port + 1] {
                        let neighbour = (one.protocol, port);
                        let seen = attempts.iter().any(|attempt| {
                            at(attempt, &Who::pick(&world, attempt.server, true)) == neighbour
                        });
                        prop_assert!(
                            seen || !allowed(proposal, ends.0.clone(), ends.1.clone(), neighbour)
                        );
                    }
                    let stranger = !member.host_network
                        && &*member.workload.name != "coredns"
                        && !talked(&proposal.subject, &member.workload);
                    if stranger {
                        prop_assert!(!allowed(proposal, ends.0, ends.1, (one.protocol, one.port)));
                    }
                }
            }
        }
    }

    #[test]
    fn names_are_valid_and_distinct(
        world in world(),
        attempts in prop::collection::vec(attempt(), 1..25),
    ) {
        let all: Vec<Observation> = attempts.iter().flat_map(|one| packets(&world, one)).collect();
        let outcome = learn(&world.index(false), &all);
        let mut names = BTreeSet::new();
        let mut ids = BTreeSet::new();
        for proposal in &outcome.proposals {
            let object = render::proposal(proposal, None);
            let name = object.metadata.name.clone().unwrap();
            prop_assert!(name.len() <= 63);
            prop_assert!(names.insert((object.metadata.namespace.clone(), name)));
            for item in object.status.unwrap().uncovered {
                let key = (proposal.subject.clone(), proposal.direction, item.id.clone());
                prop_assert!(ids.insert(key), "two items have the id {}", item.id);
            }
        }
    }
}

/// What a proposal allows, and the evidence without its counts.
fn rules(object: &WorkloadNetworkPolicyProposal) -> (String, Vec<String>) {
    let status = object.status.clone().unwrap_or_default();
    let evidence = status.rules.iter().map(|rule| {
        format!(
            "{:?} {:?} {:?} {:?} {}",
            rule.peer, rule.port, rule.protocol, rule.provenance, rule.refused
        )
    });
    (serde_saphyr::to_string(&object.spec).unwrap(), evidence.collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn learning_twice_is_learning_both(
        world in world(),
        attempts in prop::collection::vec(attempt(), 1..25),
        split in any::<usize>(),
    ) {
        let answered: Vec<Attempt> = attempts
            .into_iter()
            .map(|one| Attempt { ending: Ending::Answered, late: false, ..one })
            .collect();
        let (first, second) = answered.split_at(split % (answered.len() + 1));
        let packets = |some: &[Attempt]| -> Vec<Observation> {
            some.iter().flat_map(|one| packets(&world, one)).collect()
        };
        let index = world.index(false);
        let (first, second) = (learn(&index, &packets(first)), learn(&index, &packets(second)));
        let both = learn(&index, &packets(&answered));
        let last = |outcome: &Outcome| outcome.window.map(|(_, last)| last);
        for expected in &both.proposals {
            let own = |outcome| proposal(outcome, &expected.subject, expected.direction);
            let stored = own(&first).map(|one| render::proposal(one, last(&first)));
            let merged = match (stored, own(&second)) {
                (Some(stored), Some(fresh)) => merge(&stored, fresh, &Caps::default(), last(&second)),
                (Some(stored), None) => stored,
                (None, Some(fresh)) => render::proposal(fresh, last(&second)),
                // DNS alone makes no proposal; with something else it does.
                (None, None) => continue,
            };
            let whole = render::proposal(expected, last(&both));
            prop_assert_eq!(rules(&merged), rules(&whole));
            let status = |object: &WorkloadNetworkPolicyProposal| object.status.clone().unwrap();
            let ids = |object| {
                status(object).uncovered.into_iter().map(|item| (item.id, item.reason)).collect::<Vec<_>>()
            };
            prop_assert_eq!(ids(&merged), ids(&whole));
            prop_assert_eq!(status(&merged).learned_since.is_some(), status(&whole).learned_since.is_some());
            prop_assert_eq!(status(&merged).last_new_rule, status(&whole).last_new_rule);
        }
    }

    #[test]
    fn learning_the_same_again_changes_counts_only(
        world in world(),
        attempts in prop::collection::vec(attempt(), 1..25),
        with_state in any::<bool>(),
    ) {
        let all: Vec<Observation> = attempts.iter().flat_map(|one| packets(&world, one)).collect();
        let index = if with_state { world.index(false) } else { Arc::new(Index::default()) };
        let outcome = learn(&index, &all);
        let last = outcome.window.map(|(_, last)| last);
        for fresh in &outcome.proposals {
            let stored = render::proposal(fresh, last);
            let mut again = merge(&stored, fresh, &Caps::default(), last);
            let (Some(known), Some(status)) = (&stored.status, &mut again.status) else { continue };
            for (one, other) in status.rules.iter_mut().zip(&known.rules) {
                one.count = other.count;
            }
            for (one, other) in status.uncovered.iter_mut().zip(&known.uncovered) {
                one.count = other.count;
            }
            prop_assert_eq!(again, stored);
        }
    }
}
