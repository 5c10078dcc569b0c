use netenf_api::TargetKind;
use netenf_store::Kind;

use super::Wanted;
use crate::error::Exit;

fn parse(text: &str, namespace: Option<&str>) -> Wanted {
    Wanted::parse(text, namespace).unwrap()
}

#[test]
fn a_word_is_the_name_of_an_object() {
    let wanted = parse("deployment-web-egress", Some("shop"));
    assert_eq!(wanted.namespace.as_deref(), Some("shop"));
    assert_eq!(wanted.object, Some((None, "deployment-web-egress".to_owned())));
    assert_eq!(wanted.workload, None);
}

#[test]
fn what_o_name_prints_names_the_object() {
    let group = "networkenforcer.kubewarden.io";
    for (text, kind) in [
        (format!("workloadnetworkpolicy.{group}/a"), Kind::Policy),
        (format!("workloadnetworkpolicyproposal.{group}/a"), Kind::Proposal),
        ("wnp/a".to_owned(), Kind::Policy),
        ("wnpp/a".to_owned(), Kind::Proposal),
    ] {
        assert_eq!(parse(&text, None).object, Some((Some(kind), "a".to_owned())), "{text}");
    }
    let namespaced = parse(&format!("shop/workloadnetworkpolicy.{group}/a"), None);
    assert_eq!(namespaced.namespace.as_deref(), Some("shop"));
    assert_eq!(namespaced.object, Some((Some(Kind::Policy), "a".to_owned())));
}

#[test]
fn a_workload_is_a_kind_and_a_name() {
    let web = Some((TargetKind::Deployment, "web".to_owned()));
    for text in ["deployment/web", "deploy/web", "Deployments/web"] {
        let wanted = parse(text, None);
        assert_eq!((wanted.workload, wanted.namespace), (web.clone(), None), "{text}");
    }
    let wanted = parse("prod/deploy/web", Some("shop"));
    assert_eq!(wanted.namespace.as_deref(), Some("prod"), "what is written stands above -n");
}

#[test]
fn what_names_nothing_is_an_error_of_usage() {
    for text in ["thing/web", "a/b/c/d", "deployment/", "/web", "a/thing/web"] {
        assert_eq!(Wanted::parse(text, None).unwrap_err().code(), Exit::Usage, "{text}");
    }
}
