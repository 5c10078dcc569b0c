use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use netenf_api::Backend;
use netenf_cluster::Kind;
use netenf_cluster::lease::Leadership;
use netenf_cluster::queue::{Limits, Queue};
use netenf_cluster::watch::{Change, Unreadable};
use netenf_k8s::Enforcer;
use netenf_k8s::object::{Object, read};
use netenf_learn::Timestamp;
use prometheus_client::registry::Registry;
use tokio::sync::mpsc;

use super::Controller;
use crate::enforcement::Enforcement;
use crate::stored::Shared;

fn deployment(name: &str) -> Object {
    let text = format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}, namespace: shop}}, \
         spec: {{selector: {{matchLabels: {{app: {name}}}}}, template: {{}}}}}}"
    );
    read("test", &text).0.remove(0)
}

/// What becomes of the workloads, change by change.
#[test]
fn the_index_holds_what_the_changes_say() {
    let enforcement = Arc::new(Enforcement {
        index: Arc::default(),
        provider: None,
        backend: Backend::Kubernetes,
        last: Mutex::new(Enforcer::Unknown),
    });
    let (controller, pending) = &mut Controller::new(
        mpsc::channel(1).1,
        Leadership::unopposed(),
        enforcement,
        (Shared::default(), Arc::new(Queue::new(Limits::default(), &mut Registry::default()))),
    );
    let unreadable = Unreadable {
        kind: Kind::Deployment,
        namespace: "shop".to_owned(),
        name: "new".to_owned(),
        uid: None,
        is_gone: false,
        message: "unknown".to_owned(),
    };
    let steps = vec![
        (Change::Applied(deployment("early")), "early"),
        (Change::Replaced(Kind::Deployment, vec![deployment("web"), deployment("db")]), "db web"),
        (Change::Applied(deployment("web")), "db web"),
        (Change::Unreadable(unreadable), "db web"),
        (Change::Deleted(deployment("db")), "web"),
        (Change::Replaced(Kind::Job, Vec::new()), "web"),
        (Change::Replaced(Kind::Deployment, Vec::new()), ""),
    ];
    for (change, expected) in steps {
        let told = format!("{change:?}");
        controller.take(change, Timestamp(0));
        let index = controller.index_mut();
        let names: Vec<&str> = index.workloads().map(|it| &*it.name).collect();
        assert_eq!(names.join(" "), expected, "after {told}");
    }
    let known = [Kind::Deployment, Kind::Job].into();
    assert_eq!(*pending.borrow(), &BTreeSet::from(Kind::ALL) - &known);
}
