//! A cluster that never was: nodes, workloads, their pods, and who talks to whom.

use std::collections::HashSet;
use std::ops::Range;

use super::Traffic;
use super::random::Random;

/// Letters of names that Kubernetes makes up.
const SAFE: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const TEAMS: [&str; 20] = [
    "shop",
    "payments",
    "search",
    "billing",
    "identity",
    "media",
    "orders",
    "catalog",
    "delivery",
    "support",
    "analytics",
    "risk",
    "pricing",
    "loyalty",
    "content",
    "mobile",
    "partner",
    "ledger",
    "audit",
    "platform",
];
const NOUNS: [&str; 40] = [
    "cart", "checkout", "invoice", "profile", "session", "stock", "product", "review", "rating",
    "voucher", "address", "refund", "mailer", "webhook", "image", "video", "index", "query",
    "report", "metric", "alert", "token", "login", "consent", "route", "tariff", "quote", "basket",
    "courier", "parcel", "return", "ticket", "chat", "survey", "banner", "feed", "export",
    "import", "archive", "fraud",
];
const ROLES: [&str; 12] = [
    "api", "worker", "frontend", "db", "cache", "gateway", "sync", "admin", "proxy", "store",
    "stream", "batch",
];
const PORTS: [u16; 10] = [8080, 8443, 5432, 6379, 9090, 3306, 27017, 9092, 50051, 80];

/// Addresses outside: that many, out of a documentation range.
const OUTSIDE: usize = 64;

/// The cluster.
pub(super) struct Cluster {
    pub(super) nodes: Vec<Node>,
    /// All workloads; the last one is the cluster's DNS.
    pub(super) workloads: Vec<Workload>,
    pub(super) pods: Vec<Pod>,
    /// Who talks to whom, in no order.
    pub(super) edges: Vec<Edge>,
    pub(super) outside: Vec<Outside>,
}

/// A node.
pub(super) struct Node {
    pub(super) name: String,
    pub(super) address: String,
}

/// A workload.
pub(super) struct Workload {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The hash of its pod template.
    pub(super) hash: String,
    pub(super) identity: usize,
    /// Its pods, by their numbers.
    pub(super) pods: Range<usize>,
    pub(super) ports: Vec<u16>,
    /// Whether a Service stands before it.
    pub(super) has_service: bool,
}

/// Kinds of workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Deployment,
    StatefulSet,
    DaemonSet,
}

/// A pod.
pub(super) struct Pod {
    pub(super) workload: usize,
    pub(super) node: usize,
    pub(super) name: String,
    pub(super) address: String,
    pub(super) mac: String,
    /// The number of its endpoint on its node.
    pub(super) endpoint: usize,
}

/// Two workloads that talk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) client: usize,
    pub(super) server: usize,
    pub(super) port: u16,
}

/// An address outside the cluster.
pub(super) struct Outside {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) identity: usize,
}

// === impl Traffic ===

impl Traffic {
    /// Says why there is no such traffic.
    pub(super) fn check(&self) -> Result<(), String> {
        let pairs = self.workloads.saturating_mul(self.workloads.saturating_sub(1));
        if self.workloads < 2 || self.namespaces == 0 || self.nodes == 0 || self.rate == 0 {
            return Err("needs two workloads, a namespace, a node and a rate".to_owned());
        }
        if self.replicas == 0 {
            return Err("needs a pod for each workload".to_owned());
        }
        if self.edges == 0 || self.edges > pairs {
            return Err(format!("needs 1 to {pairs} edges for {} workloads", self.workloads));
        }
        if self.dns + self.external + self.drops > 90 || self.replies > 75 {
            return Err("the shares leave too little: at most 90 per cent for dns, external and \
                        drops together, and 75 per cent replies"
                .to_owned());
        }
        Ok(())
    }
}

// === impl Cluster ===

impl Cluster {
    /// The cluster of `traffic`.
    pub(super) fn new(traffic: &Traffic, random: &mut Random) -> Self {
        let nodes = (0..traffic.nodes).map(Node::new).collect();
        let mut pods = Vec::new();
        let mut workloads: Vec<Workload> = (0..traffic.workloads)
            .map(|number| Workload::new(number, traffic, &mut pods, random))
            .collect();
        workloads.push(Workload::dns(traffic, &mut pods, random));
        let edges = edges(traffic, &workloads, random);
        let outside = (0..OUTSIDE).map(Outside::new).collect();
        Self { nodes, workloads, pods, edges, outside }
    }

    /// The workload of a pod.
    pub(super) fn workload(&self, pod: usize) -> &Workload {
        &self.workloads[self.pods[pod].workload]
    }

    /// Any pod of a workload.
    pub(super) fn pod_of(&self, workload: usize, random: &mut Random) -> usize {
        let pods = &self.workloads[workload].pods;
        pods.start + random.below(pods.len())
    }
}

/// Distinct edges: every workload opens about as many, most of them within its namespace.
fn edges(traffic: &Traffic, workloads: &[Workload], random: &mut Random) -> Vec<Edge> {
    let mut edges = Vec::with_capacity(traffic.edges);
    for client in 0..traffic.workloads {
        let share = |clients: usize| clients * traffic.edges / traffic.workloads;
        let mut servers = HashSet::new();
        for _ in share(client)..share(client + 1) {
            let server = server(client, traffic, &servers, random);
            servers.insert(server);
            edges.push(Edge { client, server, port: *random.pick(&workloads[server].ports) });
        }
    }
    for end in (1..edges.len()).rev() {
        edges.swap(end, random.below(end + 1));
    }
    edges
}

/// A workload that `client` does not talk to yet.
fn server(client: usize, traffic: &Traffic, taken: &HashSet<usize>, random: &mut Random) -> usize {
    let Traffic { workloads, namespaces, .. } = *traffic;
    let is_free =
        |server: usize| server != client && server < workloads && !taken.contains(&server);
    let near = client % namespaces + namespaces * random.below(workloads.div_ceil(namespaces));
    if random.happens(70) && is_free(near) {
        return near;
    }
    let far = random.below(workloads);
    let servers = (far..workloads).chain(0..far);
    servers.into_iter().find(|server| is_free(*server)).unwrap_or(far)
}

// === impl Node ===

impl Node {
    fn new(number: usize) -> Self {
        let (high, low) = (number / 250, number % 250 + 2);
        Self {
            name: format!("default/worker-{number:03}"),
            address: format!("172.18.{high}.{low}"),
        }
    }
}

// === impl Workload ===

impl Workload {
    fn new(number: usize, traffic: &Traffic, pods: &mut Vec<Pod>, random: &mut Random) -> Self {
        let kind = match random.below(100) {
            0..15 => Kind::StatefulSet,
            15..17 => Kind::DaemonSet,
            _ => Kind::Deployment,
        };
        let count = match kind {
            Kind::Deployment | Kind::StatefulSet => 1 + random.below(traffic.replicas),
            Kind::DaemonSet => traffic.nodes.min(8),
        };
        let mut ports = vec![*random.pick(&PORTS)];
        if random.happens(30) {
            ports.push(*random.pick(&PORTS));
        }
        let mut workload = Self {
            namespace: numbered(
                TEAMS[number % traffic.namespaces % 20],
                number % traffic.namespaces / 20,
            ),
            name: numbered(
                &format!("{}-{}", NOUNS[number % 40], ROLES[number / 40 % 12]),
                number / 480,
            ),
            kind,
            hash: random.letters(SAFE, 10),
            identity: 10_000 + number,
            pods: 0..0,
            ports,
            has_service: random.happens(50),
        };
        workload.add_pods(number, count, traffic, pods, random);
        workload
    }

    fn dns(traffic: &Traffic, pods: &mut Vec<Pod>, random: &mut Random) -> Self {
        let mut workload = Self {
            namespace: "kube-system".to_owned(),
            name: "coredns".to_owned(),
            kind: Kind::Deployment,
            hash: random.letters(SAFE, 10),
            identity: 9_000,
            pods: 0..0,
            ports: vec![53],
            has_service: false,
        };
        workload.add_pods(traffic.workloads, 2, traffic, pods, random);
        workload
    }

    fn add_pods(
        &mut self,
        number: usize,
        count: usize,
        traffic: &Traffic,
        pods: &mut Vec<Pod>,
        random: &mut Random,
    ) {
        let start = pods.len();
        let first_node = random.below(traffic.nodes);
        for ordinal in 0..count {
            let node = (first_node + ordinal) % traffic.nodes;
            pods.push(self.pod(number, ordinal, node, pods.len() + 1, random));
        }
        self.pods = start..pods.len();
    }

    fn pod(
        &self,
        workload: usize,
        ordinal: usize,
        node: usize,
        number: usize,
        random: &mut Random,
    ) -> Pod {
        let name = match self.kind {
            Kind::Deployment => format!("{}-{}-{}", self.name, self.hash, random.letters(SAFE, 5)),
            Kind::StatefulSet => format!("{}-{ordinal}", self.name),
            Kind::DaemonSet => format!("{}-{}", self.name, random.letters(SAFE, 5)),
        };
        let [high, middle, low] = [number >> 16 & 255, number >> 8 & 255, number & 255];
        Pod {
            workload,
            node,
            name,
            address: format!("10.{high}.{middle}.{low}"),
            mac: format!("02:00:0a:{high:02x}:{middle:02x}:{low:02x}"),
            endpoint: 100 + random.below(3_900),
        }
    }
}

// === impl Kind ===

impl Kind {
    /// Its name in Kubernetes.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
        }
    }
}

// === impl Outside ===

impl Outside {
    fn new(number: usize) -> Self {
        Self {
            name: format!("api-{number:02}.example.com"),
            address: format!("203.0.113.{}", number + 1),
            identity: (1 << 24) + number,
        }
    }
}

/// `name`, with a number from the second of that name on.
fn numbered(name: &str, number: usize) -> String {
    if number == 0 { name.to_owned() } else { format!("{name}-{}", number + 1) }
}
