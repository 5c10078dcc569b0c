//! Folders that a person laid out otherwise.

use netenf_k8s::lifecycle::{Key, Kind};

use super::support::*;
use crate::diagnostic::Severity;
use crate::error::StoreError;
use crate::store::{Change, Scope, Store};

#[test]
fn other_files_are_left_alone() {
    let native =
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: default-deny}\n";
    let folder = Folder::with(&[
        ("README.md", "# shop"),
        ("kustomization.yaml", "resources: [shop/web.proposal.yaml]\n"),
        ("chart/templates/web.yaml", "{{ if .Values.on }}\nkind: X\n{{ end }}\n"),
        ("shop/default-deny.networkpolicy.yaml", native),
        (".git/web.yaml", &text("shop", "hidden")),
        (".hidden.yaml", &text("shop", "hidden")),
        ("shop/web.proposal.yaml", &text("shop", "web")),
    ]);
    let store = folder.lock();
    let listing = store.list(Scope::All).unwrap();
    assert_eq!(listing.diagnostics, []);
    assert_eq!(listing.objects.len(), 1);
    let before = folder.objects();
    store.apply(&promotion(&store, "shop", "web")).unwrap();
    let mut after = folder.objects();
    after.remove("shop/web.policy.yaml").unwrap();
    let mut rest = before;
    rest.remove("shop/web.proposal.yaml").unwrap();
    assert_eq!(after, rest);
}

#[test]
fn what_is_no_yaml_is_told_and_left_alone() {
    let folder = Folder::with(&[
        ("values.yaml", "a: 1\n---\nb: [1, 2\n"),
        ("shop/web.proposal.yaml", &text("shop", "web")),
    ]);
    let store = folder.lock();
    let listing = store.list(Scope::All).unwrap();
    assert_eq!(listing.objects.len(), 1);
    let [told] = listing.diagnostics.as_slice() else { panic!("{:?}", listing.diagnostics) };
    assert_eq!((told.severity, told.line), (Severity::Warning, Some(3)), "{told:?}");
    store.apply(&promotion(&store, "shop", "web")).unwrap();
}

#[test]
fn an_object_is_updated_in_the_file_that_it_is_in() {
    let native = "# deny by default\nkind: NetworkPolicy # native\n";
    let all = format!("{native}---\n# ours\n{}---\n{}", text("shop", "web"), text("shop", "api"));
    let folder = Folder::with(&[("everything.yml", &all)]);
    let store = folder.lock();
    let stored = store.get(&Key::proposal("shop", "web")).unwrap().unwrap();
    assert!(stored.place.ends_with("everything.yml:4"), "{}", stored.place);
    store.apply(&changes([stored.replace(labelled(&stored, "new"))])).unwrap();
    let expected =
        all.replacen("namespace: shop\n", "namespace: shop\n  labels:\n    test: new\n", 1);
    assert_eq!(folder.read("everything.yml"), expected);
    assert_eq!(folder.objects().len(), 1);
}

#[test]
fn one_of_several_documents_is_deleted_alone() {
    let all =
        format!("{}---\n# second\n{}...\n---\nkind: X\n", text("shop", "web"), text("shop", "api"));
    let folder = Folder::with(&[("all.yaml", &all)]);
    let store = folder.lock();
    store.apply(&promotion(&store, "shop", "web")).unwrap();
    assert_eq!(
        folder.read("all.yaml"),
        format!("---\n# second\n{}...\n---\nkind: X\n", text("shop", "api"))
    );
    store.apply(&promotion(&store, "shop", "api")).unwrap();
    assert_eq!(folder.read("all.yaml"), "---\nkind: X\n");
    assert!(folder.read("shop/api.policy.yaml").starts_with("# second\n"));
}

#[test]
fn two_documents_of_a_file_change_together() {
    let all = format!("{}---\n{}", text("shop", "web"), text("shop", "api"));
    let folder = Folder::with(&[("all.yaml", &all)]);
    let store = folder.lock();
    let listing = store.list(Scope::All).unwrap();
    let both = listing.objects.iter().map(|stored| stored.replace(labelled(stored, "new")));
    store.apply(&changes(both)).unwrap();
    assert_eq!(folder.read("all.yaml").matches("test: new").count(), 2);
    let all = store.list(Scope::All).unwrap();
    store.apply(&changes(all.objects.iter().map(crate::store::Stored::delete))).unwrap();
    assert_eq!(folder.objects().len(), 0, "a file without a document goes");
}

#[test]
fn content_on_the_line_of_the_marker_is_replaced_whole() {
    let object = "{apiVersion: networkenforcer.kubewarden.io/v1alpha1, kind: WorkloadNetworkPolicyProposal, \
                  metadata: {name: web, namespace: shop}, spec: {backend: kubernetes, \
                  kubernetes: {podSelector: {matchLabels: {app: web}}}}}";
    let folder = Folder::with(&[("all.yaml", &format!("--- {object} # ours\n---\nkind: X\n"))]);
    let store = folder.lock();
    let stored = store.get(&Key::proposal("shop", "web")).unwrap().unwrap();
    let new = labelled(&stored, "new");
    store.apply(&changes([stored.replace(new.clone())])).unwrap();
    let text = folder.read("all.yaml");
    assert!(text.starts_with("---\n") && text.ends_with("---\nkind: X\n"), "{text}");
    assert!(text.contains("# ours"), "{text}");
    assert_eq!(store.get(&Key::proposal("shop", "web")).unwrap().unwrap().object, new);
}

#[test]
fn carriage_returns_stay() {
    let windows = |text: &str| text.replace('\n', "\r\n");
    let old =
        format!("# note\n{}---\nkind: X\n", text("shop", "web").replace("5432", "5432 # postgres"));
    let folder = Folder::with(&[("all.yaml", &windows(&old))]);
    let store = folder.lock();
    let stored = store.get(&Key::proposal("shop", "web")).unwrap().unwrap();
    store.apply(&changes([stored.replace(labelled(&stored, "new"))])).unwrap();
    let expected = old.replace("namespace: shop\n", "namespace: shop\n  labels:\n    test: new\n");
    assert_eq!(folder.read("all.yaml"), windows(&expected));
    store.apply(&promotion(&store, "shop", "web")).unwrap();
    let policy = folder.read("shop/web.policy.yaml");
    assert!(policy.starts_with("# note\n") && !policy.contains('\r'), "{policy}");
}

#[test]
fn an_object_in_two_files_is_an_error_that_names_both() {
    let folder = Folder::with(&[
        ("a.yaml", &text("shop", "web")),
        ("b/c.yaml", &text("shop", "web")),
        ("shop/api.proposal.yaml", &text("shop", "api")),
    ]);
    let store = folder.lock();
    let listing = store.list(Scope::All).unwrap();
    assert_eq!(listing.objects.len(), 1, "the other object is read");
    let [diagnostic] = &listing.diagnostics[..] else { panic!("{listing:?}") };
    assert_eq!(diagnostic.severity, Severity::Error);
    let said = diagnostic.to_string();
    assert!(said.contains("a.yaml") && said.contains("b/c.yaml"), "{said}");
    let error = store.get(&Key::proposal("shop", "web")).unwrap_err();
    assert!(matches!(error, StoreError::Duplicate { .. }), "{error}");
    let error =
        store.apply(&changes([Change::Create(proposal("shop", "web").into())])).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("a.yaml") && said.contains("b/c.yaml"), "{said}");
}

#[test]
fn what_an_interrupted_promotion_left_is_hidden_and_then_removed() {
    let folder = Folder::with(&[("shop/web.proposal.yaml", &text("shop", "web"))]);
    folder.lock().apply(&promotion(&folder.open(), "shop", "web")).unwrap();
    folder.write("shop/web.proposal.yaml", text("shop", "web"));
    folder.write("shop/api.proposal.yaml", text("shop", "api"));
    let store = folder.lock();
    let listing = store.list(Scope::All).unwrap();
    assert_eq!((listing.proposals().count(), listing.policies().count()), (1, 1));
    assert_eq!(listing.diagnostics[0].severity, Severity::Note);
    assert_eq!(store.get(&Key::proposal("shop", "web")).unwrap(), None);
    let applied = store.apply(&promotion(&store, "shop", "api")).unwrap();
    assert_eq!(applied.finished, [Key::proposal("shop", "web")]);
    assert!(!folder.join("shop/web.proposal.yaml").exists());
    let history = store.history("shop", "web").unwrap();
    let kinds: Vec<Kind> = history.revisions.iter().map(|own| own.object.kind()).collect();
    assert_eq!(kinds, [Kind::Policy, Kind::Proposal], "what was left over is not lost");
}

#[test]
fn what_is_left_over_is_not_in_the_way_of_a_demotion() {
    let folder = Folder::with(&[("shop/web.proposal.yaml", &text("shop", "web"))]);
    folder.lock().apply(&promotion(&folder.open(), "shop", "web")).unwrap();
    folder.write("shop/web.proposal.yaml", text("shop", "web").replace("5432", "5433"));
    let store = folder.lock();
    let policy = store.get(&Key::policy("shop", "web")).unwrap().unwrap();
    let batch = changes([Change::Create(proposal("shop", "web").into()), policy.delete()]);
    assert_eq!(store.apply(&batch).unwrap().finished, []);
    let files = folder.objects();
    assert_eq!(
        files.into_iter().collect::<Vec<_>>(),
        [("shop/web.proposal.yaml".to_owned(), text("shop", "web"))]
    );
}

#[test]
fn a_policy_that_a_person_wrote_leaves_the_proposal_alone() {
    let mut own = policy("shop", "web");
    own.metadata.labels = None;
    let folder = Folder::with(&[("shop/web.proposal.yaml", &text("shop", "web"))]);
    let store = folder.lock();
    store.apply(&changes([Change::Create(own.into())])).unwrap();
    assert_eq!(store.list(Scope::All).unwrap().objects.len(), 2);
}

#[test]
fn unknown_fields_are_told_and_not_lost() {
    let text = text("shop", "web").replace("  backend", "  colour: red\n  backend");
    let folder = Folder::with(&[("a.yaml", &text)]);
    let store = folder.lock();
    let listing = store.list(Scope::All).unwrap();
    assert_eq!(listing.diagnostics[0].severity, Severity::Warning);
    assert!(listing.diagnostics[0].cause.contains("spec.colour"));
    let stored = &listing.objects[0];
    let error = store.apply(&changes([stored.replace(labelled(stored, "new"))])).unwrap_err();
    assert!(error.to_string().contains("spec.colour"), "{error}");
    assert_eq!(folder.read("a.yaml"), text);
}
