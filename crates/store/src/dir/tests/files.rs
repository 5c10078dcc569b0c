//! Objects to files and back.

use insta::assert_snapshot;
use netenf_k8s::lifecycle::{Key, Resource, rollback};

use super::support::*;
use crate::error::StoreError;
use crate::store::{Batch, BlobChange, Change, Scope, Store};

#[test]
fn a_new_object_has_a_file_of_its_own() {
    let folder = Folder::new();
    let store = folder.lock();
    let applied = store.apply(&changes([Change::Create(proposal("shop", "web").into())])).unwrap();
    let files = folder.objects();
    assert_eq!(files.keys().collect::<Vec<_>>(), ["shop/web.proposal.yaml"]);
    assert_snapshot!(files["shop/web.proposal.yaml"], @r#"
    apiVersion: networkenforcer.kubewarden.io/v1alpha1
    kind: WorkloadNetworkPolicyProposal
    metadata:
      name: web
      namespace: shop
    spec:
      backend: kubernetes
      direction: Egress
      kubernetes:
        podSelector:
          matchLabels:
            app: web
        policyTypes:
        - Egress
        egress:
        - to:
          - podSelector:
              matchLabels:
                app: db
          ports:
          - protocol: TCP
            port: 5432
    "#);
    let stored = store.get(&Key::proposal("shop", "web")).unwrap().unwrap();
    assert_eq!(stored.object, proposal("shop", "web").into());
    assert_eq!(applied.written, [(Key::proposal("shop", "web"), stored.version)]);
}

#[test]
fn the_same_object_again_leaves_the_file_as_it_is() {
    // Not neat at all, and a comment in a place that would not be kept.
    let mut text =
        text("shop", "web").replace("backend: kubernetes", "\"backend\":   'kubernetes' # x");
    text.push_str("\n\n# end\n\n");
    let folder = Folder::with(&[("a.yaml", &text)]);
    let store = folder.lock();
    let stored = store.get(&Key::proposal("shop", "web")).unwrap().unwrap();
    let applied = store.apply(&changes([stored.replace(stored.object.clone())])).unwrap();
    assert_eq!(folder.read("a.yaml"), text);
    assert_eq!(applied.written, [(Key::proposal("shop", "web"), stored.version)]);
}

#[test]
fn a_change_keeps_the_comments() {
    let text = format!(
        "# Ask the payments team.\n{}",
        text("shop", "web").replace("5432", "5432 # postgres")
    );
    let folder = Folder::with(&[("shop/web.proposal.yaml", &text)]);
    let store = folder.lock();
    let stored = store.get(&Key::proposal("shop", "web")).unwrap().unwrap();
    store.apply(&changes([stored.replace(labelled(&stored, "new"))])).unwrap();
    let expected = text.replace("namespace: shop\n", "namespace: shop\n  labels:\n    test: new\n");
    assert_eq!(folder.read("shop/web.proposal.yaml"), expected);
}

#[test]
fn promotion_takes_the_comments_along() {
    let text = format!(
        "# Ask the payments team.\n{}",
        text("shop", "web").replace("5432", "5432 # postgres")
    );
    let folder = Folder::with(&[("shop/web.proposal.yaml", &text)]);
    let store = folder.lock();
    store.apply(&promotion(&store, "shop", "web")).unwrap();
    let files = folder.objects();
    assert_eq!(files.keys().collect::<Vec<_>>(), ["shop/web.policy.yaml"]);
    let policy = &files["shop/web.policy.yaml"];
    assert!(policy.starts_with("# Ask the payments team.\napiVersion"), "{policy}");
    assert!(policy.contains("port: 5432 # postgres\n"), "{policy}");
}

#[test]
fn what_is_deleted_is_gone() {
    let folder =
        Folder::with(&[("shop/web.proposal.yaml", &text("shop", "web")), ("README.md", "x")]);
    let store = folder.lock();
    let stored = store.get(&Key::proposal("shop", "web")).unwrap().unwrap();
    store.apply(&changes([stored.delete()])).unwrap();
    assert_eq!(folder.objects().keys().collect::<Vec<_>>(), ["README.md"]);
    assert_eq!(store.get(&Key::proposal("shop", "web")).unwrap(), None);
}

#[test]
fn a_plan_is_shown_and_not_written() {
    let folder = Folder::with(&[("shop/web.proposal.yaml", &text("shop", "web"))]);
    let store = folder.open();
    let before = folder.everything();
    let plan = store.plan(&promotion(&store, "shop", "web")).unwrap();
    assert_eq!(folder.everything(), before);
    let shown: Vec<(bool, bool)> =
        plan.iter().map(|change| (change.before.is_some(), change.after.is_some())).collect();
    assert_eq!(shown, [(false, true), (true, false)], "the policy comes before the proposal goes");
}

#[test]
fn names_in_two_namespaces_are_two_objects() {
    let folder = Folder::new();
    let store = folder.lock();
    let create = |namespace| Change::Create(proposal(namespace, "web").into());
    store.apply(&changes([create("test"), create("test2")])).unwrap();
    let names = |scope| store.list(scope).unwrap().objects.len();
    assert_eq!((names(Scope::All), names(Scope::Namespace("test"))), (2, 1));
    let stored = store.get(&Key::proposal("test", "web")).unwrap().unwrap();
    store.apply(&changes([stored.replace(labelled(&stored, "new"))])).unwrap();
    assert_eq!(folder.read("test2/web.proposal.yaml"), text("test2", "web"));
}

#[test]
fn what_is_there_is_not_created_again() {
    let folder = Folder::with(&[("all.yaml", &text("shop", "web"))]);
    let store = folder.lock();
    let error =
        store.apply(&changes([Change::Create(proposal("shop", "web").into())])).unwrap_err();
    assert!(matches!(error, StoreError::Exists { .. }), "{error}");
}

#[test]
fn one_object_is_changed_once() {
    let folder = Folder::new();
    let create = Change::Create(proposal("shop", "web").into());
    let error = folder.lock().apply(&changes([create.clone(), create])).unwrap_err();
    assert!(matches!(error, StoreError::Twice { .. }), "{error}");
}

#[test]
fn the_history_numbers_what_was_done_and_gives_it_back() {
    let folder = Folder::with(&[("shop/web.proposal.yaml", &text("shop", "web"))]);
    let store = folder.lock();
    let applied = store.apply(&promotion(&store, "shop", "web")).unwrap();
    assert_eq!(applied.revisions, [(Key::policy("shop", "web"), 1)]);
    let stored = store.get(&Key::policy("shop", "web")).unwrap().unwrap();
    let changed = labelled(&stored, "new");
    let batch = Batch {
        changes: vec![stored.replace(changed.clone())],
        records: vec![record(changed.clone(), "labelled"), record(changed, "again")],
        blobs: Vec::new(),
    };
    let applied = store.apply(&batch).unwrap();
    assert_eq!(applied.revisions.iter().map(|(_, number)| *number).collect::<Vec<_>>(), [2, 3]);
    let history = store.history("shop", "web").unwrap();
    let summaries: Vec<&str> = history.revisions.iter().map(|own| own.summary.as_str()).collect();
    assert_eq!(summaries, ["promoted", "labelled", "again"]);
    assert_eq!(history.diagnostics, []);
    assert_snapshot!(folder.read(".netenf/history/shop/web/1.yaml"), @r#"
    revision: 1
    time: "2026-09-01T10:00:00Z"
    verb: promote
    author: anna
    summary: promoted
    object:
      apiVersion: networkenforcer.kubewarden.io/v1alpha1
      kind: WorkloadNetworkPolicy
      metadata:
        name: web
        namespace: shop
        labels:
          networkenforcer.kubewarden.io/promoted-from: web
      spec:
        mode: monitor
        backend: kubernetes
        direction: Egress
        kubernetes:
          podSelector:
            matchLabels:
              app: web
          policyTypes:
          - Egress
          egress:
          - to:
            - podSelector:
                matchLabels:
                  app: db
            ports:
            - protocol: TCP
              port: 5432
    "#);
    let current = store.get(&Key::policy("shop", "web")).unwrap().unwrap().object;
    assert!(rollback(&current, &history.revisions[0]).is_ok());
}

#[test]
fn a_broken_revision_costs_no_other() {
    let folder = Folder::with(&[("shop/web.proposal.yaml", &text("shop", "web"))]);
    let store = folder.lock();
    store.apply(&promotion(&store, "shop", "web")).unwrap();
    folder.write(".netenf/history/shop/web/2.yaml", "networkenforcer.kubewarden.io [");
    folder.write(".netenf/history/shop/web/notes.yaml", "x");
    let history = store.history("shop", "web").unwrap();
    assert_eq!((history.revisions.len(), history.diagnostics.len()), (1, 1));
    let batch =
        Batch { records: vec![record(policy("shop", "web").into(), "")], ..Batch::default() };
    assert_eq!(store.apply(&batch).unwrap().revisions[0].1, 3, "no number is used twice");
}

#[test]
fn the_history_is_bounded() {
    let folder = Folder::new();
    let store = folder.lock();
    let batch =
        Batch { records: vec![record(policy("shop", "web").into(), "")], ..Batch::default() };
    for _ in 0..103 {
        store.apply(&batch).unwrap();
    }
    let history = store.history("shop", "web").unwrap();
    let numbers: Vec<u64> = history.revisions.iter().map(|revision| revision.number).collect();
    assert_eq!(numbers, (4..=103).collect::<Vec<_>>());
}

#[test]
fn state_is_kept_and_guarded() {
    let folder = Folder::new();
    let store = folder.lock();
    assert_eq!(store.blob("counters").unwrap(), None);
    let put = |text: Option<&str>, expected| Batch {
        blobs: vec![BlobChange { name: "counters".into(), text: text.map(Into::into), expected }],
        ..Batch::default()
    };
    store.apply(&put(Some("{}"), None)).unwrap();
    let blob = store.blob("counters").unwrap().unwrap();
    assert_eq!((blob.text.as_str(), folder.read(".netenf/counters.json").as_str()), ("{}", "{}"));
    let error = store.apply(&put(Some("{\"a\":1}"), None)).unwrap_err();
    assert!(matches!(error, StoreError::Changed { .. }), "{error}");
    store.apply(&put(Some("{\"a\":1}"), Some(blob.version))).unwrap();
    let blob = store.blob("counters").unwrap().unwrap();
    store.apply(&put(None, Some(blob.version))).unwrap();
    assert_eq!(store.blob("counters").unwrap(), None);
}

#[test]
fn an_object_without_a_status_has_none_afterwards() {
    let folder = Folder::new();
    let store = folder.lock();
    let mut own = proposal("shop", "web");
    own.status = Some(netenf_api::WorkloadNetworkPolicyProposalStatus::default());
    store.apply(&changes([Change::Create(own.into())])).unwrap();
    let stored = store.get(&Key::proposal("shop", "web")).unwrap().unwrap();
    assert_eq!(stored.object, Resource::from(proposal("shop", "web")));
}
