//! Labels that change while a workload stays the same: no selector may hold them (cases B19, B20, B23).

/// Whether pods of one workload may differ in this label from rollout to rollout or pod to pod.
pub fn is_volatile(key: &str) -> bool {
    const KEYS: [&str; 19] = [
        "pod-template-hash",
        "rollouts-pod-template-hash",
        "controller-revision-hash",
        "pod-template-generation",
        "job-name",
        "controller-uid",
        "apps.kubernetes.io/pod-index",
        "statefulset.kubernetes.io/pod-name",
        "helm.sh/chart",
        "chart",
        "heritage",
        "service.istio.io/canonical-revision",
        "istio.io/rev",
        "security.istio.io/tlsMode",
        "job-completion-index",
        "karpenter.sh/nodepool",
        "kubernetes.io/hostname",
        "apps.kubernetes.io/revision",
        "deployment.kubernetes.io/revision",
    ];
    const PREFIXES: [&str; 6] = [
        "batch.kubernetes.io/",
        "topology.kubernetes.io/",
        "failure-domain.beta.kubernetes.io/",
        "io.cilium.",
        "io.kubernetes.",
        "topology.istio.io/",
    ];
    KEYS.contains(&key)
        || PREFIXES.iter().any(|prefix| key.starts_with(prefix))
        || key.rsplit(['/', '-', '.']).next() == Some("version")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    #[rstest]
    #[case("pod-template-hash", true)]
    #[case("rollouts-pod-template-hash", true)]
    #[case("app.kubernetes.io/version", true)]
    #[case("version", true)]
    #[case("batch.kubernetes.io/job-name", true)]
    #[case("topology.kubernetes.io/zone", true)]
    #[case("app", false)]
    #[case("conversion", false)]
    #[case("app.kubernetes.io/instance", false)]
    #[case("topology-aware", false)]
    fn volatile_labels_are_known(#[case] key: &str, #[case] volatile: bool) {
        assert_eq!(super::is_volatile(key), volatile);
    }
}
