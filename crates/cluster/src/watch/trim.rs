//! What is kept of each object: as little as the index and the reconcilers ask for. Images, environments,
//! volumes and what managers own go before an object waits anywhere; a Secret's value in an environment
//! never gets into the agent's memory for longer than decoding takes.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{
    Container, Namespace, Node, NodeStatus, Pod, PodSpec, PodTemplateSpec, Service,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Resource;
use kube::core::PartialObjectMeta;
use netenf_api::{WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal};
use netenf_k8s::Object;
use netenf_k8s::enforcer::evidence;
use netenf_k8s::object::{ClusterKind, ClusterPolicy};
use serde_json::Value;

use crate::apply::FIELD_MANAGER;

/// The whole object again, as `kubectl apply` wrote it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Of a namespace nothing but its metadata is asked for.
pub(super) fn namespace(object: PartialObjectMeta<Namespace>) -> Object {
    Object::Namespace(bare(Namespace { metadata: object.metadata, ..Namespace::default() }))
}

pub(super) fn node(object: Node) -> Object {
    let status = object.status.clone().unwrap_or_default();
    let status = NodeStatus { addresses: status.addresses, ..NodeStatus::default() };
    Object::Node(bare(Node { status: Some(status), ..object }))
}

pub(super) fn pod(object: Pod) -> Object {
    let mut pod = bare(object);
    pod.spec = pod.spec.map(pod_spec);
    if let Some(status) = &mut pod.status {
        status.conditions = None;
        status.init_container_statuses = None;
        status.ephemeral_container_statuses = None;
    }
    Object::Pod(pod)
}

pub(super) fn replica_set(object: ReplicaSet) -> Object {
    let mut set = bare(object);
    set.status = None;
    if let Some(spec) = &mut set.spec {
        spec.template = spec.template.take().map(template);
    }
    Object::ReplicaSet(set)
}

pub(super) fn deployment(object: Deployment) -> Object {
    let mut deployment = bare(object);
    deployment.status = None;
    if let Some(spec) = &mut deployment.spec {
        spec.template = template(std::mem::take(&mut spec.template));
    }
    Object::Deployment(deployment)
}

pub(super) fn stateful_set(object: StatefulSet) -> Object {
    let mut set = bare(object);
    set.status = None;
    if let Some(spec) = &mut set.spec {
        spec.template = template(std::mem::take(&mut spec.template));
        spec.volume_claim_templates = None;
    }
    Object::StatefulSet(set)
}

/// Left are a few images and arguments that tell whether a network plugin enforces policies.
pub(super) fn daemon_set(object: DaemonSet) -> Object {
    let mut set = bare(object);
    set.status = None;
    if let Some(spec) = &mut set.spec {
        let evidence: Vec<_> =
            spec.template.spec.iter().flat_map(|pod| &pod.containers).map(evidence).collect();
        spec.template = template(std::mem::take(&mut spec.template));
        let trimmed = spec.template.spec.iter_mut().flat_map(|pod| &mut pod.containers);
        for (container, (image, args)) in trimmed.zip(evidence) {
            (container.image, container.args) = (image, args);
        }
    }
    Object::DaemonSet(set)
}

pub(super) fn job(object: Job) -> Object {
    let mut job = bare(object);
    job.status = None;
    if let Some(spec) = &mut job.spec {
        spec.template = template(std::mem::take(&mut spec.template));
    }
    Object::Job(job)
}

pub(super) fn cron_job(object: CronJob) -> Object {
    let mut job = bare(object);
    job.status = None;
    let spec = job.spec.as_mut().and_then(|spec| spec.job_template.spec.as_mut());
    if let Some(spec) = spec {
        spec.template = template(std::mem::take(&mut spec.template));
    }
    Object::CronJob(job)
}

pub(super) fn service(object: Service) -> Object {
    Object::Service(bare(object))
}

pub(super) fn endpoint_slice(object: EndpointSlice) -> Object {
    Object::EndpointSlice(bare(object))
}

pub(super) fn network_policy(object: NetworkPolicy) -> Object {
    Object::NetworkPolicy(own(object))
}

pub(super) fn proposal(object: WorkloadNetworkPolicyProposal) -> Object {
    Object::Proposal(own(object))
}

pub(super) fn policy(object: WorkloadNetworkPolicy) -> Object {
    Object::Policy(own(object))
}

pub(super) fn cluster_policy(kind: ClusterKind, document: Value) -> Object {
    Object::ClusterPolicy(ClusterPolicy { kind, document })
}

/// Of a kind that the agent replaces: what is left out here would be taken out of the object. Managed fields are not
/// written; those of the agent itself tell which labels are its own.
fn own<K: Resource>(mut object: K) -> K {
    keep_own(&mut object);
    object
}

/// Leaves of the managed fields those of the agent.
pub(super) fn keep_own<K: Resource>(object: &mut K) {
    if let Some(entries) = &mut object.meta_mut().managed_fields {
        entries.retain(|entry| entry.manager.as_deref() == Some(FIELD_MANAGER));
    }
}

fn bare<K: Resource>(mut object: K) -> K {
    let metadata = object.meta_mut();
    metadata.managed_fields = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
    object
}

fn template(template: PodTemplateSpec) -> PodTemplateSpec {
    PodTemplateSpec { metadata: template.metadata, spec: template.spec.map(pod_spec) }
}

/// Where its pods run, as whom, and with which ports.
fn pod_spec(spec: PodSpec) -> PodSpec {
    PodSpec {
        node_name: spec.node_name,
        host_network: spec.host_network,
        service_account_name: spec.service_account_name,
        containers: spec.containers.into_iter().map(container).collect(),
        init_containers: spec.init_containers.map(|all| all.into_iter().map(container).collect()),
        ..PodSpec::default()
    }
}

/// An init container that is restarted always is a sidecar, whose ports count.
fn container(container: Container) -> Container {
    Container {
        name: container.name,
        ports: container.ports,
        restart_policy: container.restart_policy,
        ..Container::default()
    }
}
