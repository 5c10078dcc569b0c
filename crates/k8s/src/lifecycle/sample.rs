//! Small objects for the tests of the lifecycle.

use k8s_openapi::api::networking::v1::NetworkPolicySpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_api::{WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal};

use super::resource::Resource;

/// A proposal for web's egress: db on 5432 learned, an address outside and more uncovered.
pub(crate) fn proposal() -> WorkloadNetworkPolicyProposal {
    serde_saphyr::from_str(PROPOSAL).unwrap()
}

/// A proposal for web's ingress by identity.
pub(super) fn istio_proposal() -> WorkloadNetworkPolicyProposal {
    serde_saphyr::from_str(ISTIO).unwrap()
}

/// A policy for web's egress in monitor, with two violations and an acknowledged one.
pub(crate) fn policy() -> WorkloadNetworkPolicy {
    serde_saphyr::from_str(POLICY).unwrap()
}

pub(crate) fn time(text: &str) -> Time {
    Time(text.parse().unwrap())
}

/// The rules of an object, one a line: peers, then ports.
pub(super) fn rules(object: &Resource) -> Vec<String> {
    match object.kubernetes() {
        Some(spec) => kubernetes_rules(spec),
        None => object
            .istio()
            .unwrap()
            .rules
            .iter()
            .map(|rule| {
                let ports: Vec<&str> =
                    rule.to.iter().flat_map(|to| &to.operation.ports).map(|port| &**port).collect();
                let from = rule.from.iter().flat_map(|from| &from.source.principals);
                let from: Vec<&str> = from.map(|principal| &**principal).collect();
                format!("{} {}", from.join(","), ports.join(","))
            })
            .collect(),
    }
}

pub(super) fn kubernetes_rules(spec: &NetworkPolicySpec) -> Vec<String> {
    let value = serde_json::to_value(spec).unwrap();
    let egress = value["egress"].as_array().cloned().unwrap_or_default();
    let ingress = value["ingress"].as_array().cloned().unwrap_or_default();
    let line = |rule: &serde_json::Value, side: &str| {
        let peers = rule[side].as_array().cloned().unwrap_or_default();
        let peers: Vec<String> = peers.iter().map(peer).collect();
        let ports = rule["ports"].as_array().cloned().unwrap_or_default();
        let ports: Vec<String> = ports.iter().map(port).collect();
        format!("{} {}", peers.join("+"), ports.join(","))
    };
    let egress = egress.iter().map(|rule| line(rule, "to"));
    egress.chain(ingress.iter().map(|rule| line(rule, "from"))).collect()
}

fn peer(peer: &serde_json::Value) -> String {
    let block = &peer["ipBlock"];
    if let Some(cidr) = block["cidr"].as_str() {
        let except = block["except"].as_array().cloned().unwrap_or_default();
        let except: String =
            except.iter().map(|range| format!(" -{}", range.as_str().unwrap())).collect();
        return format!("{cidr}{except}");
    }
    let name = &peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"];
    let pods = peer["podSelector"]["matchLabels"].as_object().cloned().unwrap_or_default();
    let pods: Vec<String> =
        pods.iter().map(|(key, value)| format!("{key}={}", value.as_str().unwrap())).collect();
    format!("{}{{{}}}", name.as_str().unwrap_or(""), pods.join(","))
}

fn port(port: &serde_json::Value) -> String {
    let number = port["port"].as_i64().map_or("*".to_owned(), |number| number.to_string());
    let end = port["endPort"].as_i64().map_or(String::new(), |end| format!("-{end}"));
    format!("{number}{end}/{}", port["protocol"].as_str().unwrap_or("TCP"))
}

const PROPOSAL: &str = "
apiVersion: networkenforcer.kubewarden.io/v1alpha1
kind: WorkloadNetworkPolicyProposal
metadata:
  name: deployment-web-egress
  namespace: shop
  labels: {team: payments, networkenforcer.kubewarden.io/promote: protect}
  annotations:
    note: ours
    kubectl.kubernetes.io/last-applied-configuration: '{}'
    argocd.argoproj.io/tracking-id: shop:x
spec:
  backend: kubernetes
  targetRef: {kind: Deployment, name: web}
  direction: Egress
  kubernetes:
    podSelector: {matchLabels: {app: web}}
    policyTypes: [Egress]
    egress:
    - to:
      - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}
        podSelector: {matchLabels: {k8s-app: kube-dns}}
      ports: [{protocol: TCP, port: 53}, {protocol: UDP, port: 53}]
    - to:
      - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}
        podSelector: {matchLabels: {app: db}}
      ports: [{protocol: TCP, port: 5432}]
    - to:
      - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}
        podSelector: {matchLabels: {app: ftp}}
      ports: [{protocol: TCP, port: 21}, {protocol: TCP, port: 30000}, {protocol: TCP, port: 30037}]
status:
  learnedSince: 2026-09-01T10:00:00Z
  lastNewRule: 2026-09-01T10:03:00Z
  ruleCount: 5
  uncoveredCount: 9
  rules:
  - {peer: {kind: Dns, namespace: kube-system, name: kube-dns}, port: 53, protocol: UDP, provenance: infrastructure}
  - {peer: {kind: StatefulSet, namespace: shop, name: db}, port: 5432, protocol: TCP, provenance: observed, count: 812,
     firstSeen: 2026-09-01T10:00:00Z, lastSeen: 2026-09-02T10:00:00Z}
  - {peer: {kind: StatefulSet, namespace: shop, name: ftp}, port: 21, protocol: TCP, provenance: observed, count: 4}
  - {peer: {kind: StatefulSet, namespace: shop, name: ftp}, port: 30000, protocol: TCP, provenance: observed, count: 1,
     firstSeen: 2026-09-01T10:02:00Z, lastSeen: 2026-09-01T10:02:00Z}
  - {peer: {kind: StatefulSet, namespace: shop, name: ftp}, port: 30037, protocol: TCP, provenance: observed, count: 2,
     firstSeen: 2026-09-01T10:01:00Z, lastSeen: 2026-09-01T10:05:00Z}
  - {peer: {kind: Deployment, namespace: shop, name: old}, port: 80, protocol: TCP, provenance: observed, count: 3,
     refused: true}
  uncovered:
  - {id: u3f9k, peer: {kind: External, address: 203.0.113.7, names: [api.example.com]}, port: 443, protocol: TCP,
     reason: External, count: 97, firstSeen: 2026-09-01T10:00:00Z, lastSeen: 2026-09-02T10:00:00Z}
  - {id: u3f9x, peer: {kind: External, address: '2001:db8::9', addresses: ['2001:db8::9', 198.51.100.3]}, port: 443,
     protocol: TCP, reason: External, count: 3, firstSeen: 2026-08-01T10:00:00Z, lastSeen: 2026-09-03T10:00:00Z}
  - {id: u7vm, peer: {kind: External, address: 10.0.0.200}, port: 443, protocol: TCP, reason: External, count: 5}
  - {id: u8node, peer: {kind: Node, name: n1, address: 10.0.0.4}, port: 9100, protocol: TCP, reason: Node, count: 1}
  - {id: u9icmp, peer: {kind: External, address: 192.0.2.1}, protocol: ICMP, reason: Protocol, count: 1}
  - {id: uanp, peer: {kind: Node, address: 10.0.0.5}, port: 30080, protocol: TCP, reason: NodePort, count: 1}
  - {id: ubno, peer: {names: [x.example.com]}, port: 80, protocol: TCP, reason: NoAddress, count: 1}
  - {id: ucron, peer: {kind: CronJob, namespace: jobs, name: nightly}, port: 8080, protocol: TCP, reason: UnknownOwner,
     count: 2, selector: {matchLabels: {job: nightly}}}
  - {id: udark, peer: {kind: Pod, namespace: jobs, name: dark}, port: 8080, protocol: TCP, reason: NoSelector, count: 2}
  suggestions:
  - {id: s1range, peer: {kind: StatefulSet, namespace: shop, name: ftp}, protocol: TCP, port: 30000, endPort: 31500,
     portCount: 2, reason: PortRange}
";

const ISTIO: &str = "
apiVersion: networkenforcer.kubewarden.io/v1alpha1
kind: WorkloadNetworkPolicyProposal
metadata: {name: deployment-web-ingress, namespace: shop}
spec:
  backend: istio
  istio:
    selector: {matchLabels: {app: web}}
    rules:
    - from: [{source: {principals: [cluster.local/ns/shop/sa/front]}}]
      to: [{operation: {ports: ['8080']}}]
status:
  ruleCount: 1
  rules:
  - {peer: {identity: cluster.local/ns/shop/sa/front}, port: 8080, protocol: TCP, provenance: observed, count: 9}
  uncovered:
  - {id: ufront, peer: {identity: cluster.local/ns/shop/sa/front}, port: 9090, protocol: TCP, reason: Unanswered, count: 1}
  - {id: ubatch, peer: {identity: cluster.local/ns/jobs/sa/batch}, port: 8080, protocol: TCP, reason: Unanswered, count: 1}
  - {id: uplain, peer: {kind: External, address: 203.0.113.7}, port: 8080, protocol: TCP, reason: Unmanaged, count: 1}
";

const POLICY: &str = "
apiVersion: networkenforcer.kubewarden.io/v1alpha1
kind: WorkloadNetworkPolicy
metadata:
  name: deployment-web-egress
  namespace: shop
  labels: {team: payments, networkenforcer.kubewarden.io/promoted-from: deployment-web-egress}
spec:
  mode: monitor
  backend: kubernetes
  targetRef: {kind: Deployment, name: web}
  direction: Egress
  kubernetes:
    podSelector: {matchLabels: {app: web}}
    policyTypes: [Egress]
    egress:
    - to:
      - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}
        podSelector: {matchLabels: {app: db}}
      ports: [{protocol: TCP, port: 5432}]
status:
  violationCount: 20
  activeViolationCount: 3
  violations:
  - {id: k7m2q9x4, direction: Egress, source: {kind: Deployment, namespace: shop, name: web},
     dest: {kind: StatefulSet, namespace: shop, name: db}, protocol: TCP, dstPort: 6379, action: monitor, reason: NoRule,
     count: 14, firstSeen: 2026-09-01T10:00:00Z, lastSeen: 2026-09-03T10:00:00Z}
  - {id: k7m2side, direction: Egress, source: {kind: Deployment, namespace: shop, name: web},
     dest: {kind: External, address: 203.0.113.7}, protocol: TCP, dstPort: 443, action: monitor, reason: NoRule,
     count: 5, firstSeen: 2026-09-01T10:00:00Z, lastSeen: 2026-09-02T10:00:00Z}
  - {id: m1admin, direction: Egress, source: {kind: Deployment, namespace: shop, name: web},
     dest: {kind: External, address: 192.0.2.9}, protocol: UDP, dstPort: 123, action: monitor, reason: DeniedByPolicy,
     decidedBy: {tier: Admin, kind: ClusterNetworkPolicy, name: no-outside}, count: 1,
     firstSeen: 2026-09-01T10:00:00Z, lastSeen: 2026-09-01T10:00:00Z}
  acknowledgedViolations:
  - violation: {id: p2w8r5t1, direction: Egress, source: {kind: Deployment, namespace: shop, name: web},
      dest: {kind: Deployment, namespace: shop, name: cache}, protocol: TCP, dstPort: 7000, action: monitor,
      reason: NoRule, count: 3, firstSeen: 2026-09-01T10:00:00Z, lastSeen: 2026-09-02T12:00:00Z}
    reason: cache migration
    acknowledgedAt: 2026-09-02T13:00:00Z
    acknowledgedBy: anna
  rules:
  - {peer: {kind: StatefulSet, namespace: shop, name: db}, port: 5432, protocol: TCP, provenance: observed, count: 812}
  - {peer: {kind: Deployment, namespace: shop, name: old}, port: 80, protocol: TCP, provenance: observed, count: 3,
     refused: true}
  uncovered:
  - {id: u3f9k, peer: {kind: External, address: 203.0.113.7, names: [api.example.com]}, port: 443, protocol: TCP,
     reason: External, count: 97, firstSeen: 2026-09-01T10:00:00Z, lastSeen: 2026-09-02T10:00:00Z}
  learnedSince: 2026-09-01T10:00:00Z
  lastNewRule: 2026-09-01T10:03:00Z
";
