//! Tells that a definition of a kind came or changed, so that nobody waits long for a kind that is served now.

use std::pin::pin;

use futures_util::StreamExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use tokio::sync::watch;

use crate::kind::Kind;

/// Says something on `defined` whenever a definition of one of our kinds changes. Whoever may not read
/// definitions still finds new kinds, by asking for them now and then.
pub(super) async fn follow(client: Client, defined: watch::Sender<()>) {
    let api = Api::<PartialObjectMeta<CustomResourceDefinition>>::all(client);
    let mut events = pin!(watcher(api, watcher::Config::default()).default_backoff());
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(it) | Event::InitApply(it) | Event::Delete(it)) => {
                let name = it.metadata.name.as_deref().unwrap_or_default();
                if Kind::ALL.iter().any(|kind| kind.resource() == name) {
                    defined.send_replace(());
                }
            }
            Ok(Event::Init | Event::InitDone) => {}
            Err(error) => tracing::debug!(%error, "definitions cannot be watched"),
        }
    }
}
