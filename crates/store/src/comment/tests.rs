use std::fmt::Write;

use insta::assert_snapshot;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

/// A document as a person keeps it.
const OLD: &str = "\
# Reviewed by the payments team.
# Ask in #payments before you change it.

apiVersion: x/v1 # the only version
kind: Policy
metadata:
    name: web   # the shop's front
    namespace: shop
    labels: {team: payments} # who to ask
spec:
    # what the rules are for
    podSelector: {matchLabels: {app: web}}
    policyTypes: [Egress]
    egress:
    # the database
    - to:
        # not the replica
        - podSelector: {matchLabels: {app: db}}
      ports:
        - port: 5432 # postgres
          protocol: TCP
    # gone by tomorrow
    - to: [{podSelector: {matchLabels: {app: old}}}] # remove with the migration
      ports: [{protocol: TCP, port: 80}]
    # no more rules, please
# the end
";

const NEW: &str = "\
apiVersion: x/v1
kind: Policy
metadata:
  name: web
  namespace: shop
  labels:
    team: payments
spec:
  podSelector:
    matchLabels:
      app: web
  policyTypes:
  - Egress
  egress:
  - to:
    - podSelector:
        matchLabels:
          app: cache
    ports:
    - protocol: TCP
      port: 6379
  - to:
    - podSelector:
        matchLabels:
          app: db
    ports:
    - protocol: TCP
      port: 5432
    - protocol: TCP
      port: 5433
status:
  count: 3
";

#[test]
fn comments_stay_with_what_they_are_about() {
    assert_snapshot!(keep_comments(OLD, NEW), @r#"
    # Reviewed by the payments team.
    # Ask in #payments before you change it.

    apiVersion: x/v1 # the only version
    kind: Policy
    metadata:
      name: web # the shop's front
      namespace: shop
      labels: # who to ask
        team: payments
    spec:
      # what the rules are for
      podSelector:
        matchLabels:
          app: web
      policyTypes:
      - Egress
      egress:
      - to:
        - podSelector:
            matchLabels:
              app: cache
        ports:
        - protocol: TCP
          port: 6379
      # the database
      - to:
        # not the replica
        - podSelector:
            matchLabels:
              app: db
        ports:
        - protocol: TCP
          port: 5432 # postgres
        - protocol: TCP
          port: 5433
      # gone by tomorrow
      # remove with the migration
      # no more rules, please
    status:
      count: 3
    # the end
    "#);
}

#[test]
fn writing_again_moves_nothing() {
    let once = keep_comments(OLD, NEW);
    assert_eq!(keep_comments(&once, NEW), once);
}

#[rstest]
#[case::a_quoted_hash("a: 'x # y'\nb: \"# z\"\n")]
#[case::a_block_scalar("a: |\n  # no comment\n  x\nb: 1\n")]
#[case::a_folded_scalar("a: >-\n  x\n  # no comment\nb: 1\n")]
#[case::a_hash_in_a_word("a: x#y\n")]
#[case::nothing_at_all("")]
fn what_is_no_comment_is_none(#[case] old: &str) {
    assert_eq!(keep_comments(old, "b: 2\n"), "b: 2\n");
}

#[rstest]
#[case::a_key("a: 1 # one\n", "a: 2\n", "a: 2 # one\n")]
#[case::a_key_that_is_gone("a: 1 # one\nb: 2\n", "b: 2\n", "b: 2\n# one\n")]
#[case::a_key_that_is_gone_from_a_block(
    "a:\n  b: 1 # one\n  c: 2\nd: 3\n",
    "a:\n  c: 2\nd: 3\n",
    "a:\n  c: 2\n  # one\nd: 3\n"
)]
#[case::a_block_that_is_gone(
    "a:\n  b:\n    # deep\n    c: 2\n",
    "a:\n  d: 1\n",
    "a:\n  d: 1\n  # deep\n"
)]
#[case::an_item("- a # one\n- b\n", "- b\n- a\n", "- b\n- a # one\n")]
#[case::an_item_by_its_id(
    "- id: x # one\n  n: 1\n",
    "- id: x\n  n: 2\n",
    "- id: x # one\n  n: 2\n"
)]
#[case::two_equal_items("- a # one\n- a # two\n", "- a\n- a\n", "- a # one\n- a # two\n")]
#[case::a_text_of_several_lines("a: x # one\n", "a: \"x\n  y\"\n", "# one\na: \"x\n  y\"\n")]
#[case::a_literal("a: x # one\n", "a: |\n  x\n  y\n", "a: | # one\n  x\n  y\n")]
#[case::a_literal_to_the_end("a: |\n  x\n# end\n", "a: |\n  x\n  y\n", "a: |\n  x\n  y\n# end\n")]
#[case::a_multi_line_flow(
    "a: [\n  x, # one\n  # two\n  y\n]  # three\n",
    "a:\n- x\n- y\n",
    "a: # three\n- x # one\n# two\n- y\n"
)]
#[case::an_empty_value("a: # one\nb: # two\n", "a: {}\nb: 1\n", "a: {} # one\nb: 1 # two\n")]
#[case::a_marker("--- # one\na: 1\n", "a: 1\n", "# one\na: 1\n")]
#[case::after_the_end("a: 1\n...\n# one\n", "a: 1\n", "a: 1\n# one\n")]
#[case::a_header("# one\n\n# two\n\na: 1\n", "a: 2\n", "# one\n\n# two\n\na: 2\n")]
#[case::no_line_feed_at_the_end("a: 1 # one", "a: 2\n", "a: 2 # one\n")]
#[case::a_byte_order_mark("\u{feff}# one\na: 1\n", "a: 2\n", "# one\na: 2\n")]
#[case::broken("# one\na: [\n", "a: 2\n", "# one\na: 2\n")]
#[case::two_behind_one_line("a: # one\n  b: 1\nc: 1\n", "a:\n  b: 1\n", "a: # one\n  b: 1\n")]
fn a_comment_goes_where_it_belongs(#[case] old: &str, #[case] new: &str, #[case] expected: &str) {
    let kept = keep_comments(old, new);
    assert_eq!(kept, expected);
    assert_eq!(keep_comments(&kept, new), kept, "again");
}

#[test]
fn more_comments_than_a_parser_buffers_stay() {
    let header = "# line\n".repeat(500);
    let kept = keep_comments(&format!("{header}a: 1\n"), "a: 2\n");
    assert_eq!(kept, format!("{header}a: 2\n"));
}

/// Any small document.
fn document() -> impl Strategy<Value = serde_json::Value> {
    let text = prop_oneof!["[a-c]{1,2}", "[ -~]{0,12}", "[a #:\\-\n|>'\"]{0,8}", "\\PC{0,6}"];
    let leaf = prop_oneof![
        text.prop_map(serde_json::Value::from),
        (0..9_i64).prop_map(serde_json::Value::from),
        Just(serde_json::Value::Null),
        Just(true.into()),
    ];
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::btree_map("[a-d]|id|to|port", inner, 0..4)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    });
    prop::collection::btree_map("[a-d]|id|to|port", value, 0..5)
        .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into())
}

fn yaml(value: &serde_json::Value, compact: bool) -> String {
    let options = serde_saphyr::ser_options! {
        compact_list_indent: compact,
        indent_step: if compact { 2 } else { 4 },
    };
    serde_saphyr::to_string_with_options(value, options).unwrap()
}

/// Puts comments into `text` wherever they leave it what it is.
fn commented(text: &str, places: &[(usize, usize, bool)]) -> String {
    let mut text = text.to_owned();
    for (number, (line, column, own)) in places.iter().enumerate() {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let line = line % (lines.len() + 1);
        if *own {
            lines.insert(line, format!("{}# c{number} 'x' {{", " ".repeat(*column)));
        } else if let Some(line) = lines.get_mut(line) {
            write!(line, " # c{number} \"y: [").unwrap();
        }
        let candidate = lines.join("\n") + "\n";
        let same = events(&candidate)
            .zip(events(&text))
            .is_some_and(|(new, old)| new.0 == old.0 && new.1.len() == old.1.len() + 1);
        if same {
            text = candidate;
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_comment_is_lost_and_nothing_else_changes(
        old in document(),
        new in document(),
        same in any::<bool>(),
        compact in any::<bool>(),
        places in prop::collection::vec((0..40_usize, 0..9_usize, any::<bool>()), 0..6),
    ) {
        let new = yaml(if same { &old } else { &new }, true);
        let old = commented(&yaml(&old, compact), &places);
        let kept = keep_comments(&old, &new);
        let (_, comments) = events(&old).unwrap();
        if comments.is_empty() {
            prop_assert_eq!(&kept, &new);
        }
        prop_assert!(is_faithful(&new, &kept, &comments), "{old}\n---\n{new}\n---\n{kept}");
        prop_assert_eq!(events(&kept).unwrap().1.len(), comments.len());
        let again = keep_comments(&kept, &new);
        prop_assert_eq!(&again, &kept, "old:\n{}\nnew:\n{}", old, new);
    }

    #[test]
    fn anything_is_survived(old in "[ -~\n\r\tä#]{0,60}", new in "[a-c: \n#-]{0,30}") {
        let kept = keep_comments(&old, &new);
        prop_assert!(kept.len() >= new.len());
    }
}
