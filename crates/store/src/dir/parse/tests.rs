use std::fmt::Write;

use rstest::rstest;

use super::*;

const PROPOSAL: &str = "\
apiVersion: networkenforcer.kubewarden.io/v1alpha1
kind: WorkloadNetworkPolicyProposal
metadata:
  name: web
  namespace: shop
spec:
  backend: kubernetes
  kubernetes:
    podSelector:
      matchLabels:
        app: web
";

fn problem_of(text: &str) -> String {
    match &parse(text)[..] {
        [Document { content: Content::Broken(problem), .. }] => {
            format!("{}: {}", problem.line, problem.cause)
        }
        other => panic!("{other:?}"),
    }
}

fn unknown_of(text: &str) -> Vec<String> {
    match &parse(text)[..] {
        [Document { content: Content::Ours { unknown, .. }, .. }] => unknown.clone(),
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case::another_kind(
    "apiVersion: v1\nkind: ConfigMap\ndata: {note: networkenforcer.kubewarden.io}\n"
)]
#[case::a_definition(
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: networkenforcer.kubewarden.io}\n"
)]
#[case::a_broken_template("a: {{ .Values.a }}\n")]
#[case::nothing("")]
fn what_is_not_ours_is_left_alone(#[case] text: &str) {
    let documents = parse(text);
    let [Document { content: Content::Foreign, .. }] = &documents[..] else {
        panic!("{documents:?}");
    };
}

#[rstest]
#[case::not_closed("spec:", "spec: [", "8: ")]
#[case::a_wrong_type("backend: kubernetes", "backend: [a]", "7: ")]
#[case::an_unknown_word("backend: kubernetes", "backend: linux", "7: ")]
#[case::a_number_as_a_label("app: web", "app: 1", "11: ")]
#[case::a_key_twice("  name: web", "  name: web\n  name: db", "5: ")]
#[case::another_version(
    "v1alpha1",
    "v1",
    "1: the version v1 of networkenforcer.kubewarden.io is not known"
)]
#[case::another_kind(
    "WorkloadNetworkPolicyProposal",
    "Workload",
    "1: networkenforcer.kubewarden.io has no kind \"Workload\""
)]
#[case::a_list(
    "WorkloadNetworkPolicyProposal",
    "WorkloadNetworkPolicyList",
    "1: objects in a List"
)]
#[case::no_namespace("  namespace: shop\n", "", "1: web has no namespace")]
#[case::no_name("  name: web\n", "", "1: it has no name")]
#[case::a_path_as_a_name("name: web", "name: ../web", "1: \"../web\" is no valid name")]
#[case::a_path_as_a_namespace(
    "namespace: shop",
    "namespace: ..",
    "1: \"..\" is no valid namespace"
)]
#[case::a_template("name: web", "name: {{ .Release.Name }}", "4: ")]
fn what_cannot_be_read_is_told_with_its_line(
    #[case] from: &str,
    #[case] to: &str,
    #[case] expected: &str,
) {
    let problem = problem_of(&PROPOSAL.replacen(from, to, 1));
    assert!(problem.starts_with(expected), "{problem}");
}

#[test]
fn a_list_of_any_kind_is_told() {
    let item = PROPOSAL.replace('\n', "\n  ");
    let problem = problem_of(&format!("apiVersion: v1\nkind: List\nitems:\n- {item}\n"));
    assert!(problem.contains("List"), "{problem}");
}

#[test]
fn lines_are_those_of_the_file() {
    let text = format!("a: 1\n---\n# note\n{}", PROPOSAL.replace("kubernetes\n", "[\n"));
    let documents = parse(&text);
    assert_eq!(documents[1].line, 3);
    let Content::Broken(problem) = &documents[1].content else { panic!("{documents:?}") };
    assert!(problem.line >= 10, "{problem:?}");
}

#[rstest]
#[case::none("", "", &[])]
#[case::a_typing_error("podSelector", "podSelektor", &["spec.kubernetes.podSelektor"])]
#[case::what_a_server_sets("  name: web", "  uid: a\n  name: web", &[])]
#[case::what_says_nothing("spec:", "spec:\n  istio: null", &[])]
#[case::metadata("  name: web", "  color: red\n  name: web", &["metadata.color"])]
#[case::an_item("    podSelector", "    egress: [{too: []}, {too: [{}]}]\n    podSelector", &["spec.kubernetes.egress[1].too"])]
fn unknown_fields_are_told(#[case] from: &str, #[case] to: &str, #[case] expected: &[&str]) {
    assert_eq!(unknown_of(&PROPOSAL.replacen(from, to, 1)), expected);
}

#[test]
fn a_bomb_of_aliases_is_refused() {
    let mut labels = "x: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..12 {
        let references = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(labels, "y{level}: &a{level} [{references}]").unwrap();
    }
    let problem = problem_of(&format!("{PROPOSAL}{labels}"));
    assert!(problem.contains("alias") || problem.contains("budget"), "{problem}");
}

#[rstest]
#[case::in_brackets(format!("x: {}{}\n", "[".repeat(5_000), "]".repeat(5_000)))]
#[case::in_lines((0..5_000).fold(String::new(), |text, level| text + &" ".repeat(level) + "a:\n"))]
fn deep_nesting_is_refused(#[case] deep: String) {
    assert!(!problem_of(&format!("{PROPOSAL}{deep}")).is_empty());
}

#[test]
fn anchors_and_merge_keys_are_read() {
    let text =
        PROPOSAL.replace("        app: web", "        <<: &labels {app: web}\n        tier: front");
    assert!(unknown_of(&text).is_empty());
}
