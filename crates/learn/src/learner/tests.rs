use rstest::rstest;

use super::*;
use crate::NoObjects;
use crate::observation::{DropReason, NodeState, ServiceRef};
use crate::proposal::{Outcome, Proposal, Provenance, Reason};
use crate::sample::{packet, pod};
use crate::{Caps, Direction, ExternalPeers, Subjects};

fn learner(config: Config) -> Learner<NoObjects> {
    Learner::new(config, NoObjects)
}

/// The outcome of packets, one on a line; in reverse order it must be the same.
fn learned_with(config: &Config, packets: &[Observation]) -> Outcome {
    let of = |packets: &mut dyn Iterator<Item = &Observation>| {
        let mut learner = learner(config.clone());
        packets.for_each(|packet| learner.observe(packet));
        learner.outcome()
    };
    let outcome = of(&mut packets.iter());
    let mut settled = Learner::new(config.clone(), NoObjects);
    for packet in packets {
        settled.observe(packet);
    }
    settled.settle();
    assert_eq!(settled.outcome(), outcome, "settled before or not");
    let mut proposals = settled.proposals();
    let taken: Vec<Proposal> = proposals.by_ref().collect();
    assert_eq!(Outcome { proposals: taken, ..proposals.finish() }, outcome, "one at a time");
    assert_eq!(of(&mut packets.iter().rev()), outcome, "in any order");
    assert_eq!(
        outcome.funnel.sum(),
        outcome.funnel.received,
        "counters add up: {:?}",
        outcome.funnel
    );
    outcome
}

fn learned(text: &str) -> Outcome {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    learned_with(&Config::default(), &lines.map(packet).collect::<Vec<_>>())
}

fn of<'a>(outcome: &'a Outcome, name: &str, direction: Direction) -> Option<&'a Proposal> {
    let own = |one: &&Proposal| &*one.subject.name == name && one.direction == direction;
    outcome.proposals.iter().find(own)
}

/// Rules as `subject direction peer:port provenance count`, uncovered items with their reasons.
fn told(outcome: &Outcome) -> Vec<String> {
    let mut told = Vec::new();
    for proposal in &outcome.proposals {
        let arrow = if proposal.direction == Direction::Egress { "->" } else { "<-" };
        let subject = &proposal.subject.name;
        for one in &proposal.evidence {
            let peer = one.peer.name.as_deref().or(one.peer.kind.as_deref()).unwrap_or_default();
            let address = one.peer.address.map(|address| address.to_string());
            let peer = address.as_deref().unwrap_or(peer);
            let provenance = match one.provenance {
                Provenance::Observed => "",
                Provenance::Infrastructure => " infrastructure",
                Provenance::Inferred => " inferred",
            };
            told.push(format!("{subject} {arrow} {peer}:{} x{}{provenance}", one.port, one.count));
        }
        for one in &proposal.uncovered {
            let peer = one.peer.name.as_deref().map(str::to_owned);
            let peer =
                peer.or(one.peer.address.map(|address| address.to_string())).unwrap_or_default();
            let port = one.port.unwrap_or_default();
            told.push(format!(
                "{subject} {arrow} {peer}:{port} x{} {}",
                one.count,
                one.reason.name()
            ));
        }
    }
    told
}

#[rstest]
#[case::one_connection("web:40000 > db:5432 SYN", &["db <- web:5432 x1", "web -> db:5432 x1"])]
#[case::three_points("web:40000 > db:5432 SYN n1\nweb:40000 > db:5432 SYN n1\nweb:40000 > db:5432 SYN n2",
    &["db <- web:5432 x1", "web -> db:5432 x1"])]
#[case::two_connections("web:40000 > db:5432 SYN\nweb:40001 > db:5432 SYN",
    &["db <- web:5432 x2", "web -> db:5432 x2"])]
#[case::used_again("web:40000 > db:5432 SYN @1\nweb:40000 > db:5432 SYN @100",
    &["db <- web:5432 x2", "web -> db:5432 x2"])]
#[case::reply_only("db:5432 > web:40000 SYN ACK reply", &[])]
#[case::late_fin("web:40000 > db:5432 SYN @1\ndb:5432 > web:40000 FIN ACK new @31",
    &["db <- web:5432 x1", "web -> db:5432 x1"])]
#[case::lone_fin("db:5432 > web:40000 FIN ACK new",
    &["db <- web:5432 x1 Ambiguous", "web -> db:5432 x1 Ambiguous"])]
#[case::refused("web:40000 > db:5432 SYN\ndb:5432 > web:40000 RST reply", &[])]
#[case::refused_but_underway_elsewhere(
    "web:40000 > db:5432 SYN\ndb:5432 > web:40000 RST reply\nweb:40009 > db:5432 ACK",
    &["db <- web:5432 x1 Ambiguous", "web -> db:5432 x1 Ambiguous"])]
#[case::itself("web:40000 > web:8080 SYN", &[])]
#[case::outside("web:40000 > world:443 SYN", &["web -> 203.0.113.9:443 x1 External"])]
#[case::from_its_node("host:40000 > web:8080 SYN", &[])]
#[case::ping("web > db PING", &["db <- web:0 x1 Protocol", "web -> db:0 x1 Protocol"])]
#[case::udp("web:40000 > db:514 UDP new", &["db <- web:514 x1", "web -> db:514 x1"])]
#[case::node_local_dns("web:40000 > 169.254.20.10:53 UDP new\nweb:40000 > db:5432 SYN",
    &["db <- web:5432 x1", "web -> db:5432 x1", "web -> 169.254.20.10:53 x0 infrastructure", "web -> 169.254.20.10:53 x1 infrastructure"])]
#[case::dns_alone("web:40000 > 169.254.20.10:53 UDP new", &[])]
#[case::metadata("web:40000 > 169.254.169.254:80 SYN", &["web -> 169.254.169.254:80 x1 LinkLocal"])]
#[case::from_link_local("169.254.20.10:40000 > web:53 UDP new", &["web <- 169.254.20.10:53 x1 LinkLocal"])]
fn traffic_comes_to(#[case] text: &str, #[case] expected: &[&str]) {
    assert_eq!(told(&learned(text)), expected);
}

/// Packets of established connections: one server's port and so many client ports (case B05).
#[rstest]
#[case::two(2, 32_768, 5_432, "Ambiguous")]
#[case::nine(9, 32_768, 5_432, "Ambiguous")]
#[case::ten(10, 32_768, 5_432, "inferred")]
#[case::fifty(50, 32_768, 5_432, "inferred")]
#[case::nine_below_a_high_port(9, 35_000, 40_000, "Ambiguous")]
#[case::ten_below_a_high_port(10, 35_000, 40_000, "inferred")]
#[case::fifty_around_a_high_port(50, 39_980, 40_000, "inferred")]
#[case::fifty_above_a_high_port(50, 50_000, 40_000, "inferred")]
fn direction_is_inferred_from_repetition(
    #[case] connections: u16,
    #[case] first: u16,
    #[case] server: u16,
    #[case] expected: &str,
) {
    let clients = (first..).filter(|port| *port != server).take(connections.into());
    for flags in ["ACK new", "ACK PSH new", "ACK"] {
        let packets: Vec<_> = clients
            .clone()
            .map(|client| packet(&format!("db:{server} > web:{client} {flags}")))
            .collect();
        let outcome = learned_with(&Config::default(), &packets);
        if expected == "inferred" {
            let rules = [
                format!("db <- web:{server} x{connections} inferred"),
                format!("web -> db:{server} x{connections} inferred"),
            ];
            assert_eq!(told(&outcome), rules);
            let note = format!("direction inferred from {connections} flows");
            assert_eq!(*outcome.proposals[0].evidence[0].notes[0], *note);
        } else {
            assert!(told(&outcome).iter().all(|line| line.ends_with("Ambiguous")));
        }
        assert!(
            outcome.proposals.iter().all(|one| one.rules.values().all(|ports| ports.len() <= 1))
        );
    }
}

/// Many low ports of one end are not the clients of the other's one port: that is a scan with ACKs.
#[test]
fn a_scan_of_low_ports_infers_nothing() {
    let packets: Vec<_> =
        (1..200).map(|port| packet(&format!("web:40000 > db:{port} ACK"))).collect();
    let outcome = learned_with(&Config::default(), &packets);
    assert!(outcome.proposals.iter().all(|one| one.rules.is_empty()));
}

#[rstest]
#[case::no_node_reports_answers("web:40000 > db:9999 SYN n1", None)]
#[case::its_node_reports_answers(
    "web:40000 > db:9999 SYN n1\nweb:40001 > api:80 SYN n1\napi:80 > web:40001 SYN ACK reply n1",
    Some(Reason::Unanswered)
)]
#[case::another_node_reports_answers(
    "web:40000 > db:9999 SYN n1\ndb:40001 > api:80 SYN n2\napi:80 > db:40001 SYN ACK reply n2",
    None
)]
#[case::one_of_two_nodes_reports_answers(
    "web:40000 > db:9999 SYN n2\nweb:40000 > db:9999 SYN n1\nweb:40001 > api:80 SYN n1\napi:80 > web:40001 SYN ACK reply n1",
    Some(Reason::Unanswered)
)]
#[case::repeated(
    "web:40000 > db:9999 SYN @1\nweb:40000 > db:9999 SYN @3\nweb:40000 > db:9999 SYN @5",
    Some(Reason::Unanswered)
)]
#[case::one_of_two_attempts_is_answered(
    "web:40000 > db:9999 SYN n1\nweb:40001 > db:9999 SYN n1\ndb:9999 > web:40001 SYN ACK reply n1",
    None
)]
fn unanswered_attempts_are_uncovered(#[case] text: &str, #[case] reason: Option<Reason>) {
    let outcome = learned(text);
    for (name, direction) in [("web", Direction::Egress), ("db", Direction::Ingress)] {
        let proposal = of(&outcome, name, direction).unwrap();
        let item = proposal.uncovered.iter().find(|item| item.port == Some(9999));
        assert_eq!(item.map(|item| item.reason), reason);
        assert_eq!(proposal.evidence.iter().any(|one| one.port == 9999), reason.is_none());
    }
}

/// A record of connections may say whether they were answered: then its node is one that reports answers.
#[rstest]
#[case::not_told(&[None], None)]
#[case::answered(&[Some(true)], None)]
#[case::unanswered(&[Some(false)], Some(Reason::Unanswered))]
#[case::some_are_answered(&[Some(false), Some(true)], None)]
#[case::in_the_other_order(&[Some(true), Some(false)], None)]
fn records_tell_whether_they_were_answered(
    #[case] answered: &[Option<bool>],
    #[case] reason: Option<Reason>,
) {
    let record = |(answered, key): (&Option<bool>, u64)| Observation {
        provider: Provider::Node,
        event: Event::Connection,
        reporter: Some(Reporter::Source),
        answered: *answered,
        connection_key: Some(key),
        ..packet("web > db:9999 n1")
    };
    let records: Vec<_> = answered.iter().zip(1..).map(record).collect();
    let outcome = learned_with(&Config::default(), &records);
    let proposal = of(&outcome, "web", Direction::Egress).unwrap();
    assert_eq!(proposal.uncovered.first().map(|item| item.reason), reason);
    assert_eq!(proposal.evidence.iter().any(|one| one.port == 9999), reason.is_none());
}

/// A node knows the workloads of its own pods only, and a service is known to the client's node only.
#[test]
fn one_connection_seen_by_two_nodes_without_objects_is_one() {
    let mut sent = packet("web:40000 > db:5432 SYN n1");
    let unnamed = |name| Arc::new(Endpoint { workload: None, ..pod(name) });
    sent.destination.endpoint = unnamed("db");
    let (namespace, name) = ("shop".into(), "db".into());
    sent.service = Some(Arc::new(ServiceRef { namespace, name, port: Some(5432) }));
    let mut received = packet("web:40000 > db:5432 SYN n2");
    received.source.endpoint = unnamed("web");
    // And one connection that only the server's node reports.
    let mut another = packet("web:40001 > db:5432 SYN n2");
    another.source.endpoint = unnamed("web");
    let outcome = learned_with(&Config::default(), &[sent, received, another]);
    assert_eq!(told(&outcome), ["db <- web:5432 x2", "web -> db:5432 x2"]);
    let services: Vec<&str> =
        outcome.proposals[0].evidence[0].services.iter().map(|service| &**service).collect();
    assert_eq!(services, ["direct", "svc/db:5432"]);
}

#[test]
fn a_connection_through_a_service_is_not_direct_whichever_node_is_asked_first() {
    let mut sent = packet("web:40000 > db:5432 SYN n1");
    let (namespace, name) = ("shop".into(), "db".into());
    sent.service = Some(Arc::new(ServiceRef { namespace, name, port: None }));
    let received = packet("web:40000 > db:5432 SYN n2");
    let outcome = learned_with(&Config::default(), &[sent, received]);
    assert_eq!(outcome.proposals[0].evidence[0].services, ["svc/db".into()]);
}

#[test]
fn packets_of_a_probe_stay_with_it() {
    let outcome = learned(
        "169.254.7.127:40000 > web:8080 SYN
         web:8080 > 169.254.7.127:40000 SYN ACK reply
         169.254.7.127:40000 > web:8080 ACK
         web:8080 > 169.254.7.127:40000 ACK
         host:40001 > web:8080 SYN
         web:8080 > host:40001 ACK",
    );
    assert_eq!(told(&outcome), [] as [&str; 0]);
    let skipped: Vec<_> = outcome.funnel.skipped.into_iter().collect();
    assert_eq!(skipped, [("AmbientProbe", 2), ("NodeLocal", 2), ("Reply", 2)]);
}

#[test]
fn kinds_without_proposals_are_told() {
    let job = |subjects| {
        let mut packet = packet("report:40000 > db:5432 SYN");
        let kind = "Job".into();
        let workload = Some(crate::WorkloadName { kind, name: "report".into() });
        packet.source.endpoint = Arc::new(Endpoint { workload, ..pod("report") });
        learned_with(&Config { subjects, ..Config::default() }, &[packet])
    };
    let outcome = job(Subjects::Standard);
    assert_eq!(told(&outcome), ["db <- report:5432 x1"]);
    let [unplaced] = outcome.unplaced.as_slice() else { panic!("{:?}", outcome.unplaced) };
    assert_eq!(
        unplaced.uncovered.notes,
        ["no proposals are written for kind Job without --subjects all".into()]
    );
    assert_eq!(outcome.funnel.learned, 1);
    let outcome = job(Subjects::All);
    assert_eq!(told(&outcome), ["db <- report:5432 x1", "report -> db:5432 x1"]);
    assert_eq!(outcome.unplaced, []);
}

#[test]
fn denials_teach_nothing_and_name_who_denied() {
    let denied = |by: Option<&str>| Observation {
        verdict: crate::Verdict::Dropped,
        drop_reason: Some(DropReason::Policy),
        denied_by: by.map(|name| {
            let (kind, namespace) = ("NetworkPolicy".into(), Some("shop".into()));
            Arc::new(crate::PolicyRef { kind, namespace, name: name.into() })
        }),
        ..packet("web:40000 > db:5432 SYN")
    };
    let again = Observation { source_port: Some(41_000), ..denied(Some("theirs")) };
    let theirs = denied(Some("theirs"));
    let packets = [denied(None), theirs.clone(), theirs, again, packet("web:1 > api:80 SYN")];
    let outcome = learned_with(&Config::default(), &packets);
    assert_eq!((outcome.funnel.violations, outcome.funnel.skipped.get("Denied")), (0, Some(&4)));
    let by = |denial: &crate::proposal::Denial| {
        (denial.by.as_ref().map(ToString::to_string), denial.count)
    };
    let theirs = Some("NetworkPolicy shop/theirs".to_owned());
    assert_eq!(outcome.denials.iter().map(by).collect::<Vec<_>>(), [(None, 1), (theirs, 2)]);
    assert_eq!(of(&outcome, "web", Direction::Egress).unwrap().denials.len(), 2);
}

#[rstest]
#[case::proposals(Caps { proposals: 2, ..Caps::default() })]
#[case::rules(Caps { rules: 3, ..Caps::default() })]
#[case::ports(Caps { ports: 2, ..Caps::default() })]
#[case::entries(Caps { entries: 4, ..Caps::default() })]
#[case::uncovered(Caps { uncovered: 1, ..Caps::default() })]
#[case::edges(Caps { edges: 7, ..Caps::default() })]
#[case::all(Caps { proposals: 3, rules: 2, ports: 1, entries: 3, uncovered: 1, edges: 9, ..Caps::default() })]
#[case::nothing(Caps { proposals: 0, rules: 0, ports: 0, entries: 0, uncovered: 0, edges: 0, connections: 0, suggest_range: 0 })]
fn limits_are_told_and_counters_still_add_up(#[case] caps: Caps) {
    let mut learner = learner(Config { caps, ..Config::default() });
    for peer in 0..6 {
        for port in 1..6 {
            learner.observe(&packet(&format!("web:40000 > peer{peer}:{port} SYN")));
            learner.observe(&packet(&format!("web:41000 > 198.51.100.{peer}:{port} SYN")));
        }
    }
    learner.observe(&packet("web:42000 > peer1:99 ACK"));
    let outcome = learner.outcome();
    assert_eq!(outcome.funnel.sum(), outcome.funnel.received, "{:?}", outcome.funnel);
    assert_eq!(outcome.proposals.len(), (outcome.proposals.len()).min(caps.proposals));
    for proposal in &outcome.proposals {
        assert!(proposal.rules.len() <= caps.rules);
        assert!(proposal.rules.values().all(|ports| ports.len() <= caps.ports));
        assert!(proposal.evidence.len() <= caps.entries);
        assert!(proposal.uncovered.len() <= caps.uncovered);
    }
    let truncated = outcome.proposals.iter().any(|one| one.truncated.is_some());
    let limited = outcome.funnel.skipped.contains_key("Limit");
    assert!(truncated || limited || outcome.over_limit > 0, "a limit that was hit is told");
    let told = |one: &crate::proposal::Unplaced| one.uncovered.reason == Reason::Truncated;
    assert_eq!(outcome.unplaced.iter().filter(|one| told(one)).count(), outcome.over_limit);
}

/// What the cluster itself needs is never the rule that is cut.
#[test]
fn dns_stays_when_peers_are_cut() {
    let mut dns = packet("web:40000 > dns:53 UDP new");
    let labels = vec![("k8s-app".into(), "kube-dns".into())];
    let namespace = Some("kube-system".into());
    dns.destination.endpoint = Arc::new(Endpoint { namespace, labels, ..pod("coredns") });
    let mut packets = vec![dns];
    packets.extend((0..9).map(|peer| packet(&format!("web:40000 > peer{peer}:80 SYN"))));
    let caps = Caps { rules: 3, ..Caps::default() };
    let outcome = learned_with(&Config { caps, ..Config::default() }, &packets);
    let web = of(&outcome, "web", Direction::Egress).unwrap();
    let infrastructure =
        web.evidence.iter().filter(|one| one.provenance == Provenance::Infrastructure);
    let counts: Vec<_> = infrastructure.map(|one| (one.protocol, one.count)).collect();
    assert_eq!(counts, [(Protocol::Tcp, 0), (Protocol::Udp, 1)]);
    assert_eq!(web.rules.len(), 3);
    assert_eq!(outcome.funnel.learned, 10, "the peers have their own side");
}

/// A workload on every node of a large cluster has the losses of all of them.
#[test]
fn gaps_of_every_node_are_told() {
    let mut learner = learner(Config::default());
    let nodes: Vec<Arc<str>> = (0..1_000).map(|node| format!("n{node}").into()).collect();
    for node in &nodes {
        let workload = Some(crate::WorkloadName { kind: "DaemonSet".into(), name: "agent".into() });
        let mut packet = packet("agent:40000 > db:5432 SYN");
        let endpoint = (*packet.source.endpoint).clone();
        packet.source.endpoint = Arc::new(Endpoint { workload, ..endpoint });
        packet.node = Some(node.clone());
        learner.observe(&packet);
        let origin = "ring buffer".into();
        learner.lost(&crate::LostEvents { node: Some(node.clone()), origin, count: 1, time: None });
    }
    let outcome = learner.outcome();
    let agent = outcome.proposals.iter().find(|one| &*one.subject.name == "agent").unwrap();
    assert_eq!(agent.gaps.len(), nodes.len());
}

#[test]
fn node_states_do_not_depend_on_order() {
    let nodes = || vec!["n1".into()];
    let status =
        |state| NodeStatus { state, nodes: nodes(), message: None, version: None, time: None };
    let states = [status(NodeState::Unavailable), status(NodeState::Connected)];
    for order in [[0, 1], [1, 0]] {
        let mut learner = learner(Config::default());
        for at in order {
            learner.node_status(&states[at]);
        }
        assert_eq!(learner.outcome().nodes[&*Arc::<str>::from("n1")], NodeState::Unavailable);
    }
}

/// Memory grows with edges, not with observations.
#[test]
fn a_million_observations_of_a_hundred_edges_stay_small() {
    let config = Config {
        external: ExternalPeers::Addresses,
        caps: Caps { connections: 1_000, ..Caps::default() },
        ..Config::default()
    };
    let mut learner = learner(config);
    let mut packets: Vec<_> = (0..100)
        .map(|edge| packet(&format!("web{}:1 > db{}:{} SYN n1", edge % 10, edge / 10, 5000 + edge)))
        .collect();
    for round in 0..10_000_u16 {
        for packet in &mut packets {
            packet.source_port = Some(round);
            packet.time = Some(Timestamp::from_seconds(round.into()));
            learner.observe(packet);
        }
    }
    let sizes = learner.sizes();
    assert_eq!((sizes.parties, sizes.edges, sizes.reporters, sizes.denials), (20, 100, 1, 0));
    assert!(sizes.connections <= 1_001, "{sizes:?}");
    assert!(sizes.resolved <= 200, "{sizes:?}");
    let outcome = learner.outcome();
    assert_eq!(outcome.funnel.learned, 1_000_000);
    assert_eq!(outcome.edges.iter().map(|edge| edge.count).sum::<u64>(), 1_000_000);
}
