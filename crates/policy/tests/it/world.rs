//! A cluster that is changed and asked by lines of text; every answer is checked with both evaluators.

use std::fmt::Debug;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use netenf_policy::cluster::{NamedPort, Node, Phase, Pod};
use netenf_policy::{ClusterPolicy, ClusterRule, Engine, Packet, Transport};

use crate::text::{self, Policy};

/// A cluster under test.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) engine: Engine,
    open: Option<Policy>,
}

// === impl World ===

impl World {
    /// A world around an engine.
    pub(crate) fn with(engine: Engine) -> Self {
        Self { engine, open: None }
    }

    /// A world of these lines.
    pub(crate) fn of(lines: &str) -> Self {
        let mut world = Self::default();
        world.read(lines);
        world
    }

    /// Takes lines that say what is there, and fails on the first expectation that does not hold.
    pub(crate) fn read(&mut self, lines: &str) {
        for line in lines.lines() {
            self.line(line);
        }
        self.close();
    }

    /// Takes a line. Gives whether it was an expectation, which held.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["ingress" | "egress", ..] = words[..] {
            self.open.as_mut().unwrap().add(&words);
            return false;
        }
        self.close();
        self.open = text::policy(&words);
        match words[..] {
            ["probe", source, destination, what, expected] => {
                self.expect(source, destination, what, expected == "yes", &line);
                return true;
            }
            ["pod", name, ref rest @ ..] => self.engine.apply_pod(pod(name, rest)),
            ["gone", name] => {
                let (namespace, name) = name.split_once('/').unwrap();
                self.engine.delete_pod(namespace, name);
            }
            ["node", name, address, labels] => self.engine.apply_node(Node {
                name: name.into(),
                labels: text::labels(labels),
                addresses: address.split(',').map(|text| text.parse().unwrap()).collect(),
            }),
            ["namespace", name, labels] => {
                let labels = text::labels(&format!("{labels},name={name}"));
                self.engine.apply_namespace(&name.into(), labels);
            }
            ["label", name, label] => self.relabel(name, |labels| format!("{labels},{label}")),
            ["unlabel", name, label] => self.relabel(name, |labels| {
                let own = format!("{label}=");
                let kept = labels.split(',').filter(|pair| !pair.starts_with(&own));
                kept.collect::<Vec<_>>().join(",")
            }),
            ["delete", name] => {
                let (namespace, name) = name.split_once('/').unwrap();
                self.engine.delete_network_policy(namespace, name);
            }
            ["priority", policy, number] => {
                self.edit(policy, |policy| policy.priority = number.parse().unwrap());
            }
            ["swap", policy, side, one, other] => self.edit(policy, |policy| {
                rules(policy, side).swap(one.parse().unwrap(), other.parse().unwrap());
            }),
            ["ports", policy, side, index, port] => self.edit(policy, |policy| {
                let index: usize = index.parse().unwrap();
                rules(policy, side)[index].ports = Some(vec![text::cluster_port(port)]);
            }),
            ["action", policy, side, index, action] => self.edit(policy, |policy| {
                rules(policy, side)[index.parse::<usize>().unwrap()].action = text::action(action);
            }),
            ["insert", policy, side, ref rule @ ..] => {
                let rule: Vec<String> = rule.iter().map(|word| self.addresses(word)).collect();
                let rule: Vec<&str> = rule.iter().map(String::as_str).collect();
                self.edit(policy, |policy| {
                    rules(policy, side).insert(0, text::cluster_rule(&rule));
                });
            }
            [] | ["np" | "cnp", ..] => {}
            [..] => panic!("not understood: {line}"),
        }
        false
    }

    /// Asks both evaluators, and explains what is not as expected.
    pub(crate) fn expect(
        &mut self,
        source: &str,
        destination: &str,
        what: &str,
        allowed: bool,
        case: &dyn Debug,
    ) {
        let (source, destination) = (self.address(source), self.address(destination));
        let transport = match what.split_once(':') {
            None => Transport::Other,
            Some((protocol, "-")) => Transport::Portless(text::protocol(protocol)),
            Some((protocol, port)) => {
                Transport::Port(text::protocol(protocol), port.parse().unwrap())
            }
        };
        let packet = Packet { source, destination, transport };
        let explanation = self.engine.explain(&packet, Duration::ZERO);
        assert_eq!(explanation.allowed(), allowed, "{case:?}: {explanation:#?}");
        let ruling = self.engine.publish().verdict(&packet, Duration::ZERO);
        assert_eq!(ruling.allowed(), allowed, "compiled, {case:?}: {ruling:#?}");
    }

    /// The address of `NAMESPACE/POD`, `node/NAME`, or what is one already.
    pub(crate) fn address(&self, end: &str) -> IpAddr {
        let cluster = self.engine.cluster();
        match end.split_once('/') {
            None => end.parse().unwrap(),
            Some(("node", name)) => cluster.nodes[name].addresses[0],
            Some((namespace, name)) => cluster.pods[&(namespace.into(), name.into())].addresses[0],
        }
    }

    /// Puts addresses where `@NAMESPACE/POD` stands.
    fn addresses(&self, word: &str) -> String {
        let mut parts = word.split('@');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find([',', ')']).unwrap();
            text += &format!("{}/32{}", self.address(&part[..end]), &part[end..]);
        }
        text
    }

    fn close(&mut self) {
        match self.open.take() {
            Some(Policy::Network(policy)) => self.engine.apply_network_policy(policy),
            Some(Policy::Cluster(policy)) => self.engine.apply_cluster_policy(policy),
            None => {}
        }
    }

    fn edit(&mut self, name: &str, change: impl Fn(&mut ClusterPolicy)) {
        let key = ("ClusterNetworkPolicy".into(), name.into());
        let mut policy = (*self.engine.cluster().cluster_policies[&key]).clone();
        change(&mut policy);
        self.engine.apply_cluster_policy(policy);
    }

    fn relabel(&mut self, name: &str, change: impl Fn(String) -> String) {
        let (namespace, name) = name.split_once('/').unwrap();
        let key: (Arc<str>, Arc<str>) = (namespace.into(), name.into());
        let mut pod = self.engine.cluster().pods[&key].clone();
        let pairs: Vec<String> =
            pod.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        pod.labels = text::labels(&change(pairs.join(",")));
        self.engine.apply_pod(pod);
    }
}

fn rules<'a>(policy: &'a mut ClusterPolicy, side: &str) -> &'a mut Vec<ClusterRule> {
    if side == "ingress" { &mut policy.ingress } else { &mut policy.egress }
}

/// `ADDRESS,… LABELS [node=NAME] [ports=NAME/PROTOCOL/NUMBER,…] [finished|pending|host]`.
fn pod(name: &str, rest: &[&str]) -> Pod {
    let (namespace, name) = name.split_once('/').unwrap();
    let mut pod = Pod {
        namespace: namespace.into(),
        name: name.into(),
        addresses: rest[0].split(',').map(|text| text.parse().unwrap()).collect(),
        labels: text::labels(rest.get(1).unwrap_or(&"")),
        ..Pod::default()
    };
    for word in rest.iter().skip(2) {
        match word.split_once('=') {
            Some(("node", node)) => pod.node = Some(node.into()),
            Some(("ports", ports)) => pod.ports = ports.split(',').map(named_port).collect(),
            _ if *word == "finished" => pod.phase = Phase::Finished,
            _ if *word == "pending" => pod.phase = Phase::Pending,
            _ if *word == "host" => pod.host_network = true,
            _ => panic!("not understood: {word}"),
        }
    }
    pod
}

fn named_port(text: &str) -> NamedPort {
    let parts: Vec<&str> = text.split('/').collect();
    NamedPort {
        name: parts[0].into(),
        protocol: text::protocol(parts[1]),
        number: parts[2].parse().unwrap(),
    }
}
