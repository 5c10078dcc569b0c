use super::*;

#[test]
fn an_acknowledgement_names_its_violation() {
    let annotation = acknowledge("k7m2q9x4");
    assert_eq!(annotation, "networkenforcer.kubewarden.io/acknowledge-k7m2q9x4");
    assert_eq!(acknowledged_id(&annotation), Some("k7m2q9x4"));
    assert_eq!(acknowledged_id(PROMOTE), None);
}
