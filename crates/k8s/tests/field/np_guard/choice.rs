//! Where np-guard takes its input for something else than we do.

/// What np-guard chose; the input is changed to what np-guard takes it for, so that all of it can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Choice {
    /// Pods on the host's network are pods. To Kubernetes what policies do to them is undefined ("NetworkPolicy
    /// behaviour for hostNetwork pods is undefined", concepts, Network Policies), and most plugins, like we, see
    /// traffic of the node: no policy selects it, and only blocks of addresses admit it.
    HostNetwork,
    /// A controller without a kind is a pod of its name. The API requires a kind (`OwnerReference`), so no cluster
    /// holds such an owner; to us it controls nothing, and its pods are workloads of their own.
    OwnerWithoutKind,
    /// A pod that has finished is a pod. To us it is none: it has given its addresses back, and a Job that is done
    /// starts no other.
    FinishedPod,
}

// === impl Choice ===

impl Choice {
    pub(super) const ALL: [Self; 3] =
        [Self::HostNetwork, Self::OwnerWithoutKind, Self::FinishedPod];

    pub(super) fn of(folder: &str) -> Option<Self> {
        match folder {
            "ipblockstest" | "ipblockstest_2" => Some(Self::HostNetwork),
            "example_pods_w_same_owner_and_labels_gap_no_policy" => Some(Self::OwnerWithoutKind),
            "minikube_resources" => Some(Self::FinishedPod),
            _ => None,
        }
    }

    /// A text of `folder` as np-guard takes it.
    pub(super) fn taken(folder: &str, text: String) -> String {
        match Self::of(folder) {
            Some(Self::HostNetwork) => text.replace("hostNetwork: true", "hostNetwork: false"),
            Some(Self::OwnerWithoutKind) => text
                .replace("- name: internal-security", "- kind: Pod\n      name: internal-security"),
            Some(Self::FinishedPod) => text.replace("phase: Succeeded", "phase: Running"),
            None => text,
        }
    }
}
