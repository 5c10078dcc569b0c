use super::*;
use crate::selector::Requirement;

fn selector(key: &str, operator: Operator) -> Selector {
    let requirements = vec![Requirement { key: key.into(), operator }];
    Selector { requirements, ..Selector::default() }
}

/// Policies that come and go leave nothing behind, and numbers are used again.
#[test]
fn what_is_no_longer_used_is_forgotten() {
    let mut scopes = Scopes::default();
    let namespaces = [
        Namespaces::Named("x".into()),
        Namespaces::Labels(Selector::default()),
        Namespaces::Labels(selector("team", Operator::In(vec!["a".into(), "b".into()]))),
    ];
    let pods = [
        Selector::default(),
        Selector::of_labels([("app", "a")].into_iter().collect()),
        selector("app", Operator::In(vec!["a".into(), "a".into(), "b".into()])),
        selector("app", Operator::NotIn(vec!["a".into()])),
        selector("app", Operator::In(Vec::new())),
    ];
    for _ in 0..3 {
        let mut numbers = Vec::new();
        for namespaces in &namespaces {
            for pods in &pods {
                let scope = Scope { namespaces: namespaces.clone(), pods: pods.clone() };
                // A second use keeps it until that ends too.
                numbers.extend([scopes.number(scope.clone()), scopes.number(scope)]);
            }
        }
        assert_eq!(scopes.len(), 15);
        assert!(scopes.take_changes().is_some());
        for number in numbers {
            scopes.release(number);
        }
        let gone = scopes.take_changes().map(|changes| changes.gone.len());
        assert_eq!(gone, Some(14));
        assert!(scopes.take_changes().is_none());
        let Index { by_label, by_namespace, by_namespace_label, rest } = &scopes.index;
        assert!(by_label.is_empty() && by_namespace.is_empty());
        assert!(by_namespace_label.is_empty() && rest.is_empty());
    }
}
