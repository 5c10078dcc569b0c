//! Which objects each kind is read from.

use std::fmt::Debug;

use kube::core::{ApiResource, DeserializeGuard, DynamicObject, GroupVersionKind};
use kube::{Api, Client, Resource};
use netenf_k8s::Object;
use netenf_k8s::object::ClusterKind;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinSet;

use super::source::{Hub, Source};
use super::trim;
use crate::kind::Kind;

pub(super) struct Starter {
    pub(super) client: Client,
    pub(super) hub: Hub,
    pub(super) tasks: JoinSet<()>,
}

// === impl Starter ===

impl Starter {
    pub(super) fn start(&mut self, kind: Kind) {
        match kind {
            Kind::Namespace => self.native(kind, trim::namespace),
            Kind::Node => self.native(kind, trim::node),
            Kind::Pod => self.native(kind, trim::pod),
            Kind::ReplicaSet => self.native(kind, trim::replica_set),
            Kind::Deployment => self.native(kind, trim::deployment),
            Kind::StatefulSet => self.native(kind, trim::stateful_set),
            Kind::DaemonSet => self.native(kind, trim::daemon_set),
            Kind::Job => self.native(kind, trim::job),
            Kind::CronJob => self.native(kind, trim::cron_job),
            Kind::Service => self.native(kind, trim::service),
            Kind::EndpointSlice => self.native(kind, trim::endpoint_slice),
            Kind::NetworkPolicy => self.native(kind, trim::network_policy),
            Kind::Proposal => self.guarded(kind, trim::proposal),
            Kind::Policy => self.guarded(kind, trim::policy),
            Kind::AdminNetworkPolicy => self.dynamic(kind, &["v1alpha1"], |document| {
                trim::cluster_policy(ClusterKind::AdminNetworkPolicy, document)
            }),
            Kind::BaselineAdminNetworkPolicy => self.dynamic(kind, &["v1alpha1"], |document| {
                trim::cluster_policy(ClusterKind::BaselineAdminNetworkPolicy, document)
            }),
            Kind::ClusterNetworkPolicy => {
                self.dynamic(kind, &["v1beta1", "v1alpha2"], |document| {
                    trim::cluster_policy(ClusterKind::ClusterNetworkPolicy, document)
                });
            }
            Kind::AuthorizationPolicy => {
                self.dynamic(kind, &["v1", "v1beta1"], Object::Other);
            }
        }
    }

    /// A kind whose type never refuses what the API server serves: it has no words of its own.
    fn native<K>(&mut self, kind: Kind, trim: fn(K) -> Object)
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let apis = vec![Api::all(self.client.clone())];
        self.spawn(kind, apis, move |object| Ok(trim(object)));
    }

    /// A kind of ours: another version of this program may have written what this one cannot read, which
    /// must cost no other object.
    fn guarded<K>(&mut self, kind: Kind, trim: fn(K) -> Object)
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let apis = vec![Api::<DeserializeGuard<K>>::all(self.client.clone())];
        self.spawn(kind, apis, move |object| match object.0 {
            Ok(object) => Ok(trim(object)),
            Err(invalid) => Err(invalid.error),
        });
    }

    /// A kind that has no type here, in the first of `versions` that is served.
    fn dynamic(
        &mut self,
        kind: Kind,
        versions: &'static [&'static str],
        trim: fn(Value) -> Object,
    ) {
        let (plural, group) = kind.resource().split_once('.').unwrap_or((kind.resource(), ""));
        let resources = versions.iter().map(|version| {
            let identity = GroupVersionKind::gvk(group, version, &format!("{kind:?}"));
            ApiResource::from_gvk_with_plural(&identity, plural)
        });
        let apis = resources
            .map(|resource| Api::<DynamicObject>::all_with(self.client.clone(), &resource));
        self.spawn(kind, apis.collect(), move |mut object| {
            trim::keep_own(&mut object);
            serde_json::to_value(object).map(trim).map_err(|error| error.to_string())
        });
    }

    fn spawn<K>(
        &mut self,
        kind: Kind,
        apis: Vec<Api<K>>,
        read: impl Fn(K) -> Result<Object, String> + Send + Sync + 'static,
    ) where
        K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
        K::DynamicType: Clone,
    {
        let source = Source { kind, apis, read, hub: self.hub.clone() };
        self.tasks.spawn(source.run());
    }
}
