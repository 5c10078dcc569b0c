use super::*;
use crate::packed::Packed;

#[test]
fn a_note_is_read_by_its_own_source_only() {
    let until = Timestamp(1_790_000_000_123_456_789);
    let text = note("replay:/a folder/flows", until);
    assert_eq!(noted(&text, "replay:/a folder/flows"), Some(until));
    assert_eq!(noted(&text, "replay:/a"), None);
    for text in ["", "replay:/a", "replay:/a yesterday", " ", "replay:/a 2026-13-01T00:00:00Z"] {
        assert_eq!(noted(text, "replay:/a"), None, "{text:?}");
    }
}

/// A hostile status holds any time; many of them cost a bounded amount of work.
#[test]
fn few_times_are_looked_at() {
    let mut stored = Stored::default();
    for second in 0..1000 {
        let text = format!(
            "{{metadata: {{name: a{second}, namespace: shop}}, spec: {{backend: kubernetes}}, \
             status: {{learnedUntil: '{}'}}}}",
            jiff::Timestamp::from_second(2000 + second).unwrap()
        );
        let name = ("shop".to_owned(), format!("a{second}"));
        let proposal = serde_saphyr::from_str(&text).unwrap();
        stored.proposals.insert(name, Packed::new(&proposal).unwrap());
    }
    let mut resume = Resume::new(Some(Timestamp::from_seconds(1500)), &stored);
    let mut points = 0;
    while resume.rest().is_some() {
        points += 1;
    }
    assert_eq!(points, POINTS + 1);
}
